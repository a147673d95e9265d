"""Near rows: those that come earlier in an order, and those around any place.

Searches for thousands of places go over the centres of groups of rows, and then among the rows of
the nearest groups: that takes a third of the time, and what is found lies 0 to 2 percent further
away than the very nearest rows.
"""

import numpy as np

from .._parallel import resolved_jobs

# The nearest rows are looked for in the nearest groups that hold so many times as many.
_SPARE = 8
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


class NearGroups:
    """Rows in groups, of which those nearest to a place are looked for.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Inputs, in units in which distances are taken.
    groups : list of ndarray of int
        Rows of each group, in order.
    n_jobs : int or None
    """

    def __init__(self, points, groups, n_jobs=None):
        self.points, self.groups, self.n_jobs = points, groups, resolved_jobs(n_jobs)
        self.centres = np.stack([points[some].mean(axis=0) for some in groups])
        self.sizes = np.array([len(some) for some in groups])
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])

    def earlier(self, count, first=0):
        """Rows near the centre of each group, among the rows of the groups before it.

        Searches go over prefixes of the order, each twice as long as the one before: no search is
        among more than twice the groups that may be found.

        Parameters
        ----------
        count : int
            Number of rows to find, fewer where fewer come before.
        first : int
            Groups before it are not searched for.

        Returns
        -------
        before : list of ndarray of int
            Sorted, for each group from ``first`` on.
        """
        before, lo = [], first
        while lo < len(self.groups):
            hi = min(len(self.groups), max(2 * lo, lo + _SPARE))
            own = np.arange(lo, hi)
            before += self._found(self.centres[own], own, count)
            lo = hi
        return before

    def around(self, places, count):
        """Rows near each place, among all rows: a list of sorted arrays."""
        return self._found(places, np.full(len(places), len(self.groups)), count)

    def _found(self, places, ends, count):
        """Rows near each place, in groups before its end."""
        from sklearn.neighbors import NearestNeighbors

        last = max(1, ends.max(initial=0))
        enough = np.minimum(_SPARE * count, self.starts[ends])
        search = NearestNeighbors(n_jobs=self.n_jobs).fit(self.centres[:last])
        found, pending = [None] * len(places), np.arange(len(places))
        wanted = 2 + 2 * int(_SPARE * count / self.sizes.mean())
        while len(pending):
            wanted, missing = min(wanted, last), []
            for some in np.array_split(pending, -(-len(pending) // _CENTRES)):
                near = search.kneighbors(places[some], wanted, return_distance=False)
                for k, groups in zip(some, near, strict=True):
                    groups = groups[groups < ends[k]]
                    held = np.cumsum(self.sizes[groups])
                    if held[-1:].sum() < enough[k]:
                        missing.append(k)
                        continue
                    groups = groups[: np.searchsorted(held, enough[k]) + 1]
                    found[k] = self._nearest(places[k], groups, count)
            pending, wanted = np.array(missing, dtype=np.intp), 2 * wanted  # much is later there
        return found

    def _nearest(self, place, groups, count):
        """Rows of some groups nearest to a place, sorted."""
        rows = np.concatenate([np.empty(0, dtype=np.intp), *(self.groups[g] for g in groups)])
        if len(rows) > count:
            away = ((self.points[rows] - place) ** 2).sum(axis=1)
            rows = rows[np.argpartition(away, count)[:count]]
        return np.sort(rows)
