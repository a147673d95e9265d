"""Blocks of rows in partitions: no block is in two of them, so that none leaves its worker."""

from dataclasses import replace

import numpy as np

from ..data.rows import random_index
from ..partitions.partition import Blocks, position_of
from .compute import computed, each, in_one, resident
from .rows import PartitionedRows, PartitionPieces, loaded_rows


class RowBlocks:
    """Blocks of independent rows, of which any division gives the same sums.

    Parameters
    ----------
    rows : PartitionedRows
    size : int
        Rows of a block.
    rng : numpy.random.RandomState
        For the rows of those blocks that are asked for.
    """

    def __init__(self, rows, size, rng):
        self.rows, self.rng = rows, rng
        self.bounds = np.minimum(np.arange(-(-len(rows) // size) + 1) * size, len(rows))
        self._places = {}

    def __len__(self):
        return len(self.bounds) - 1

    def __call__(self, k):
        return self.several([k])[0]

    def several(self, numbers):
        """Draw `Rows` of some blocks, in memory, each row in one block only."""
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
        """Return the pieces of all rows, where they are."""
        return self.rows.as_pieces(n_jobs)


class LabelledBlocks:
    """Blocks with the user's labels.

    Parameters
    ----------
    rows : PartitionedRows
    labels : list of ndarray
        Labels in each partition.
    sizes : list of ndarray of int
        Numbers of their rows.

    Raises
    ------
    ValueError
        If a block is in two partitions.
    """

    def __init__(self, rows, labels, sizes):
        self.rows = rows
        every = np.concatenate(labels)
        order = np.argsort(every, kind="stable")
        self.labels, self.home = (
            every[order],
            np.repeat(np.arange(len(labels)), [*map(len, labels)]),
        )
        self.home = self.home[order]
        twice = self.labels[1:][self.labels[1:] == self.labels[:-1]]
        if len(twice):
            raise ValueError(
                "blocks must have all rows of a label in one partition. Got rows of "
                f"{twice[0]!r} in several: sort or shuffle the collection by the labels first, as "
                "by dataframe.shuffle."
            )
        self.bounds = np.concatenate([[0], np.cumsum(np.concatenate(sizes)[order])])

    def __len__(self):
        return len(self.labels)

    def __call__(self, k):
        return self.several([k])[0]

    def several(self, numbers):
        """Return `Rows` of some blocks, in memory."""
        parts = [(*self.rows.parts[self.home[k]], self.labels[k]) for k in numbers]
        return computed(each(_block, parts, self.rows.load))

    def around(self, cells):
        """Bring the rows of some blocks here; see `partitions.partition.Blocks.around`."""
        known = [k for k in cells if k >= 0]
        rows_of = dict(zip(known, self.several(known), strict=True)) if known else {}
        parts = [rows_of.get(k, self.rows.like) for k in cells]
        ends = np.cumsum([len(part) for part in parts])
        rows = self.rows.like.joined(*parts) if len(parts) > 1 else parts[0]
        return rows, np.split(np.arange(ends[-1]), ends[:-1])

    def as_pieces(self, n_jobs=None):
        """Return the pieces of all blocks, where they are."""
        return _BlockPieces(self.rows.parts, self.rows.load, n_jobs)


class _BlockPieces(PartitionPieces):
    """A piece is a block."""

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
    """Return the rows of a block, which carry no label any more."""
    return rows.select(np.flatnonzero(rows.labels == label)).without_labels()


def _block(*arguments):
    *part, label, load = arguments
    return _rows_of_block(loaded_rows(*part, load), label)


def blocks_here(rows):
    """Return `Blocks` of the rows of one partition, and their labels."""
    labels, numbers = np.unique(rows.labels, return_inverse=True)
    return Blocks(rows.without_labels(), numbers), labels


class Renumbered:
    """A partition that gives the places of blocks among those that have rows, -1 for others.

    Parameters
    ----------
    partition : object
        See `partitions.partition`.
    labels : ndarray of int
        Its numbers of blocks that have rows.
    """

    def __init__(self, partition, labels):
        self.partition, self.labels, self.scale = partition, labels, partition.scale

    def assign(self, X):
        return position_of(self.partition.assign(X), self.labels)


def regrouped(rows, partition):
    """Move rows so that each block of a partition is in one place, and stays there.

    Each row moves once, from where it is read to the worker that has its block.

    Parameters
    ----------
    rows : PartitionedRows
    partition : object
        With ``assign(X)``; it has been fitted to a sample.

    Returns
    -------
    blocks : LabelledBlocks
        Their labels are the partition's numbers.
    """
    count = partition.n_blocks
    (sizes,) = computed([in_one(each(_counted, rows.parts, rows.load, partition, count))])
    n_parts = len(rows.parts)
    group = np.minimum((np.cumsum(sizes) - sizes) * n_parts // len(rows), n_parts - 1)
    divided = each(_divided, rows.parts, rows.load, partition, group, n_parts)
    groups = [k for k in range(n_parts) if sizes[group == k].any()]
    tasks = resident(each(_gathered_blocks, [tuple(task[k] for task in divided) for k in groups]))
    labels = [np.flatnonzero((group == k) & (sizes > 0)) for k in groups]
    each_size = [sizes[numbers] for numbers in labels]
    together = PartitionedRows(
        [(task,) for task in tasks],
        None,
        [int(of_blocks.sum()) for of_blocks in each_size],
        rows.total_weight,
        rows.weighted_rows,
        rows.like,
        labels=(labels, each_size),
    )
    return LabelledBlocks(together, labels, each_size)


def _counted(*arguments):
    *part, load, partition, count = arguments
    return np.bincount(partition.assign(loaded_rows(*part, load).X), minlength=count)


def _divided(*arguments):
    """Divide rows of a partition by groups of blocks, labelled by their blocks."""
    *part, load, partition, group, n_groups = arguments
    rows = loaded_rows(*part, load)
    rows = replace(rows, labels=partition.assign(rows.X))
    return [rows.select(np.flatnonzero(group[rows.labels] == k)) for k in range(n_groups)]


def _gathered_blocks(*parts):
    joined = parts[0].joined(*parts[1:])
    return replace(joined, labels=np.concatenate([part.labels for part in parts]))


def blocks_of(rows: PartitionedRows, size, rng):
    """Make blocks by the labels of the rows if they have some, else of independent rows."""
    return RowBlocks(rows, size, rng) if rows.labels is None else LabelledBlocks(rows, *rows.labels)
