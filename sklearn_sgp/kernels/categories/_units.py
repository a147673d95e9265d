"""Units in which distances tell which rows are near, where some columns are categories."""

from dataclasses import dataclass

import numpy as np

from ..nodes import Selection, Sum
from ._covariance import LARGEST_COUNT, codes_of
from ._node import CategoricalNode, category_leaves

# Categories of one column are corners of a simplex in so many dimensions at most; more of them are
# in random directions, almost as far apart.
_LARGEST_SIMPLEX = 16


@dataclass(frozen=True)
class Units:
    """Divisors of inputs: ``X / units`` are points that are near where a kernel is large.

    A column of categories becomes several: squared distances between categories are 2 (1 - r) for a
    correlation r.

    Parameters
    ----------
    scale : ndarray of shape (d,)
        Length scales; those of columns of categories are not used.
    corners : tuple of (int, ndarray of shape (n_categories + 1, k))
        Columns of categories, and the place of each of these.
    """

    scale: np.ndarray
    corners: tuple = ()

    __array_ufunc__ = None  # so that NumPy leaves the division to us

    def __rtruediv__(self, X):
        X = np.asarray(X, dtype=np.float64)
        columns = [column for column, _ in self.corners]
        others = np.delete(X, columns, axis=1) / np.delete(self.scale, columns)
        places = [
            corners[np.minimum(codes_of(X[:, [column]]), len(corners) - 1)]
            for column, corners in self.corners
        ]
        return np.hstack([others, *places])


def largest_change(units, before):
    """Return the largest change of log length scales, and of corners, since ``before``."""
    units, before = (one if isinstance(one, Units) else Units(one) for one in (units, before))
    is_number = np.ones(len(units.scale), dtype=bool)
    is_number[[column for column, _ in units.corners]] = False
    moved = [0.0, *np.abs(np.log(units.scale[is_number] / before.scale[is_number]))]
    for (_, corners), (_, old) in zip(units.corners, before.corners, strict=True):
        moved.append(np.abs(corners - old).max())
    return max(moved)


def units_of(kernel, scale, by_variance=False):
    """Return the `Units` of a bound kernel with given length scales: these without categories.

    Parameters
    ----------
    scale : ndarray of shape (d,)
    by_variance : bool
        Whether a category counts as much as the terms that it is in have of the variance: rows that
        share nothing but a random intercept of small variance say little of one another.
    """
    leaves, corners = category_leaves(kernel.expression), {}
    somewhere = np.zeros((1, kernel.expression.n_features))
    somewhere[:, [column for _, column in leaves]] = LARGEST_COUNT  # of the mean variance
    shares = _shares(kernel.expression.node, kernel.values, somewhere, 1.0)
    for (leaf, column), share in zip(leaves, shares, strict=True):
        covariance = leaf.covariance(kernel.values)
        deviation = np.sqrt(covariance.diag(np.arange(len(covariance.specific))))[:, None]
        specific = np.sqrt(covariance.specific)[:, None] * _directions(len(covariance.specific))
        parts = np.hstack([covariance.rows, specific]) / deviation
        if by_variance:
            parts *= np.sqrt(share)
        corners[column] = np.hstack([corners[column], parts]) if column in corners else parts
    return Units(scale, tuple(corners.items())) if corners else scale


def _shares(node, values, row, share):
    """Return the shares of a row's variance in which its categories take part, left to right."""
    if isinstance(node, CategoricalNode):
        return [share]
    shares = [share] * len(node.children)
    if isinstance(node, Sum):
        parts = np.array([child.diag(values, row)[0] for child in node.children])
        shares = share * parts / max(parts.sum(), np.finfo(float).tiny)
    row = row[:, node.columns] if isinstance(node, Selection) else row
    pairs = zip(node.children, shares, strict=True)
    return [part for child, share in pairs for part in _shares(child, values, row, share)]


def _directions(count):
    """Return unit vectors that are orthogonal or nearly so, shape (count, k)."""
    if count <= _LARGEST_SIMPLEX:
        return np.eye(count)
    drawn = np.random.RandomState(0).standard_normal((count, _LARGEST_SIMPLEX))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
