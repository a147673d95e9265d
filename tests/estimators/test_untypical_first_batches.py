"""A first batch that does not show how y varies: later ones warn, where the model cannot follow."""

import warnings

import numpy as np
import pytest
from failures import assert_unchanged, state_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, (400, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.1 * RNG.standard_normal(400)
BEGINNINGS = {
    "constant": np.full(30, 5.0),
    "quiet": 1e-3 * RNG.standard_normal(100),
}
MODELS = {
    "svgp": SVGPRegressor(n_inducing=15, max_iter=20, random_state=0),
    "vif": AnytimeSGPRegressor(n_inducing=15, max_iter=20, random_state=0),
    "pic": AnytimeSGPRegressor(
        model="pic", n_inducing=15, block_size=50, max_iter=20, random_state=0
    ),
}
SAYS = "Most of .* new rows lie more than 4 predicted standard deviations.*large and mixed"
every_model = pytest.mark.parametrize("name", MODELS)


def begun(model, X, y, **given):
    """The model after a first batch, whatever its fit warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.partial_fit(X, y, **given)


def halves_are_silent(model, X, y):
    """No later batch of a mixed table warns."""
    begun(model, X[:200], y[:200])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for start in range(200, 400, 40):
            model.partial_fit(X[start : start + 40], y[start : start + 40])


@every_model
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_batch_far_outside_of_its_predictions_warns(name, beginning):
    """A constant or a quiet start leave a noise that no later batch mends."""
    y = BEGINNINGS[beginning]
    model = begun(clone(MODELS[name]), X[: len(y)], y)
    with pytest.warns(ConvergenceWarning, match=SAYS) as caught:
        model.partial_fit(X[100:], Y[100:])
    assert {warning.filename for warning in caught} == {__file__}
    assert np.isfinite(model.predict_std(X)).all()


@pytest.mark.quick_cases("svgp", "vif")
@every_model
def test_batches_like_the_first_do_not_warn(name):
    """Nor do far targets in less than half of the rows."""
    y = Y.copy()
    y[200:240:3] += 1e4
    halves_are_silent(clone(MODELS[name]), X, Y)
    halves_are_silent(clone(MODELS[name]), X, y)


def test_counts():
    """Counts after zeros warn; counts after counts do not."""
    counts = RNG.poisson(np.exp(2.0 + np.sin(X[:, 0]))).astype(float)
    model = SVGPRegressor(likelihood="poisson", n_inducing=15, max_iter=20, random_state=0)
    halves_are_silent(model, X, counts)
    model = begun(clone(model), X[:100], np.zeros(100))
    with pytest.warns(ConvergenceWarning, match=SAYS):
        model.partial_fit(X[100:], counts[100:])


def test_each_output_is_looked_at():
    """One of two outputs is enough; targets that were not observed say nothing."""
    both = np.column_stack([Y, np.where(np.arange(400) < 100, 1e-3 * Y, 50.0 * Y)])
    model = begun(clone(MODELS["svgp"]), X[:100], both[:100])
    with pytest.warns(ConvergenceWarning, match=SAYS):
        model.partial_fit(X[100:], both[100:])
    both = np.column_stack([Y, -Y])
    both[::2, 0] = both[1::2, 1] = np.nan
    mixed = clone(MODELS["svgp"]).set_params(n_latent=2)
    halves_are_silent(clone(mixed), X, both)
    rare = np.column_stack([Y, np.where(np.arange(400) < 100, 1e-3 * Y, 50.0 * Y)])
    rare[RNG.random(400) < 0.6, 1] = np.nan
    model = begun(mixed, X[:100], rare[:100])
    with pytest.warns(ConvergenceWarning, match=SAYS):
        model.partial_fit(X[100:], rare[100:])


@every_model
def test_a_warning_that_is_an_error_changes_nothing(name):
    """A filter can refuse such batches."""
    model = begun(clone(MODELS[name]), X[:30], BEGINNINGS["constant"])
    before = state_of(model)
    with warnings.catch_warnings(), pytest.raises(ConvergenceWarning, match=SAYS):
        warnings.simplefilter("error")
        model.partial_fit(X[100:], Y[100:])
    assert_unchanged(model, before)


def looks(model):
    """Numbers of rows at which batches of ten are looked at, after a first one of 70."""
    found = []
    begun(model, X[:70], np.full(70, 5.0))
    for start in range(70, 400, 10):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit(X[start : start + 10], Y[start : start + 10])
        found += [start + 10] * len(caught)
    return found


def test_the_second_batch_is_looked_at_and_then_doublings():
    """Predictions before a batch cost time."""
    model = clone(MODELS["vif"])
    assert looks(model) == [80, 160, 320]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:70], np.full(70, 5.0))
    with pytest.warns(ConvergenceWarning, match=SAYS):
        model.partial_fit(X[70:80], Y[70:80])


def test_single_rows_are_looked_at_together():
    """One outlier is no reason to begin again; eight far rows are."""
    model = begun(clone(MODELS["svgp"]), X[:100], Y[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(100, 108):
            model.partial_fit(X[k : k + 1], Y[k : k + 1] + 5.0 * (k == 104))


@pytest.mark.parametrize("n_rows", [1, 5])
def test_a_first_batch_of_few_rows_is_told(n_rows):
    """Kernel and noise were not learned, and later batches do not learn them: told once."""
    model = begun(clone(MODELS["svgp"]), X[:n_rows], Y[:n_rows])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(n_rows, 7):
            model.partial_fit(X[k : k + 1], Y[k : k + 1])
    with pytest.warns(ConvergenceWarning, match="first batch had fewer than 6 rows"):
        model.partial_fit(X[7:8], Y[7:8])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[8:40], Y[8:40])


def test_far_rows_at_regular_distances_count_as_what_they_are():
    """Every 24th row of hourly tables is the same hour."""
    t, y = RNG.uniform(0.0, 10.0, (1300, 1)), 0.1 * RNG.standard_normal(1300)
    far = np.isin(np.arange(1300), np.arange(100, 1300, 24))
    model = begun(clone(MODELS["svgp"]), t[:100], y[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(t[100:], (y + 50.0 * far)[100:])
    model = begun(clone(MODELS["svgp"]), t[:100], y[:100])
    with pytest.warns(ConvergenceWarning, match=SAYS):
        model.partial_fit(t[100:], (y + 50.0 * ~far)[100:])


def test_what_was_given_comes_from_no_batch():
    """Without learning there is nothing that another first batch would mend."""
    given = {"noise_variance": 1e-4, "noise_variance_bounds": "fixed", "normalize_y": False}
    fixed = SVGPRegressor(RBF(1.0, "fixed"), n_inducing=10, optimize_inducing=False, **given)
    for model in (fixed, SVGPRegressor(RBF(), n_inducing=10, optimizer=None, **given)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.partial_fit(X[:100], 0.0 * Y[:100]).partial_fit(X[100:], 100.0 * Y[100:])
    model = begun(clone(MODELS["svgp"]), X[:30], BEGINNINGS["constant"])
    with pytest.warns(ConvergenceWarning, match=SAYS):  # what was learned stays
        model.set_params(optimizer=None).partial_fit(X[100:], Y[100:])


def test_a_stream_follows():
    """A stream learns noise and kernel from each batch."""
    model = begun(StreamingSGPRegressor(n_inducing=15, random_state=0), X[:1], Y[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[1:], Y[1:])
