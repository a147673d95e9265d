"""Which rows a fit learns from, with which weights, and in how many runs."""

from types import SimpleNamespace

import numpy as np
import pytest
from dense import make_settings
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines import ascent
from sklearn_sgp.engines.base import Problem
from sklearn_sgp.engines.start import Choices, start
from sklearn_sgp.engines.variational import schedule, warm_start
from sklearn_sgp.engines.variational.inference import inference_for
from sklearn_sgp.likelihoods import Gaussian, StudentT
from sklearn_sgp.optimize.budget import MIN_SECONDS, Budget
from sklearn_sgp.optimize.progress import Clock, Trace


def make_rows(n, weighted=False, noise=0.1):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(3.0 * X[:, :1]) + noise * rng.standard_normal((n, 1))
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    return Rows(X, y, weight, np.zeros(1), np.ones(1))


def make_problem(rows, likelihood=None, clock=None, on_iteration=None, **settings):
    """A fit of a squared exponential kernel with few inducing inputs."""
    likelihood = likelihood or Gaussian()
    rng = np.random.RandomState(0)
    choices = Choices(1.0 * RBF(0.7), 5, "kmeans", True, noise_variance_bounds=(1e-6, 1e3))
    started = start(rows, choices, likelihood, rng)
    trace = Trace(clock or Clock(), on_iteration)
    inference = inference_for(likelihood, rows.y.shape[1])
    return Problem(rows, started, inference, make_settings(**settings), trace, rng)


@pytest.mark.parametrize(
    "n_rows, affordable, sizes",
    [
        (101, np.inf, [101]),
        (250, np.inf, [250]),
        (301, np.inf, [200, 301]),
        (2000, np.inf, [200, 2000]),
        (2500, np.inf, [200, 1600]),
        (2500, 1000, [200, 1000]),
        (2500, 250, [200]),
        (2500, 150, [150]),
        (2500, 90, [100]),
        (2500, 10, [100]),
    ],
)
def test_refinements_grow_to_all_rows_or_what_is_affordable(n_rows, affordable, sizes):
    """Refinements take 2 and 16 times the rows of the warm start, at most what can be paid for."""
    assert schedule.refinement_sizes(n_rows, 100, affordable) == sizes


def test_without_a_budget_any_size_is_affordable():
    """Where time is not limited no number of rows is too large."""
    assert schedule._affordable_rows(1000, Budget(Clock())) == np.inf


def test_what_is_affordable_grows_with_the_budget_and_shrinks_with_the_cost_of_a_row():
    """Twice the time pays for twice the rows, and rows that cost twice as much for half of them."""

    def affordable(seconds, row):
        budget = SimpleNamespace(
            is_limited=True, left=lambda: seconds, reserve=1000 * row + MIN_SECONDS
        )
        return schedule._affordable_rows(1000, budget)

    assert_allclose(affordable(20.0, 1e-3), 2 * affordable(10.0, 1e-3))
    assert_allclose(affordable(10.0, 1e-3), 2 * affordable(10.0, 2e-3))


@pytest.mark.parametrize("weighted", [False, True])
def test_refinements_count_rows_for_those_they_stand_for(weighted, monkeypatch):
    """Rows of the warm start count once, those of refinements for up to 4 rows each."""
    seen, interim = [], []
    run = schedule.ascend

    def spy(problem, parameters, rows, *args, **options):
        seen.append(rows)
        interim.append(options.get("interim", args[-1]))
        return run(problem, parameters, rows, *args, **options)

    monkeypatch.setattr(schedule, "ascend", spy)
    monkeypatch.setattr(warm_start, "ascend", spy)
    rows = make_rows(2000, weighted)
    model = SVGPRegressor(RBF(), n_inducing=5, init_size=50, max_iter=1, random_state=0)
    model.fit(rows.X, rows.y, sample_weight=rows.weight)
    assert [len(used) for used in seen] == [50, 100, 800]
    assert interim == [True, True, False]
    own = [np.ones(len(used)) if not weighted else None for used in seen]
    for used, factor, ones in zip(seen, (1.0, 4.0, 2.5), own, strict=True):
        if weighted:
            position = [np.flatnonzero((rows.X == x).all(axis=1))[0] for x in used.X]
            ones = rows.weight[position]
        weight = np.ones(len(used)) if used.weight is None else used.weight
        assert_allclose(weight, factor * ones)


@pytest.mark.filterwarnings("ignore:The fit explains 0.0%")
@pytest.mark.parametrize("max_iter, runs", [(3, [3]), (25, [20, 5])])
def test_the_warm_start_takes_its_units_anew(max_iter, runs, monkeypatch):
    """After 20 iterations a second run begins, with a unit for each inducing input."""
    seen = []

    def count(objective, space, start, *, max_iter, **options):
        seen.append((max_iter, space.group("Z").unit))
        return start.with_values(), 0.0, max_iter, None

    monkeypatch.setattr(ascent, "ascend_lbfgs", count)
    rows = make_rows(100)
    SVGPRegressor(RBF(), n_inducing=5, max_iter=max_iter, random_state=0).fit(rows.X, rows.y)
    assert [iterations for iterations, _ in seen] == runs
    assert seen[0][1].shape == (2,)
    assert all(units.shape == (5, 2) for _, units in seen[1:])


@pytest.mark.parametrize("likelihood", [Gaussian(), StudentT(df=None)], ids=repr)
def test_without_an_optimizer_only_q_is_found(likelihood):
    """Parameters then are those of the start, and the one entry of the trace is the bound."""
    problem = make_problem(make_rows(80), likelihood)
    _, result = schedule.run(problem)
    assert result.parameters is problem.start.parameters
    assert problem.trace.objectives == [result.objective]
    assert (result.n_iter, result.n_steps) == (1, 0)


@pytest.mark.parametrize("optimizer", ["auto", "lbfgs", "adam"])
@pytest.mark.parametrize("likelihood", [Gaussian(), StudentT(df=None)], ids=repr)
def test_every_stage_moves_every_free_group(likelihood, optimizer):
    """Kernel, noise, inducing inputs and the likelihood's parameters are learned, and it pays."""
    problem = make_problem(
        make_rows(150),
        likelihood,
        optimizer=optimizer,
        max_iter=3,
        init_size=50,
        n_iter_no_change=9,
    )
    before = problem.start.parameters
    _, fixed = schedule.run(make_problem(make_rows(150), likelihood))
    _, result = schedule.run(problem)
    for group in problem.space.groups:
        moved = result.parameters.values[group.name] != before.values[group.name]
        assert np.any(moved), group.name
    assert result.objective > fixed.objective
    assert (result.n_steps > 0) == (optimizer == "adam")
    assert len(result.likelihood.theta) == len(likelihood.theta)


def test_a_callback_ends_learning_but_not_the_finish():
    """Where a callback stops the trace, the last q(u) still comes from all rows."""
    problem = make_problem(
        make_rows(500),
        optimizer="auto",
        max_iter=50,
        on_iteration=lambda trace, _: len(trace.objectives) == 2,
    )
    _, result = schedule.run(problem)
    assert len(problem.trace.objectives) == 3
    assert_allclose(result.state.scalars.weight, 500.0)


def test_a_short_budget_leaves_rows_out_and_warns(monkeypatch):
    """Where the time does not allow for all rows, a random part of them is weighted up."""
    rows = make_rows(9000)
    problem = make_problem(rows, clock=Clock(0.1))
    monkeypatch.setattr(schedule, "_finish_seconds", lambda *args: 3600.0)
    with pytest.warns(UserWarning, match=r"max_time=0\.1 .* all 9000 rows: .* rests on 4096"):
        _, result = schedule.run(problem)
    assert_allclose(result.state.scalars.weight, rows.total_weight)
