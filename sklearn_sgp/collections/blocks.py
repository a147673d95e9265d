"""Blocks of rows in partitions: no block is in two of them, so that none leaves its worker."""

from dataclasses import replace
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from ..data.rows import random_index
from ..partitions.blocks import AnyBlocks, Blocks
from ..partitions.partition import Partition, position_of
from .compute import computed, each, in_one, resident
from .rows import PartitionedRows, PartitionPieces, loaded_rows


class RowBlocks(AnyBlocks):
    """Blocks of independent rows, of which any division gives the same sums.

    ``size`` counts rows of a block; ``rng`` is for the rows of those blocks that are asked for.
    """

    def __init__(self, rows, size, rng):
        self.rows, self.rng = rows, rng
        self.bounds = np.minimum(np.arange(-(-len(rows) // size) + 1) * size, len(rows))
        self._places = {}

    def __call__(self, k):
        return self.several([k])[0]

    def several(self, numbers):
        """Draw `Rows` of some blocks at random, each row in one block only."""
        new = [k for k in numbers if k not in self._places]
        sizes = np.diff(self.bounds)[new]
        used = np.concatenate([*self._places.values(), np.empty(0, dtype=np.int64)])
        drawn = random_index(len(self.rows), len(used) + int(sizes.sum()), self.rng)
        drawn = drawn[~np.isin(drawn, used)][: int(sizes.sum())]
        if new:
            self.rows.holding(drawn)
            ends = np.cumsum(sizes)[:-1]
            self._places |= dict(zip(new, map(np.sort, np.split(drawn, ends)), strict=True))
        return [self.rows.select(self._places[k]) for k in numbers]

    def as_pieces(self, n_jobs=None):
        """Return what a pass over all rows goes through, where they are."""
        return self.rows.as_pieces(n_jobs)


class LabelledBlocks(AnyBlocks):
    """Blocks with the user's labels.

    Parameters
    ----------
    labels : list of ndarray
        Labels in each partition.
    sizes : list of ndarray of int
        Numbers of their rows.
    """

    def __init__(self, rows, labels, sizes):
        self.rows = rows
        every, home = np.concatenate(labels), np.repeat(np.arange(len(labels)), [*map(len, labels)])
        order = np.argsort(every, kind="stable")
        self.block_labels, self.home = every[order], home[order]
        twice = self.block_labels[1:][self.block_labels[1:] == self.block_labels[:-1]]
        if len(twice):
            raise ValueError(
                "blocks must have all rows of a label in one partition. Got rows of "
                f"{twice[0]!r} in several: sort or shuffle the collection by the labels first, as "
                "by dataframe.shuffle."
            )
        self.bounds = np.concatenate([[0], np.cumsum(np.concatenate(sizes)[order])])

    def __call__(self, k):
        return self.several([k])[0]

    @property
    def homes(self):
        """`Homes` of the blocks."""
        return Homes(self.rows.parts, self.rows.load, self.home, len(self.rows))

    def several(self, numbers):
        numbers = np.asarray(numbers)
        home = self.home[numbers]
        asked = [np.flatnonzero(home == k) for k in np.unique(home)]
        parts = [(*self.rows.parts[home[i[0]]], self.block_labels[numbers[i]]) for i in asked]
        blocks = list(chain(*computed(each(_some_blocks, parts, self.rows.load))))
        return [blocks[i] for i in np.argsort(np.concatenate(asked))]

    def around(self, cells):
        known = [k for k in cells if k >= 0]
        rows_of = dict(zip(known, self.several(known), strict=True)) if known else {}
        parts = [rows_of.get(k, self.rows.like) for k in cells]
        ends = np.cumsum([len(part) for part in parts])
        rows = self.rows.like.joined(*parts) if len(parts) > 1 else parts[0]
        return rows, np.split(np.arange(ends[-1]), ends[:-1])

    def as_pieces(self, n_jobs=None):
        """Return what a pass over all blocks goes through, where they are."""
        return _BlockPieces(self.rows.parts, self.rows.load, n_jobs)


class _BlockPieces(PartitionPieces):
    """Blocks as pieces of rows that live elsewhere."""

    def map(self, function, *shared, slices=None):
        if slices is not None:
            return super().map(function, *shared, slices=slices)
        tasks = each(_of_blocks, self.parts, self.load, function, shared)
        return computed([in_one(tasks)])


def _of_blocks(*arguments):
    *part, load, function, shared = arguments
    rows = loaded_rows(*part, load)
    return function(
        [_rows_of_block(rows, label) for label in np.unique(rows.labels)], None, *shared
    )


def _rows_of_block(rows, label):
    """Take the rows of a block, which carry no label any more."""
    return rows.select(np.flatnonzero(rows.labels == label)).without_labels()


def _some_blocks(*arguments):
    *part, labels, load = arguments
    rows = loaded_rows(*part, load)
    return [_rows_of_block(rows, label) for label in labels]


def blocks_here(rows):
    """Make `Blocks` of the rows of one partition, in the order of their labels."""
    _, numbers = np.unique(rows.labels, return_inverse=True)
    return Blocks(rows.without_labels(), numbers)


class Homes(NamedTuple):
    """Parts of the rows that have the rows of each block.

    Attributes
    ----------
    parts : list of tuple
    load : callable or None
        As of `PartitionedRows`.
    home : ndarray of int, shape (n_blocks,)
        A part for each block. The labels of its rows sort its blocks as this array has them.
    n_rows : int
    """

    parts: list
    load: object
    home: np.ndarray
    n_rows: int


def divided(blocks, count):
    """Divide blocks in memory among parts of about as many rows, each of which can be sent.

    ``count`` is the most parts.
    """
    from dask import delayed

    sizes, parts = np.diff(blocks.bounds), []
    _, first, home = np.unique(_evenly(sizes, count), return_index=True, return_inverse=True)
    for lo, hi in pairwise([*first, len(sizes)]):
        labels = np.repeat(np.arange(lo, hi), sizes[lo:hi])
        rows = replace(blocks.run(lo, hi), labels=labels)
        parts.append((delayed(rows, traverse=False, pure=False),))
    return Homes(parts, None, home, int(sizes.sum()))


def _evenly(sizes, count):
    """Assign successive blocks of these sizes to so many parts of about as many rows."""
    return np.minimum((np.cumsum(sizes) - sizes) * count // sizes.sum(), count - 1)


class Renumbered(Partition):
    """A partition that gives the places of blocks among those that have rows, -1 for others.

    ``known`` are numbers of blocks of the partition that have rows.
    """

    def __init__(self, partition, known):
        self.partition, self.known, self.scale = partition, known, partition.scale

    def assign(self, X):
        return position_of(self.partition.assign(X), self.known)


def regrouped(rows, partition):
    """Bring rows together so that each block of a partition is in one place, and stays there.

    Each row moves once, from where it is read to the worker that has its block. The partition has
    ``assign(X)``; it has been fitted to a sample.

    Returns
    -------
    blocks : LabelledBlocks
        Their labels are the partition's numbers.
    """
    count = partition.n_blocks
    (sizes,) = computed([in_one(each(_counted, rows.parts, rows.load, partition, count))])
    n_parts = len(rows.parts)
    group = _evenly(sizes, n_parts)
    divided = each(_divided, rows.parts, rows.load, partition, group, n_parts)
    groups = [k for k in range(n_parts) if sizes[group == k].any()]
    tasks = resident(each(_gathered_blocks, [tuple(task[k] for task in divided) for k in groups]))
    labels = [np.flatnonzero((group == k) & (sizes > 0)) for k in groups]
    each_size = [sizes[own] for own in labels]
    parts, n_rows = [(task,) for task in tasks], [int(own.sum()) for own in each_size]
    total = rows.total_weight, rows.weighted_rows, rows.like
    together = PartitionedRows(parts, None, n_rows, *total, labels=(labels, each_size))
    return LabelledBlocks(together, labels, each_size)


def _counted(*arguments):
    *part, load, partition, count = arguments
    return np.bincount(partition.assign(loaded_rows(*part, load).X), minlength=count)


def _divided(*arguments):
    """Divide rows of a partition into those of each group of blocks, labelled by their blocks."""
    *part, load, partition, group, n_groups = arguments
    rows = loaded_rows(*part, load)
    rows = replace(rows, labels=partition.assign(rows.X))
    return [rows.select(np.flatnonzero(group[rows.labels] == k)) for k in range(n_groups)]


def _gathered_blocks(*parts):
    joined = parts[0].joined(*parts[1:])
    return replace(joined, labels=np.concatenate([part.labels for part in parts]))


def blocks_of(rows: PartitionedRows, size, rng):
    """Make blocks with the labels of the rows if they have some, else of independent rows."""
    return RowBlocks(rows, size, rng) if rows.labels is None else LabelledBlocks(rows, *rows.labels)
