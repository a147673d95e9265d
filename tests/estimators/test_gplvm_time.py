"""`max_time` of BayesianGPLVM, by a clock that moves with the work on rows, not with seconds."""

import time

import numpy as np
import pytest

from sklearn_sgp import BayesianGPLVM
from sklearn_sgp.latents import squared_exponential

# What the clock says an expectation of a row takes, and its reverse mode.
FORWARD, REVERSE = 1e-4, 2e-4
N = 150


@pytest.fixture
def clock(monkeypatch):
    """A clock that only expectations of rows move; returns a function that reads it."""
    now = [0.0]

    def counted(method, seconds):
        def call(self, mean, *args, **kwargs):
            now[0] += seconds * len(mean)
            return method(self, mean, *args, **kwargs)

        return call

    kind = squared_exponential.SquaredExponential
    monkeypatch.setattr(kind, "rows", counted(kind.rows, FORWARD))
    monkeypatch.setattr(kind, "reverse", counted(kind.reverse, REVERSE))
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return lambda: now[0]


def rows(n=N, missing=0.1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    Y = np.sin(X @ rng.normal(size=(2, 6))) + 0.1 * rng.normal(size=(n, 6))
    Y[rng.random(Y.shape) < missing] = np.nan
    return Y


@pytest.mark.quick_cases("size0-0.0")
@pytest.mark.parametrize("missing", [0.0, pytest.param(0.1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("size", [{}, {"init_size": 80, "batch_size": 50}, {"optimizer": "adam"}])
def test_a_fit_ends_in_time(clock, missing, size):
    """A fit that would take much longer ends by ``max_time``, after learning for part of it."""
    Y, chosen = rows(missing=missing), {"n_inducing": 8, "random_state": 0, "n_jobs": 1, **size}
    unlimited = BayesianGPLVM(2, max_iter=40, **chosen).fit(Y)
    needed = clock()
    for share in (0.5, 0.2):
        begin = clock()
        model = BayesianGPLVM(2, max_iter=40, max_time=share * needed, **chosen).fit(Y)
        took = clock() - begin
        assert took < 1.1 * share * needed
        assert took > 0.5 * share * needed
        assert model.embedding_.shape == (N, 2) and np.isfinite(model.impute(Y)).all()
        assert model.n_iter_ <= unlimited.n_iter_


def test_too_little_time_costs_some_passes(clock):
    """However little time there is, all rows are met, and little else is done."""
    Y = rows()
    chosen = {"n_inducing": 8, "random_state": 0, "n_jobs": 1}
    model = BayesianGPLVM(2, max_time=1e-9, **chosen).fit(Y)
    passes = clock() / (N * (FORWARD + REVERSE))
    assert passes < 20.0
    assert model.embedding_.shape == (N, 2) and np.isfinite(model.objective_)
    model.partial_fit(Y[:50])
    assert model.n_samples_seen_ == N + 50 and np.isfinite(model.fit_times_).all()


@pytest.mark.parametrize("batch_size", [50, 1024])
def test_later_batches_end_in_time(clock, batch_size):
    """`partial_fit` counts all rows of a batch, and spends no more than ``max_time`` on them."""
    Y = rows(300)
    chosen = {"n_inducing": 8, "max_iter": 30, "random_state": 0, "n_jobs": 1}
    model = BayesianGPLVM(2, batch_size=batch_size, **chosen).fit(Y[:100])
    begin = clock()
    model.partial_fit(Y[100:200])
    needed = clock() - begin
    for share in (0.5, 0.35):
        begin = clock()
        model.set_params(max_time=share * needed).partial_fit(Y[100:200])
        assert clock() - begin < 1.15 * share * needed
    assert model.n_samples_seen_ == 400 and model.embedding_.shape == (400, 2)
