"""An order of columns, and of rows, that does not depend on how a table was written."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_sgp.data.column_order import column_order, sorted_rows


@pytest.fixture
def X(rng):
    columns = rng.uniform(size=60), rng.normal(size=60), rng.gamma(1.0, size=60)
    return np.column_stack([*columns, rng.uniform(size=60) < 0.2, -rng.gamma(1.0, size=60)])


@pytest.mark.parametrize("seed", range(3))
def test_columns_in_any_order_with_rows_in_any_order(X, seed):
    """The same columns come one after the other, in whatever order, units and rows they came."""
    rng = np.random.default_rng(seed)
    columns, rows = rng.permutation(5), rng.permutation(60)
    expected = X[:, column_order(X)]
    other = X[rows][:, columns]
    assert_array_equal(other[:, column_order(other)], expected[rows])
    moved = 1000.0 * other / 7.0 - 300.0
    assert_array_equal(column_order(moved), column_order(other))


def test_columns_without_a_shape():
    """One row, one column, equal values, and numbers of any size have an order, too."""
    assert_array_equal(column_order(np.ones((1, 3))), [0, 1, 2])
    assert_array_equal(column_order(np.ones((5, 2))), [0, 1])
    assert_array_equal(column_order(np.arange(4.0)[:, None]), [0])
    far = np.array([[-1e308, 0.0], [1e308, 1e-320], [1e308, 0.0]])
    assert sorted(column_order(far)) == [0, 1]
    grid = np.stack(np.meshgrid(np.arange(4.0), 10.0 * np.arange(4.0)), axis=-1).reshape(-1, 2)
    assert_array_equal(column_order(grid), [0, 1])


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_sorted_in_one_way(X, seed):
    """Distinct rows come in one order, whatever that of rows and columns was, and how often."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60).astype(float)
    both = np.column_stack([X, y])
    first, inverse = sorted_rows(both, 5)
    assert_array_equal(both[first][inverse], both)
    rows, columns = rng.integers(0, 60, 200), rng.permutation(5)
    rows = np.concatenate([rows, rng.permutation(60)])
    other = np.column_stack([X[:, columns], y])[rows]
    first_of_other, inverse = sorted_rows(other, 5)
    assert_array_equal(other[first_of_other][inverse], other)
    assert_array_equal(other[first_of_other], both[first][:, [*columns, 5]])
