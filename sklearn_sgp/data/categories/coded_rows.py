"""An array of numbers, whose columns of categories become codes where rows are read."""

import numpy as np

from ..rows import ReadRows


class CodedRows(ReadRows):
    """Rows of an array with codes in columns of categories.

    They are in the type of the array beneath, which holds codes exactly.

    Parameters
    ----------
    base : ndarray of shape (n, d)
        Of floating point numbers, possibly a memory map.
    codes : dict of int to (ndarray of shape (k,), ndarray of shape (k,))
        For each column of categories all its values, sorted, and their codes.
    """

    def __init__(self, base, codes):
        self.base, self.codes = base, codes

    dtype = property(lambda self: self.base.dtype)

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

    def of_columns(self, which):
        """Return the "max" or "min" of each column, of categories that of the codes of all rows."""
        extremes = np.array(getattr(self.base, which)(axis=0))
        for column, (_, codes) in self.codes.items():
            extremes[column] = getattr(codes, which)()
        return extremes

    def _coded(self, values, column):
        if column not in self.codes:
            return values
        known, codes = self.codes[column]
        return codes[np.searchsorted(known, values)].astype(self.dtype)
