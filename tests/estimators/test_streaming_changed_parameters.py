"""Parameters that later batches of a stream cannot heed, and those that they can."""

import pytest
from failures import assert_unchanged, state_of
from sklearn.gaussian_process.kernels import Matern

from sklearn_sgp import StreamingSGPClassifier, StreamingSGPRegressor

PARAMETERS = {"n_inducing": 8, "max_iter": 3, "random_state": 0}


# eight inducing inputs that are held explain nothing of these labels
@pytest.mark.filterwarnings("ignore:The fit explains 0.0%")
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (StreamingSGPRegressor, {"kernel": Matern(3.0)}),
        (StreamingSGPRegressor, {"likelihood": "student_t"}),
        (StreamingSGPRegressor, {"noise_variance_bounds": (0.01, 1.0)}),
        (StreamingSGPRegressor, {"normalize_y": False}),
        (StreamingSGPClassifier, {"kernel": Matern(3.0)}),
        (StreamingSGPClassifier, {"optimize_inducing": False}),
    ],
    ids=str,
)
def test_changes_that_need_a_new_stream(kind, change, toy):
    """A parameter that the stream cannot change any more is refused with its name."""
    X, y = toy
    y = y if kind is StreamingSGPRegressor else y > 5.0
    model = kind(**PARAMETERS).partial_fit(X, y).set_params(**change)
    before = state_of(model)
    with pytest.raises(ValueError, match=rf"{next(iter(change))} must stay .*fit"):
        model.partial_fit(X, y)
    assert_unchanged(model, before)
    model.fit(X, y).partial_fit(X, y)


@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_frequencies_stay_frequencies(kind, toy):
    """Shapes did not fit after a change of "fourier", or it was held in silence."""
    X, y = toy
    y = y if kind is StreamingSGPRegressor else y > 5.0
    for first, later in [("fourier", "kmeans"), ("fourier", X[:8]), ("kmeans", "fourier")]:
        model = kind(**PARAMETERS, inducing=first).partial_fit(X, y).set_params(inducing=later)
        before = state_of(model)
        with pytest.raises(ValueError, match=r"inducing must stay .*fit"):
            model.partial_fit(X, y)
        assert_unchanged(model, before)
        model.set_params(inducing=first).partial_fit(X, y)


def test_changes_that_a_stream_heeds(toy):
    """Inducing inputs may be held, and parameters of the steps may change."""
    X, y = toy
    model = StreamingSGPRegressor(**PARAMETERS).partial_fit(X, y)
    Z = model.inducing_points_
    model.set_params(inducing=Z, optimizer=None, forget_factor=0.9, alpha_divergence=0.5)
    assert (model.partial_fit(X, y).inducing_points_ == Z).all()


def test_a_beginning_of_few_rows_takes_what_is_new(toy):
    """As long as the stream begins anew with each batch, a change is taken."""
    X, y = toy
    model = StreamingSGPRegressor(**PARAMETERS).partial_fit(X[:10], y[:10])
    kernel = model.set_params(kernel=Matern(3.0)).partial_fit(X[10:], y[10:]).kernel_
    assert isinstance(kernel, Matern)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (StreamingSGPRegressor, {"categorical_features": [0]}),
        (StreamingSGPRegressor, {"missing": "error"}),
        (StreamingSGPRegressor, {"offset_column": 0}),
        (StreamingSGPClassifier, {"categorical_features": [0]}),
    ],
    ids=str,
)
def test_a_beginning_of_few_rows_keeps_its_columns(kind, change, toy):
    """What columns are is not read again; a change was ignored, then and for ever."""
    X, y = toy
    y = y if kind is StreamingSGPRegressor else y > 5.0
    model = kind(**PARAMETERS).partial_fit(X[:10], y[:10]).set_params(**change)
    before = state_of(model)
    with pytest.raises(ValueError, match=rf"{next(iter(change))} must stay .*fit"):
        model.partial_fit(X[10:20], y[10:20])
    assert_unchanged(model, before)
