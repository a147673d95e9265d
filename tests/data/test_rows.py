"""Training rows: pieces, samples and subsets of them, weights, and summaries of their columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data import column_spread
from sklearn_sgp.data.column_spread import column_mean_std
from sklearn_sgp.data.rows import (
    Rows,
    drop_zero_weight,
    make_rows,
    merge_observed,
    merge_repeated,
)
from sklearn_sgp.data.targets import Targets


def rows_of(n, weighted=False, labels=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(3.0 * X[:, :1]) + 0.1 * rng.standard_normal((n, 1))
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    return Rows(X, y, weight, np.array([0.5]), np.array([2.0]), labels)


def scaled_by(mean, scale):
    return Targets(1, np.array([mean]), np.array([scale]))


# Columns


@pytest.mark.parametrize("weighted", [False, True])
def test_column_mean_std(weighted):
    """Weighted mean and standard deviation of the columns are those of the repeated rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * [1.0, 1e-8, 1e8] + [0.0, 1.0, -1e9]
    times = rng.integers(0, 3, 50) if weighted else np.ones(50, dtype=int)
    mean, std = column_mean_std(X, times.astype(float) if weighted else None)
    repeated = np.repeat(X, times, axis=0)
    assert_allclose(mean, repeated.mean(axis=0), rtol=1e-10, atol=1e-12)
    assert_allclose(std, repeated.std(axis=0), rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, -3e7, 1e100])
def test_column_mean_std_of_a_constant_column(value):
    """A constant column has standard deviation 1, whatever rounding makes of its mean."""
    mean, std = column_mean_std(np.full((37, 1), value), None)
    assert_allclose(mean, value)
    assert std == 1.0


def test_column_mean_std_of_very_many_rows():
    """Very many rows have the mean and deviation of those of positive weight."""
    X = np.arange(200_000, dtype=np.float32)[:, None]
    weight = np.where(np.arange(200_000) < 100_000, 0.0, 1.0)
    mean, std = column_mean_std(X, weight)
    assert_allclose([mean[0], std[0]], [149_999.5, 1e5 / np.sqrt(12.0)], rtol=1e-9)


def test_column_mean_std_with_no_weight_in_the_sample():
    """If the sample's rows all have weight 0 they count alike, instead of giving NaN."""
    mean, std = column_mean_std(np.array([[1.0], [3.0]]), np.zeros(2))
    assert (mean[0], std[0]) == (2.0, 1.0)


# Rows from arrays


def test_make_rows():
    """Rows of weight 0 are left out; the others keep their order, targets are scaled on reading."""
    X, y = np.arange(8.0).reshape(4, 2), np.array([[1.0], [2.0], [3.0], [4.0]])
    rows = make_rows(X, y, np.array([1.0, 0.0, 2.0, 0.5]), scaled_by(1.0, 2.0))
    assert_array_equal(rows.X, X[[0, 2, 3]])
    assert_allclose(rows.targets[:, 0], [0.0, 1.0, 1.5])
    assert_allclose(rows.root_weight, np.sqrt([1.0, 2.0, 0.5]))
    assert rows.total_weight == 3.5
    assert [len(piece) for piece in rows.chunks(2)] == [2, 1]
    assert make_rows(X, y, None, scaled_by(0.0, 1.0)).X is X


def test_make_rows_keeps_the_labels_of_blocks():
    """Labels go with their rows, when rows of weight 0 are left out as when some are selected."""
    X, y, labels = np.zeros((4, 1)), np.zeros((4, 1)), np.array(["a", "b", "c", "d"])
    rows = make_rows(X, y, np.array([1.0, 0.0, 2.0, 0.5]), scaled_by(0.0, 1.0), labels)
    assert_array_equal(rows.labels, ["a", "c", "d"])
    assert_array_equal(rows.select([2, 0]).labels, ["d", "a"])


def test_drop_zero_weight():
    """All arrays lose the rows of weight 0; None stays None, and nothing is copied without need."""
    X, y, weight = np.arange(3.0)[:, None], np.arange(3.0), np.array([0.0, 2.0, 1.0])
    found = drop_zero_weight(X, y, weight, None, np.array([7, 8, 9]))
    assert_array_equal(found[0], [[1.0], [2.0]])
    assert_array_equal(found[1:3], [[1.0, 2.0], [2.0, 1.0]])
    assert found[3] is None
    assert_array_equal(found[4], [8, 9])
    for kept in (None, np.ones(3)):
        same = drop_zero_weight(X, y, kept, y)
        assert same[0] is X and same[2] is kept and same[3] is y


def test_merge_repeated():
    """Few rows are sorted and repeated ones merged, so that weights are repetitions exactly."""
    rng = np.random.default_rng(0)
    X, y, times = rng.integers(0, 2, (12, 2)) + 0.1, np.tile([[1.0], [2.0]], (6, 1)), np.arange(12)
    weighted = merge_repeated(X, y, times.astype(float))[:3]
    order = rng.permutation(times.sum())
    repeated = merge_repeated(np.repeat(X, times, 0)[order], np.repeat(y, times, 0)[order], None)
    repeated = repeated[:3]
    for one, other in zip(weighted, repeated, strict=True):
        assert_array_equal(one, other)
    rows = np.column_stack(weighted[:2])
    assert_array_equal(rows, np.unique(np.column_stack([X, y])[1:], axis=0))
    assert weighted[2].sum() == times.sum()
    assert merge_repeated(X[:1], y[:1], None)[2] is None


def test_rows_with_gaps_are_merged():
    """Rows are the same where the same targets are missing, and a missing one is no zero."""
    nan = np.nan
    X = np.ones((7, 1))
    y = np.array([[1, nan], [0, 2], [nan, 2], [1, nan], [1, 0], [nan, 2], [nan, 2.0]])
    found, targets, weight, _, places = merge_observed(X, y, np.arange(7.0))
    assert_array_equal(targets[places], y[1:])
    assert len(found) == len(targets) == 4
    assert_array_equal(weight[places], [1, 13, 3, 4, 13, 13])


def test_many_rows_are_not_merged():
    """Many rows are only freed of those of weight 0, and not copied without need."""
    X, y = np.zeros((5000, 1)), np.zeros((5000, 1))
    weight = np.ones(5000)
    assert merge_repeated(X, y, weight)[0] is X
    weight[:10] = 0.0
    assert [len(part) for part in merge_repeated(X, y, weight)[:3]] == [4990] * 3


# Parts of the rows


@pytest.mark.parametrize("size", [1, 7, 99, 100, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_stands_for_all_rows(size, weighted):
    """A fixed sample has at most so many rows, and the weight of all of them."""
    rows = rows_of(100, weighted)
    sample = rows.fixed_sample(size)
    assert len(sample) <= size
    assert_allclose(sample.total_weight, rows.total_weight)


@pytest.mark.parametrize("size", [1, 7, 99])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_random_subset_keeps_order_and_weights(size, weighted):
    """A random subset has distinct rows in their order, each with its own weight and target."""
    rows = rows_of(100, weighted)
    subset = rows.random_subset(size, np.random.RandomState(0))
    place = [np.flatnonzero((rows.X == x).all(axis=1))[0] for x in subset.X]
    assert len(subset) == size and (np.diff(place) > 0).all()
    assert_array_equal(subset.targets, rows.targets[place])
    if weighted:
        assert_array_equal(subset.weight, rows.weight[place])
    other = rows.random_subset(size, np.random.RandomState(1))
    assert not np.array_equal(other.X, subset.X)


@pytest.mark.parametrize("size", [100, 1000])
def test_a_random_subset_of_few_rows_is_all_of_them(size):
    """Where there are no more rows than asked for, all are returned as they are."""
    rows = rows_of(100)
    assert rows.random_subset(size, np.random.RandomState(0)) is rows


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_multiplied(weighted):
    """Weighted rows have every weight multiplied, 1 where there were none."""
    rows = rows_of(5, weighted)
    ones = rows.weight if weighted else np.ones(5)
    assert_allclose(rows.weighted(2.5).weight, 2.5 * ones)
    assert_allclose(rows.weighted(2.5).total_weight, 2.5 * rows.total_weight)


@pytest.mark.parametrize("weighted", [(False, False), (True, False), (False, True), (True, True)])
def test_rows_are_joined(weighted):
    """Joined rows follow one another, with weights of 1 where one part has none."""
    one, other = (rows_of(n, has) for n, has in zip((3, 4), weighted, strict=True))
    both = one.joined(other)
    assert_array_equal(both.targets, np.concatenate([one.targets, other.targets]))
    assert_allclose(both.total_weight, one.total_weight + other.total_weight)
    if not any(weighted):
        assert both.weight is None
    assert both.labels is None


def test_rows_with_weights_of_each_output_are_joined():
    """Weights of rows count for each output where another part has them for each."""
    one, other = rows_of(3, True), rows_of(4, False).with_precision(np.full((4, 2), 0.5))
    both = one.joined(other)
    assert_array_equal(both.weight[:3], np.repeat(one.weight[:, None], 2, axis=1))
    assert_array_equal(both.weight[3:], np.full((4, 2), 0.5))


def test_pieces_are_views():
    """Chunks hold every row once, in order, and copy nothing."""
    rows = rows_of(10, weighted=True, labels=np.arange(10))
    pieces = list(rows.chunks(4))
    assert [len(piece) for piece in pieces] == [4, 4, 2]
    for name in ("X", "y", "weight", "labels"):
        parts = [getattr(piece, name) for piece in pieces]
        assert_array_equal(np.concatenate(parts), getattr(rows, name))
        assert all(np.shares_memory(part, getattr(rows, name)) for part in parts)


def test_far_numbers_do_not_make_the_deviation(rng):
    """One number of 10,000 counts as the largest of the others; whole weights count as copies."""
    X, times = rng.normal(size=(150, 2)), rng.integers(1, 4, 150)
    X[3, 0] = 1e4
    found = column_mean_std(X, times.astype(float))
    for part, of_copies in zip(
        found, column_mean_std(np.repeat(X, times, axis=0), None), strict=True
    ):
        assert_allclose(part, of_copies, rtol=1e-12)
    assert 0.7 < found[1][0] < 1.3
    assert_allclose(found[1][1], np.repeat(X[:, 1], times).std(), rtol=1e-12)


def test_far_numbers_that_hardly_count_are_no_group_in_any_piece(rng, monkeypatch):
    """Pieces of rows have their own weights: many far numbers of small weights are few."""
    X, weight = rng.normal(size=(200, 1)), np.ones(200)
    X[150:180, 0], weight[150:180] = rng.uniform(1e4, 2e4, 30), 1e-3
    expected = column_mean_std(X, weight)
    assert expected[1][0] < 1.5
    monkeypatch.setattr(column_spread, "_SUMMARY_NUMBERS", 20)
    for part, of_all in zip(column_mean_std(X, weight), expected, strict=True):
        assert_allclose(part, of_all, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-300, 1e-200])
def test_column_mean_std_whose_square_is_zero(unit, rng):
    """Deviations are those in any unit."""
    X = rng.normal(size=(50, 2))
    for part, usual in zip(column_mean_std(unit * X, None), column_mean_std(X, None), strict=True):
        assert_allclose(part / unit, usual, rtol=1e-12)
