"""Rows in blocks, and what groups of them are conditioned on.

Rows are independent of other blocks, or conditioned on near rows of earlier groups (VIF,
`neighbours`), or on earlier blocks of a chain (LMA, `chains`). Conditions only ever point to
earlier groups, so that rows of a later batch change no factor of an earlier one (docs/theory.md,
section 12).
"""

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..data.rows import ConditionedRows, shared
from .near_cells import scaled_points


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
    is_kept : bool
        True if they are here or elsewhere.
    """

    block_labels = None
    is_conditioned = False
    is_kept = True

    def __len__(self):
        return len(self.bounds) - 1

    @property
    def keeps_rows(self):
        """True if the rows are at hand."""
        return not self.rows.live_elsewhere

    @property
    def largest(self):
        """Most rows that are factorised together."""
        return int(np.diff(self.bounds).max())

    @abstractmethod
    def __call__(self, k):
        """Return the rows of block k, in memory."""

    def several(self, numbers):
        """Return a list of the rows of some blocks, gathered together."""
        return [self(k) for k in numbers]

    @property
    def near_cells(self):
        """Finds the rows that test rows of cells are conditioned on, as `NearCells` does."""
        return self

    def warm_cache(self):
        """Make once what the first prediction would otherwise make."""
        return self.near_cells

    def around(self, cells):
        """Return the rows that test rows of some cells are conditioned on; see `NearCells`."""
        raise NotImplementedError("Blocks of independent rows have none that others need.")


class NotKept:
    """Blocks that nothing needs any more; attributes as those of `AnyBlocks`."""

    is_conditioned = is_kept = keeps_rows = False


NOT_KEPT = NotKept()


class Blocks(AnyBlocks):
    """Rows in blocks: an order of the rows, and where each block begins in it.

    ``labels`` go from 0, none left out.
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

    def near(self, cells):
        """Return the positions of the rows that test rows of each of some cells are given."""
        return [np.empty(0, dtype=np.intp) if k < 0 else self.members(k) for k in cells]

    def around(self, cells):
        own = self.near(cells)
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

        Targets may have other units. Nothing else is copied.
        """
        changed, order = copy.copy(self), self.order if self.sorted else slice(None)
        weight, counts = (
            None if part is None else part[order] for part in (rows.weight, rows.counts)
        )
        of_rows = {"y_mean": rows.y_mean, "y_scale": rows.y_scale, "grid": rows.grid}
        parts = {"y": rows.y[order], "weight": weight, "counts": counts}
        changed.rows = replace(self.rows, **parts, **of_rows)
        return changed

    def drawn(self, size, rng):
        """Draw some blocks, about so many rows; return their places as they came to be put in."""
        chosen = rng.permutation(len(self))
        count = np.searchsorted(np.cumsum(np.diff(self.bounds)[chosen]), size) + 1
        parts = [self.order[self.bounds[k] : self.bounds[k + 1]] for k in chosen[:count]]
        return np.concatenate(parts)

    def places_of(self, held):
        """Return the places of rows as they came to be put in, by their positions here."""
        return self.order[held] if self.sorted else held

    def held_at(self, places):
        """Return the positions here of rows by their places as they came to be put in."""
        return np.argsort(self.order)[places] if self.sorted else places

    def cells_at(self, places):
        """Return the cells that rows at some places are in, which are their blocks."""
        return self.labels[self.held_at(places)]

    def within(self, places):
        """Return the block of each row and its position there, by places as rows were put in."""
        rank = np.argsort(self.order)[places]
        number = np.searchsorted(self.bounds, rank, side="right") - 1
        return number, rank - self.bounds[number]

    def extended(self, rows, labels):
        """Add rows; labels beyond the last block begin new ones.

        Their targets are scaled as before.
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
    cells : ndarray of int, shape (n,)
        Of each of ``groups.rows``: those of a later batch are in groups of their own, but in the
        cells of all.
    """

    is_conditioned = True

    def __init__(self, groups, before, edges, layout, cells):
        self.groups, self.before, self.edges, self.layout = groups, before, edges, layout
        self.cells = cells

    def __getstate__(self):
        """Leave out what is found again."""
        found = {"near_cells", "by_cell"}
        return {name: part for name, part in self.__dict__.items() if name not in found}

    rows = property(lambda self: self.groups.rows)
    sorted = property(lambda self: self.groups.sorted)

    def __len__(self):
        return len(self.edges) - 1

    @property
    def bounds(self):
        """Rows of the blocks before each block, conditions not counted."""
        return self.groups.bounds[self.edges]

    @property
    def largest(self):
        """Most rows that are factorised together."""
        own = np.diff(self.groups.bounds)
        return max(len(before) + n for before, n in zip(self.before, own, strict=True))

    def members(self, g):
        """Return the positions of the rows of a group."""
        return self.groups.members(g)

    def __call__(self, k):
        """Return the groups of a block, with the rows that they are conditioned on."""
        groups = [
            (self.before[g], self.members(g)) for g in range(self.edges[k], self.edges[k + 1])
        ]
        needed, local = shared([part for group in groups for part in group])
        pairs = tuple(zip(local[::2], local[1::2], strict=True))
        return ConditionedRows(self.rows.select(needed), pairs)

    @cached_property
    def near_cells(self):
        """Finds the rows near cells: `NearCells`."""
        return self.layout.near_cells(self)

    @cached_property
    def by_cell(self):
        """The rows in the order of their cells, and where each cell begins."""
        order = np.argsort(self.cells, kind="stable")
        return order, np.append(0, np.cumsum(np.bincount(self.cells)))

    @property
    def filled_cells(self):
        """The positions of the rows of each cell that has some, sorted."""
        order, bounds = self.by_cell
        return [rows for rows in np.split(order, bounds[1:-1]) if len(rows)]

    def rows_of_cells(self, numbers):
        """Return the positions of the rows of some cells, sorted."""
        return rows_of_cells(self.by_cell, numbers)

    def near(self, cells):
        """Return the positions of the rows that test rows of each of some cells are given."""
        return self.near_cells.near(cells)

    def around(self, cells):
        """Return the rows that test rows are conditioned on; see `NearCells`."""
        return self.near_cells.around(cells)

    def weighted_as(self, rows):
        """Take the weights of other ``rows``, as `Blocks.weighted_as`."""
        changed = copy.copy(self)
        changed.groups = self.groups.weighted_as(rows)
        if "near_cells" in self.__dict__:  # the same rows are near
            changed.near_cells = replace(self.near_cells, rows=changed.rows)
        return changed

    def drawn(self, size, rng):
        """Draw the rows of some groups, as `Blocks.drawn`."""
        return self.groups.drawn(size, rng)

    def places_of(self, held):
        """Return the places of rows as they came to be put in, as `Blocks.places_of`."""
        return self.groups.places_of(held)

    def held_at(self, places):
        """Return the positions of rows at some places, as `Blocks.held_at`."""
        return self.groups.held_at(places)

    def cells_at(self, places):
        """Return the cells that rows at some places are in."""
        return self.cells[self.held_at(places)]

    def owned(self):
        """Copy the rows, without labels, group after group."""
        place = np.empty(len(self.rows), dtype=np.intp)
        place[self.groups.order] = np.arange(len(place))
        before, cells = [place[rows] for rows in self.before], self.cells[self.groups.order]
        return ConditionedBlocks(self.groups.owned(), before, self.edges, self.layout, cells)


def are_near(blocks, places, cells):
    """Find the rows that are among those that test rows of their cells are conditioned on, (n,).

    Parameters
    ----------
    places : ndarray of int, shape (n,)
        Of the rows, as they came to be put in.
    cells : ndarray of int, shape (n,)
        A cell for each row, -1 for none.
    """
    if not blocks.keeps_rows:  # each has the rows that labels or inputs put into it
        return cells >= 0
    held = blocks.held_at(places)
    near, order = np.zeros(len(cells), dtype=bool), np.argsort(cells, kind="stable")
    numbers, first = np.unique(cells[order], return_index=True)
    around = blocks.near(numbers)
    for own, test in zip(around, np.split(order, first[1:]), strict=True):
        near[test] = np.isin(held[test], own)
    return near


def rows_of_cells(by_cell, numbers):
    """Return the positions of the rows of some cells, sorted; see `ConditionedBlocks.by_cell`."""
    order, bounds = by_cell
    parts = [order[bounds[k] : bounds[k + 1]] for k in numbers if k + 1 < len(bounds)]
    return np.sort(np.concatenate([np.empty(0, dtype=np.intp), *parts]))


def centres_of(groups, scale):
    order = slice(None) if groups.sorted else groups.order
    sums = np.add.reduceat(scaled_points(groups.rows.X[order], scale), groups.bounds[:-1], axis=0)
    return sums / np.diff(groups.bounds)[:, None]
