"""A time budget on machines of any speed, by a clock that counts operations, not seconds."""

import time
from dataclasses import replace

import numpy as np
import pytest
from block_helpers import problem_of
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp.engines.blocks import pace
from sklearn_sgp.engines.blocks.composite_learning import CompositeLearning, learn_from_near_rows
from sklearn_sgp.engines.blocks.ways import Numbers, learn_in_rounds
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood
from sklearn_sgp.objectives.scores import Score
from sklearn_sgp.optimize.budget import Budget
from sklearn_sgp.optimize.progress import Clock, Trace
from sklearn_sgp.partitions.sampling import whole_group

KERNELS = [ConstantKernel() * RBF(3.0), ConstantKernel() * Matern(3.0, nu=0.5)]
# Seconds of a group of 300 rows, with the gradient and without.
EACH, OF_VALUE = 1e-3, 3e-4

pytestmark = pytest.mark.filterwarnings("ignore:Intervals of 90 %")


class Machine:
    """Counts what is evaluated; nothing else takes time on it."""

    def __init__(self, monkeypatch, slower=1.0):
        self.now, self.slower, self.passes = 0.0, slower, []
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        self._count(monkeypatch, "__call__", EACH)
        self._count(monkeypatch, "_each", OF_VALUE)

    def _count(self, monkeypatch, name, seconds):
        method = getattr(CompositeLikelihood, name)

        def counted(evidence, *given):
            groups = given[0] if len(given) > 1 else evidence.groups
            work = sum((len(group.X) / 300.0) ** 3 for group in groups)
            self.now += self.slower * seconds * work
            return method(evidence, *given)

        monkeypatch.setattr(CompositeLikelihood, name, counted)


def table(n=4000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    return X, np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(n)


def course(monkeypatch, slower, max_time):
    """Learn from a table; return groups at a time, what was compared, and the seconds."""
    with monkeypatch.context() as patch:
        machine, seen = Machine(patch, slower), []
        climb = CompositeLearning.climb

        def noted(self, *arguments, **options):
            seen.append(self.near.count)
            return climb(self, *arguments, **options)

        patch.setattr(CompositeLearning, "climb", noted)
        problems = [
            problem_of(*table(), kernel=kernel, optimizer="auto", max_time=max_time)
            for kernel in KERNELS
        ]
        start = replace(problems[0].start, alternatives=(problems[1].start,))
        problem = replace(problems[0], start=start)
        learn_from_near_rows(problem, Budget(problem.trace.clock))
        compared = {(one["choice"], one["candidate"]) for one in problem.trace.choices}
        return set(seen), compared, machine.now


@pytest.mark.slow
def test_half_of_the_speed_has_fewer_groups_and_the_same_candidates(monkeypatch):
    """A slow machine compares the same kernels on fewer groups; each run is done in time."""
    whole, kinds, _ = course(monkeypatch, 1.0, None)
    before = max(whole)
    for slower in (1.0, 4.0):
        groups, compared, seconds = course(monkeypatch, slower, 1.5)
        (n_groups,) = groups  # the same for all passes: its speed is measured once
        assert pace.LEAST_GROUPS <= n_groups < before
        assert {one for one in compared if one[0] == "kernel and start"} >= {
            one for one in kinds if one[0] == "kernel and start"
        }
        assert seconds < 1.1 * 1.5
        before = n_groups


def test_what_is_planned_is_what_is_done(monkeypatch):
    """Evaluations that are counted beforehand are those of a fit whose rounds all gain."""
    machine = Machine(monkeypatch)
    problem = problem_of(*table(), kernel=KERNELS[1], optimizer="auto", max_time=2.0)
    budget, sample = Budget(problem.trace.clock), CompositeLearning(problem)
    sample.plan(1, problem.start.parameters, budget)
    measured = machine.now
    assert measured < 0.03 * 2.0
    seconds = sample.near.count * Numbers(sample).work(1, 0.125) * EACH
    assert 0.8 * (2.0 - measured) < seconds <= 1.05 * (2.0 - measured)
    np.testing.assert_allclose(sample.seconds_of_pass, sample.near.count * EACH, rtol=0.2)


def test_seconds_of_a_group_count_the_rows_that_it_is_conditioned_on(monkeypatch):
    """Of groups of 150 and 400 rows in all, own ones or not, the mean is by the cubes of these."""
    Machine(monkeypatch)
    problem = problem_of(*table(), kernel=KERNELS[1], optimizer="auto")
    sample = CompositeLearning(problem)
    near = [group for group in sample.groups(problem.start.parameters) if len(group) == 50][:30]
    wide = [whole_group(problem.rows.random_subset(400, np.random.RandomState(0)))]
    each = pace.seconds_of_group(wide + near, problem.start.parameters, None)
    mean = EACH * (30 * 0.5**3 + (4.0 / 3.0) ** 3) / 31
    np.testing.assert_allclose(each, mean, rtol=1e-6)


def test_groups_that_are_affordable_are_those_that_fit_into_the_seconds(monkeypatch):
    """As many as can be evaluated so often, of those that a pass has; all without a limit."""
    Machine(monkeypatch)
    problem = problem_of(*table(), kernel=KERNELS[1], optimizer="auto", max_time=9.0)
    budget, sample = Budget(problem.trace.clock), CompositeLearning(problem)
    start = problem.start.parameters
    each = pace.seconds_of_group(sample.groups(start), start, None)
    for n_evaluations, n_groups in ((10, 12), (40, 9), (1, sample.near.count + 5)):
        seconds = (n_groups + 0.5) * n_evaluations * each
        found = sample.affordable(start, n_evaluations, seconds, budget)
        assert found == min(n_groups, sample.near.count)
    assert sample.affordable(start, 40, 1e-9, budget) == pace.LEAST_GROUPS
    assert sample.affordable(start, 40, 1e-9, Budget(Clock())) == sample.near.count


def test_no_round_begins_without_time():
    """A round that could not end is not begun, and learning was cut by the time."""
    trace, score = Trace(Clock()), Score(np.zeros(8), np.ones(8))

    def never(*arguments):
        raise AssertionError("a round has begun")

    result = learn_in_rounds(never, "as they are", score, 0.1, 50, trace, lambda: False)
    assert result == ("as they are", 0, "max_time")
