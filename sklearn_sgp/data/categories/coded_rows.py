"""An array of numbers, whose columns of categories become codes where rows are read."""

import numpy as np


class CodedRows:
    """Rows of an array with codes in columns of categories, which is never copied as a whole.

    A slice of rows is one as well. Any other key reads: the rows then are an array, in the type of
    the array beneath, which holds codes exactly.

    Parameters
    ----------
    base : ndarray of shape (n, d)
        Of floating point numbers, possibly a memory map.
    codes : dict of int to (ndarray of shape (k,), ndarray of shape (k,))
        For each column of categories all its values, sorted, and their codes.
    """

    ndim = 2

    def __init__(self, base, codes):
        self.base, self.codes = base, codes

    shape = property(lambda self: self.base.shape)
    dtype = property(lambda self: self.base.dtype)
    nbytes = property(lambda self: self.base.nbytes)

    def __len__(self):
        return len(self.base)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return CodedRows(self.base[key], self.codes)
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        chosen = np.arange(self.shape[1])[columns]
        values = self.base[rows]
        if chosen.ndim == 0:
            return self._coded(np.asarray(values[..., chosen]), int(chosen))
        values = np.array(values[..., chosen])
        for place, column in enumerate(chosen):
            values[..., place] = self._coded(values[..., place], int(column))
        return values

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("The rows must be copied, as their categories become codes.")
        return np.asarray(self[:, :], dtype=dtype)

    def max(self, axis=None):
        """Return the largest numbers of the columns, or of all; of categories the largest codes.

        Codes are those of all rows, also where these are some of them.
        """
        return self._extremes("max", axis)

    def min(self, axis=None):
        """Return the smallest numbers; see `max`."""
        return self._extremes("min", axis)

    def _extremes(self, which, axis):
        extremes = np.array(getattr(self.base, which)(axis=0))
        for column, (_, codes) in self.codes.items():
            extremes[column] = getattr(codes, which)()
        return extremes if axis == 0 else getattr(extremes, which)()

    def _coded(self, values, column):
        if column not in self.codes:
            return values
        known, codes = self.codes[column]
        return codes[np.searchsorted(known, values)].astype(self.dtype)
