"""Inputs in units of the scatter of their columns, on a grid."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data.standard_inputs import LEARNING_GRID, StandardInputs


@pytest.fixture
def X(rng):
    return np.column_stack([1e3 * rng.normal(size=(50, 2)) + 7e3, rng.integers(0, 5, 50)])


def test_columns_have_mean_zero_and_deviation_one_and_codes_stay(X):
    """Numbers are centred and scaled to within half a step of the grid, and codes are codes."""
    found = np.asarray(StandardInputs.of(X, None, [2]))
    expected = (X[:, :2] - X[:, :2].mean(axis=0)) / X[:, :2].std(axis=0)
    assert_allclose(found[:, :2], expected, rtol=0.0, atol=0.51 * LEARNING_GRID)
    assert_array_equal(found[:, 2], X[:, 2])
    assert_array_equal(found, np.rint(found / LEARNING_GRID) * LEARNING_GRID)


@pytest.mark.parametrize("unit", [1024.0, 1000.0, 0.3048])
@pytest.mark.parametrize("shift", [0.0, 273.15])
def test_they_are_the_same_in_all_units(X, unit, shift):
    """Other units and origins give the same numbers to the last bit."""
    here, there = (StandardInputs.of(one, None) for one in (X, unit * X + shift))
    assert_array_equal(np.asarray(here), np.asarray(there))


def test_weights_count_in_mean_and_deviation(X):
    """A weight of two is a row that is there twice."""
    weight = np.where(np.arange(50) < 20, 2.0, 1.0)
    twice = StandardInputs.of(np.concatenate([X, X[:20]]), None)
    assert_array_equal(np.asarray(StandardInputs.of(X, weight)), np.asarray(twice)[:50])


def test_parts_are_parts_of_the_whole(X):
    """Slices, rows, columns and extremes are those of the array of all."""
    lazy = StandardInputs.of(X, None)
    whole = np.asarray(lazy)
    assert lazy.shape == whole.shape and len(lazy) == 50 and lazy.ndim == 2
    assert isinstance(lazy[10:20], StandardInputs)
    assert_array_equal(np.asarray(lazy[10:20]), whole[10:20])
    index = np.array([3, 1, 4])
    assert_array_equal(lazy[index], whole[index])
    assert_array_equal(lazy[:, 1], whole[:, 1])
    assert_array_equal(lazy[index, 1], whole[index, 1])
    assert_array_equal(lazy.max(axis=0), whole.max(axis=0))
    assert lazy.min() == whole.min()
    with pytest.raises(ValueError, match="must be copied"):
        lazy.__array__(copy=False)
