"""Cells that more rows came into, and what becomes of them: they are split as blocks are."""

import numpy as np

from .partition import LARGEST_SHARE

# A row is far from its cell if it is so many times as far from the centre as all rows before. Rows
# from normal distributions, 6,000 of 20 columns in batches of 100, ended in 422 cells with 1, in 64
# with 1.2 and in 60 with 1.5, of 6 columns in 144, 100 and 57; `fit` makes 61 and 59. More cells
# cost more. Clusters far away that come row by row were found with each of these.
_FAR_FROM_CELL = 1.5


class GrowingCells:
    """Cells of all rows, new ones among them, while some are split.

    Parameters
    ----------
    partition : Partition
        Splits its cells, where it is made from inputs.
    cells : ndarray of int, shape (n,)
        Of all rows; changed in place.

    Attributes
    ----------
    parts : list of ndarray of int
        For each split, the cells that one has become, its own number first.
    """

    def __init__(self, partition, cells, X, rng):
        self.partition, self.cells, self.X, self.rng = partition, cells, X, rng
        self.parts = []

    def members(self, numbers):
        """Return the rows of each of some cells, whose numbers are sorted and distinct."""
        wanted = np.zeros(self.cells.max() + 1, dtype=bool)
        wanted[numbers] = True
        rows = np.flatnonzero(wanted[self.cells])
        rows = rows[np.argsort(self.cells[rows], kind="stable")]
        return np.split(rows, np.searchsorted(self.cells[rows], numbers[1:]))

    def split_large(self, numbers, size):
        """Split those of some cells that have more than 1.5 times so many rows."""
        for k, own in zip(numbers, self.members(numbers), strict=True):
            if len(own) > LARGEST_SHARE * size:
                self._split(k, own, size)

    def split_wide(self, numbers, near, first, scale):
        """Split those of some cells that know too little of their own rows.

        Rows far from all others join the nearest cell, and would be known to none of its test rows.
        A cell is split where a row from ``first`` on is not near the centre and far from all rows
        before, or where none of its rows is near.

        Parameters
        ----------
        near : callable
            ``near(numbers)``: pairs of the rows near the centre of each cell, sorted, and the
            centre.
        scale : ndarray of shape (d,) or Units
            Units of the centres.
        """
        while len(numbers):
            done, members = len(self.parts), self.members(numbers)
            for k, own, (found, centre) in zip(numbers, members, near(numbers), strict=True):
                points = np.asarray(self.X[own], dtype=np.float64) / scale
                away = ((points - centre) ** 2).sum(axis=1)
                strange = found[np.searchsorted(found[:-1], own)] != own
                before = away[own < first]
                is_far = (
                    strange & (away > _FAR_FROM_CELL**2 * before.max(initial=0.0)) & (own >= first)
                )
                if (len(before) and is_far.any()) or strange.all():
                    self._split(k, own, max(1, len(own) // 2))
            numbers = self.changed(done)

    def changed(self, first=0):
        """Return the numbers of cells that splits from ``first`` on have changed or made."""
        return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *self.parts[first:]]))

    def _split(self, k, own, size):
        X = self.X[own]
        if not self.partition.by_inputs or (X == X[0]).all():
            return
        self.partition, labels = self.partition.split(k, X, size, self.rng)
        new = np.unique(labels)
        if len(new) > 1:
            self.cells[own] = labels
            self.parts.append(np.append(k, new[new != k]))
