"""Blocks of rows: made from inputs or given as labels; which block a test row belongs to.

Every partition has ``fit(X, rng)``, which returns the block of each row, and ``assign(X)``. Blocks
are numbered from 0; -1 stands for no block at all. For later rows, ``joined_by(X)`` returns the
partition and the block of each row, and ``split(k, X, size, rng)`` a partition in which block k,
grown too large, is several. Both leave the partition itself as it was.
"""

import copy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from .._linalg import single_blas_thread
from ..data.clusters import distinct, kmeans, nearest
from ..data.rows import random_index

# No block is larger than so many times the size that was asked for: its cost is cubic in its rows.
LARGEST_SHARE = 1.5
_BRANCHES = 32
_SAMPLE_PER_BRANCH = 64
_KMEANS_ITERATIONS = 10
_ASSIGN_ROWS = 1 << 16


class KMeansTree:
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
        pending = [(np.arange(len(X)), None)]
        while pending:
            index, place = pending.pop()
            if len(index) <= LARGEST_SHARE * self.block_size:
                labels[index] = self._leaf(place)
                continue
            branch = self._split(X, index, rng)
            if branch is None:  # one and the same row, many times
                parts = np.array_split(index, -(-len(index) // self.block_size))
                for k, part in enumerate(parts):
                    labels[part] = self._leaf(place if k == 0 else None)
                continue
            node = self._node(place)
            for k in range(len(self.centres[node])):
                part = index[branch == k]
                if len(part):
                    pending.append((part, (node, k)))
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

    def _split(self, X, index, rng):
        """Branch of each row, or None where the rows cannot be told apart."""
        k = int(np.clip(round(len(index) / self.block_size), 2, _BRANCHES))
        sample = index
        if len(index) > _SAMPLE_PER_BRANCH * k:
            sample = index[np.sort(random_index(len(index), _SAMPLE_PER_BRANCH * k, rng))]
        points = distinct(np.asarray(X[sample], dtype=np.float64) / self.scale)
        if len(points) == 1:
            return None
        # a partition, not a clustering: a few iterations from any rows are enough
        count = min(k, len(points))
        centres = kmeans(points, count, rng, max_iter=_KMEANS_ITERATIONS, init="random")
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
                np.asarray(X[index[lo : lo + _ASSIGN_ROWS]], dtype=np.float64) / self.scale,
                centres,
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

    def joined_by(self, X):
        return self, self.assign(X)

    def split(self, k, X, size, rng):
        """A tree with a tree of its own in the place of a block.

        Parameters
        ----------
        k : int
            The block.
        X : ndarray of shape (n, d)
            All its rows.
        size : int
            Rows of a new block, on average.
        rng : numpy.random.RandomState

        Returns
        -------
        partition : KMeansTree
        labels : ndarray of int, shape (n,)
            Blocks of the rows: k, and new ones.
        """
        below = KMeansTree(size, self.scale)
        labels = below.fit(X, rng)
        numbers = np.r_[k, self.n_blocks + np.arange(below.n_blocks - 1)]
        whole, first = copy.copy(self), len(self.centres)
        whole.centres = self.centres + below.centres
        whole.children = [
            *(
                np.where(own == -1 - k, first, own) if below.centres else own
                for own in self.children
            ),
            *(np.where(own < 0, -1 - numbers[-1 - own], own + first) for own in below.children),
        ]
        whole.n_blocks += below.n_blocks - 1
        return whole, numbers[labels]


class OrderedPartition:
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
        points = (np.asarray(X[own], dtype=np.float64) for own in np.split(order, ends[:-1]))
        self.means = np.stack([(some / self.scale).mean(axis=0) for some in points])
        return labels

    def assign(self, X):
        return nearest(np.asarray(X, dtype=np.float64) / self.scale, self.means)

    def joined_by(self, X):
        return self, self.assign(X)

    def split(self, k, X, size, rng):
        """As `KMeansTree.split`: shorter runs in the place of a block."""
        parts = OrderedPartition(size, self.scale, self.shuffle)
        labels = parts.fit(X, rng)
        numbers = np.r_[k, self.n_blocks + np.arange(parts.n_blocks - 1)]
        whole = copy.copy(self)
        whole.means = np.vstack([self.means, parts.means[1:]])
        whole.means[k] = parts.means[0]
        whole.n_blocks += parts.n_blocks - 1
        return whole, numbers[labels]


class ClustererPartition:
    """A clusterer of the user's that has ``predict``, fitted to the scaled inputs.

    Parameters
    ----------
    clusterer : object
    scale : ndarray of shape (d,)
    """

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

    def joined_by(self, X):
        """Labels that the clusterer has not given before begin new blocks."""
        labels = self._predicted(X)
        whole = copy.copy(self)
        whole.classes = np.concatenate([self.classes, np.setdiff1d(labels, self.classes)])
        whole.n_blocks = len(whole.classes)
        return whole, position_of(labels, whole.classes)

    def split(self, k, X, size, rng):
        """Nothing is split: the blocks are the clusterer's."""
        return self, np.full(len(X), k)


@dataclass(frozen=True)
class PartitionChoice:
    """How rows are put into blocks, before length scales are known.

    Parameters
    ----------
    partition : {"kmeans", "contiguous", "random"} or clusterer
    block_size : int
    """

    partition: object
    block_size: int

    def make(self, scale):
        """A partition with distances in ``X / scale``."""
        if not isinstance(self.partition, str):
            return ClustererPartition(clone(self.partition), scale)
        if self.partition == "kmeans":
            return KMeansTree(self.block_size, scale)
        return OrderedPartition(self.block_size, scale, shuffle=self.partition == "random")


class Blocks:
    """Rows in blocks: an order of the rows, and where each block begins in it.

    Parameters
    ----------
    rows : Rows
    labels : ndarray of int, shape (n,)
        From 0, none left out.
    """

    def __init__(self, rows, labels):
        self.rows, self.sorted = rows, False
        self.order = np.argsort(labels, kind="stable")
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))])

    def __len__(self):
        return len(self.bounds) - 1

    def __call__(self, k):
        """Rows of block k."""
        own = slice(self.bounds[k], self.bounds[k + 1])
        return self.rows.select(own if self.sorted else self.order[own])

    def own(self, k):
        """Positions of the rows of block k."""
        place = np.arange(self.bounds[k], self.bounds[k + 1])
        return place if self.sorted else self.order[place]

    def around(self, cells):
        """Rows that test rows of some cells are conditioned on: those of the blocks themselves.

        Parameters
        ----------
        cells : list of int
            Numbers of blocks, -1 for none.

        Returns
        -------
        rows : Rows
        places : list of ndarray of int
            Positions of the rows of each cell among them.
        """
        own = [np.empty(0, dtype=np.intp) if k < 0 else self.own(k) for k in cells]
        ends = np.cumsum([len(part) for part in own])
        return self.rows.select(np.concatenate(own)), np.split(np.arange(ends[-1]), ends[:-1])

    @property
    def labels(self):
        """Block of each row, in the order of the rows as they are held."""
        labels = np.repeat(np.arange(len(self)), np.diff(self.bounds))
        if self.sorted:
            return labels
        unsorted = np.empty_like(labels)
        unsorted[self.order] = labels
        return unsorted

    def owned(self):
        """The same blocks with a copy of the rows, without labels, block after block."""
        copied = copy.copy(self)
        copied.rows, copied.sorted = replace(self.rows.select(self.order), labels=None), True
        return copied

    def weighted_as(self, rows):
        """The same blocks with the weights of other ``rows``: the same, as they came to be put in.

        Nothing but weights is copied.
        """
        changed, order = copy.copy(self), self.order if self.sorted else slice(None)
        weight, counts = (
            None if part is None else part[order] for part in (rows.weight, rows.counts)
        )
        changed.rows = replace(self.rows, weight=weight, counts=counts)
        return changed

    def drawn(self, size, rng):
        """Places of the rows of some blocks, about so many rows, as they came to be put in."""
        chosen = rng.permutation(len(self))
        count = np.searchsorted(np.cumsum(np.diff(self.bounds)[chosen]), size) + 1
        parts = [self.order[self.bounds[k] : self.bounds[k + 1]] for k in chosen[:count]]
        return np.concatenate(parts)

    def extended(self, rows, labels):
        """These blocks and more rows; labels beyond the last block begin new ones.

        Parameters
        ----------
        rows : Rows
            Targets scaled as before.
        labels : ndarray of int, shape (n,)

        Returns
        -------
        blocks : Blocks
        """
        return Blocks(self.rows.joined(rows), np.concatenate([self.labels, labels]))


def position_of(labels, classes):
    """Position of each label among distinct classes, -1 for one that is not there."""
    order = np.argsort(classes)
    place = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.where(classes[place] == labels, place, -1)


def check_labels(labels, n_rows, classes=None):
    """Return labels of blocks, (n_rows,), of the kind of ``classes`` if given, or refuse them."""
    labels = np.asarray(labels)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"block_column must hold one label for each of {n_rows} rows. Got shape {labels.shape}."
        )
    if labels.dtype.kind == "O":
        labels = labels.astype(str)
    if labels.dtype.kind not in "iubUS":
        raise ValueError(
            "block_column must hold integers or strings. Got "
            f"{labels.dtype} such as {labels.item(0)!r}."
        )
    if classes is not None and (classes.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise ValueError(
            f"block_column must hold labels like those of fit, such as {classes.item(0)!r}. Got "
            f"{labels.item(0)!r}."
        )
    return labels
