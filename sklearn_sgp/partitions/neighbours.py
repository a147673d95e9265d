"""VIF: small groups of near rows, each conditioned on the nearest rows of earlier groups."""

from dataclasses import dataclass, replace

import numpy as np

from .blocks import Blocks, ConditionedBlocks, centres_of
from .growth import GrowingCells
from .near_cells import NearestCells, NearGroups, RowsAround, scaled_points
from .partition import KMeansTree

# Test rows of a cell are conditioned on so many times as many rows as a group of training rows.
_NEAR_TEST_GROUPS = 2


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
        partition = self._of_groups(choice).make(scale)
        groups = Blocks(rows, partition.fit(rows.X, rng))
        size = max(1, round(choice.block_size / self.group_size))
        centres = centres_of(groups, scale)
        if isinstance(partition, KMeansTree):
            partition = NearestCells.around(rows.X, centres, scale)
            centres = partition.centres
        seed = int(rng.randint(2**31))
        layout = Neighbours(self.n_neighbors, self.group_size, scale, centres, seed, self.n_jobs)
        edges = _edges(0, len(groups), size)
        blocks = ConditionedBlocks(groups, [], edges, layout, groups.labels)
        blocks.before = layout.find_before(blocks, rng)
        return blocks, partition

    def _of_groups(self, choice):
        """Return how groups are made: by k-means, unless there is a clusterer of the user's.

        Rows of a run, or random ones, may lie so far apart that no row is near all of them.
        """
        way = "kmeans" if isinstance(choice.partition, str) else choice.partition
        return replace(choice, partition=way, block_size=self.group_size)


@dataclass(frozen=True)
class Neighbours:
    """Groups of near rows, each conditioned on the nearest rows of earlier groups.

    Parameters
    ----------
    scale : ndarray of shape (d,) or Units
        Units in which distances are taken.
    centres : ndarray of shape (n_cells, d)
        Of the cells of the partition, in these units.
    seed : int
        Of the order in which equally near rows are found for cells, the same after a pickle.
    n_jobs : int or None
        Of searches.
    """

    n_neighbors: int
    group_size: int
    scale: object
    centres: np.ndarray
    seed: int
    n_jobs: int | None = None

    def find_before(self, blocks, rng):
        """Find the rows that groups are conditioned on, in a random order."""
        order, before = rng.permutation(len(blocks.groups)), [None] * len(blocks.groups)
        groups = [blocks.members(g) for g in order]
        near = NearGroups(scaled_points(blocks.rows.X, self.scale), groups, rng, self.n_jobs)
        for g, rows in zip(order, near.earlier(self.n_neighbors), strict=True):
            before[g] = rows
        return before

    def find_before_new(self, blocks, known, rng):
        """Find the rows that new groups are conditioned on, in a random order.

        Groups of a small batch are wide beside the rows that are known. These are searched for by
        their cells, and near each row of a group. ``known`` are the rows before.
        """
        first = len(known.groups)
        order = first + rng.permutation(len(blocks.groups) - first)
        groups = known.filled_cells + [blocks.members(g) for g in order]
        near = NearGroups(scaled_points(blocks.rows.X, self.scale), groups, rng, self.n_jobs)
        before = [None] * len(order)
        earlier = near.earlier_of_rows(self.n_neighbors, len(groups) - len(order))
        for g, rows in zip(order, earlier, strict=True):
            before[g - first] = rows
        return before

    def near_cells(self, blocks):
        """Return what finds the rows near the centres of cells."""
        points = scaled_points(blocks.rows.X, self.scale)
        count = _NEAR_TEST_GROUPS * (self.n_neighbors + self.group_size)
        rng = np.random.RandomState(self.seed)
        search = NearGroups(points, blocks.filled_cells, rng, self.n_jobs)
        return RowsAround(blocks.rows, search, self.centres, count)

    def with_rows(self, blocks, rows, cells, partition, size, rng):
        """Add rows in new groups that are conditioned on earlier rows; return blocks and partition.

        Cells that have grown too large are split, and so are those of which rows lie so far from
        the centre that other rows are nearer to it.

        Parameters
        ----------
        rows : Rows
            Targets scaled as before.
        cells : ndarray of int, shape (n,)
            Cells of the partition; new ones have numbers beyond those before.
        partition : Partition
            Splits its cells, where it is made from inputs.
        size : int
            Rows of a cell, on average, where the layout has no such number.
        """
        first, touched = len(blocks.groups), np.unique(cells)
        labels = KMeansTree(self.group_size, self.scale).fit(rows.X, rng)
        groups = blocks.groups.extended(rows, first + labels)
        per_block = max(1, int(np.diff(blocks.edges).max()))
        edges = np.concatenate([blocks.edges, _edges(first, len(groups), per_block)[1:]])
        cells = np.concatenate([blocks.cells, cells])
        growing = GrowingCells(partition, cells, groups.rows.X, rng)
        growing.split_large(touched, self.group_size)
        search = self.near_cells(ConditionedBlocks(groups, [], edges, self, cells.copy()))

        def near(some):
            centres = self._centres(growing)[some]
            return zip(search.at(centres), centres, strict=True)

        n_splits = len(growing.parts)
        growing.split_wide(touched, near, len(blocks.rows), self.scale)
        layout = replace(self, centres=self._centres(growing))
        more = ConditionedBlocks(groups, [], edges, layout, cells)
        if len(growing.parts) == n_splits:  # else they are others that are searched among
            more.near_cells = replace(search, centres=layout.centres, found={})
        more.before = [*blocks.before, *self.find_before_new(more, blocks, rng)]
        return more, growing.partition

    def _centres(self, growing):
        """Return the centres of all cells; those of new cells, and of parts, are means of rows."""
        first, count = len(self.centres), growing.cells.max() + 1
        changed = np.union1d(growing.changed(), np.arange(first, count))
        if not len(changed):
            return self.centres
        members = growing.members(changed)
        centres = np.vstack([self.centres, np.zeros((count - first, self.centres.shape[1]))])
        points = scaled_points(growing.X[np.concatenate(members)], self.scale)
        sizes = np.array([len(own) for own in members])
        starts = np.append(0, np.cumsum(sizes)[:-1])
        centres[changed] = np.add.reduceat(points, starts, axis=0) / sizes[:, None]
        return centres


def _edges(first, last, size):
    """Return where runs of ``size`` groups begin, and their end."""
    return np.unique(np.append(np.arange(first, last, size), last))
