"""Groups to learn from: near rows given the next nearest, rows from anywhere."""

import numpy as np
from numpy.testing import assert_array_equal

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.partitions.sampling import LARGEST_WHOLE, random_groups, sampled_groups


def rows_of(rng, n):
    X = rng.uniform(0.0, 10.0, (n, 2))
    return Rows(X, X[:, :1].copy(), None, np.zeros(1), np.ones(1))


def test_a_group_is_the_nearest_rows_and_its_conditions_the_next(rng):
    """In the given units, around a row."""
    rows, scale = rows_of(rng, 700), np.array([1.0, 5.0])
    for piece in sampled_groups(rows, scale, 4, 6, 10, np.random.RandomState(0)):
        (before, own) = piece.groups[0]
        points = piece.X / scale
        middle = points[own[0]]
        away = np.sort((((rows.X / scale) - middle) ** 2).sum(axis=1))
        assert_array_equal(np.sort(((points[own] - middle) ** 2).sum(axis=1)), away[:6])
        assert_array_equal(np.sort(((points[before] - middle) ** 2).sum(axis=1)), away[6:16])


def test_few_rows_are_one_group(rng):
    """The exact Gaussian process: no conditions."""
    rows = rows_of(rng, LARGEST_WHOLE)
    (piece,) = sampled_groups(rows, np.ones(2), 30, 6, 10, np.random.RandomState(0))
    assert len(piece) == LARGEST_WHOLE
    assert len(piece.groups[0][0]) == 0


def test_rows_are_not_in_many_groups(rng):
    """Of few rows there are few groups, so that an evaluation costs no more than they teach."""
    rows = rows_of(rng, 600)
    assert len(sampled_groups(rows, np.ones(2), 500, 50, 100, np.random.RandomState(0))) == 36


def test_rows_from_anywhere_are_given_nothing(rng):
    """Distinct rows, without conditions."""
    groups = random_groups(rows_of(rng, 90), 3, 40, np.random.RandomState(0))
    assert [len(piece) for piece in groups] == [40, 40, 40]
    assert all(len(piece.groups[0][0]) == 0 for piece in groups)
    assert all(len(np.unique(piece.X, axis=0)) == 40 for piece in groups)


def test_groups_of_many_rows_are_as_dense_as_the_table(rng):
    """However many rows there are, a group is of rows next to one another."""
    X = np.arange(1_200_000.0)[:, None]
    rows = Rows(X, X, None, np.zeros(1), np.ones(1))
    for piece in sampled_groups(rows, np.ones(1), 3, 6, 10, np.random.RandomState(0)):
        assert_array_equal(np.diff(np.sort(piece.X[:, 0])), np.ones(15))
