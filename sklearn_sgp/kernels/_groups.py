"""Which rows meet which in many small blocks of a kernel matrix that are made together."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Groups:
    """Rows and columns of small blocks, and where their entries are in one array.

    Parameters
    ----------
    rows, columns : ndarray of int
        Rows of Z and rows of X, those of one group after those of the other.
    row_bounds, column_bounds : ndarray of int, shape (g + 1,)
        Where those of each group begin, and their end.
    upper : bool
        Whether of each block, which is square and symmetric, only the upper triangle is kept.
    """

    rows: np.ndarray
    columns: np.ndarray
    row_bounds: np.ndarray
    column_bounds: np.ndarray
    upper: bool = False

    @classmethod
    def of(cls, rows, columns):
        """Make groups from a list of index arrays for Z, and one for X."""
        (index, bounds), (others, ends) = _concatenated(rows), _concatenated(columns)
        return cls(index, others, bounds, ends)

    @classmethod
    def triangles(cls, rows):
        """Make groups of the upper triangles of the kernel matrices of some rows."""
        index, bounds = _concatenated(rows)
        return cls(index, index, bounds, bounds, True)

    @cached_property
    def bounds(self):
        """Bounds of the entries of each group, shape (g + 1,)."""
        m, n = np.diff(self.row_bounds), np.diff(self.column_bounds)
        return np.append(0, np.cumsum(m * (m + 1) // 2 if self.upper else m * n))

    @property
    def n_values(self):
        """Entries of all blocks."""
        return int(self.bounds[-1])

    def pairs(self):
        """Return the row of Z and the row of X of each entry, in the order of the entries."""
        group = np.repeat(np.arange(len(self)), np.diff(self.row_bounds))  # of each row
        first = np.arange(len(self.rows)) - self.row_bounds[group] if self.upper else 0
        lengths = np.diff(self.column_bounds)[group] - first
        begins = np.cumsum(lengths) - lengths
        columns = np.arange(lengths.sum())
        columns -= np.repeat(begins - self.column_bounds[group] - first, lengths)
        return np.repeat(self.rows, lengths), self.columns[columns]

    def __len__(self):
        return len(self.row_bounds) - 1

    def __iter__(self):
        """Yield rows, columns and the slice of the entries of each group."""
        for g in range(len(self)):
            rows = self.rows[self.row_bounds[g] : self.row_bounds[g + 1]]
            columns = self.columns[self.column_bounds[g] : self.column_bounds[g + 1]]
            yield rows, columns, slice(self.bounds[g], self.bounds[g + 1])


def _concatenated(parts):
    bounds = np.append(0, np.cumsum([len(part) for part in parts], dtype=np.intp))
    return np.concatenate([np.empty(0, dtype=np.intp), *parts]), bounds.astype(np.intp)
