"""An order of the columns that is theirs, whatever the order is in which they came.

Rows that are sorted by their columns are sorted in another way where columns come in another order.
Random numbers then meet other rows: which labels are held out, where k-means begins.
"""

import numpy as np

# Digits of a shape that count: those of two columns of the same numbers in other units differ by
# rounding, which shall not order them.
_SHAPE_DIGITS = 6
# What values of a column may differ by that are one value, as a share of their size.
_REACH_OF_ROUNDING = 1e-12


def column_order(X):
    """Return places of the columns, sorted by the shape of their distributions.

    It depends on no unit, no origin, and not on the order of the rows. Columns with the same
    distribution, as those of a grid, stay in the order in which they came. Those of one value, up
    to rounding, are the last. All numbers of X are finite.
    """
    if X.shape[1] < 2 or len(X) < 2:
        return np.arange(X.shape[1])
    halves = 0.5 * np.sort(np.asarray(X, dtype=np.float64), axis=0)
    away = halves - halves[len(halves) // 2]  # sums of sorted numbers are the same to the last bit
    largest = np.abs(away[[0, -1]]).max(axis=0)
    constant = are_constant(largest, np.abs(halves).max(axis=0))
    away /= np.where(largest > 0.0, largest, 1.0)
    away -= away.mean(axis=0)
    unit = np.sqrt((away**2).mean(axis=0))
    away /= np.where(unit > 0.0, unit, 1.0)
    shapes = (away**3).mean(axis=0), (np.abs(away) ** 3).mean(axis=0)
    return np.lexsort([*(np.round(shape, _SHAPE_DIGITS) for shape in shapes), constant])


def are_constant(reach, size):
    """Return which columns have one value, up to rounding.

    ``reach`` is how far their values lie apart, a range or a deviation, and ``size`` how large they
    are: the largest, or their mean; both (d,).
    """
    return reach <= _REACH_OF_ROUNDING * size


def sorted_rows(X, n_inputs):
    """Return distinct rows, sorted by their columns, whatever the order of these is.

    The order of the first ``n_inputs`` columns shall not matter.

    Returns
    -------
    first : ndarray of int, shape (k,)
        Places of the distinct rows in X.
    inverse : ndarray of int, shape (n,)
        Places of the rows of X among these.
    """
    rows, first, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
    columns = column_order(rows[:, :n_inputs])
    if (columns == np.arange(n_inputs)).all():
        return first, inverse.ravel()
    rank = np.lexsort([*rows[:, n_inputs:].T[::-1], *rows[:, columns].T[::-1]])
    return first[rank], np.argsort(rank)[inverse.ravel()]
