"""Later batches make models of near rows better, as many rows at once would."""

import pickle

import numpy as np
import pytest
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor

KERNEL = ConstantKernel(1.0) * RBF(0.3) + ConstantKernel(0.1) * RBF(0.06)
GIVEN = {"kernel": KERNEL, "n_inducing": 30, "optimizer": None, "random_state": 0}
NUMBERS = {"noise_variance": 0.0025, "normalize_y": False}
MODELS = [{"model": "vif"}, {"model": "pic", "block_size": 100}, {"model": "lma", "block_size": 60}]


def truth(X):
    fine = 0.3 * np.sin(25.0 * X[:, 0] + 20.0 * X[:, 1])
    return np.sin(6.0 * X[:, 0]) * np.cos(6.0 * X[:, 1]) + fine


def table(rng):
    X, T = rng.uniform(0.0, 2.0, (2400, 2)), rng.uniform(0.0, 2.0, (500, 2))
    return X, truth(X) + 0.05 * rng.standard_normal(2400), T


@pytest.fixture
def rows(rng):
    return table(rng)


def error(model, T):
    return np.sqrt(np.mean((model.predict(T) - truth(T)) ** 2))


@pytest.mark.quick_cases("ends0-pic")
@pytest.mark.parametrize("model", MODELS, ids=lambda one: one["model"])
@pytest.mark.parametrize(
    "ends",
    [
        (200, 600, 1000, 2400),
        pytest.param(tuple(range(120, 2401, 120)), marks=pytest.mark.slow),
    ],
)
def test_batches_in_any_split_are_as_good_as_all_rows(model, ends):
    """Errors fall with the batches, and end where those of one fit are, in the mean of tables.

    Parts of a chain's cells in no order had errors of the function that were 11% larger.
    """
    shares = []
    for seed in range(6):
        X, y, T = table(np.random.default_rng(seed))
        ours, errors = AnytimeSGPRegressor(**GIVEN, **NUMBERS, **model), []
        whole = AnytimeSGPRegressor(**GIVEN, **NUMBERS, **model).fit(X, y)
        for lo, hi in zip((0, *ends), ends, strict=False):
            ours.partial_fit(X[lo:hi], y[lo:hi])
            errors.append(error(ours, T))
        steps = errors[:: max(1, len(errors) // 4)]
        assert (np.diff(steps) < 0.0).all()
        shares.append(errors[-1] / error(whole, T))
    assert np.mean(shares) < 1.05 + np.std(shares, ddof=1) / np.sqrt(len(shares))


@pytest.mark.quick_cases("pic")
@pytest.mark.parametrize("model", MODELS, ids=lambda one: one["model"])
def test_batches_in_the_order_of_a_column(model):
    """Regions that come one after the other are known as well as if they had come at once."""
    shares = []
    for seed in range(6):
        X, y, T = table(np.random.default_rng(seed))
        given = {**GIVEN, **NUMBERS, **model, "inducing": X[::80]}
        ours, whole = AnytimeSGPRegressor(**given), AnytimeSGPRegressor(**given).fit(X, y)
        for some in np.array_split(np.argsort(X[:, 0]), 8):
            ours.partial_fit(X[some], y[some])
        shares.append(error(ours, T) / error(whole, T))
    assert np.mean(shares) < 1.05 + np.std(shares, ddof=1) / np.sqrt(len(shares))


@pytest.mark.parametrize(
    "named",
    [{"alpha_epsilon": 0.01}, pytest.param({"likelihood": "probit"}, marks=pytest.mark.slow)],
)
def test_classes_of_batches(rows, named):
    """Later labels make probabilities better, by regressions of labels and by sites."""
    X, _, T = rows
    label, expected = (truth(X) > 0.0).astype(int), (truth(T) > 0.0).astype(int)
    ours, scores = AnytimeSGPClassifier(**GIVEN, **named), []
    for lo, hi in ((0, 200), (200, 600), (600, 2400)):
        ours.partial_fit(X[lo:hi], label[lo:hi], classes=[0, 1])
        scores.append(ours.log_density(T, expected).mean())
    whole = AnytimeSGPClassifier(**GIVEN, **named).fit(X, label)
    assert (np.diff(scores) > 0.0).all()
    assert ours.score(T, expected) > whole.score(T, expected) - 0.015
    assert scores[-1] > whole.log_density(T, expected).mean() - 0.02


@pytest.mark.parametrize("size", [1, 11, 40])
def test_rows_far_from_all_others_are_known(rng, size):
    """A few rows in places of their own are near rows there, however few come at a time."""
    kernel, middles = ConstantKernel(1.0) * RBF(1.0), np.array([[50.0, 50.0], [50.0, -50.0]])
    far = np.repeat(middles, 20, axis=0) + rng.standard_normal((40, 2))
    T = np.repeat(middles, 30, axis=0) + 0.5 * rng.standard_normal((60, 2))
    X = np.vstack([rng.uniform(0.0, 3.0, (1500, 2)), far[rng.permutation(40)]])
    f = lambda X: np.sin(X[:, 0]) + np.cos(X[:, 1])  # noqa: E731
    y = f(X) + 0.05 * rng.standard_normal(1540)
    given = {**GIVEN, **NUMBERS, "kernel": kernel}
    whole = AnytimeSGPRegressor(**given).fit(X, y)
    ours = AnytimeSGPRegressor(**given).partial_fit(X[:1500], y[:1500])
    for lo in range(1500, 1540, size):
        ours.partial_fit(X[lo : lo + size], y[lo : lo + size])
    errors = [np.sqrt(np.mean((one.predict(T) - f(T)) ** 2)) for one in (ours, whole)]
    assert errors[0] < 1.05 * errors[1] < 0.3


@pytest.mark.parametrize("named, largest", [("lma", 3 * 75), ("vif", 300 + 75)])
def test_what_is_factorised_together_does_not_grow(rows, named, largest):
    """Cells of a chain are split: groups and test rows are given a bounded number of rows."""
    X, y, _ = rows
    ours = AnytimeSGPRegressor(model=named, block_size=50, n_neighbors=100, **GIVEN, **NUMBERS)
    for lo in range(0, 2400, 150):
        ours.partial_fit(X[lo : lo + 150], y[lo : lo + 150])
    blocks = fitted(ours).state.blocks
    assert blocks.largest <= largest
    numbers = fitted(ours).state.partition.assign(X)
    assert max(len(near) for near in blocks.near(np.unique(numbers))) <= largest
    assert np.bincount(numbers).max() < 150


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one["model"])
def test_saved_models_go_on(rows, model):
    """A batch after a pickle does what it does without, and leaves the model before as it was."""
    X, y, T = rows
    ours = AnytimeSGPRegressor(**GIVEN, **NUMBERS, **model).partial_fit(X[:300], y[:300])
    ours.partial_fit(X[300:700], y[300:700])
    before, expected = fitted(ours), ours.predict(T)
    again = pickle.loads(pickle.dumps(ours))
    assert_array_equal(again.predict(T), expected)
    for one in (ours, again):
        one.partial_fit(X[700:1300], y[700:1300])
    assert_array_equal(again.predict(T), ours.predict(T))
    ours._fitted = before
    assert_array_equal(ours.predict(T), expected)


@pytest.mark.parametrize("kind", [AnytimeSGPRegressor, AnytimeSGPClassifier])
def test_weights_of_later_batches_are_repetitions(kind, rng):
    """Copies took the places of other rows near by: probabilities were .5 apart."""
    X = rng.normal(size=(500, 3))
    y = np.sin(2.0 * X[:, 0]) + np.cos(3.0 * X[:, 1]) + 0.3 * rng.normal(size=500)
    y = (y > 0.4).astype(int) if kind is AnytimeSGPClassifier else y
    batch, copies = slice(100, 300), np.repeat(np.arange(100, 300), 3)
    one, other = (
        kind(n_inducing=20, max_iter=5, random_state=0).fit(X[:100], y[:100]) for _ in range(2)
    )
    one.partial_fit(X[batch], y[batch], sample_weight=np.full(200, 3.0))
    other.partial_fit(X[copies], y[copies])
    assert other.n_samples_seen_ == 700 and one.n_samples_seen_ == 300
    ask = "predict_proba" if kind is AnytimeSGPClassifier else "predict"
    assert_allclose(getattr(one, ask)(X[300:]), getattr(other, ask)(X[300:]), atol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        AnytimeSGPClassifier(likelihood="dirichlet"),
        AnytimeSGPRegressor(likelihood="student_t"),
    ],
    ids=["regressions of labels", "student_t"],
)
def test_copies_whose_noise_is_their_own_are_merged(model, rng):
    """They have equal precisions, and were other near rows."""
    X = rng.normal(size=(340, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=340)
    y = (y > 0.0).astype(int) if isinstance(model, AnytimeSGPClassifier) else y
    model = clone(model).set_params(n_inducing=20, max_iter=3, random_state=0)
    batch, copies = slice(100, 240), np.repeat(np.arange(100, 240), 3)
    one, other = (clone(model).fit(X[:100], y[:100]) for _ in range(2))
    one.partial_fit(X[batch], y[batch], sample_weight=np.full(140, 3.0))
    other.partial_fit(X[copies], y[copies])
    ask = "predict_proba" if isinstance(model, AnytimeSGPClassifier) else "predict"
    assert_allclose(getattr(one, ask)(X[240:]), getattr(other, ask)(X[240:]), atol=1e-3)
