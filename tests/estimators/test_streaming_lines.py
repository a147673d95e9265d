"""Streams whose columns are lags: lines where rows speak for them, scales that few rows tie."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from stream_helpers import batches, taught

from sklearn_sgp import StreamingSGPRegressor


def lags_of(series, n_lags):
    """Last steps and the last value as columns, the next step as target."""
    steps, last = np.diff(series), np.arange(n_lags, len(series) - 1)
    columns = [steps[last - 1 - k] for k in range(n_lags - 1)]
    return np.column_stack([*columns, series[last]]), steps[last]


def oscillation(n, noise, seed=0):
    """Two cycles beside each other, which six lags tell exactly where there is no noise."""
    t = np.arange(n)
    return (
        np.sin(0.4 * t) + 0.5 * np.sin(1.1 * t) + noise * np.random.default_rng(seed).normal(size=n)
    )


def has_lines(model):
    return "Linear" in str(model.kernel_)


@pytest.fixture(scope="module")
def cycles():
    X, y = lags_of(oscillation(140, 0.0), 6)
    return X, y, taught(StreamingSGPRegressor(random_state=0), batches(X, y, 50, 80))


def test_lags_without_noise_are_lines(cycles):
    """What the last values tell exactly is a line; the choice is told."""
    X, y, _ = cycles
    model = StreamingSGPRegressor(random_state=0).partial_fit(X[:80], y[:80])
    assert has_lines(model)
    assert {one["candidate"] for one in model.choices_} == {"RBF", "RBF + Linear"}
    assert next(one for one in model.choices_ if one["taken"])["candidate"] == "RBF + Linear"
    off = model.predict(X[80:]) - y[80:]
    assert np.sqrt(np.mean(off**2)) < 1e-4 * y.std()
    told = model.choices_
    assert model.partial_fit(X[80:], y[80:]).choices_ == told  # nothing else was compared


def test_lines_stay_in_later_batches_and_after_a_restart(cycles):
    """The stream that is loaded goes on as the other one, to the last bit."""
    X, y, model = cycles
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        one.partial_fit(X[:30], y[:30])
    assert has_lines(again)
    assert_array_equal(again.predict(X), model.predict(X))


def test_lines_follow_the_units_of_y():
    """A stream in other units of y is the same stream, when later batches change their scale."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) * np.repeat([1.0, 3.0], 45)[:, None]
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=90)
    models = [
        taught(StreamingSGPRegressor(random_state=0, max_iter=5), batches(X, a * y + b, 30))
        for a, b in ((1.0, 0.0), (1e3, 50.0))
    ]
    assert all(has_lines(one) for one in models)
    (mean, std), (other, wide) = (one.predict(2.0 * X, return_std=True) for one in models)
    assert_allclose(other, 1e3 * mean + 50.0, rtol=1e-4, atol=1.0)
    assert_allclose(wide, 1e3 * std, rtol=1e-2)


@pytest.mark.parametrize("n_rows, function", [(20, np.sum), (60, lambda X, axis: np.zeros(len(X)))])
def test_few_rows_and_noise_are_no_lines(n_rows, function, rng):
    """Fewer rows than 25 are on too many lines, and lines must see a signal."""
    X = rng.normal(size=(n_rows, 3))
    y = function(X, axis=1) + rng.normal(size=n_rows)
    assert not has_lines(StreamingSGPRegressor(random_state=0).partial_fit(X, y))


def test_a_kernel_of_the_user_is_not_compared(rng):
    """What was given is what is learned."""
    X = rng.normal(size=(40, 2))
    model = StreamingSGPRegressor(RBF([1.0, 1.0]), random_state=0).partial_fit(X, X.sum(axis=1))
    assert not has_lines(model)
    assert not model.choices_


def test_few_rows_of_many_lags_do_not_choose_their_scales():
    """Forty rows, one lag of six counts: log densities of later rows, -1.66 with scales untied.

    The bound has no penalty for one more length scale, and finds those that set these rows apart.
    """
    densities = []
    for seed in range(4, 8):
        rng, series = np.random.default_rng(seed), np.zeros(300)
        for t in range(1, 300):
            series[t] = 0.5 * series[t - 1] + rng.normal()
        X, y = lags_of(series, 6)
        model = StreamingSGPRegressor(random_state=0).partial_fit(X[:40], y[:40])
        densities.append(model.log_density(X[40:], y[40:]).mean())
    assert np.mean(densities) > -1.58
