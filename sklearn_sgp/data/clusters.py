"""k-means, and the nearest of some centres, both quick for few rows and safe in several threads.

scikit-learn's KMeans warns of points that are too close together, and to silence it there one would
have to change the filters of the whole process.
"""

import numpy as np

from .._core._neighbours import move_centres, nearest_centres
from .._parallel import single_blas_thread
from .rows import each_weight

# Centres that move less, as a share of the points' mean variance, are at rest: KMeans's own.
_TOLERANCE = 1e-4


def nearest(X, centres):
    """Number of the centre nearest to each row, the first of equals.

    scikit-learn's function starts OpenMP's threads and checks its input each time: for the
    thousands of small nodes of a tree that took most of the time of large fits.
    """
    label = np.empty(len(X), dtype=np.intp)
    X, centres = (np.ascontiguousarray(each, dtype=np.float64) for each in (X, centres))
    nearest_centres(X, centres, label)
    return label


def kmeans(points, count, rng, *, max_iter, weight=None, init="k-means++"):
    """Return the centres of k-means, (k, d), sorted and distinct.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    count : int
        Number of centres, at most n; fewer come back where points cannot be told apart.
    weight : ndarray of shape (n,) or None
        Positive weights; None means 1.
    init : {"k-means++", "random"}
        First centres: far apart, or some of the points, for thousands of small calls.
    """
    points = np.asarray(points, dtype=np.float64)
    middle = points.mean(axis=0)
    points = np.ascontiguousarray(points - middle)
    weight = each_weight(weight, len(points))
    at_rest = _TOLERANCE * points.var(axis=0).mean()
    centres = _first_centres(points, count, weight, rng, init)
    centres = np.array(centres, dtype=np.float64, order="C")
    move_centres(points, np.asarray(weight, dtype=np.float64), centres, max_iter, at_rest)
    return distinct(centres + middle)


def _first_centres(points, count, weight, rng, init):
    if init == "random":
        return points[rng.permutation(len(points))[:count]]
    from sklearn.cluster import kmeans_plusplus  # 0.16 s of the package's import

    with single_blas_thread():
        return kmeans_plusplus(points, count, sample_weight=weight, random_state=rng)[0]


def distinct(points):
    """Return distinct points, sorted by their columns as `numpy.unique` sorts them.

    Where the first column already tells them apart it takes a tenth of the time.
    """
    ordered = points[np.argsort(points[:, 0])]
    if (ordered[1:, 0] > ordered[:-1, 0]).all():
        return ordered
    return np.unique(points, axis=0)


def short_path(points, start=None):
    """Return an order, (n,), in which successive points are near: the nearest one left comes next.

    It begins at the point nearest to ``start``, (d,), or else at one end of the principal axis.
    """
    middle = points - points.mean(axis=0)
    if start is None:
        along = middle @ np.linalg.svd(middle, full_matrices=False)[2][0]
    else:
        along = ((points - start) ** 2).sum(axis=1)
    left = np.ones(len(points), dtype=bool)
    at, order = int(np.argmin(along)), []
    while True:
        order.append(at)
        left[at] = False
        if not left.any():
            return np.array(order)
        away = ((points - points[at]) ** 2).sum(axis=1)
        at = int(np.argmin(np.where(left, away, np.inf)))
