"""Inputs in units of the scatter of their columns, on a grid, as learning sees them."""

import numpy as np

from .column_spread import column_mean_std
from .rows import ReadRows

# In units of the scatter of a column, or of a target. The shortest length scale that a default
# kernel may have is 1,600 such steps, so that functions do not see them. Two roundings of one input
# differ by 1e-15 to 1e-14: of ten million one falls apart.
LEARNING_GRID = 2.0**-24


class StandardInputs(ReadRows):
    """Rows of inputs, centred, scaled and rounded where they are read.

    Parameters
    ----------
    base : array of shape (n, d)
    center, scale : ndarray of shape (d,)
        Of columns of categories 0 and 1, which leave codes as they are.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, base, center, scale):
        self.base, self.center, self.scale = base, center, scale

    @classmethod
    def of(cls, X, weight, categorical=()):
        """Return inputs in units of the means and deviations of their columns.

        ``categorical`` are the columns of categories.
        """
        center, scale = column_mean_std(X, weight)
        center[list(categorical)], scale[list(categorical)] = 0.0, 1.0
        return cls(X, center, scale)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return StandardInputs(self.base[key], self.center, self.scale)
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        values = np.asarray(self.base[rows], dtype=np.float64)[..., columns]
        return _standard(values, self.center[columns], self.scale[columns])

    def of_columns(self, which):
        """Return the "max" or "min" of each column."""
        return _standard(getattr(self.base, which)(axis=0), self.center, self.scale)


def _standard(values, center, scale):
    values = values - center
    values /= LEARNING_GRID * scale  # as exact as to divide by both, one after the other
    np.rint(values, out=values)
    values *= LEARNING_GRID
    return values
