"""Rows that are inducing inputs already, and what those of equal inputs come to."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data.distinct import DistinctRows, are_rows, contains_rows, n_distinct, places_in
from sklearn_sgp.data.rows import Rows


@pytest.fixture
def table(rng):
    """Seven inducing inputs, and 9,000 rows at the first five of them."""
    Z = rng.standard_normal((7, 2))
    places = rng.integers(5, size=9000)
    return Z, places, Rows(Z[places], rng.standard_normal((9000, 2)), None, 0.5, 2.0)


def test_rows_are_found_among_inducing_inputs(table):
    """Every row has the place of the inducing input that it equals."""
    Z, places, rows = table
    assert_array_equal(places_in(Z, rows.X), places)
    assert contains_rows(Z, rows)


@pytest.mark.parametrize("number", [0, 4096, 8999])
def test_one_row_elsewhere_is_enough(table, number):
    """One row that differs in its last bit is not contained, wherever it stands."""
    Z, _, rows = table
    rows.X[number, 1] = np.nextafter(rows.X[number, 1], np.inf)
    assert places_in(Z, rows.X) is None
    assert not contains_rows(Z, rows)
    assert DistinctRows.within_inputs(Z, rows) is None


def test_there_is_one_zero():
    """A row at minus zero is that at zero, and float32 is compared by its value."""
    Z = np.array([[0.0, 1.0], [-0.0, 2.0]])
    assert_array_equal(places_in(Z, np.array([[0.0, 2.0], [-0.0, 1.0]], dtype=np.float32)), [1, 0])


def test_distinct_rows_are_counted():
    """Rows that are equal in inputs and targets count once, those with the same gap too."""
    X = np.array([[0.0], [-0.0], [0.0], [1.0], [1.0]])
    y = np.array([[1.0], [1.0], [2.0], [np.nan], [np.nan]])
    assert n_distinct(Rows(X, y, None, 0.0, 1.0)) == 3


def test_the_first_of_equal_inducing_inputs_counts():
    """Inducing inputs given twice have their rows at the first of them."""
    Z = np.array([[3.0], [1.0], [3.0]])
    assert_array_equal(places_in(Z, np.array([[1.0], [3.0]])), [1, 0])


def test_inducing_inputs_at_rows():
    """A mask tells which inducing inputs are rows."""
    Z = np.array([[3.0], [0.0], [2.0]])
    assert_array_equal(are_rows(Z, np.array([[-0.0], [3.0]])), [True, True, False])


@pytest.mark.parametrize("weights", ["none", "one", "each"])
def test_sums_of_equal_rows(table, rng, weights):
    """Weights, weighted means and squares within are those of the rows at each place."""
    Z, places, rows = table
    shape = {"none": None, "one": (9000,), "each": (9000, 2)}[weights]
    if shape is not None:
        rows = rows.with_precision(rng.gamma(2.0, 1.0, shape))
    found = DistinctRows.within_inputs(Z, rows)
    assert_array_equal(found.X, Z[:5])
    assert_array_equal(found.places, np.arange(5))
    assert found.count == 9000.0
    w, y = np.ones((9000, 2)), rows.targets
    if shape is not None:
        w = rows.weight if weights == "each" else np.tile(rows.weight[:, None], 2)
    within = 0.0
    for k in range(5):
        own = places == k
        mean = np.average(y[own], axis=0, weights=w[own])
        assert_allclose(found.means[k], mean)
        mass = w[own].sum(axis=0)
        assert_allclose(found.weight[k], mass if weights == "each" else mass[0])
        within = within + (w[own] * (y[own] - mean) ** 2).sum(axis=0)
    assert_allclose(found.within, within)


def test_rows_may_be_their_own_inducing_inputs(table):
    """Nothing but the places depends on what else is an inducing input."""
    Z, _, rows = table
    found, known = DistinctRows.of(rows), DistinctRows.within_inputs(Z, rows)
    order = places_in(found.X, known.X)
    assert_array_equal(found.X[order], known.X)
    assert_allclose(found.means[order], known.means)
    assert_allclose(found.within, known.within)
