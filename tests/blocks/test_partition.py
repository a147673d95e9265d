"""Blocks of rows: sizes, and where rows go."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans

from sklearn_sgp.blocks.partition import (
    LARGEST_SHARE,
    Clusterer,
    KMeansTree,
    Ordered,
    check_labels,
    position_of,
)

ONES = np.ones(2)


def random_state():
    return np.random.RandomState(0)


def uneven(n=3000):
    """Most rows in one small cloud."""
    rng = np.random.default_rng(0)
    dense = 0.01 * rng.standard_normal((n * 9 // 10, 2))
    return np.vstack([dense, 10.0 * rng.standard_normal((n - len(dense), 2))])


@pytest.mark.parametrize("block_size", [1, 7, 50, 1000, 2500, 10_000])
def test_no_block_of_a_tree_is_too_large(block_size):
    X = uneven()
    labels = KMeansTree(block_size, ONES).fit(X, random_state())
    sizes = np.bincount(labels)
    assert sizes.min() > 0
    assert sizes.max() <= max(LARGEST_SHARE * block_size, 1)


@pytest.mark.parametrize("block_size", [7, 50, 5000])
def test_a_tree_assigns_the_rows_it_was_fitted_to_where_they_are(block_size):
    X = uneven()
    tree = KMeansTree(block_size, np.array([1.0, 3.0]))
    labels = tree.fit(X, random_state())
    assert_array_equal(tree.assign(X), labels)
    assert labels.max() + 1 == tree.n_blocks


def test_a_tree_goes_deeper_than_its_branches():
    X = uneven(20_000)
    tree = KMeansTree(20, ONES)
    labels = tree.fit(X, random_state())
    assert tree.n_blocks > 32 * 10
    assert_array_equal(tree.assign(X), labels)


def test_scale_decides_what_is_near():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (400, 2))
    labels = KMeansTree(200, np.array([1e6, 1.0])).fit(X, random_state())
    means = [X[labels == k, 1].mean() for k in range(labels.max() + 1)]
    assert np.ptp(means) > 0.4


def test_one_row_many_times_is_cut_into_equal_blocks():
    X = np.ones((100, 2))
    tree = KMeansTree(30, ONES)
    labels = tree.fit(X, random_state())
    assert np.bincount(labels).max() <= 45
    assert set(tree.assign(X[:3])) <= set(labels)


def test_few_rows_are_one_block():
    X = uneven(20)
    tree = KMeansTree(1000, ONES)
    assert_array_equal(tree.fit(X, random_state()), np.zeros(20))
    assert_array_equal(tree.assign(X), np.zeros(20))


@pytest.mark.parametrize("shuffle", [False, True])
def test_runs_are_of_equal_length(shuffle):
    X = uneven(1003)
    labels = Ordered(100, ONES, shuffle).fit(X, random_state())
    sizes = np.bincount(labels)
    assert len(sizes) == 10
    assert np.ptp(sizes) <= 1
    assert (np.diff(labels) >= 0).all() is np.bool_(not shuffle)


def test_a_test_row_goes_to_the_nearest_run():
    X = np.column_stack([np.arange(100.0), np.zeros(100)])
    runs = Ordered(10, ONES, False)
    runs.fit(X, random_state())
    assert_array_equal(runs.assign(np.array([[-5.0, 0.0], [44.0, 0.0], [1e3, 0.0]])), [0, 4, 9])


def test_a_clusterer_is_fitted_to_scaled_inputs():
    X = uneven(300)
    scale = np.array([2.0, 5.0])
    mine = Clusterer(KMeans(4, n_init=1, random_state=0), scale)
    labels = mine.fit(X, random_state())
    expected = KMeans(4, n_init=1, random_state=0).fit(X / scale)
    assert_array_equal(labels, expected.labels_)
    assert_array_equal(mine.assign(X), labels)


def test_labels_that_were_never_seen_have_no_block():
    classes = np.array(["a", "c", "d"])
    assert_array_equal(position_of(np.array(["d", "b", "a", "z"]), classes), [2, -1, 0, -1])


@pytest.mark.parametrize("labels", [[0, 1], [[0], [1], [2]], [0.5, 1.5, 2.5]])
def test_bad_labels_are_refused(labels):
    with pytest.raises(ValueError, match="blocks must hold"):
        check_labels(labels, 3)


@pytest.mark.parametrize("labels", [[0, 5, 5], ["x", "y", "x"], [True, False, True]])
def test_good_labels_pass(labels):
    assert_array_equal(check_labels(labels, 3), labels)
