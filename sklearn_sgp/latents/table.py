"""A table of outputs with missing entries, scaled only when a piece is read."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Scaling:
    """Means and scales of the columns: y = mean + scale * y', with y' what models see.

    Parameters
    ----------
    mean, scale : ndarray of shape (P,)
    """

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, Y, normalize):
        """Means and standard deviations of what was observed; 1 for constant columns."""
        P = Y.shape[1]
        if not normalize:
            return cls(np.zeros(P), np.ones(P))
        mean, scale = np.empty(P), np.empty(P)
        for p in range(P):  # no copy of the whole table
            column = Y[:, p][~np.isnan(Y[:, p])].astype(np.float64)
            mean[p], scale[p] = column.mean(), column.std()
            # a constant column may have a standard deviation of rounding
            if not scale[p] > 1e-10 * np.abs(column).max():
                scale[p] = 1.0
        return cls(mean, scale)

    def scaled(self, Y):
        scaled = np.subtract(Y, self.mean, dtype=np.float64, order="C")
        scaled /= self.scale
        return scaled


def pattern_of_columns(Y):
    """For each column, the number of its pattern of missing entries: equal ones share a number."""
    packed = np.stack([np.packbits(np.isnan(column)) for column in Y.T])
    return np.unique(packed, axis=0, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class Table:
    """Rows of outputs, NaN where missing.

    Parameters
    ----------
    Y : ndarray of shape (n, P)
        In the user's units; never copied whole.
    scaling : Scaling
    pattern : ndarray of int, shape (P,)
        Columns with equal numbers miss the same entries.
    """

    Y: np.ndarray
    scaling: Scaling
    pattern: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, Y, scaling):
        return cls(Y, scaling, pattern_of_columns(Y))

    def __len__(self):
        return len(self.Y)

    @property
    def n_patterns(self):
        return int(self.pattern.max()) + 1

    @property
    def first_of_pattern(self):
        """A column of each pattern, shape (K,)."""
        return np.unique(self.pattern, return_index=True)[1]

    def piece(self, index):
        """Scaled outputs (n, P) with 0 where missing, and what was observed, 0 or 1, (n, P)."""
        Y = self.scaling.scaled(self.Y[index])
        observed = (~np.isnan(Y)).astype(np.float64)
        Y[observed == 0.0] = 0.0
        return Y, observed

    def select(self, index):
        """The table of some rows; columns keep their numbers."""
        return Table(self.Y[index], self.scaling, self.pattern)

    def log_scales(self):
        """Sum of log scales over what was observed in each row, shape (n,)."""
        return (~np.isnan(self.Y)) @ np.log(self.scaling.scale)

    def counts(self):
        """Observed entries of each column, and sums of their squares, both (P,)."""
        counts, squares = np.zeros(self.Y.shape[1]), np.zeros(self.Y.shape[1])
        for lo in range(0, len(self), 4096):
            Y, observed = self.piece(slice(lo, lo + 4096))
            counts += observed.sum(axis=0)
            squares += (Y * Y).sum(axis=0)
        return counts, squares
