"""Blocks of rows: sizes, and where rows go."""

import numpy as np
import pytest
from block_helpers import blocks_of
from dense import make_case
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans

from sklearn_sgp.data.columns_apart import check_labels
from sklearn_sgp.partitions.blocks import Blocks
from sklearn_sgp.partitions.partition import (
    LARGEST_SHARE,
    ClustererPartition,
    KMeansTree,
    OrderedPartition,
    PartitionChoice,
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


# Partitions


@pytest.mark.parametrize("block_size", [1, 7, 50, 1000, 2500, 10_000])
def test_no_block_of_a_tree_is_too_large(block_size):
    """No block is empty, and none larger than it may be, where most rows are in one place."""
    X = uneven()
    labels = KMeansTree(block_size, ONES).fit(X, random_state())
    sizes = np.bincount(labels)
    assert sizes.min() > 0
    assert sizes.max() <= max(LARGEST_SHARE * block_size, 1)


@pytest.mark.parametrize("block_size", [7, 50, 5000])
def test_a_tree_assigns_the_rows_it_was_fitted_to_where_they_are(block_size):
    """The tree finds each of its own rows in the block that the row is in."""
    X = uneven()
    tree = KMeansTree(block_size, np.array([1.0, 3.0]))
    labels = tree.fit(X, random_state())
    assert_array_equal(tree.assign(X), labels)
    assert labels.max() + 1 == tree.n_blocks


def test_a_tree_goes_deeper_than_its_branches():
    """Many more blocks than a node has branches work as well."""
    X = uneven(20_000)
    tree = KMeansTree(20, ONES)
    labels = tree.fit(X, random_state())
    assert tree.n_blocks > 32 * 10
    assert_array_equal(tree.assign(X), labels)


def test_scale_decides_what_is_near():
    """A column with a large scale plays no role in distances."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (400, 2))
    labels = KMeansTree(200, np.array([1e6, 1.0])).fit(X, random_state())
    means = [X[labels == k, 1].mean() for k in range(labels.max() + 1)]
    assert np.ptp(means) > 0.4


def test_one_row_many_times_is_cut_into_equal_blocks():
    """Rows that cannot be told apart are cut into blocks of the size asked for."""
    X = np.ones((100, 2))
    tree = KMeansTree(30, ONES)
    labels = tree.fit(X, random_state())
    assert np.bincount(labels).max() <= 45
    assert set(tree.assign(X[:3])) <= set(labels)


def test_few_rows_are_one_block():
    """Fewer rows than a block may have are one block, and so are all test rows."""
    X = uneven(20)
    tree = KMeansTree(1000, ONES)
    assert_array_equal(tree.fit(X, random_state()), np.zeros(20))
    assert_array_equal(tree.assign(X), np.zeros(20))


@pytest.mark.parametrize("shuffle", [False, True])
def test_runs_are_of_equal_length(shuffle):
    """Blocks of ordered rows differ by a row at most, in order unless shuffled."""
    X = uneven(1003)
    labels = OrderedPartition(100, ONES, shuffle).fit(X, random_state())
    sizes = np.bincount(labels)
    assert len(sizes) == 10
    assert np.ptp(sizes) <= 1
    assert (np.diff(labels) >= 0).all() is np.bool_(not shuffle)


def test_a_test_row_goes_to_the_nearest_run():
    """A test row belongs to the block with the nearest mean."""
    X = np.column_stack([np.arange(100.0), np.zeros(100)])
    runs = OrderedPartition(10, ONES, False)
    runs.fit(X, random_state())
    assert_array_equal(runs.assign(np.array([[-5.0, 0.0], [44.0, 0.0], [1e3, 0.0]])), [0, 4, 9])


def test_a_clusterer_is_fitted_to_scaled_inputs():
    """A clusterer sees inputs divided by the scale, in fit and in predict."""
    X = uneven(300)
    scale = np.array([2.0, 5.0])
    mine = ClustererPartition(KMeans(4, n_init=1, random_state=0), scale)
    labels = mine.fit(X, random_state())
    expected = KMeans(4, n_init=1, random_state=0).fit(X / scale)
    assert_array_equal(labels, expected.labels_)
    assert_array_equal(mine.assign(X), labels)


# Labels


def test_labels_that_were_never_seen_have_no_block():
    """The position of a label that is not among the classes is -1."""
    classes = np.array(["a", "c", "d"])
    assert_array_equal(position_of(np.array(["d", "b", "a", "z"]), classes), [2, -1, 0, -1])


@pytest.mark.parametrize("labels", [[0, 1], [[0], [1], [2]], [0.5, 1.5, 2.5]])
def test_bad_labels_are_refused(labels):
    """Labels of the wrong number, shape or kind raise ValueError."""
    with pytest.raises(ValueError, match="block_column must hold"):
        check_labels(labels, 3)


@pytest.mark.parametrize("labels", [[0, 5, 5], ["x", "y", "x"], [True, False, True]])
def test_good_labels_pass(labels):
    """Integers, strings and booleans are labels."""
    assert_array_equal(check_labels(labels, 3), labels)


def test_labels_are_of_one_kind():
    """Strings where the classes are numbers are refused, and numbers where they are strings."""
    numbers, words = np.array([3, 1]), np.array(["a", "b"])
    assert_array_equal(check_labels([7, 1], 2, numbers), [7, 1])
    assert_array_equal(check_labels(["b", "c"], 2, words), ["b", "c"])
    for labels, classes in ((["3", "1"], numbers), ([0, 1], words)):
        with pytest.raises(ValueError, match="block_column must hold labels like those of fit"):
            check_labels(labels, 2, classes)


# Choices, and the blocks themselves


@pytest.mark.parametrize("name", ["kmeans", "contiguous", "random"])
def test_a_choice_makes_partitions_of_the_size_asked_for(name):
    """Each name is a partition, in order only where it is contiguous."""
    X = np.random.default_rng(0).uniform(0.0, 1.0, (200, 2))
    partition = PartitionChoice(name, 50).make(ONES)
    labels = partition.fit(X, random_state())
    assert labels.max() + 1 == partition.n_blocks
    assert np.bincount(labels).max() <= LARGEST_SHARE * 50
    assert (np.diff(labels) >= 0).all() is np.bool_(name == "contiguous")


def test_a_choice_does_not_fit_the_users_clusterer():
    """A clone is fitted, so that the one that was given may be used again."""
    mine = KMeans(3, n_init=1, random_state=0)
    partition = PartitionChoice(mine, 50).make(ONES)
    assert set(partition.fit(uneven(300), random_state())) == {0, 1, 2}
    assert not hasattr(mine, "cluster_centers_")


def test_blocks_hold_every_row_once_in_their_order():
    """Block k has the rows with label k, in the order in which they came."""
    case, labels = make_case(weighted=True), np.random.default_rng(0).permutation(24) % 5
    blocks = Blocks(case.rows, labels)
    assert len(blocks) == 5
    for k in range(5):
        for name in ("X", "y", "weight"):
            expected = getattr(case.rows, name)[labels == k]
            assert_array_equal(getattr(blocks(k), name), expected)


def test_more_rows_join_blocks_or_begin_new_ones():
    """Extended blocks have the old rows before the new ones; the old blocks stay as they were."""
    case = make_case()
    blocks, more = blocks_of(case), make_case(n=4, seed=1).rows
    extended = blocks.extended(more, np.array([5, 0, 5, 3]))
    assert len(extended) == 6 and len(blocks) == 5 and len(blocks.rows) == 24
    assert_array_equal(extended(0).X, np.vstack([case.X[:3], more.X[1:2]]))
    assert_array_equal(extended(3).X, np.vstack([case.X[10:17], more.X[3:]]))
    assert_array_equal(extended(5).X, more.X[[0, 2]])
    for k in (1, 2, 4):
        assert_array_equal(extended(k).X, blocks(k).X)
