"""Blocks in a chain, each conditioned on the blocks just before it (LMA)."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.clusters import short_path
from .blocks import Blocks, ConditionedBlocks, centres_of
from .growth import GrowingCells
from .partition import OrderedPartition


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

    Parameters
    ----------
    markov_order : int
    position : ndarray of int, shape (n_cells,)
        Of each cell in the chain.
    """

    markov_order: int
    position: np.ndarray

    def before(self, cell):
        """Return the cells that come before one in the chain, and are near it."""
        away = self.position[cell] - self.position
        return np.flatnonzero((away > 0) & (away <= self.markov_order))

    def around(self, blocks, cells):
        """Return, for each of some cells, its rows and those of the cells near it in the chain."""
        return [blocks.rows_of_cells(self._near(cell)) for cell in cells]

    def _near(self, cell):
        if cell < 0:
            return []
        return np.flatnonzero(np.abs(self.position[cell] - self.position) <= self.markov_order)

    def with_rows(self, blocks, rows, cells, partition, size, rng):
        """Add rows, those of each cell as one group; see `Neighbours.with_rows`.

        A group is conditioned on the rows before of its cell, and on all of the cells before. New
        cells come at the end of the chain, parts of a cell in its place.
        """
        first, n_before, n_cells = len(blocks.groups), len(blocks.rows), len(self.position)
        touched, cells = np.unique(cells), np.concatenate([blocks.cells, cells])
        position = np.append(self.position, np.arange(n_cells, touched[-1] + 1))
        growing = GrowingCells(partition, cells, blocks.rows.joined(rows).X, rng)
        growing.split_large(touched, size)
        layout = replace(self, position=_with_parts(position, growing.parts))
        known, labels = np.unique(cells[n_before:], return_inverse=True)
        groups = blocks.groups.extended(rows, first + labels)
        more = ConditionedBlocks(groups, [], np.arange(len(groups) + 1), layout, cells)
        own = [more.rows_of_cells([cell]) for cell in known]
        added = [
            np.union1d(rows[rows < n_before], more.rows_of_cells(layout.before(cell)))
            for cell, rows in zip(known, own, strict=True)
        ]
        more.before = [*blocks.before, *added]
        return more, growing.partition


def _with_parts(position, parts):
    """Return places in a chain once parts of cells are in the places of these, one by one."""
    for k, *new in parts:
        behind = np.where(position > position[k], len(new), 0)
        position = np.append(position + behind, position[k] + 1 + np.arange(len(new)))
    return position
