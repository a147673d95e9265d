"""Near rows: those that come earlier in an order, and those around any place."""

import numpy as np

from .._parallel import resolved_jobs

# A search among rows some of which come later asks for so many times the neighbours that are
# needed: in a random order at least half of the rows of a prefix come earlier.
_SPARE = 3
# Centres whose neighbours are searched for at once.
_CENTRES = 4096


def nearest_rows(points, places, count, n_jobs=None):
    """The rows nearest to each place, nearest first.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    places : ndarray of shape (k, d)
    count : int
        At most n.
    n_jobs : int or None

    Returns
    -------
    rows : ndarray of int, shape (k, count)
    """
    from sklearn.neighbors import NearestNeighbors  # a slow import, not always needed

    if not count:
        return np.empty((len(places), 0), dtype=np.intp)
    search = NearestNeighbors(n_neighbors=count, n_jobs=resolved_jobs(n_jobs)).fit(points)
    return search.kneighbors(places, return_distance=False)


def earlier_rows(points, groups, count, first=0, n_jobs=None):
    """Rows nearest to the centre of each group, among the rows of the groups before it.

    Searches go over prefixes of the order, each twice as long as the one before: no search is among
    more than twice the rows that may be found, and all of them take O(n log n).

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Inputs, in units in which distances are taken.
    groups : list of ndarray of int
        Rows of each group, in order.
    count : int
        Number of rows to find, fewer where fewer come before.
    first : int
        Groups before it are not searched for.
    n_jobs : int or None

    Returns
    -------
    before : list of ndarray of int
        Sorted, for each group from ``first`` on.
    """
    rows = np.concatenate(groups)
    starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    before, lo = [], first
    while lo < len(groups):
        enough = int(np.searchsorted(starts, 2 * _SPARE * count))
        hi = min(len(groups), max(2 * lo, lo + 1, enough))
        before += _among_prefix(points, rows, starts, lo, hi, count, n_jobs)
        lo = hi
    return before


def _among_prefix(points, rows, starts, lo, hi, count, n_jobs):
    """The same for the groups from lo to hi."""
    from sklearn.neighbors import NearestNeighbors

    own = [rows[starts[g] : starts[g + 1]] for g in range(lo, hi)]
    centres = np.stack([points[some].mean(axis=0) for some in own])
    prefix = rows[: starts[hi]]
    search = NearestNeighbors(n_jobs=resolved_jobs(n_jobs)).fit(points[prefix])
    wanted = _SPARE * count + max(len(some) for some in own)
    found, pending = [None] * (hi - lo), np.arange(hi - lo)
    while len(pending):
        wanted, missing = min(wanted, len(prefix)), []
        for some in np.array_split(pending, -(-len(pending) // _CENTRES)):
            near = search.kneighbors(centres[some], wanted, return_distance=False)
            for k, places in zip(some, near, strict=True):
                earlier = places[places < starts[lo + k]][:count]
                if len(earlier) < min(count, starts[lo + k]):
                    missing.append(k)
                else:
                    found[k] = np.sort(rows[earlier])
        pending, wanted = np.array(missing, dtype=np.intp), 2 * wanted  # much comes later there
    return found
