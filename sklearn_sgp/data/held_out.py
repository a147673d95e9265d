"""Which rows are held out: random ones, but those of equal inputs stay together.

A label that is held out while a row of the same inputs is known says how well rows are remembered,
not what is known of others. And of equal rows up to 2,048 one is kept (`rows.merge_repeated`): all
that is left of its inputs has other labels.
"""

import numpy as np

from .repeats import row_keys
from .rows import random_index


def held_out_index(rows, size, rng):
    """Draw numbers of about so many rows; those of equal inputs together.

    Rows that live elsewhere are not compared, nor are those that cannot be parted so.

    Returns
    -------
    index : ndarray of int
        At most ``size``, or half of the rows where all inputs have more; inputs of more rows than
        that are left out as long as others are there.
    """
    order = random_index(len(rows), size, rng)
    number, counts = _repeated(rows)
    if number is None or not size:
        return order
    drawn = random_index(len(counts), len(counts), rng)
    drawn = drawn[np.argsort(counts[drawn] > size, kind="stable")]
    n_taken = max(int((np.cumsum(counts[drawn]) <= size).sum()), 1)
    index = np.flatnonzero(np.isin(number, drawn[:n_taken]))
    return index if 2 * len(index) <= len(rows) else order


def held_out_pieces(rows, size, rng):
    """Return index arrays of about so many rows each, drawn so in turn; no rest."""
    order = random_index(len(rows), len(rows), rng)
    n_pieces = len(rows) // size
    number, counts = _repeated(rows)
    if number is None:
        return [np.sort(order[k * size : (k + 1) * size]) for k in range(n_pieces)]
    return _pieces(number, counts, n_pieces, size, random_index(len(counts), len(counts), rng))


def held_out_parts(rows, n_parts, rng):
    """Return index arrays of all rows in so many random parts, or fewer."""
    order = rng.permutation(len(rows))
    number, counts = _repeated(rows)
    if number is None:
        return np.array_split(order, n_parts)
    return _pieces(number, counts, n_parts, len(rows) / n_parts, rng.permutation(len(counts)))


def first_of_equals(X):
    """Return the number of the first row with the same inputs, (n,); the own where all are equal.

    Rows that take the part of that row are held out together.
    """
    _, first, number = np.unique(row_keys(X), return_index=True, return_inverse=True)
    return first[number.ravel()] if len(first) > 1 else np.arange(len(X))


def without_equals(X, held):
    """Return a mask of the rows of X that are neither held out nor equal to such a row.

    None of these where no row is left: then it is that of all that are not held out.
    """
    key = row_keys(X)
    known = ~np.isin(key, key[held])
    if not known.any():
        known = np.ones(len(X), dtype=bool)
        known[held] = False
    return known


def _pieces(number, counts, n_pieces, size, drawn):
    """Cut inputs in the order drawn where their rows come to multiples of a size."""
    piece = np.empty(len(counts))
    piece[drawn] = (np.cumsum(counts[drawn]) - 0.5 * counts[drawn]) // size
    pieces = (np.flatnonzero(piece[number] == k) for k in range(n_pieces))
    return [one for one in pieces if len(one)]


def _repeated(rows):
    """Return the number of each row's inputs and how many have it; None where all are distinct."""
    if rows.live_elsewhere:
        return None, None
    _, number, counts = np.unique(row_keys(rows.X), return_inverse=True, return_counts=True)
    return (number.ravel(), counts) if 1 < len(counts) < len(number) else (None, None)
