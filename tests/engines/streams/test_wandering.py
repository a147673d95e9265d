"""A level that wanders: its covariances, its exact predictions, and when it is chosen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams import wandering as wandering_levels
from sklearn_sgp.engines.streams.wandering import UNKNOWN_LEVEL, Exact, kernel_of, wandering
from sklearn_sgp.kernels._wandering import wandering_kernel


@pytest.mark.parametrize("step", [0.01, 1.0, 30.0])
def test_steps_have_variance_one(step):
    """Of the level its increments, of the trend those of its slope: second differences have 2/3."""
    at = 1e3 + step * np.arange(121)
    level, trend = wandering(at)
    first = np.diff(np.eye(121), axis=0)
    second = np.diff(first, axis=0)
    assert_allclose(np.diagonal(first @ level @ first.T), 1.0, rtol=1e-3)
    assert_allclose(np.diagonal(second @ trend @ second.T), 2.0 / 3.0, rtol=0.01)
    far = np.zeros(121)
    far[[0, -1]] = -1.0, 1.0
    assert_allclose(far @ level @ far, 120.0, rtol=0.05)  # a walk: variance grows with time


def test_the_kernel_has_these_covariances(rng):
    """Those of steps as given, besides a function of the other columns."""
    at = np.sort(rng.uniform(0.0, 50.0, 40))
    step = np.ptp(at) / 39
    level, trend = wandering(at)
    expected = 0.3 * level + 1e-3 * trend
    kernel = wandering_kernel(np.ones(1), 0, np.ptp(at), step, np.array([0.3, 1e-3]))
    assert_allclose(kernel(at[:, None]), expected, rtol=1e-10)
    X = np.column_stack([rng.normal(size=40), at])
    both = wandering_kernel(X.std(axis=0), 1, np.ptp(at), step, np.array([0.3, 1e-3]))
    X[:, 0] = 0.0
    assert_allclose(both(X), expected + 1.0, rtol=1e-10)


def test_predictions_are_those_of_a_dense_process(rng):
    """Evidence with the best amplitude, and mean and variance of rows to come."""
    A = rng.normal(size=(12, 12))
    process = Exact(A @ A.T, rng.uniform(0.5, 1.0, 12))
    y, to_come = rng.normal(size=(9, 1)), rng.normal(size=(3, 1))
    K = process.covariance + np.diag(process.noise)
    known, cross = K[:9, :9], K[9:, :9]
    value, amplitude = process.evidence(y)
    assert_allclose(amplitude, y[:, 0] @ np.linalg.solve(known, y[:, 0]) / 9)
    dense = multivariate_normal(np.zeros(9), amplitude * known).logpdf(y[:, 0])
    assert_allclose(value, dense + 0.5 * 9 * (np.log(2.0 * np.pi) + 1.0))
    residual, variance = process.prediction(y, amplitude, to_come)
    assert_allclose(residual, to_come - cross @ np.linalg.solve(known, y))
    left = K[9:, 9:] - cross @ np.linalg.solve(known, cross.T)
    assert_allclose(variance[:, 0], amplitude * np.diagonal(left))


def test_noise_of_the_rows_before_is_divided_by_their_weights(rng, monkeypatch):
    """So it is in both processes that are compared, the stream's own and the other one."""
    X, weight = np.arange(40.0)[:, None], rng.uniform(0.5, 3.0, 40)
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
    stream = StreamingSGPRegressor(n_inducing=10, max_iter=3, random_state=0)
    fitted = stream.partial_fit(X[:30], y[:30], sample_weight=weight[:30])._fitted
    units = fitted.targets.mean, fitted.targets.scale
    before, rows = (
        Rows(X[part], y[part, None], weight[part], *units) for part in (slice(30), slice(30, 40))
    )
    seen, best = [], wandering_levels._best

    def kept(processes, targets):
        seen.append(list(processes))
        return best(seen[-1], targets)

    monkeypatch.setattr(wandering_levels, "_best", kept)
    wandering_levels._said(fitted, before, rows, 0, False, 1)
    others, ((own, _),) = ([one[0] for one in seen[0]], seen[1])
    assert_allclose(own.noise * weight[:30], fitted.noise_variance, rtol=1e-12)
    for other in others:
        assert_allclose(other.noise * weight, other.noise[0] * weight[0], rtol=1e-12)


def test_a_column_grows_as_long_as_each_batch_lies_beyond():
    """The first such column is time, until a batch comes that is not beyond."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), np.arange(60.0), np.arange(60.0) ** 2])
    level = UNKNOWN_LEVEL.beyond(X[:20], X[20:40])
    assert level.time == 1 and level.beyond(X[:40], X[40:]).time == 1
    X[45, 1] = 3.0
    assert level.beyond(X[:40], X[40:]).time == 2
    assert not level.beyond(X[:40], X[20:40]).may_wander
    assert UNKNOWN_LEVEL.beyond(X[:0], X) is UNKNOWN_LEVEL


@pytest.mark.parametrize("walk, ratio", [(1.0, 0.01), (0.3, 1.0)])
def test_a_walk_begins_with_its_own_steps(walk, ratio):
    """What rows speak for is within the factor that candidates are apart, and many times repeated
    rows of one time are no harm."""
    rng = np.random.default_rng(1)
    y = np.cumsum(walk * rng.normal(size=200)) + np.sqrt(ratio) * rng.normal(size=200)
    X = np.arange(200.0)[:, None]
    kernel, noise = kernel_of(Rows(X, y[:, None], None, np.zeros(1), np.ones(1)), 0)
    at = np.array([[0.0], [1.0]])
    steps = 2.0 * (kernel.k1(at)[0, 0] - kernel.k1(at)[0, 1])
    assert walk**2 / 10 < steps < 10 * walk**2
    assert noise < 10 * max(ratio, walk**2)
    X = np.repeat([[0.0], [1.0]], [20, 180], axis=0)
    kernel, noise = kernel_of(Rows(X, y[:, None], None, np.zeros(1), np.ones(1)), 0)
    assert np.isfinite(kernel(X)).all() and np.isfinite(noise)
