"""Fits of one to five rows, which say nothing of a kernel, and little of its scale."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

EVERY = pytest.mark.parametrize(
    "estimator", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor]
)


def draws(n, count):
    """Draws of a smooth function of any mean and unit: n rows of it, and 40 new ones beside."""
    for seed in range(count):
        rng = np.random.default_rng(1000 * n + seed)
        X = rng.uniform(size=(n + 40, 3))
        squares = ((X[:, None] - X[None]) ** 2).sum(axis=2) / 0.7**2
        K = np.exp(-0.5 * squares) + 1e-8 * np.eye(len(X))
        f = np.linalg.cholesky(K) @ rng.normal(size=len(X))
        unit = 10 ** rng.uniform(-2, 2)
        y = unit * (3.0 * rng.normal() + f + 0.1 * rng.normal(size=len(X)))
        yield X[:n], y[:n], X[n:], y[n:]


@pytest.mark.quick_cases(
    "1-*", "3-SVGPRegressor", "5-StreamingSGPRegressor", "2-AnytimeSGPRegressor"
)
@EVERY
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_bands_of_few_rows(estimator, n):
    """90 % bands held 0.2, 0.5, 0.7 and 0.6 of the new rows, as if their scale were known."""
    held = []
    for X, y, new, truth in draws(n, 10):
        mean, std = estimator(random_state=0).fit(X, y).predict(new, return_std=True)
        held.append(np.mean(np.abs(truth - mean) < 1.645 * std))
    assert np.mean(held) > 0.8


@EVERY
@pytest.mark.parametrize("likelihood", ["student_t", "heteroscedastic", "auto"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_bands_of_few_rows_with_other_noise(estimator, likelihood, n):
    """Bands of `SVGPRegressor` held .37 to .75, and those of streams with tails .39 to .75."""
    held, model = [], estimator(likelihood=likelihood, random_state=0)
    for X, y, new, truth in draws(n, 10):
        low, high = model.fit(X, y).predict_quantiles(new, [0.05, 0.95]).T
        held.append(np.mean((low < truth) & (truth < high)))
    assert np.mean(held) > 0.8


@EVERY
@pytest.mark.quick_cases("1-poisson-*", "2-negative_binomial-SVGPRegressor")
@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_bands_of_few_counts(estimator, likelihood, n):
    """The bound of few rows has no function at all: 90 % bands of SVGP models held .57 to .79."""
    held, model = [], estimator(likelihood=likelihood, random_state=0)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, new = rng.uniform(-2.0, 2.0, (n, 1)), rng.uniform(-2.0, 2.0, (100, 1))
        y, truth = (rng.poisson(np.exp(1.5 + np.sin(2.0 * x[:, 0]))) for x in (X, new))
        low, high = model.fit(X, y).predict_quantiles(new, [0.05, 0.95]).T
        held.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(held) > 0.88


@EVERY
@pytest.mark.quick_cases("1-*", "3-StreamingSGPRegressor")
@pytest.mark.parametrize("n", [1, 3])
def test_bands_of_few_counts_in_categories(estimator, n):
    """Levels of categories have no scale of their own either: bands held .49 to .85."""
    held, model = [], estimator(likelihood="poisson", categorical_features=[1], random_state=0)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        levels, (X, new) = 0.7 * rng.normal(size=3), (rng.uniform(-2, 2, (k, 2)) for k in (n, 200))
        for x in (X, new):
            x[:, 1] = rng.integers(0, 3, len(x))
        rates = (np.exp(1.5 + np.sin(2 * x[:, 0]) + levels[x[:, 1].astype(int)]) for x in (X, new))
        y, truth = map(rng.poisson, rates)
        low, high = model.fit(X, y).predict_quantiles(new, [0.05, 0.95]).T
        held.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(held) > 0.86


@EVERY
@pytest.mark.parametrize("likelihood", ["gaussian", "student_t", "auto"])
def test_warm_start_of_few_rows_begins_anew(estimator, likelihood):
    """A guess that was not learned is no earlier fit: the second of one row took it for one."""
    X, y, new, _ = next(draws(2, 1))
    model = estimator(likelihood=likelihood, warm_start=True, random_state=0)
    once = model.fit(X, y).predict_std(new)
    assert_allclose(model.fit(X, y).predict_std(new), once, rtol=1e-9)


@pytest.mark.slow
@EVERY
@pytest.mark.quick_cases("StreamingSGPRegressor")
def test_few_rows_after_more_keep_what_these_learned(estimator):
    """They learn nothing, and a third fit goes on from there; bands of two rows held .51 to .55.

    Nor are they wider with each fit: deviations of the fourth were 4.7 times those of the second.
    """

    def correlations():
        return model.kernel_(new) / model.kernel_.diag(new)[:, None]

    held, model = [], estimator(warm_start=True, random_state=0)
    for X, y, new, truth in draws(2, 10):
        model._fitted = None
        model.fit(new, truth)
        learned = correlations()
        mean, std = model.fit(X, y).predict(new, return_std=True)
        assert_allclose(correlations(), learned)
        assert_allclose(model.fit(X, y).predict_std(new), std, rtol=1e-4)
        assert_allclose(correlations(), learned)
        held.append(np.mean(np.abs(truth - mean) < 1.645 * std))
    assert np.mean(held) > 0.8


@pytest.mark.parametrize("n_restarts", [0, 1])
@pytest.mark.parametrize("options", [{"n_inducing": 2}, {"warm_start": True}])
def test_few_counts_with_inducing_inputs_of_their_own(options, n_restarts, rng):
    """These are all that could be learned, which sites near rows do not: a `ValueError`."""
    X, y = rng.uniform(-2.0, 2.0, (30, 1)), rng.poisson(3.0, 30)
    model = AnytimeSGPRegressor(
        likelihood="poisson", n_restarts_optimizer=n_restarts, random_state=0, **options
    )
    if "warm_start" in options:
        model.fit(X, y)
    assert np.isfinite(model.fit(X[:3], y[:3]).predict_std(X)).all()
    fixed = model.set_params(kernel=ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed"))
    assert np.isfinite(fixed.set_params(n_inducing=4).fit(X, y).predict_std(X)).all()


@pytest.mark.parametrize("estimator", [SVGPRegressor, AnytimeSGPRegressor])
def test_batches_after_a_warm_start_of_few_rows(estimator):
    """Kernel and noise were learned before: no batch is told that they were not."""
    X, y, new, truth = next(draws(2, 1))
    model = estimator(warm_start=True, random_state=0).fit(new, truth).fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The first batch had fewer than")
        model.partial_fit(new[:20], truth[:20]).partial_fit(new[20:], truth[20:])


@EVERY
def test_one_row_in_any_unit(estimator):
    """The deviation far away is in proportion to the row, and that of a row of zero is finite."""
    X, far = np.array([[2.0, 3.0]]), np.array([[500.0, 3.0]])
    one, many = (estimator(random_state=0).fit(X, [y]).predict_std(far) for y in (0.02, 2000.0))
    assert_allclose(many / one, 1e5, rtol=1e-6)
    assert one > 0.02
    assert 1.0 < estimator(random_state=0).fit(X, [0.0]).predict_std(far) < 10.0


@EVERY
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("size", [1e-200, 1e-6, 1e98])
def test_equal_targets_in_any_unit(estimator, n, size):
    """Three equal targets of 1e98 were followed by intervals of +-5, those of 1e-100 by the same.

    One of 1e98 had an OverflowError, one of 1e-200 a kernel of variance 0.
    """
    X, far = np.arange(2.0 * n).reshape(n, 2), np.array([[500.0, 3.0]])
    mean, std = estimator(random_state=0).fit(X, np.full(n, size)).predict(far, return_std=True)
    assert_allclose(mean, size)
    assert size <= std < 10.0 * max(size, 1e-146)


@pytest.mark.filterwarnings("ignore:The optimal value found")
def test_what_was_given_is_learned():
    """A kernel that is given is learned from any number of rows, a default one from six."""
    X = np.arange(6.0)[:, None]
    y = np.sin(X[:, 0])
    few = SVGPRegressor(ConstantKernel() * RBF(9.0), noise_variance=1e-3, random_state=0)
    assert few.fit(X[:5], y[:5]).kernel_.k2.length_scale < 5.0
    held, learned = (SVGPRegressor(random_state=0).fit(X[:n], y[:n]) for n in (5, 6))
    assert held.n_iter_ == 1
    assert learned.n_iter_ > 1
