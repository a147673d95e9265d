"""Length scales shorter than those that were found, where rows ask for them."""

from dataclasses import replace

import numpy as np
import pytest
from dense import make_parameters
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.engines.streams.shorter_scales import (
    _RATIOS,
    _best,
    _evidence,
    _near,
    _with_less_noise,
    better_start,
)


def fast(rng, n=200):
    X = rng.uniform(0.0, 6.0, (n, 1))
    return X, np.sin(16.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def test_amplitude_and_noise_are_the_best_ones(rng):
    """The evidence is that of the dense process, up to a constant, and no other is better."""
    X, y = fast(rng, 40)
    parameters = make_parameters(ConstantKernel(1.7) * RBF(0.1), X[:5], 0.3)
    value, found = _best(parameters, X, y[:, None])
    K = RBF(0.1)(X)

    def evidence(log_amplitude, ratio):
        covariance = np.exp(log_amplitude) * (K + ratio * np.eye(40))
        return multivariate_normal(cov=covariance).logpdf(y)

    best = max(
        -minimize_scalar(lambda a, r=r: -evidence(a, r), bounds=(-9, 9), method="bounded").fun
        for r in _RATIOS
    )
    amplitude = np.exp(found.theta[0])
    assert_allclose(evidence(found.theta[0], found.noise_variance / amplitude), best, rtol=1e-6)
    assert_allclose(value, best + 20.0 * (1.0 + np.log(2.0 * np.pi)), rtol=1e-6)
    assert_allclose(found.theta[1], np.log(0.1))


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_noise_is_no_reason_and_a_fast_function_is(rng, shift):
    """Where rows ask for shorter length scales, these come back; otherwise none do."""
    X, y = fast(rng)
    y = y if shift else rng.permutation(y)
    fitted = StreamingSGPRegressor(max_iter=1).partial_fit(X, y)._fitted
    start = replace(fitted.start, parameters=fitted.start.parameters)
    model = StreamingSGPRegressor().partial_fit(X, y)
    rows = model._later_rows((X, None, None), y, None)
    found = better_start(start, start.parameters, rows, 20)
    assert (found is not None) == bool(shift)
    if shift:
        assert np.exp(found.theta[1]) < 0.3 * np.exp(start.parameters.theta[1])


def test_other_kernels_and_few_rows_are_left_alone(rng):
    """A kernel that was given has the length scales that it was given."""
    X, y = fast(rng)
    given = StreamingSGPRegressor(ConstantKernel() * RBF(1.0), max_iter=1).partial_fit(X, y)
    rows = given._later_rows((X, None, None), y, None)
    start = given._fitted.start
    assert better_start(start, start.parameters, rows, 20) is None
    start = StreamingSGPRegressor(max_iter=1).partial_fit(X, y)._fitted.start
    assert better_start(start, start.parameters, rows, 20) is not None
    assert better_start(start, start.parameters, rows.select(np.arange(19)), 20) is None


@pytest.mark.parametrize("frequency", [1.0, 16.0])
def test_one_broken_reading_is_no_fast_function(frequency, rng):
    """The rows without those farthest off must ask for shorter length scales as well."""
    X = rng.uniform(0.0, 6.0, (160, 1))
    y = np.sin(frequency * X[:, 0]) + 0.1 * rng.standard_normal(160)
    y[63] += 8.0
    model = StreamingSGPRegressor(max_iter=1).partial_fit(X, y)
    start = model._fitted.start
    rows = model._later_rows((X, None, None), y, None)
    found = better_start(start, start.parameters, rows, 20)
    assert (found is not None) == (frequency > 1.0)


def test_rows_farthest_from_what_the_others_predict_are_left_out(rng):
    """Residuals are those of leaving each row out, in deviations of the dense prediction."""
    X, y = fast(rng, 40)
    parameters = make_parameters(ConstantKernel(1.7) * RBF(0.1), X[:5], 0.3)
    K = parameters.kernel.gram(X) + 0.3 * np.eye(40)
    far = np.empty(40)
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        weights = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, i])
        far[i] = abs(y[i] - weights @ y[rest]) / np.sqrt(K[i, i] - weights @ K[rest, i])
    assert_allclose(_near(parameters, X, y[:, None]), np.sort(np.argsort(far)[:38]))


@pytest.mark.parametrize("noise", [1e-5, 0.5])
def test_repeated_rows_can_prove_that_there_is_less_noise(noise, rng):
    """Parameters whose noise is too large come back with less; those that are right do not."""
    X = np.linspace(0.0, 6.0, 30)[rng.integers(0, 30, 80)][:, None]
    y = np.sin(X[:, 0])[:, None] + noise * rng.standard_normal((80, 1))
    found = make_parameters(ConstantKernel(1.0) * RBF(1.0), X[:5], 0.25)
    better = _with_less_noise(found, _best(found, X, y), X, y)
    assert (better is not None) == (noise < 0.1)
    if better is not None:
        assert better.noise_variance < 1e-2
        assert_allclose(better.theta[1], found.theta[1])


def test_evidence_is_that_of_the_dense_process(rng):
    """Up to the constant that the best amplitude's has as well."""
    X, y = fast(rng, 40)
    found = _best(make_parameters(ConstantKernel(1.7) * RBF(0.1), X[:5], 0.3), X, y[:, None])
    assert_allclose(_evidence(found[1], X, y[:, None]), found[0], rtol=1e-9)
