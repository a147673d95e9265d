"""Rows in blocks, and what groups of them are conditioned on.

Rows are independent of other blocks, or conditioned on earlier blocks of a chain (LMA) or on near
rows (VIF). Conditions only ever point to earlier groups, so that rows of a later batch change no
factor of an earlier one (docs/theory.md, section 12).
"""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ..data.clusters import short_path
from ..data.rows import ConditionedRows, in_parts
from .neighbours import NearestCells, NearGroups
from .partition import KMeansTree, OrderedPartition

# Test rows of a cell are conditioned on so many times as many rows as a group of training rows.
_NEAR_TEST_GROUPS = 2


class AnyBlocks(ABC):
    """The interface of rows in blocks, which those of `sklearn_sgp.collections` have, too.

    Attributes
    ----------
    rows : AnyRows
    bounds : ndarray of int, shape (n_blocks + 1,)
        Number of rows before each block, and of all.
    block_labels : ndarray of shape (n_blocks,) or None
        Labels of the blocks where they are not numbers from 0.
    is_conditioned : bool
        True if rows are conditioned on rows of earlier blocks.
    """

    block_labels = None
    is_conditioned = False

    def __len__(self):
        return len(self.bounds) - 1

    @abstractmethod
    def __call__(self, k):
        """Return the rows of block k, in memory."""

    def several(self, numbers):
        """Return a list of the rows of some blocks, gathered together."""
        return [self(k) for k in numbers]

    def around(self, cells):
        """Return the rows that test rows of some cells are conditioned on.

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
        raise NotImplementedError("Blocks of independent rows have none that others need.")


class Blocks(AnyBlocks):
    """Rows in blocks: an order of the rows, and where each block begins in it.

    Parameters
    ----------
    labels : ndarray of int, shape (n,)
        From 0, none left out.
    """

    def __init__(self, rows, labels):
        self.rows, self.sorted = rows, False
        self.order = np.argsort(labels, kind="stable")
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))])

    def __call__(self, k):
        return self.run(k, k + 1)

    def run(self, first, last):
        """Return the rows of successive blocks, ``last`` excluded."""
        own = slice(self.bounds[first], self.bounds[last])
        return self.rows.select(own if self.sorted else self.order[own])

    def members(self, k):
        """Return the positions of the rows of block k."""
        place = np.arange(self.bounds[k], self.bounds[k + 1])
        return place if self.sorted else self.order[place]

    def around(self, cells):
        own = [np.empty(0, dtype=np.intp) if k < 0 else self.members(k) for k in cells]
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
        """Copy the rows, without labels, block after block."""
        copied = copy.copy(self)
        copied.rows, copied.sorted = replace(self.rows.select(self.order), labels=None), True
        return copied

    def weighted_as(self, rows):
        """Take weights and targets of other ``rows``: the same, as they came to be put in.

        Nothing else is copied.
        """
        changed, order = copy.copy(self), self.order if self.sorted else slice(None)
        weight, counts = (
            None if part is None else part[order] for part in (rows.weight, rows.counts)
        )
        changed.rows = replace(self.rows, y=rows.y[order], weight=weight, counts=counts)
        return changed

    def drawn(self, size, rng):
        """Draw some blocks, about so many rows; return their places as they came to be put in."""
        chosen = rng.permutation(len(self))
        count = np.searchsorted(np.cumsum(np.diff(self.bounds)[chosen]), size) + 1
        parts = [self.order[self.bounds[k] : self.bounds[k + 1]] for k in chosen[:count]]
        return np.concatenate(parts)

    def extended(self, rows, labels):
        """Add rows; labels beyond the last block begin new ones.

        Parameters
        ----------
        rows : Rows
            Targets scaled as before.
        labels : ndarray of int, shape (n,)
        """
        return Blocks(self.rows.joined(rows), np.concatenate([self.labels, labels]))


class ConditionedBlocks(AnyBlocks):
    """Rows in groups that are conditioned on earlier rows; runs of groups are the blocks.

    Parameters
    ----------
    groups : Blocks
        The rows in groups.
    before : list of ndarray of int
        Rows that each group is conditioned on, as positions in ``groups.rows``.
    edges : ndarray of int, shape (n_blocks + 1,)
        First group of each block, and the number of groups.
    layout : Chain or Neighbours
        Knows the rows that test rows are conditioned on.
    """

    is_conditioned = True

    def __init__(self, groups, before, edges, layout):
        self.groups, self.before, self.edges, self.layout = groups, before, edges, layout

    rows = property(lambda self: self.groups.rows)
    sorted = property(lambda self: self.groups.sorted)

    def __len__(self):
        return len(self.edges) - 1

    @property
    def bounds(self):
        """Rows of the blocks before each block, conditions not counted."""
        return self.groups.bounds[self.edges]

    def members(self, g):
        """Return the positions of the rows of a group."""
        return self.groups.members(g)

    def __call__(self, k):
        """Return the groups of a block, with the rows that they are conditioned on."""
        groups = [
            (self.before[g], self.members(g)) for g in range(self.edges[k], self.edges[k + 1])
        ]
        needed, local = _shared([part for group in groups for part in group])
        pairs = tuple(zip(local[::2], local[1::2], strict=True))
        return ConditionedRows(self.rows.select(needed), pairs)

    @cached_property
    def near_cells(self):
        """Positions of the rows near each cell; made once, for layouts that search for them."""
        return self.layout.near_cells(self)

    def around(self, cells):
        """Return the rows that test rows are conditioned on; what cells share is there once."""
        needed, places = _shared([self.layout.around(self, cell) for cell in cells])
        return self.rows.select(needed), places

    def weighted_as(self, rows):
        """Take the weights of other ``rows``, as `Blocks.weighted_as`."""
        changed = copy.copy(self)  # with the cells, where they are known
        changed.groups = self.groups.weighted_as(rows)
        return changed

    def drawn(self, size, rng):
        """Draw the rows of some groups, as `Blocks.drawn`."""
        return self.groups.drawn(size, rng)

    def owned(self):
        """Copy the rows, without labels, group after group."""
        place = np.empty(len(self.rows), dtype=np.intp)
        place[self.groups.order] = np.arange(len(place))
        before = [place[rows] for rows in self.before]
        return ConditionedBlocks(self.groups.owned(), before, self.edges, self.layout)


@dataclass(frozen=True)
class ChainChoice:
    """LMA: blocks in a chain, each conditioned on so many blocks before it."""

    markov_order: int

    def make(self, rows, choice, scale, rng):
        """Return blocks and partition.

        Parameters
        ----------
        scale : ndarray of shape (d,) or Units
            Units in which distances are taken.

        Returns
        -------
        blocks : ConditionedBlocks
        partition : object
        """
        partition = choice.make(scale)
        groups = Blocks(rows, partition.fit(rows.X, rng))
        if isinstance(partition, OrderedPartition) and not partition.shuffle:
            order = np.arange(len(groups))
        else:
            order = short_path(_centres(groups, scale))
        return self.chained(groups, order), partition

    def chained(self, groups, order):
        """Return the blocks in the order of a chain."""
        layout = Chain(self.markov_order, np.argsort(order), np.arange(len(groups)))
        blocks = ConditionedBlocks(groups, [], np.arange(len(groups) + 1), layout)
        blocks.before = [layout.before(blocks, g) for g in range(len(groups))]
        return blocks


@dataclass(frozen=True)
class Chain:
    """Blocks along a chain.

    Parameters
    ----------
    markov_order : int
    position : ndarray of int, shape (n_cells,)
        Of each cell in the chain.
    cell : ndarray of int, shape (n_groups,)
        Of each group; rows of a later batch form groups of their own.
    """

    markov_order: int
    position: np.ndarray
    cell: np.ndarray

    def before(self, blocks, g):
        """Return the rows a group is conditioned on: earlier, of its cell and the cells before."""
        away = self.position[self.cell[g]] - self.position[self.cell]
        earlier = (away > 0) | ((away == 0) & (np.arange(len(away)) < g))
        return _rows_of(blocks, np.flatnonzero(earlier & (away <= self.markov_order)))

    def with_rows(self, blocks, rows, cells, rng):
        """Add rows, those of each cell as one group; see `Neighbours.with_rows`.

        New cells come at the end of the chain.
        """
        first, n_cells = len(blocks.groups), len(self.position)
        position = np.append(self.position, np.arange(n_cells, cells.max() + 1))
        known, labels = np.unique(cells, return_inverse=True)
        groups = blocks.groups.extended(rows, first + labels)
        layout = Chain(self.markov_order, position, np.append(self.cell, known))
        more = ConditionedBlocks(groups, [], np.arange(len(groups) + 1), layout)
        added = [layout.before(more, g) for g in range(first, len(groups))]
        more.before = [*blocks.before, *added]
        return more

    def around(self, blocks, cell):
        """Return the rows of a cell and of the cells near it in the chain."""
        if cell < 0:
            return np.empty(0, dtype=np.intp)
        away = np.abs(self.position[cell] - self.position[self.cell])
        return _rows_of(blocks, np.flatnonzero(away <= self.markov_order))


@dataclass(frozen=True)
class NeighboursChoice:
    """VIF: small groups in random order, each conditioned on the nearest rows before it.

    Parameters
    ----------
    group_size : int
        Rows of a group, on average.
    n_jobs : int or None
        Of searches.
    """

    n_neighbors: int
    group_size: int
    n_jobs: int | None = None

    def make(self, rows, choice, scale, rng):
        """Return blocks and partition; parameters as those of `ChainChoice.make`."""
        partition = type(choice)(choice.partition, self.group_size).make(scale)
        groups = Blocks(rows, partition.fit(rows.X, rng))
        size = max(1, round(choice.block_size / self.group_size))
        centres = _centres(groups, scale)
        if isinstance(partition, KMeansTree):
            partition = NearestCells.around(rows.X, centres, scale)
            centres = partition.centres
        layout = Neighbours(self.n_neighbors, self.group_size, scale, centres, self.n_jobs)
        blocks = ConditionedBlocks(groups, [], _edges(0, len(groups), size), layout)
        blocks.before = layout.find_before(blocks, rng)
        return blocks, partition


@dataclass(frozen=True)
class Neighbours:
    """Groups of near rows, each conditioned on the nearest rows of earlier groups.

    Parameters
    ----------
    n_neighbors, group_size : int
    scale : ndarray of shape (d,) or Units
        Units in which distances are taken.
    centres : ndarray of shape (n_cells, d)
        Of the cells of the partition, in these units.
    n_jobs : int or None
        Of searches.
    """

    n_neighbors: int
    group_size: int
    scale: object
    centres: np.ndarray
    n_jobs: int | None = None

    def find_before(self, blocks, rng, first=0):
        """Find the rows that groups from ``first`` on are conditioned on, in a random order."""
        n_groups = len(blocks.groups)
        order = np.concatenate([np.arange(first), first + rng.permutation(n_groups - first)])
        points, groups = _points(blocks.rows.X, self.scale), [blocks.members(g) for g in order]
        earlier = NearGroups(points, groups, self.n_jobs).earlier(self.n_neighbors, first)
        before = [None] * (n_groups - first)
        for g, rows in zip(order[first:], earlier, strict=True):
            before[g - first] = rows
        return before

    def around(self, blocks, cell):
        """Return the rows near the centre of a cell."""
        return np.empty(0, dtype=np.intp) if cell < 0 else blocks.near_cells[cell]

    def near_cells(self, blocks):
        """Find the rows near the centre of each cell, a list."""
        points = _points(blocks.rows.X, self.scale)
        groups = [blocks.members(g) for g in range(len(blocks.groups))]
        count = _NEAR_TEST_GROUPS * (self.n_neighbors + self.group_size)
        return NearGroups(points, groups, self.n_jobs).around(self.centres, count)

    def with_rows(self, blocks, rows, cells, rng):
        """Add rows in new groups that are conditioned on earlier rows.

        Parameters
        ----------
        rows : Rows
            Targets scaled as before.
        cells : ndarray of int, shape (n,)
            Cells of the partition; new ones have numbers beyond those before.

        Returns
        -------
        blocks : ConditionedBlocks
        """
        first, layout = len(blocks.groups), self._with_cells(rows.X, cells)
        groups = blocks.groups.extended(rows, first + _runs(cells, self.group_size))
        size = max(1, int(np.diff(blocks.edges).max()))
        edges = np.concatenate([blocks.edges, _edges(first, len(groups), size)[1:]])
        more = ConditionedBlocks(groups, [], edges, layout)
        more.before = [*blocks.before, *self.find_before(more, rng, first)]
        return more

    def _with_cells(self, X, cells):
        """Add the centres of new cells, the means of their rows."""
        first = len(self.centres)
        new = cells >= first
        if not new.any():
            return self
        sums = np.zeros((cells.max() + 1 - first, self.centres.shape[1]))
        np.add.at(sums, cells[new] - first, _points(X[new], self.scale))
        centres = sums / np.bincount(cells[new] - first)[:, None]
        return replace(self, centres=np.vstack([self.centres, centres]))


def are_near(blocks, places, cells):
    """Find the rows that are among those that test rows of their cells are conditioned on.

    Parameters
    ----------
    places : ndarray of int, shape (n,)
        Of the rows, as they came to be put in.
    cells : ndarray of int, shape (n,)
        A cell for each row, -1 for none.

    Returns
    -------
    near : ndarray of bool, shape (n,)
    """
    groups, around = blocks, blocks.members
    if blocks.is_conditioned:
        groups, around = blocks.groups, partial(blocks.layout.around, blocks)
    held = np.argsort(groups.order)[places] if groups.sorted else places
    near, order = np.zeros(len(cells), dtype=bool), np.argsort(cells, kind="stable")
    numbers, first = np.unique(cells[order], return_index=True)
    for cell, test in zip(numbers, np.split(order, first[1:]), strict=True):
        near[test] = cell >= 0 and np.isin(held[test], around(cell))
    return near


def _edges(first, last, size):
    """Return where runs of ``size`` groups begin, and their end."""
    return np.unique(np.append(np.arange(first, last, size), last))


def _runs(cells, size):
    """Number new groups from 0: the rows of a cell, in runs of at most ``size``."""
    order, label, count = np.argsort(cells, kind="stable"), np.empty(len(cells), dtype=np.intp), 0
    _, counts = np.unique(cells, return_counts=True)
    for rows in np.split(order, np.cumsum(counts)[:-1]):
        for part in np.array_split(rows, -(-len(rows) // size)):
            label[part], count = count, count + 1
    return label


def _shared(parts):
    """Return the rows of all parts, each once and sorted, and the places of each part there."""
    needed, place = np.unique(np.concatenate(parts), return_inverse=True)
    return needed, in_parts(place, [len(part) for part in parts])


def _points(X, scale):
    return np.asarray(X, dtype=np.float64) / scale


def _centres(groups, scale):
    order = slice(None) if groups.sorted else groups.order
    sums = np.add.reduceat(_points(groups.rows.X[order], scale), groups.bounds[:-1], axis=0)
    return sums / np.diff(groups.bounds)[:, None]


def _rows_of(blocks, numbers):
    """Return the positions of the rows of some groups."""
    if not len(numbers):
        return np.empty(0, dtype=np.intp)
    return np.sort(np.concatenate([blocks.members(g) for g in numbers]))
