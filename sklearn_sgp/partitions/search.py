"""The rows of a table that are nearest to a few places, by the way that costs least."""

import numpy as np
from scipy.spatial import cKDTree

from .._parallel import resolved_jobs, single_openmp_thread
from .near_cells import scaled_points

# So many distances are computed at once, by one product. 62 places among 1,257 rows of 64 columns
# take 1 ms so; scikit-learn's threads wait for each other, and take 3 to 40 ms of processor time.
_MOST_DISTANCES = 1 << 20
# Differences of a search that OpenMP does not share among threads: they wait for one another where
# a core has other work. On two busy cores 120 places among 2,000 rows of 8 columns take 34 ms and 4
# ms of CPU instead of 284 and 39, 195 among 700,000 rows the same time on one thread as on two.
_SMALL_SEARCH = 1 << 28
# To build scikit-learn's tree takes longer than all distances of so few places: 195 places among
# 700,000 rows of 8 columns take 0.3 s, with that tree 2.5 s.
_FEW_PLACES = 512
# From so many rows of at most so many columns SciPy's tree of sliding midpoints takes less time:
# around 163 places 300 rows each of 700,000 flights of 8 columns 0.12 s to build and to ask (all
# distances 0.30), of as many normal rows of 8 columns 0.33 (0.28), but of 16 columns 4 (0.35); of
# 1,946,334 pressures of 6 columns 0.17 (0.94). Leaves of 16 or 256 rows take 1.1 to 1.5 times as
# long.
_MANY_ROWS, _FEW_COLUMNS, _LEAF = 1 << 17, 8, 64
# So many values of rows are scaled and searched among at once: memory maps of any size take 0.3 GB.
# Around 195 places of 20 million normal rows of 6 and 10 columns 300 rows each take 5 and 10 s of
# CPU; all rows at once took 11 and 17 s, and 1.8 and 3.2 GB.
_VALUES_AT_ONCE = 1 << 24


def nearest_rows(points, places, count):
    """Find the rows nearest to each place, (k, count), nearest first.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    places : ndarray of shape (k, d)
    count : int
        At most n.
    """
    if not count:
        return np.empty((len(places), 0), dtype=np.intp)
    if len(points) > _MANY_ROWS and points.shape[1] <= _FEW_COLUMNS:
        return _nearest_by_tree(points, places, count)
    if len(places) > _FEW_PLACES:
        return _nearest_by_search("auto", points, places, count)
    middle = points.mean(axis=0)  # squares of distances come from squares of points
    points, places = points - middle, places - middle
    if len(places) * len(points) <= _MOST_DISTANCES:
        return _nearest_of_all(points, places, count)
    return _nearest_by_search("brute", points, places, count)


def drawn_nearest(points, places, count, rng):
    """Find the same rows, of equal ones any: which, and in which order, is drawn.

    It is not said by their order. Different rows that are equally near come as `nearest_rows` finds
    them.
    """
    found = nearest_rows(points, places, min(count + 1, len(points)))
    equal = (points[found[:, 1:]] == points[found[:, :-1]]).all(axis=2)
    if not equal.any():
        return found[:, :count]
    for i in np.flatnonzero(equal[:, count - 1 :].any(axis=1)):
        near = found[i, :count]
        last = points[near[-1]]
        is_last, same = (points[near] == last).all(axis=1), _equal_rows(points, last)
        near[is_last] = rng.choice(same, is_last.sum(), replace=False)
    run = np.insert(np.cumsum(~equal[:, : count - 1], axis=1), 0, 0, axis=1)
    order = np.lexsort((rng.random_sample(run.shape), run))
    return np.take_along_axis(found, order, axis=1)


def _equal_rows(points, row):
    """Return which points are equal to one of them."""
    same = np.flatnonzero(points[:, 0] == row[0])
    for j in range(1, points.shape[1]):
        same = same[points[same, j] == row[j]]
    return same


def nearest_in_table(X, scale, some, count, rng):
    """Find the rows, (k, count), nearest to some of a table, nearest first, piece by piece.

    Of equal rows it finds those that ``rng`` draws.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Also a memory map, whose pieces are read in their order.
    scale : ndarray of shape (d,) or Units
        Units in which distances are taken.
    some : ndarray of int, shape (k,)
    count : int
        At most n.
    """
    places, step = scaled_points(X[some], scale), max(count, _VALUES_AT_ONCE // X.shape[1])
    if len(X) <= step:
        return drawn_nearest(scaled_points(X, scale), places, count, rng)
    near = _NearSoFar(places, count, rng)
    for lo in range(0, len(X), step):
        near.look_among(scaled_points(X[lo : lo + step], scale), lo)
    return near.rows


class _NearSoFar:
    """The rows nearest to each place among the pieces that were looked at, nearest first."""

    def __init__(self, places, count, rng):
        self.places, self.count, self.rng = places, count, rng
        self.rows = np.empty((len(places), 0), dtype=np.intp)
        self.away = np.empty((len(places), 0))

    def look_among(self, points, first):
        """Look among points of the rows from ``first`` on."""
        rows = drawn_nearest(points, self.places, min(self.count, len(points)), self.rng)
        pairs = zip(rows, self.places, strict=True)
        away = np.stack([((points[own] - place) ** 2).sum(axis=1) for own, place in pairs])
        # of equally near rows those found before stand for all rows until now: each of ten pieces
        # has .05 to .18 of them, where by halves the last one had .5
        stands_for = np.repeat([first, len(points)], [self.rows.shape[1], rows.shape[1]])
        rows, away = np.hstack([self.rows, rows + first]), np.hstack([self.away, away])
        drawn = self.rng.standard_exponential(away.shape) / stands_for
        order = np.lexsort((drawn, away))[:, : self.count]
        self.rows, self.away = (np.take_along_axis(each, order, axis=1) for each in (rows, away))


def _nearest_by_tree(points, places, count):
    tree = cKDTree(points, leafsize=_LEAF, balanced_tree=False, compact_nodes=False)
    return tree.query(places, [count] if count == 1 else count)[1]


def _nearest_by_search(algorithm, points, places, count):
    from sklearn.neighbors import NearestNeighbors  # a slow import, not always needed

    search = NearestNeighbors(n_neighbors=count, algorithm=algorithm, n_jobs=resolved_jobs(None))
    with single_openmp_thread(len(places) * points.size <= _SMALL_SEARCH):
        return search.fit(points).kneighbors(places, return_distance=False)


def _nearest_of_all(points, places, count):
    """Compare squares of all distances, less those of the places, which change no order."""
    distances = np.einsum("ij,ij->i", points, points) - 2.0 * (places @ points.T)
    rows = np.argpartition(distances, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(distances, rows, axis=1), axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1)
