"""The time budget: what is kept for the finish, what stages get, and what can be paid for."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.optimize import budget as budgets
from sklearn_sgp.optimize import time_shares
from sklearn_sgp.optimize.budget import Budget, count_within, measured_seconds
from sklearn_sgp.optimize.progress import Clock


class Stopped(Clock):
    """A clock that stands still."""

    def __init__(self, max_time=None, at=0.0):
        super().__init__(max_time)
        self.at = at

    def elapsed(self):
        return self.at


def test_a_budget_is_limited_where_there_is_a_time():
    """Without max_time nothing is limited, and infinitely much is left."""
    assert Budget(Stopped(10.0)).is_limited is True
    free = Budget(Stopped())
    assert free.is_limited is False
    assert free.left() == free.stage_seconds(is_last=True) == np.inf


@pytest.mark.parametrize("needed, kept", [(2.0, 2.2), (4.5, 4.95), (4.6, 5.0), (1e6, 5.0)])
def test_the_finish_gets_what_it_needs_but_at_most_half(needed, kept):
    """A tenth more than was measured is kept for the finish, and never more than half."""
    budget = Budget(Stopped(10.0, at=1.0))
    budget.keep_for_finish(needed)
    assert_allclose(budget.reserve, kept)
    assert_allclose(budget.left(), 9.0 - kept)


def test_without_a_budget_nothing_is_kept():
    """The reserve of an unlimited budget stays 0."""
    budget = Budget(Stopped())
    budget.keep_for_finish(1e6)
    assert budget.reserve == 0.0


def test_seconds_of_a_stage():
    """The last stage gets all that is left, one that another follows a share of it."""
    budget = Budget(Stopped(10.0, at=2.0))
    budget.keep_for_finish(2.0)
    assert_allclose(budget.stage_seconds(is_last=True), 5.8)
    assert_allclose(budget.stage_seconds(is_last=False), time_shares.STAGE * 5.8)


def test_what_is_left_can_be_negative():
    """When time is over less than nothing is left, so that stages can tell."""
    budget = Budget(Stopped(10.0, at=9.0))
    budget.keep_for_finish(4.0)
    assert budget.left() < 0.0


def test_a_machine_that_becomes_slower_keeps_more_for_the_finish():
    """The reserve grows with the time that one and the same task takes, and shrinks again."""
    budget = Budget(Stopped(100.0))
    budget.took(1.0)
    budget.keep_for_finish(10.0)
    for _ in range(3):
        budget.took(1.0)
    assert_allclose(budget.reserve, 11.0)
    for _ in range(30):
        budget.took(2.0)
    assert_allclose(budget.reserve, 22.0, rtol=1e-3)
    for _ in range(30):
        budget.took(1.0)
    assert_allclose(budget.reserve, 11.0, rtol=1e-3)
    budget.took(0.0)
    assert_allclose(budget.reserve, 11.0, rtol=1e-3)


def test_only_tasks_of_one_kind_tell_how_fast_the_machine_is():
    """A larger task takes longer on the same machine, and leaves as much time to learn."""
    budget = Budget(Stopped(100.0))
    budget.keep_for_finish(10.0)
    for kind, seconds in (("small", 1.0), ("large", 20.0), ("small", 1.0)):
        for _ in range(10):
            budget.took(seconds, kind)
        assert_allclose(budget.reserve, 11.0)


@pytest.mark.parametrize(
    "n, count",
    [
        (90, 90),  # 9 of 10 seconds
        (125, 125),  # 12.5 s: a fifth and half a second late is better than rows left out
        (126, 100),  # later than that only as many as the time allows
        (10_000, 100),
    ],
)
def test_what_the_finish_can_pay_for(n, count):
    """All tasks are done if that makes the fit a little late, else those that fit in the time."""
    assert Budget(Stopped(20.0, at=10.0)).affordable(n, 0.1) == count


def test_the_reserve_is_there_for_the_finish():
    """What is kept for the finish is not missing when the finish counts its time."""
    budget = Budget(Stopped(20.0, at=10.0))
    budget.keep_for_finish(5.0)
    assert budget.affordable(1000, 0.1) == 100


@pytest.mark.parametrize("late", [10.0, 25.0])
def test_when_time_is_over_the_slack_is_left(late):
    """With no time left, or less, only tasks that fit into the slack are done."""
    budget = Budget(Stopped(10.0, at=late))
    assert budget.affordable(5, 0.1) == 5
    assert budget.affordable(6, 0.1) == 0


def test_without_a_budget_everything_can_be_paid_for():
    """An unlimited budget affords any number of tasks."""
    assert Budget(Stopped()).affordable(10**9, 60.0) == 10**9


@pytest.mark.parametrize(
    "n, seconds, each, count",
    [(10, 5.0, 1.0, 5), (10, 50.0, 1.0, 10), (10, 0.5, 1.0, 1), (10, -3.0, 1.0, 1), (10, 0, 0, 10)],
)
def test_count_within(n, seconds, each, count):
    """As many tasks as fit into the seconds, at least one, and all if they cost nothing."""
    assert count_within(n, seconds, each) == count


@pytest.mark.parametrize("took, times", [(0.1, 3), (0.5, 1)])
def test_a_finish_that_takes_long_to_measure_is_measured_once(monkeypatch, took, times):
    """With ten seconds in all."""
    now, measured = [0.0], []

    def measure():
        now[0] += took
        measured.append(now[0])
        return 7.0 * len(measured)

    monkeypatch.setattr(budgets.time, "perf_counter", lambda: now[0])
    budget = Budget(Stopped(10.0))
    assert [budget.measure_finish(measure) for _ in range(3)][-1] == 7.0 * times
    assert budget.finish_seconds == 7.0 * times and len(measured) == times


def test_measured_seconds_are_the_shortest(monkeypatch):
    """Of several runs of a task the shortest time counts, as the first may pay for cold caches."""
    readings = iter([0.0, 3.0, 10.0, 10.5, 20.0, 21.0])
    monkeypatch.setattr(budgets.time, "perf_counter", lambda: next(readings))
    ran = []
    assert measured_seconds(lambda: ran.append(1), repeats=3) == 0.5
    assert len(ran) == 3


def test_measured_seconds_are_seconds():
    """A task that sleeps takes at least as long as it sleeps."""
    assert 0.02 <= measured_seconds(lambda: time.sleep(0.02)) < 2.0
