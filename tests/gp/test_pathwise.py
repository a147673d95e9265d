"""Functions drawn from the posterior: their moments over many draws."""

import pickle

import numpy as np
import pytest
from dense import (
    KERNELS,
    make_case,
    moments_of_information,
    predict,
    random_information,
    random_informations,
)
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.gp import pathwise
from sklearn_sgp.gp.pathwise import draw_functions

N_DRAWS = 20_000
# Standard errors that a sample moment may be off; all seeds are fixed.
ERRORS = 5.0


class ExactFeatures:
    """Features whose products are the kernel at some points, not on average but exactly."""

    def __init__(self, kernel, points):
        K = kernel(points) + 1e-10 * np.eye(len(points))
        self.points, self.rows = points, np.linalg.cholesky(K)

    def __call__(self, X):
        index = [int(np.flatnonzero((self.points == x).all(axis=1))[0]) for x in X]
        return self.rows[index]


def _points(case):
    """Some inducing inputs, inputs near them and one far from all."""
    return np.vstack([case.Z[:2], case.X[:3], [[9.0, 9.0]]])


def _draws(case, H, h, points, n_draws=N_DRAWS):
    return draw_functions(case.posterior(H, h), n_draws, np.random.RandomState(0))(points)


@pytest.fixture
def few_features(monkeypatch):
    """Random features that are not what a test is about."""
    monkeypatch.setattr(pathwise, "_N_FEATURES", 64)


def _expected(case, H, h, points):
    q = moments_of_information(case.matrices()[0], H, h)
    return predict(*case.test_matrices(points), *q)


def _assert_moments(draws, mean, covariance, slack=0.0):
    """Mean and covariance of draws (n, t, s) within their standard errors, and ``slack``."""
    std, n_draws = np.sqrt(np.diagonal(covariance)), draws.shape[2]
    for t in range(draws.shape[1]):
        mean_error = np.abs(draws[:, t].mean(axis=1) - mean[:, t]) / std
        assert mean_error.max() < ERRORS / np.sqrt(n_draws) + slack
        error = np.abs(np.cov(draws[:, t]) - covariance) / np.outer(std, std)
        assert error.max() < ERRORS * np.sqrt(2.0 / n_draws) + slack


@pytest.mark.parametrize("delta", [1e-6, 0.3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_moments_are_those_of_the_posterior(kernel, delta, monkeypatch):
    """With features that are the kernel itself, draws have exactly q's moments, large jitter too.

    At Z, near it and far from it, for several outputs.
    """
    case = make_case(kernel, delta=delta)
    points = _points(case)
    features = ExactFeatures(case.kernel, np.unique(np.vstack([case.Z, points]), axis=0))
    monkeypatch.setattr(pathwise, "prior_features", lambda *_: features)
    H, h = random_information(5, 2)
    _assert_moments(_draws(case, H, h, points), *_expected(case, H, h, points))


@pytest.mark.parametrize("kernel", ["rbf", "sum", "product"])
def test_random_features_come_close(kernel):
    """With random features only the prior part is approximate, so draws are nearly as exact."""
    case = make_case(kernel)
    points, (H, h) = _points(case), random_information(5, 2)
    draws = _draws(case, H, h, points, 5_000)
    _assert_moments(draws, *_expected(case, H, h, points), slack=0.1)


@pytest.mark.usefixtures("few_features")
def test_draws_at_certain_inducing_values():
    """Where the data leave nothing open about u, every draw goes through its mean at Z."""
    case = make_case(delta=1e-9)
    H, h = 1e8 * np.eye(5), 1e8 * np.ones((5, 1))
    draws = _draws(case, H, h, case.Z)
    mean = np.linalg.cholesky(case.matrices()[0]).sum(axis=1)
    assert_allclose(draws[:, 0], np.repeat(mean[:, None], N_DRAWS, axis=1), atol=2e-3)


@pytest.mark.usefixtures("few_features")
def test_outputs_and_draws_are_independent():
    """Outputs share a covariance but no randomness, and neither do successive draws."""
    case = make_case()
    draws = _draws(case, *random_information(5, 2), _points(case))
    first, second = draws[:, 0], draws[:, 1]
    limit = ERRORS / np.sqrt(N_DRAWS)
    for one, other in zip(first, second, strict=True):
        assert abs(np.corrcoef(one, other)[0, 1]) < limit
        assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < limit


@pytest.mark.usefixtures("few_features")
def test_a_draw_is_one_function():
    """Evaluated together, apart, again or after pickling, a draw has the same values."""
    case = make_case("columns")
    posterior, points = case.posterior(*random_information(5, 2)), _points(case)
    paths = draw_functions(posterior, 3, np.random.RandomState(0))
    values = paths(points)
    assert values.shape == (len(points), 2, 3)
    assert_array_equal(paths(points), values)
    assert_array_equal(pickle.loads(pickle.dumps(paths))(points), values)
    apart = np.concatenate([paths(points[i : i + 1]) for i in range(len(points))])
    assert_allclose(apart, values, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("few_features")
def test_the_seed_decides():
    """The same seed draws the same functions, another one others."""
    case = make_case()
    posterior = case.posterior(*random_information(5, 1))
    one, same, other = (
        draw_functions(posterior, 2, np.random.RandomState(seed))(case.X) for seed in (0, 0, 1)
    )
    assert_array_equal(one, same)
    assert np.abs(one - other).min() > 0.0


def test_outputs_with_precisions_of_their_own():
    """Where each output has an H of its own, its draws have the moments of its own q."""
    case = make_case()
    points, (H, h) = _points(case), random_informations(5, 2)
    draws = _draws(case, H, h, points, 5_000)
    for c in range(2):
        mean, covariance = _expected(case, H[c], h[:, c : c + 1], points)
        _assert_moments(draws[:, c : c + 1], mean, covariance, slack=0.1)
