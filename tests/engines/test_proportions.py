"""Length scales in a common proportion: one number for all, whatever the units of the columns."""

import numpy as np
import pytest

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.proportions import column_ranges, column_spreads
from sklearn_sgp.engines.start import Choices, start
from sklearn_sgp.kernels._defaults import CLASSES, LABELS, PROPORTIONAL
from sklearn_sgp.likelihoods import Softmax
from sklearn_sgp.optimize.parameters import Group


def test_spreads_are_standard_deviations_of_normal_columns(rng):
    """A normal column spreads by its standard deviation, a constant one by 1, in every unit."""
    X = np.column_stack([rng.normal(5.0, 3.0, 9000), np.full(9000, 7.0)])
    rows = Rows(X, X[:, :1], None, 0.0, 1.0)
    np.testing.assert_allclose(column_spreads(rows), [3.0, 1.0], rtol=0.05)
    scaled = Rows(X * [1e90, 1.0], X[:, :1], None, 0.0, 1.0)
    np.testing.assert_allclose(column_spreads(scaled)[0], 1e90 * column_spreads(rows)[0])


def test_weights_count_rows_in_spreads(rng):
    """Weight 2 is the row twice."""
    X, weight = rng.normal(size=(40, 2)), rng.integers(1, 3, 40).astype(float)
    y = np.zeros((40, 1))
    twice = np.repeat(X, weight.astype(int), axis=0)
    once = column_spreads(Rows(X, y, weight, 0.0, 1.0))
    repeated = column_spreads(Rows(twice, np.zeros((len(twice), 1)), None, 0.0, 1.0))
    np.testing.assert_allclose(once, repeated)


def test_shared_entries_move_by_the_same_amount():
    """One number stands for shared entries: values, derivatives and bounds are those along it."""
    bounds = np.array([[-5.0, 5.0], [-1.0, 4.0], [-9.0, 9.0], [-2.0, 1.5]])
    group, old = Group("theta", bounds, shared=np.array([1, 3])), np.array([0.5, 1.0, 2.0, 1.0])
    np.testing.assert_array_equal(group.entries(old), [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(group.value(np.array([0.0, 1.25, 3.0]), old), [0, 1.25, 3, 1.25])
    np.testing.assert_array_equal(group.slopes(np.array([1.0, 2.0, 3.0, 4.0])), [1.0, 6.0, 3.0])
    np.testing.assert_array_equal(group.limits(old)[1], [-1.0, 1.5])
    assert len(group.limits(old)) == 3


def test_shared_entries_that_no_common_amount_brings_within_bounds():
    """Bounds that leave no room for differences hold the entries about them, in order."""
    bounds = np.array([[2.0, 2.0], [-9.0, 9.0], [2.0, 2.0]])
    group, old = Group("theta", bounds, shared=np.array([0, 2])), np.array([-7.0, 0.0, -6.5])
    limits = group.limits(old)
    np.testing.assert_array_equal(limits, [[1.75, 1.75], [-9.0, 9.0]])
    np.testing.assert_array_equal(group.value(limits[:, 0], old), [1.75, -9.0, 2.25])


@pytest.mark.parametrize("far", [0.0, 3.0])
def test_shared_entries_keep_their_distance(far):
    """What entries of the old value differ by stays as it is."""
    group, old = Group("theta", None, shared=np.array([0, 2])), np.array([1.0, 5.0, 1.0 + far])
    moved = group.value(np.array([2.0, 5.0]), old)
    np.testing.assert_allclose(moved, [2.0, 5.0, 2.0 + far])


def test_ranges_are_of_rows_that_count():
    """Largest less smallest value of rows with weight, 1 for a constant column."""
    X = np.array([[0.0, 7.0], [2.0, 7.0], [-3.0, 7.0], [99.0, 7.0]])
    weight = np.array([1.0, 2.0, 0.5, 0.0])
    rows = Rows(X, np.zeros((4, 1)), weight, 0.0, 1.0)
    np.testing.assert_array_equal(column_ranges(rows), [5.0, 1.0])


def begun(X, kernel_set):
    """Starts of default kernels, and length scales of the smooth ones in units of the first."""
    rows = Rows(X, np.zeros((len(X), 1)), None, 0.0, 1.0)
    choices = Choices(None, 5, "kmeans", True, kernel_set=kernel_set)
    first = start(rows, choices, Softmax(), np.random.RandomState(0))
    starts = [first, *first.alternatives]
    smooth = [one for one in starts if one.in_proportion]
    theta = [one.space.clipped(one.parameters).theta[1:] for one in smooth]
    return starts, [np.exp(each - each[0]) for each in theta]


def test_rare_values_are_tried_in_proportion_to_ranges(rng):
    """A pixel that is black but for a few rows: by its spread first, by its range in one start."""
    X = np.column_stack([rng.uniform(0.0, 16.0, 2000), 16.0 * (np.arange(2000) % 1000 == 0)])
    starts, scales = begun(X, CLASSES)
    assert len(starts) == 3 and len(scales) == 2
    assert scales[0][1] < 0.75
    np.testing.assert_allclose(scales[1], 1.0, rtol=1e-3)
    for units in ([1.0, 1e3], [1e-6, 1.0]):  # the same rows in other units
        _, others = begun(X * units, CLASSES)
        for one, other in zip(scales, others, strict=True):
            np.testing.assert_allclose(other, one * np.array(units) / units[0], rtol=1e-9)


def test_own_length_scales_come_before_proportions(rng):
    """Labels of inducing inputs begin with a length scale for each column."""
    X = np.column_stack([rng.uniform(0.0, 16.0, 2000), 16.0 * (np.arange(2000) % 1000 == 0)])
    starts, scales = begun(X, LABELS)
    assert [one.in_proportion for one in starts] == [False, True, True]
    assert scales[0][1] < 0.75
    np.testing.assert_allclose(scales[1], 1.0, rtol=1e-3)


def test_ranges_that_say_the_same_are_no_start(rng):
    """Columns of one shape have one proportion, and other sets have no choice."""
    starts, scales = begun(rng.uniform(size=(2000, 3)) * [1.0, 5.0, 9.0], CLASSES)
    assert len(starts) == 2 and len(scales) == 1
    X = np.column_stack([rng.uniform(size=900), np.arange(900) % 90 == 0])
    assert len(begun(X, PROPORTIONAL)[0]) == 1
