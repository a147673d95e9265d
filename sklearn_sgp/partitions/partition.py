"""Partitions: which block a row belongs to, made from inputs or given as labels.

Those made from inputs have ``fit(X, rng)``, which returns the block of each row, ``assign(X)``, and
``split(k, X, size, rng)``, a partition in which block k, grown too large, is several. The latter
leaves the partition itself as it was. Blocks are numbered from 0; -1 stands for no block at all.
"""

import copy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from .._parallel import single_blas_thread
from ..data.clusters import distinct, kmeans, nearest
from ..data.rows import MERGE_ROWS, order_of_columns, random_index

# No block is larger than so many times the size that was asked for: its cost is cubic in its rows.
LARGEST_SHARE = 1.5
_MOST_BRANCHES = 32
_SAMPLE_PER_BRANCH = 64
_TREE_ITERATIONS = 10
_ASSIGN_ROWS = 1 << 16


class Partition:
    """Base of partitions: what models ask of them, by `Inputs` or `Rows`.

    Attributes
    ----------
    labels : ndarray or None
        The user's labels of the blocks, in their order.
    by_inputs : bool
        Whether inputs say which block a row is of.
    """

    labels, by_inputs = None, True

    def number(self, inputs):
        """Return the number of the block of each row, -1 for none."""
        return self.assign(inputs.X)

    def cells_of(self, blocks, rows, places):
        """Return the cells that training rows at some places were put into.

        Inputs need not say: runs of rows, or random ones, lie among those of other blocks.
        """
        return blocks.cells_at(places) if blocks.keeps_rows else self.number(rows)

    def joined_by(self, rows, n_blocks):
        """Return the partition and the blocks of later rows, where there are so many blocks."""
        return self, self.number(rows)

    def labelled(self, rows, numbers):
        """Return rows of these blocks with what says that they are."""
        return rows


@dataclass(frozen=True)
class GivenBlocks(Partition):
    """Blocks that the user has labelled."""

    labels: np.ndarray
    by_inputs = False

    def number(self, inputs):
        """Return the number of the block of each row, -1 for a label that is not known."""
        return position_of(inputs.labels, self.labels)

    def joined_by(self, rows, n_blocks):
        """Return the partition with labels that are new, and the blocks of later rows."""
        labels = np.concatenate([self.labels, np.setdiff1d(rows.labels, self.labels)])
        return GivenBlocks(labels), position_of(rows.labels, labels)

    def labelled(self, rows, numbers):
        """Return rows with their labels."""
        return replace(rows, labels=self.labels[numbers])


@dataclass(frozen=True)
class IndependentRows(Partition):
    """Runs of successive rows, so many, which say nothing of other rows."""

    size: int
    by_inputs = False

    def joined_by(self, rows, n_blocks):
        """Return the partition and new blocks for later rows."""
        return self, n_blocks + np.arange(len(rows)) // self.size


def numbers_of_parts(k, n_blocks, n_parts):
    """Return the numbers of parts of block k among so many: its own, and new ones."""
    return np.append(k, n_blocks + np.arange(n_parts - 1))


class KMeansTree(Partition):
    """k-means of k-means, until no block is too large.

    One k-means with thousands of centres would cost more than the fits in its blocks. A tree with
    at most 32 centres at each node is linear in the rows, and so is its way to a test row's block.

    Parameters
    ----------
    block_size : int
        Rows of a block, on average.
    scale : ndarray of shape (d,) or Units
        Distances are taken in ``X / scale``.
    """

    def __init__(self, block_size, scale):
        self.block_size, self.scale = block_size, scale

    def fit(self, X, rng):
        labels = np.zeros(len(X), dtype=np.intp)
        self.centres, self.children, self.n_blocks = [], [], 0
        if len(X) <= LARGEST_SHARE * self.block_size:
            self.n_blocks = 1
            return labels
        some = np.asarray(X[:MERGE_ROWS], dtype=np.float64) / self.scale
        order = order_of_columns(some, len(X))
        pending = [(np.arange(len(X)), None)]
        while pending:
            index, place = pending.pop()
            if len(index) <= LARGEST_SHARE * self.block_size:
                labels[index] = self._leaf(place)
                continue
            branch = self._split(X, index, order, rng)
            if branch is None:  # one and the same row, many times: their order says nothing
                parts = np.array_split(rng.permutation(index), -(-len(index) // self.block_size))
                for k, part in enumerate(parts):
                    labels[part] = self._leaf(place if k == 0 else None)
                continue
            node, lo = self._node(place), 0
            index = index[np.argsort(branch, kind="stable")]
            for k, count in enumerate(np.bincount(branch).tolist()):
                if count:
                    pending.append((index[lo : lo + count], (node, k)))
                lo += count
        return labels

    def _leaf(self, place):
        """Number of a new block, noted at its place in the tree."""
        block, self.n_blocks = self.n_blocks, self.n_blocks + 1
        if place is not None:
            node, k = place
            self.children[node][k] = -1 - block
        return block

    def _node(self, place):
        """Number of the node whose centres were just appended, noted at its place."""
        node = len(self.centres) - 1
        if place is not None:
            parent, k = place
            self.children[parent][k] = node
        return node

    def _split(self, X, index, order, rng):
        """Return the branch of each row, or None where the rows cannot be told apart.

        Centres are drawn from points sorted by their columns in some order.
        """
        k = int(np.clip(round(len(index) / self.block_size), 2, _MOST_BRANCHES))
        sample = index
        if len(index) > _SAMPLE_PER_BRANCH * k:
            sample = index[np.sort(random_index(len(index), _SAMPLE_PER_BRANCH * k, rng))]
        points = np.asarray(X[sample], dtype=np.float64) / self.scale
        points = distinct(np.ascontiguousarray(points[:, order]))
        if len(points) == 1:
            return None
        # a partition, not a clustering: a few iterations from any rows are enough
        count = min(k, len(points))
        centres = kmeans(points, count, rng, max_iter=_TREE_ITERATIONS, init="random")
        centres = np.ascontiguousarray(centres[:, np.argsort(order)])
        branch = self._nearest(X, index, centres)
        used = np.flatnonzero(np.bincount(branch))
        if len(used) == 1:
            return None
        self.centres.append(centres[used])
        self.children.append(np.zeros(len(used), dtype=np.intp))
        return np.searchsorted(used, branch)

    def _nearest(self, X, index, centres):
        parts = [
            nearest(
                np.asarray(X[index[lo : lo + _ASSIGN_ROWS]], dtype=np.float64) / self.scale, centres
            )
            for lo in range(0, len(index), _ASSIGN_ROWS)
        ]
        return np.concatenate(parts)

    def assign(self, X):
        labels = np.zeros(len(X), dtype=np.intp)
        pending = [(np.arange(len(X)), 0)] if self.centres else []
        while pending:
            index, node = pending.pop()
            child = self.children[node][self._nearest(X, index, self.centres[node])]
            for value in np.unique(child):
                part = index[child == value]
                if value < 0:
                    labels[part] = -1 - value
                else:
                    pending.append((part, value))
        return labels

    def split(self, k, X, size, rng):
        """Put a tree of its own in the place of a block.

        Parameters
        ----------
        k : int
            The block.
        X : ndarray of shape (n, d)
            All its rows.
        size : int
            Rows of a new block, on average.

        Returns
        -------
        partition : KMeansTree
        labels : ndarray of int, shape (n,)
            Blocks of the rows: k, and new ones.
        """
        below = KMeansTree(size, self.scale)
        labels = below.fit(X, rng)
        numbers = numbers_of_parts(k, self.n_blocks, below.n_blocks)
        whole, first = copy.copy(self), len(self.centres)
        whole.centres = self.centres + below.centres
        children = self.children
        if below.centres:
            children = [np.where(nodes == -1 - k, first, nodes) for nodes in children]
        whole.children = children + [
            np.where(nodes < 0, -1 - numbers[-1 - nodes], nodes + first) for nodes in below.children
        ]
        whole.n_blocks += below.n_blocks - 1
        return whole, numbers[labels]


class OrderedPartition(Partition):
    """Runs of successive rows, or of rows in random order; a test row goes to the nearest block.

    The nearest by the distance from the blocks' means, in ``X / scale``.

    Parameters
    ----------
    block_size : int
    scale : ndarray of shape (d,) or Units
    shuffle : bool
    """

    def __init__(self, block_size, scale, shuffle):
        self.block_size, self.scale, self.shuffle = block_size, scale, shuffle

    def fit(self, X, rng):
        n = len(X)
        self.n_blocks = max(1, round(n / self.block_size))
        labels = np.arange(n) * self.n_blocks // n
        if self.shuffle:
            labels = labels[rng.permutation(n)]
        order, ends = np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))
        parts = (np.asarray(X[run], dtype=np.float64) for run in np.split(order, ends[:-1]))
        self.means = np.stack([(part / self.scale).mean(axis=0) for part in parts])
        return labels

    def assign(self, X):
        return nearest(np.asarray(X, dtype=np.float64) / self.scale, self.means)

    def split(self, k, X, size, rng):
        """Put shorter runs in the place of a block; see `KMeansTree.split`."""
        parts = OrderedPartition(size, self.scale, self.shuffle)
        labels = parts.fit(X, rng)
        numbers = numbers_of_parts(k, self.n_blocks, parts.n_blocks)
        whole = copy.copy(self)
        whole.means = np.vstack([self.means, parts.means[1:]])
        whole.means[k] = parts.means[0]
        whole.n_blocks += parts.n_blocks - 1
        return whole, numbers[labels]


class ClustererPartition(Partition):
    """A clusterer of the user's that has ``predict``, fitted to the scaled inputs."""

    def __init__(self, clusterer, scale):
        self.clusterer, self.scale = clusterer, scale

    def fit(self, X, rng):
        with single_blas_thread():  # a clusterer may limit BLAS, and puts back what it finds
            labels = self.clusterer.fit(self._scaled(X)).predict(self._scaled(X))
        self.classes = np.unique(labels)
        self.n_blocks = len(self.classes)
        return np.searchsorted(self.classes, labels)

    def assign(self, X):
        return position_of(self._predicted(X), self.classes)

    def _scaled(self, X):
        return np.asarray(X, dtype=np.float64) / self.scale

    def _predicted(self, X):
        with single_blas_thread():
            return np.asarray(self.clusterer.predict(self._scaled(X)))

    def joined_by(self, rows, n_blocks):
        """Assign rows to blocks; labels new to the clusterer begin new blocks."""
        labels = self._predicted(rows.X)
        whole = copy.copy(self)
        whole.classes = np.concatenate([self.classes, np.setdiff1d(labels, self.classes)])
        whole.n_blocks = len(whole.classes)
        return whole, position_of(labels, whole.classes)

    def split(self, k, X, size, rng):
        """Return the partition as it is: the blocks are the clusterer's."""
        return self, np.full(len(X), k)


@dataclass(frozen=True)
class PartitionChoice:
    """A way to put rows into blocks, before length scales are known."""

    partition: object
    block_size: int

    def make(self, scale):
        """Return a partition with distances in ``X / scale``."""
        if not isinstance(self.partition, str):
            return ClustererPartition(clone(self.partition), scale)
        if self.partition == "kmeans":
            return KMeansTree(self.block_size, scale)
        return OrderedPartition(self.block_size, scale, shuffle=self.partition == "random")


def position_of(labels, classes):
    """Return the position of each label among distinct classes, -1 for one that is not there."""
    order = np.argsort(classes)
    place = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.where(classes[place] == labels, place, -1)
