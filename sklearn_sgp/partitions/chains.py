"""Blocks in a chain, each conditioned on the blocks just before it (LMA)."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.clusters import short_path
from ..data.rows import Rows
from .blocks import Blocks, ConditionedBlocks, centres_of, rows_of_cells
from .growth import GrowingCells
from .near_cells import NearCells, scaled_points
from .partition import OrderedPartition
from .search import drawn_nearest

# Later rows of a cell are conditioned on so many rows before, and on so many more for each of them,
# up to a most. 4,000 rows of 3 and of 5 columns: 20 batches end at 1.003 and 0.972 times the error
# of one fit, as given all of up to 3,000 rows, which takes seven times as long; 300 at most end at
# 1.013 and 0.975. 200 batches of 10 rows end at 0.978 and 0.952, given 600 each at 0.964 and 0.951
# in three times the time.
_LEAST_BEFORE, _MORE_EACH, _MOST_BEFORE = 100, 20, 600


@dataclass(frozen=True)
class ChainChoice:
    """LMA: blocks in a chain, each conditioned on so many blocks before it."""

    markov_order: int

    def make(self, rows, choice, scale, rng):
        """Return blocks and partition.

        Distances are taken in units of ``scale``.
        """
        partition = choice.make(scale)
        groups = Blocks(rows, partition.fit(rows.X, rng))
        if isinstance(partition, OrderedPartition) and not partition.shuffle:
            order = np.arange(len(groups))
        else:
            order = short_path(centres_of(groups, scale))
        return self.chained(groups, order), partition

    def chained(self, groups, order):
        """Return the blocks in the order of a chain."""
        layout, edges = Chain(self.markov_order, np.argsort(order)), np.arange(len(groups) + 1)
        blocks = ConditionedBlocks(groups, [], edges, layout, groups.labels)
        blocks.before = [blocks.rows_of_cells(layout.before(k)) for k in range(len(groups))]
        return blocks


@dataclass(frozen=True)
class Chain:
    """Cells along a chain.

    ``position`` is that of each cell in the chain.
    """

    markov_order: int
    position: np.ndarray

    def before(self, cell):
        """Return the cells that come before one in the chain, and are near it."""
        away = self.position[cell] - self.position
        return np.flatnonzero((away > 0) & (away <= self.markov_order))

    def near_cells(self, blocks):
        """Return what finds the rows of cells, and of those near them in the chain."""
        return RowsInChain(blocks.rows, blocks.by_cell, self)

    def near(self, cell):
        """Return the numbers of a cell and of those near it in the chain, none for -1."""
        if cell < 0:
            return []
        return np.flatnonzero(np.abs(self.position[cell] - self.position) <= self.markov_order)

    def with_rows(self, blocks, rows, cells, partition, size, rng):
        """Add rows, those of each cell as one group; see `Neighbours.with_rows`.

        A group is conditioned on the rows before of its cell, and on all of the cells before: on
        those near it where these are many and a partition knows which are. New cells come at the
        end of the chain, parts of a cell in its place.
        """
        first, n_before, n_cells = len(blocks.groups), len(blocks.rows), len(self.position)
        touched, cells = np.unique(cells), np.concatenate([blocks.cells, cells])
        position = np.append(self.position, np.arange(n_cells, touched[-1] + 1))
        growing = GrowingCells(partition, cells, blocks.rows.joined(rows).X, rng)
        growing.split_large(touched, size)
        layout = replace(self, position=_with_parts(position, growing))
        known, labels = np.unique(cells[n_before:], return_inverse=True)
        groups = blocks.groups.extended(rows, first + labels)
        more = ConditionedBlocks(groups, [], np.arange(len(groups) + 1), layout, cells)
        own = [more.rows_of_cells([cell]) for cell in known]
        added = [
            np.union1d(rows[rows < n_before], more.rows_of_cells(layout.before(cell)))
            for cell, rows in zip(known, own, strict=True)
        ]
        if partition.by_inputs:
            X, new = more.rows.X, [rows[rows >= n_before] for rows in own]
            pairs = zip(added, new, strict=True)
            added = [_near_rows(X, before, rows, partition.scale, rng) for before, rows in pairs]
        more.before = [*blocks.before, *added]
        return more, growing.partition


@dataclass(frozen=True)
class RowsInChain(NearCells):
    """Finds the rows of cells, and of those near them in a chain.

    For ``by_cell`` see `ConditionedBlocks.by_cell`.
    """

    rows: Rows
    by_cell: tuple
    chain: Chain

    def near(self, cells):
        """Return, for each of some cells, the positions of these rows."""
        return [rows_of_cells(self.by_cell, self.chain.near(cell)) for cell in cells]


def _near_rows(X, before, own, scale, rng):
    """Return rows before: those nearest to each of own, then around these, up to their number."""
    count = min(_MOST_BEFORE, _LEAST_BEFORE + _MORE_EACH * len(own))
    if len(before) <= count:
        return before
    points, places = (scaled_points(X[rows], scale) for rows in (before, own))
    away = ((points - places.mean(axis=0)) ** 2).sum(axis=1)
    near = np.unique(drawn_nearest(points, places, -(-count // len(own)), rng))
    away[near] = -1.0
    order = np.argsort(away, kind="stable")[: max(count, len(near))]
    return before[np.sort(order)]


def _with_parts(position, growing):
    """Return places in a chain once parts of cells are in the places of these, along a short way.

    Parts of a run of ordered rows stay in their order.
    """
    centres = {}
    if growing.parts and not isinstance(growing.partition, OrderedPartition):
        centres = _centres(position, growing)
    for cell in growing.parts:
        at, n_more = position[cell[0]], len(cell) - 1
        beside = [np.flatnonzero(position == at + step) for step in (-1, 1)]
        ends = [centres[cells[0]] if centres and len(cells) else None for cells in beside]
        position = np.append(position + np.where(position > at, n_more, 0), np.zeros(n_more, int))
        order = _between(np.array([centres[k] for k in cell]), *ends) if centres else slice(None)
        position[cell[order]] = at + np.arange(len(cell))
    return position


def _centres(position, growing):
    """Return the centres of parts of cells, and of the cells beside these in a chain, by number."""
    places = position[[cell[0] for cell in growing.parts]]
    beside = np.flatnonzero(np.isin(position, np.concatenate([places - 1, places + 1])))
    numbers, scale = np.union1d(beside, growing.changed()), growing.partition.scale
    members = growing.members(numbers)
    return {
        k: scaled_points(growing.X[own], scale).mean(axis=0)
        for k, own in zip(numbers, members, strict=True)
    }


def _between(points, first, last):
    """Return an order of points that is a short way from what comes before to what comes after."""
    ways = [] if first is None else [short_path(points, first)]
    ways += [] if last is None else [short_path(points, last)[::-1]]
    if not ways:
        return short_path(points)
    ends = [[] if one is None else [one] for one in (first, last)]

    def length(way):
        return np.linalg.norm(np.diff([*ends[0], *points[way], *ends[1]], axis=0), axis=1).sum()

    return min(ways, key=length)
