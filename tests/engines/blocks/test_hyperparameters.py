"""Hyperparameters of models in blocks: several starts, on few blocks before more."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from block_helpers import LABELS, MODELS, plan_of, problem_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from sklearn_sgp.engines.blocks import hyperparameters
from sklearn_sgp.engines.blocks.hyperparameters import learn_on_sample
from sklearn_sgp.engines.blocks.natural_gradient import learn_stochastic
from sklearn_sgp.factors.block_factors import Model
from sklearn_sgp.objectives.block_evidence import block_evidence
from sklearn_sgp.optimize.budget import Budget
from sklearn_sgp.partitions.blocks import Blocks


def local_problem(rng, **settings):
    """A fast wave on a smooth function that four inducing inputs cannot follow, four blocks."""
    X = rng.uniform(0.0, 10.0, (300, 1))
    y = np.sin(0.6 * X[:, 0]) + 0.7 * np.sin(15.0 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    settings = {"optimizer": "lbfgs", "max_iter": 60, "n_inducing": 4} | settings
    problem = problem_of(X, y, kernel=None, **settings)
    return problem, Blocks(problem.rows, np.argsort(np.argsort(X[:, 0])) // 75)


def learned(problem, blocks, model, learn=learn_on_sample, **options):
    """Parameters, iterations and steps."""
    result = learn(problem, plan_of(model, **options), blocks, Budget(problem.trace.clock))
    run, n_steps = (result, 0) if learn is learn_on_sample else result
    return run.parameters, run.n_iter, n_steps


def evidence(parameters, problem, blocks, model):
    """Of all blocks, at some parameters."""
    every = [blocks(k) for k in range(len(blocks))]
    return block_evidence(parameters, every, problem.prior(parameters).delta, model)[0]


def test_shorter_starts_find_what_only_blocks_can_use(rng, monkeypatch):
    """PITC's evidence has a second, higher optimum, which the plain start does not reach."""
    problem, blocks = local_problem(rng)
    several, *_ = learned(problem, blocks, "pitc")
    monkeypatch.setattr(hyperparameters, "_STARTS", (1.0,))
    problem = replace(problem, trace=problem_of(np.ones((2, 1)), np.ones(2), kernel=None).trace)
    one, *_ = learned(problem, blocks, "pitc")
    gain = evidence(several, problem, blocks, Model("full"))
    gain -= evidence(one, problem, blocks, Model("full"))
    assert gain > 200.0
    assert np.exp(several.theta[1]) < 0.2 * np.exp(one.theta[1])


@MODELS
def test_learning_follows_the_objective_of_the_model(toy, model):
    """The trace ends at the evidence of all blocks, for SoR and DTC at the variational bound."""
    problem = problem_of(*toy, LABELS, optimizer="lbfgs")
    blocks, objective = Blocks(problem.rows, LABELS), plan_of(model).objective
    parameters, n_iter, n_steps = learned(problem, blocks, model)
    found = evidence(parameters, problem, blocks, objective)
    assert found > evidence(problem.start.parameters, problem, blocks, objective) + 1.0
    assert_allclose(max(problem.trace.objectives), found, rtol=1e-6)
    assert n_iter == len(problem.trace.objectives) and n_steps == 0


@pytest.mark.parametrize("model", ["pitc", "fitc"])
def test_steps_of_a_few_blocks_raise_the_evidence(toy, model):
    """Adam alongside natural-gradient steps ends above the start, with an epoch as iteration."""
    problem = problem_of(
        *toy, LABELS, optimizer="adam", learning_rate=0.05, natural_step=0.5, n_iter_no_change=20
    )
    blocks, objective = Blocks(problem.rows, LABELS), plan_of(model).objective
    parameters, n_iter, n_steps = learned(problem, blocks, model, learn_stochastic, per_step=2)
    assert n_iter == len(problem.trace.objectives) and n_steps == 2 * n_iter
    gain = evidence(parameters, problem, blocks, objective)
    gain -= evidence(problem.start.parameters, problem, blocks, objective)
    assert gain > 1.0


@pytest.mark.parametrize("n_steps", [3, 4, 5])
def test_only_q_moves_in_the_first_epoch_of_adam(toy, n_steps):
    """Kernel and noise stay until all four blocks have come: q(u) starts at the prior."""
    problem = problem_of(*toy, LABELS, optimizer="adam", max_steps=n_steps)
    blocks, before = Blocks(problem.rows, LABELS), problem.start.parameters
    after = learned(problem, blocks, "pitc", learn_stochastic, per_step=1)[0]
    moved = not np.array_equal(after.kernel.theta, before.kernel.theta)
    assert moved == (after.noise_variance != before.noise_variance) == (n_steps > 4)


def test_a_sample_has_whole_blocks(toy):
    """The first blocks of an order are taken until they have so many rows, at least one."""
    problem = problem_of(*toy, LABELS)
    blocks, order = Blocks(problem.rows, LABELS), [2, 0, 3, 1]
    sizes = np.cumsum(np.bincount(LABELS)[order])
    for n_rows, count in ((1, 1), (sizes[0], 1), (sizes[0] + 1, 2), (sizes[2], 3), (1000, 4)):
        sample = hyperparameters._whole_blocks(blocks, order, n_rows)
        assert len(sample) == count
        for k, rows in zip(order, sample, strict=False):
            assert_array_equal(rows.X, blocks(k).X)


def test_few_blocks_first_and_then_more(rng, monkeypatch):
    """Each stage goes on from the one before on at least as many blocks, scaled to all rows."""
    problem, blocks = local_problem(rng, init_size=75, optimizer="auto")
    stages, ascend = [], hyperparameters.ascend_blocks

    def recorded(problem, objective, sample, start, max_iter, seconds, budget, copies=1.0):
        found = ascend(problem, objective, sample, start, max_iter, seconds, budget, copies)
        stages.append((len(sample), copies, start, found[0]))
        return found

    monkeypatch.setattr(hyperparameters, "ascend_blocks", recorded)
    learned(problem, blocks, "fitc")
    counts = [count for count, *_ in stages]
    assert counts[0] == 1 and counts == sorted(counts) and counts[-1] > 1
    for (_, _, _, before), (count, copies, start, _) in pairwise(stages):
        assert start is before
        assert copies in (1.0, 4 / count)


def test_where_time_is_short_rows_are_learned_from(rng):
    """Without time for whole blocks the bound of rows is followed, which is said."""
    problem, blocks = local_problem(rng, max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="no time to learn from whole blocks"):
        parameters, *_ = learned(problem, blocks, "pitc")
    bound = Model("diagonal", 0.0)
    start = evidence(problem.start.parameters, problem, blocks, bound)
    assert evidence(parameters, problem, blocks, bound) > start


def test_learning_ends_where_only_the_time_of_the_finish_is_left(rng):
    """A machine that becomes slow while an optimiser runs ends the run, not the finish."""
    problem, blocks = local_problem(rng, max_time=1e6)
    budget = Budget(problem.trace.clock)
    budget.keep_for_finish(1e5)
    ended = []

    def slow(trace, parameters):
        if len(trace.objectives) == 15:  # in the run after the trials
            budget._measured = 1e9
            ended.append(len(trace.objectives))

    problem.trace.on_iteration = slow
    plan = plan_of("fitc")
    learn_on_sample(problem, plan, blocks, budget)
    assert ended == [15] and len(problem.trace.objectives) <= 20
