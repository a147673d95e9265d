"""Levels that wander from batch to batch, where rows come at random places."""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.engines.streams.batch_levels import BatchLevels, filtered, parts_of

N = 60


def batches(level, seed, n_batches=14):
    """Yield batches of sines at random places, with a level for each row."""
    rng = np.random.default_rng(seed)
    levels = level(rng, N * n_batches)
    for k in range(n_batches):
        X = rng.uniform(0.0, 10.0, (N, 1))
        y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=N)
        yield X, y + levels[k * N : (k + 1) * N]


@cache
def streamed(level, seed, n_batches=14):
    """Return the stream, shares in 90 % bands and log densities before learning, from the sixth."""
    model, held, density = StreamingSGPRegressor(n_inducing=20, random_state=0), [], []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Batches should go on")
        for k, (X, y) in enumerate(batches(level, seed, n_batches)):
            if k > 5:
                mean, std = model.predict(X, return_std=True)
                held.append(np.mean(np.abs(y - mean) < 1.645 * std))
                density.append(model.log_density(X, y).mean())
            model.partial_fit(X, y)
    return model, np.mean(held or 0.0), np.mean(density or 0.0)


def slope(rng, n):
    return 0.4 / N * np.arange(n)


def walk(rng, n):
    return np.cumsum(0.05 * rng.normal(size=n))


def nothing(rng, n):
    return np.zeros(n)


@pytest.mark.quick_cases("walk--0.6")
@pytest.mark.parametrize("level, least", [(slope, -0.2), (walk, -0.6)])
def test_a_level_that_wanders_is_followed(level, least):
    """Nats a row: -0.01 and -0.33, where they were -2.40 and -0.95; with no level 0.17."""
    _, held, density = streamed(level, 0)
    assert density > least
    assert 0.8 < held < 0.98


@pytest.mark.slow
def test_a_level_that_stays_is_left_alone(monkeypatch):
    """To the bit."""
    with monkeypatch.context() as patch:
        patch.setattr(BatchLevels, "after", lambda self, X, level, *_: (self, level[0] * 0.0))
        plain = streamed.__wrapped__(nothing, 1, 6)[0]
    model = streamed.__wrapped__(nothing, 1, 6)[0]
    grid = np.linspace(0.0, 10.0, 7)[:, None]
    for a, b in zip(
        model.predict(grid, return_std=True), plain.predict(grid, return_std=True), strict=True
    ):
        assert_array_equal(a, b)


def test_rows_in_an_order_tell_nothing():
    """With time or earlier values among the inputs the function may be what moved."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(60.0), rng.normal(size=60)])
    assert parts_of(X) is None
    assert_array_equal(np.bincount(parts_of(X[:, 1:])), [15, 15, 15, 15])
    assert_array_equal(parts_of(X[:20, 1:]), np.zeros(20))


def series_of(levels):
    k = np.arange(len(levels))
    return k - 1.0, 60.0 * k - 30.0, 60.0 * k, levels, np.full(len(levels), 0.01)


def test_a_series_of_levels():
    """One that stays says nothing, a slope is gone along with, a walk has its steps' variance."""
    rng = np.random.default_rng(0)
    assert filtered(*series_of(0.1 * rng.normal(size=11))) is None
    now, ahead, variance = filtered(*series_of(np.arange(11.0)))
    assert_allclose([now, ahead], [10.0, 1.0], atol=0.1)
    assert variance < 0.1
    *parts, variances = series_of(np.arange(11.0))
    variances[-2:] = np.inf  # batches without this output
    unseen = filtered(*parts[:3], np.append(np.arange(9.0), [0.0, 0.0]), variances)
    assert_allclose(unseen[:2], [10.0, 1.0], atol=0.1)
    assert unseen[2] > variance
    variances = [filtered(*series_of(np.cumsum(rng.normal(size=11))))[2] for _ in range(40)]
    assert 0.7 < np.median(variances) < 2.0


def test_what_is_predicted_has_a_level_in_common():
    """Joint covariances, draws and deviations agree, and the stream goes on after a restart."""
    model = pickle.loads(pickle.dumps(streamed(walk, 0)[0]))
    variance = model._fitted.state.levels.variance
    assert variance > 0.0
    X = np.array([[1.0], [9.0]])
    _, covariance = model.predict(X, return_cov=True)
    assert_allclose(np.sqrt(np.diag(covariance)), model.predict(X, return_std=True)[1])
    assert covariance[0, 1] > 0.5 * variance[0]
    draws = model.sample_y(X, 4000, random_state=0)
    assert_allclose(np.cov(draws)[0, 1], covariance[0, 1], rtol=0.15)
    again = pickle.loads(pickle.dumps(model))
    X, y = next(batches(walk, 5))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Batches should go on")
        assert_array_equal(model.partial_fit(X, y).predict(X), again.partial_fit(X, y).predict(X))
    assert np.isfinite(model.predict_gradient(X[:2])).all()


def test_a_quiet_start_is_no_level():
    """What begins to vary after a sensor was silent has not moved."""
    model = StreamingSGPRegressor(n_inducing=20, random_state=0)
    for k, (X, y) in enumerate(batches(nothing, 2, 7)):
        model.partial_fit(X, np.full(N, 0.7) if k < 2 else y)
    assert not np.any(model._fitted.state.levels.moved)


def test_rows_that_hardly_count_tell_of_no_level():
    """What has a weight of a millionth, at any level, moves nothing."""
    model, rng = StreamingSGPRegressor(n_inducing=20, random_state=0), np.random.default_rng(3)
    for X, y in batches(slope, 0, 6):
        both = np.vstack([X, rng.uniform(0.0, 10.0, (N, 1))])
        targets = np.append(y, 3.0 * rng.normal(size=N))
        model.partial_fit(both, targets, sample_weight=np.repeat([1.0, 1e-6], N))
    levels = model._fitted.state.levels
    assert levels.moved > 1.0
    assert levels.variance < 0.05


def test_a_level_goes_on_while_an_output_is_missing():
    """And batches in which rows lack an output are scored by what is predicted, its level too."""
    model = StreamingSGPRegressor(n_inducing=20, random_state=0)
    for k, (X, y) in enumerate(batches(slope, 0, 9)):
        both = np.column_stack([y, y])
        both[slice(None) if k in (6, 7) else slice(0, None, 3), 1] = np.nan
        mean, std = model.predict(X, return_std=True) if k else (both, both)
        density = np.nansum(norm.logpdf(both, mean, std), axis=1).mean() if k else 0.0
        model.partial_fit(X, both)
    assert model._fitted.state.levels.moved[1] > 2.0
    assert abs(np.mean(y - mean[:, 1])) < 0.3
    assert_allclose(model.batch_log_densities_[-1], density)
