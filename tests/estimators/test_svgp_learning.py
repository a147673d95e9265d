"""SVGPRegressor learns on every way through its stages, and ends where it is told to."""

import itertools
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from svgp_regressors import WAYS

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.engines.variational import schedule


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_learning_ends_in_a_good_model(wave, way):
    """All stages learn a sine from 600 rows, and their traces are complete and in order."""
    X, y = wave
    model = SVGPRegressor(n_inducing=15, random_state=0).set_params(**WAYS[way]).fit(X, y)
    assert model.score(X, y) > 0.97
    assert np.mean(np.abs(y - model.predict(X)) < 2.0 * model.predict_std(X)) > 0.9
    assert len(model.objectives_) == len(model.fit_times_) == model.n_iter_ >= 1
    assert np.isfinite(model.objectives_).all() and (np.diff(model.fit_times_) > 0).all()
    assert model.fit_times_[0] > 0
    assert model.objectives_[-1] == model.objective_
    assert (model.n_steps_ > 0) == (way == "adam")


def test_released_hyperparameters_do_not_throw_the_bound_down(wave):
    """No epoch of stochastic steps has a bound below that of the first, hyperparameters held."""
    for seed in range(3):
        model = SVGPRegressor(n_inducing=10, optimizer="adam", batch_size=100, random_state=seed)
        epochs = model.set_params(learning_rate=0.05).fit(*wave).objectives_[:-1]
        assert epochs[1:].min() > epochs[0]


def test_a_row_beyond_whole_batches_is_no_batch():
    """One row more than batches have changes neither how long nor how well is learned."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (201, 1))
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.standard_normal(201)
    model = SVGPRegressor(optimizer="adam", n_inducing=12, batch_size=100, random_state=0)
    model.set_params(learning_rate=0.03)
    whole, more = (clone(model).fit(X[:n], y[:n]) for n in (200, 201))
    assert 0.5 < more.n_iter_ / whole.n_iter_ < 2.0
    assert abs(more.objective_ / 201 - whole.objective_ / 200) < 0.03


def test_default_learning_raises_the_objective(wave):
    """Learning ends above the objective of the starting values, and finds the noise."""
    X, y = wave
    start = SVGPRegressor(n_inducing=15, optimizer=None, random_state=0).fit(X, y)
    model = clone(start).set_params(optimizer="auto").fit(X, y)
    assert model.objective_ > start.objective_ + 100.0
    assert_allclose(np.sqrt(model.noise_variance_) * model.y_scale_, 0.1, rtol=0.1)
    assert np.any(model.inducing_points_ != start.inducing_points_)


def test_warm_start(wave):
    """warm_start goes on from what the last fit learned; without it fit starts anew."""
    X, y = wave
    model = SVGPRegressor(n_inducing=10, max_iter=2, random_state=0)
    first = clone(model).fit(X, y).objective_
    assert clone(model).fit(X, y).fit(X, y).objective_ == first
    warm = clone(model).set_params(warm_start=True).fit(X, y)
    assert warm.objective_ == first
    assert warm.fit(X, y).objective_ > first + 1.0


def test_max_steps(wave):
    """max_steps ends the stochastic stage after so many steps."""
    model = SVGPRegressor(n_inducing=10, optimizer="adam", batch_size=100, max_steps=7)
    assert model.fit(*wave).n_steps_ == 7


@pytest.mark.parametrize("way", ["auto, few rows", "auto, growing subsets", "lbfgs", "adam"])
def test_max_time_ends_with_a_usable_model(wave, way, monkeypatch):
    """Learning that would not end by itself ends in its time, on all rows, with what it has."""
    readings = itertools.count()  # every look at the clock finds it a millisecond later
    monkeypatch.setattr(time, "perf_counter", lambda: 1e-3 * next(readings))
    model = SVGPRegressor(n_inducing=10, random_state=0).set_params(**WAYS[way])
    model.set_params(max_time=0.1, max_iter=100_000, tol=0.0, n_iter_no_change=10**9).fit(*wave)
    assert 0.02 < model.fit_times_[-1] < 0.15  # the finish looks at the clock, too
    assert model.score(*wave) > 0.5
    assert np.isfinite(model.objective_)


def test_max_time_that_all_rows_exceed(wave, monkeypatch):
    """If a pass over all rows does not fit, fewer rows count for all of them, with a warning."""
    X, y = np.tile(wave[0], (20, 1)), np.tile(wave[1], 20)
    model = SVGPRegressor(n_inducing=10, optimizer=None, random_state=0)
    whole = clone(model).fit(X, y)
    monkeypatch.setattr(schedule, "_finish_seconds", lambda *args: 1e6)
    with pytest.warns(ConvergenceWarning, match=r"max_time.* of them"):
        part = model.set_params(max_time=1e-3).fit(X, y)
    assert_allclose(part.predict(X), whole.predict(X), atol=0.1)
    assert_allclose(part.objective_, whole.objective_, rtol=0.1)


def test_verbose_prints(toy, capsys):
    """verbose=0 prints nothing, 1 a line for each stage, 2 one for every entry of the trace too."""
    model = SVGPRegressor(n_inducing=5, max_iter=3, random_state=0).fit(*toy)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).fit(*toy)
    learning, posterior, end = capsys.readouterr().out.splitlines()
    assert learning.endswith("s: learning from 60 of 60 rows, iteration 1 of at most 3")
    assert posterior.endswith(": q(u) from 60 of 60 rows")
    assert end.startswith("[SVGPRegressor] done in")
    assert end.endswith(f"s, objective {model.objective_:.6g}")
    model.set_params(verbose=2, max_time=1e4).fit(*toy)
    lines = capsys.readouterr().out.splitlines()
    assert all("s left)" in line for line in lines[:-1])
    entries = [line for line in lines if "entry" in line]
    assert len(entries) == len(model.objectives_) == len(lines) - 3
    assert f"{model.objective_:.6g}" in entries[-1]


def test_verbose_tells_of_growing_subsets(wave, capsys):
    """Each subset is a stage, and so are stochastic steps and rounds on the noise of each row."""
    X, y = wave
    model = SVGPRegressor(n_inducing=5, init_size=50, max_iter=3, random_state=0, verbose=1)
    said = ["learning from 50 of 600 rows", "100 of 600", "learning from 600 of 600", "q(u) from"]
    model.fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert all(words in line for words, line in zip(said, lines, strict=False))
    assert len(lines) == len(said) + 1
    model.set_params(optimizer="adam").fit(X, y)
    assert "stochastic steps of 1024 rows" in capsys.readouterr().out
    model.set_params(optimizer="auto", likelihood="heteroscedastic").fit(X, y)
    assert "noise of each row" in capsys.readouterr().out
