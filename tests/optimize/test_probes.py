"""Far steps find a narrow valley, and stop when they are told."""

import numpy as np
import pytest

from sklearn_sgp.optimize.probes import far_steps

STEPS = (-1.0, -3.0)


def _valley(point):
    """Flat but for a narrow hill at (-3, 0, -4), and a hint of it where a coordinate is right."""
    return -np.minimum(np.abs(point - np.array([-3.0, 0.0, -4.0])), 0.5).sum()


def _always():
    return True


def test_each_coordinate_takes_the_steps_that_gain():
    point, best = far_steps(_valley, np.zeros(3), np.arange(3), STEPS, 1e-3, 5, _always)
    np.testing.assert_array_equal(point, [-3.0, 0.0, 0.0])  # -4 is two steps away, over a plain
    assert best == _valley(point) == -0.5


def test_a_gain_on_the_way_leads_on():
    target = np.array([-4.0, 0.0, -6.0])
    begin = np.zeros(3)
    point, _ = far_steps(
        lambda at: -np.abs(at - target).sum(), begin, np.arange(3), STEPS, 1e-3, 10, _always
    )
    np.testing.assert_array_equal(point, target)
    np.testing.assert_array_equal(begin, 0.0)


def test_only_the_places_that_are_named_move():
    point, _ = far_steps(lambda at: -at.sum(), np.zeros(3), np.array([1]), STEPS, 1e-3, 2, _always)
    np.testing.assert_array_equal(point, [0.0, -6.0, 0.0])


@pytest.mark.parametrize(("calls", "sweeps"), [(0, 5), (100, 0)])
def test_without_time_or_sweeps_it_stays(calls, sweeps):
    left = iter([True] * calls)
    point, best = far_steps(
        _valley, np.zeros(3), np.arange(3), STEPS, 1e-3, sweeps, lambda: next(left, False)
    )
    np.testing.assert_array_equal(point, 0.0)
    assert best == _valley(point)


def test_what_time_allows_is_kept():
    left = iter([True] * 2)  # the second step of the first coordinate is the last
    point, _ = far_steps(
        _valley, np.zeros(3), np.arange(3), STEPS, 1e-3, 5, lambda: next(left, False)
    )
    np.testing.assert_array_equal(point, [-3.0, 0.0, 0.0])


def test_points_without_a_value_are_passed_over():
    def value(at):
        return -np.inf if at[0] < -2.0 else -at[0]

    point, best = far_steps(value, np.zeros(1), np.arange(1), STEPS, 1e-3, 5, _always)
    np.testing.assert_array_equal(point, [-2.0])
    assert best == 2.0


def test_later_sweeps_try_the_better_half():
    """Many coordinates cost at most twice the first sweep, and what gains is found all the same."""
    asked = []

    def value(at):
        asked.append(at)
        return -np.abs(at[:3] + [2.0, 1.0, 1.0]).sum() - 0.1 * np.abs(at[3:]).sum()

    point, best = far_steps(value, np.zeros(64), np.arange(64), (-1.0, -2.0), 1e-3, 5, _always)
    assert best == 0.0
    assert point[:3].tolist() == [-2.0, -1.0, -1.0]
    assert len(asked) <= 1 + 2 * 128
