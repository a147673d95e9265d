"""What a fit knows of its course: clock, trace and plateau."""

import numpy as np
import pytest

from sklearn_sgp.optimize.progress import Clock, Plateau, Trace


def test_plateau_counts_small_gains():
    """It is reached after `patience` entries in a row that gained less than tol on the best."""
    plateau = Plateau(tol=1.0, patience=3)
    values = [0.0, 5.0, 5.5, 4.0, 6.6, 7.0, 5.0, 8.1, 8.2, 9.0, 9.1]
    assert [plateau.reached(v) for v in values] == [False] * 10 + [True]


def test_plateau_does_not_wait_for_small_gains_to_add_up():
    """Each entry is compared with the best so far, small gains included."""
    plateau = Plateau(tol=1.0, patience=2)
    assert not plateau.reached(0.0)
    assert not plateau.reached(0.9)
    assert plateau.reached(1.8)


@pytest.mark.parametrize("n", [1, 2, 3, 40, 41])
def test_plateau_asks_for_a_pace(n):
    """It gains as long as a hundred entries at the pace of the last half would gain what is seen.

    The first half may have gained anything.
    """
    early = n // 2
    for pace, is_gaining in ((1.01, True), (0.99, False)):
        plateau = Plateau(tol=1e-9, patience=5, visible=100.0)
        course = np.concatenate([1e6 * np.arange(early + 1), np.full(n - early, pace)])
        for value in np.cumsum(course)[1 : n + 1]:
            plateau.reached(value)
        assert plateau.is_gaining == (is_gaining or n == 1)
    plateau.reached(plateau.best)
    assert not plateau.is_gaining


def test_clock_and_trace():
    """A trace records objectives and times, and stops when the listener says so."""
    clock = Clock(max_time=100.0)
    trace = Trace(clock, lambda trace, snapshot: snapshot() == "stop")
    assert not trace.add(1.0, lambda: "go on")
    assert not trace.stopped
    assert trace.add(np.float64(2.0), lambda: "stop")
    assert trace.stopped
    assert trace.objectives == [1.0, 2.0]
    assert 0.0 <= trace.times[0] <= trace.times[1] <= clock.elapsed() < 100.0
    assert 0.0 < clock.left() < 100.0
    assert Clock().left() == np.inf


def test_a_clock_tells_whether_so_many_times_as_much_is_left(monkeypatch):
    """After ten of thirty seconds there is time for one such fit, and for no second one."""
    monkeypatch.setattr(Clock, "elapsed", lambda clock: 10.0)
    assert Clock(30.0).has_time_for(1.9)
    assert not Clock(30.0).has_time_for(2.0)
    assert Clock().has_time_for(1e9)
