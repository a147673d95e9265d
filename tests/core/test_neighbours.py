"""Nearest centres, iterations of k-means and searches for near rows, against plain definitions."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core._neighbours import (
    move_centres,
    nearest_centres,
    nearest_groups,
    rows_near_places,
)

COLUMNS = pytest.mark.parametrize("d", [1, 3, 4, 9])


def squares(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=2)


@COLUMNS
@pytest.mark.parametrize("k", [1, 2, 15, 16, 33, 128, 300])
def test_nearest_centres(rng, d, k):
    """Each row gets the nearest centre, the first of equals."""
    X, centres = rng.standard_normal((200, d)), rng.standard_normal((k, d))
    centres = np.vstack([centres, centres[:1]])
    label = np.empty(200, dtype=np.intp)
    nearest_centres(X, centres, label)
    assert_array_equal(label, squares(X, centres[:k]).argmin(axis=1))


def on_a_grid():
    """The first nearest of 400 centres, most of them several times, for rows of whole numbers."""
    rng = np.random.default_rng(0)
    X, centres = (rng.integers(0, 5, (n, 3)) / 3.0 for n in (500, 400))
    label = np.empty(500, dtype=np.intp)
    nearest_centres(X, centres, label)
    return label, X, centres


def test_the_first_of_many_equals():
    """Of centres that are as near as others, in other tiles too, the first counts."""
    label, X, centres = on_a_grid()
    away = np.zeros((500, 400))
    for column, of_centres in zip(X.T, centres.T, strict=True):  # summed in the order of columns
        away += (column[:, None] - of_centres) ** 2
    assert_array_equal(label, away.argmin(axis=1))


@pytest.mark.parametrize("level", ["0", pytest.param("1", marks=pytest.mark.slow)])
def test_instruction_sets_find_the_same(level):
    """Lower instruction sets find the same centres, ties included."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_neighbours as t; "
        "print(*t.on_a_grid()[0])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, os.path.dirname(__file__)],
        env=os.environ | {"SKLEARN_SGP_SIMD": level},
        capture_output=True,
        text=True,
        check=True,
    )
    assert_array_equal(np.array(ran.stdout.split(), dtype=int), on_a_grid()[0])


def test_rows_that_are_not_finite_get_the_first_centre():
    """NaN is near to nothing, and the number is still that of a centre."""
    label = np.full(2, -1)
    for k in (3, 40):
        nearest_centres(np.array([[np.nan], [np.inf]]), np.arange(float(k))[:, None], label)
        assert_array_equal(label, 0)


@COLUMNS
@pytest.mark.parametrize("max_iter", [0, 1, 4])
def test_iterations_move_centres_to_weighted_means(rng, d, max_iter):
    """Each iteration takes the weighted mean of a centre's rows; one without rows stays."""
    X, weight = rng.standard_normal((100, d)), rng.uniform(0.5, 2.0, 100)
    centres = np.vstack([X[:5], np.full((1, d), 100.0)])
    expected = centres.copy()
    for _ in range(max_iter):
        label = squares(X, expected).argmin(axis=1)
        for j in np.unique(label):
            expected[j] = np.average(X[label == j], axis=0, weights=weight[label == j])
    move_centres(X, weight, centres, max_iter, -1.0)
    assert_allclose(centres, expected, rtol=1e-12)


def test_iterations_end_at_rest(rng):
    """No further iteration follows one whose moves are small enough."""
    X = rng.standard_normal((100, 2))
    once, more = X[:5].copy(), X[:5].copy()
    move_centres(X, np.ones(100), once, 1, 0.0)
    move_centres(X, np.ones(100), more, 50, 1e3)
    assert_array_equal(once, more)


def groups_of(rng, sizes, d):
    starts = np.append(0, np.cumsum(sizes)).astype(np.intp)
    points = rng.standard_normal((starts[-1], d))
    parts = [points[lo:hi] for lo, hi in pairwise(starts)]
    return points, starts, np.stack([part.mean(axis=0) for part in parts])


@COLUMNS
@pytest.mark.parametrize("wanted", [1, 4, 100])
def test_nearest_groups_hold_enough_rows(rng, d, wanted):
    """The nearest groups before an end, until these hold what is wanted or there are no more."""
    sizes = rng.integers(1, 9, 40)
    _, _, centres = groups_of(rng, sizes, d)
    places, ends = rng.standard_normal((6, d)), np.array([40, 40, 13, 1, 0, 40])
    enough = np.minimum([30, 1, 20, 50, 5, 400], np.append(0, np.cumsum(sizes))[ends])
    near = nearest_groups(centres, sizes, places, ends, enough, wanted)
    for row, place, end, rows in zip(near, places, ends, enough, strict=True):
        order = squares(place[None], centres[:end])[0].argsort()
        count = np.searchsorted(np.cumsum(sizes[order]), rows) + 1 if rows else 0
        assert_array_equal(row[:count], order[:count])
        assert (row[count:] == 40).all()


@pytest.mark.parametrize("wanted", [1, 3, 32, 33, 90])
def test_the_first_of_equal_groups_is_nearest(rng, wanted):
    """However many are wanted: a few are kept sorted, more are selected."""
    centres, places = rng.integers(0, 3, (90, 2)).astype(float), rng.standard_normal((5, 2))
    all_of_one, ends = np.ones(90, dtype=np.intp), np.full(5, 90)
    near = nearest_groups(centres, all_of_one, places, ends, np.full(5, wanted), wanted)
    order = squares(places, centres).argsort(axis=1, kind="stable")
    assert_array_equal(near, order[:, :wanted])


@COLUMNS
@pytest.mark.parametrize("count", [0, 1, 7, 100])
def test_rows_near_places(rng, d, count):
    """The nearest rows of the groups that are looked in; of equals those of the least rank."""
    points, starts, centres = groups_of(rng, [3, 1, 20, 8, 30, 5], d)
    points[25:30] = points[5:10]
    places, ends = rng.standard_normal((4, d)), np.array([6, 6, 3, 6])
    near = squares(places, centres).argsort(axis=1)
    enough = np.array([30, 1, 24, 67])
    rows, counts, rank = np.full((4, count), 99), np.full(4, 99), rng.permutation(len(points))
    rows_near_places(points, rank, starts, places, near, ends, enough, rows, counts)
    sizes = np.diff(starts)
    for i, place in enumerate(places):
        groups = near[i][near[i] < ends[i]]
        groups = groups[: np.searchsorted(np.cumsum(sizes[groups]), enough[i]) + 1]
        held = np.sort(np.concatenate([np.arange(starts[g], starts[g + 1]) for g in groups]))
        away = squares(place[None], points[held])[0]
        expected = rank[held[np.lexsort((rank[held], away))[:count]]]
        assert counts[i] == len(expected)
        assert_array_equal(np.sort(rows[i, : counts[i]]), np.sort(expected))
        assert (rows[i, counts[i] :] == -1).all()


def test_too_few_rows_are_told(rng):
    """Where the groups that are looked in hold less than is wanted, the count is -1."""
    points, starts, _ = groups_of(rng, [3, 2], 2)
    rows, counts = np.empty((2, 4), dtype=np.intp), np.empty(2, dtype=np.intp)
    near, ends = np.array([[0, 1], [1, 2]]), np.array([2, 2])
    ways = points[:2], near, ends, np.array([4, 4])
    rows_near_places(points, np.arange(5), starts, *ways, rows, counts)
    assert_array_equal(counts, [4, -1])


def test_searches_check_what_they_get(rng):
    """Shapes that do not agree, and groups that are not there, raise."""
    points, starts, centres = groups_of(rng, [3, 2, 4], 2)
    label, one = np.empty(9, dtype=np.intp), np.ones(9, dtype=np.intp)
    with pytest.raises(ValueError, match="nearest_centres: the shapes"):
        nearest_centres(points, centres[:0], label)
    with pytest.raises(ValueError, match="nearest_centres: the shapes"):
        nearest_centres(points, centres, label[1:])
    with pytest.raises(ValueError, match="move_centres: the shapes"):
        move_centres(points, np.ones(8), centres, 3, 0.0)
    sizes = np.diff(starts)
    with pytest.raises(ValueError, match="nearest_groups: the shapes"):
        nearest_groups(centres, sizes[1:], points, one, one, 1)
    with pytest.raises(ValueError, match="nearest_groups: ends"):
        nearest_groups(centres, sizes, points, 4 * one, one, 1)
    near, rows = np.zeros((9, 2), dtype=np.intp), np.empty((9, 3), dtype=np.intp)
    with pytest.raises(ValueError, match="rows_near_places: the shapes"):
        rows_near_places(points[1:], label[1:], starts, points, near, one, one, rows, label)
    with pytest.raises(ValueError, match="rows_near_places: the shapes"):
        rows_near_places(points, label[1:], starts, points, near, one, one, rows, label)
    with pytest.raises(ValueError, match="rows_near_places: near"):
        rows_near_places(points, label, starts, points, near - 1, one, one, rows, label)
    with pytest.raises(ValueError, match="rows_near_places: near"):
        rows_near_places(points, label, starts, points, near + 4, one, one, rows, label)
