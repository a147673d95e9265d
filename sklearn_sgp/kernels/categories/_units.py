"""Units in which distances tell which rows are near: of categories and of directions, too."""

from dataclasses import dataclass

import numpy as np

from ..nodes import Constant, Directions, Selection, Sum
from ._covariance import LARGEST_COUNT, codes_of
from ._node import CategoricalNode, category_leaves

# Categories of one column are corners of a simplex in so many dimensions at most; more of them are
# in random directions, almost as far apart.
_LARGEST_SIMPLEX = 16


@dataclass(frozen=True)
class Units:
    """Divisors of inputs: ``X / units`` are points that are near where a kernel is large.

    A column of categories becomes several: squared distances between categories are 2 (1 - r) for a
    correlation r. Directions, which are linear combinations of columns, are points for themselves.

    Parameters
    ----------
    scale : ndarray of shape (d,)
        Length scales; those of columns of categories are not used, nor, where there are directions,
        those of columns that nothing else sees.
    corners : tuple of (int, ndarray of shape (n_categories + 1, k))
        Columns of categories, and the place of each of these.
    directions : ndarray of shape (k, d), or an empty tuple
        Weights of columns, in units of the length scales of directions.
    is_replaced : ndarray of bool, shape (d,), or None
        Columns whose length scales are not used; None for those of categories.
    """

    scale: np.ndarray
    corners: tuple = ()
    directions: np.ndarray | tuple = ()
    is_replaced: np.ndarray | None = None

    __array_ufunc__ = None  # so that NumPy leaves the division to us

    def __rtruediv__(self, X):
        X = np.asarray(X, dtype=np.float64)
        others = X[:, self._is_kept] / self.scale[self._is_kept]
        places = [
            corners[np.minimum(codes_of(X[:, [column]]), len(corners) - 1)]
            for column, corners in self.corners
        ]
        if len(self.directions):
            places.append(X @ self.directions.T)
        return np.hstack([others, *places])

    @property
    def _is_kept(self):
        """Columns of numbers that are points for themselves, a mask."""
        if self.is_replaced is not None:
            return ~self.is_replaced
        is_number = np.ones(len(self.scale), dtype=bool)
        is_number[[column for column, _ in self.corners]] = False
        return is_number


def largest_change(units, before):
    """Return the largest change of log length scales, and of corners, since ``before``."""
    units, before = (one if isinstance(one, Units) else Units(one) for one in (units, before))
    is_number = units._is_kept
    moved = [0.0, *np.abs(np.log(units.scale[is_number] / before.scale[is_number]))]
    if np.shape(units.directions) != np.shape(before.directions):
        return np.inf
    if len(units.directions):
        away = np.abs(units.directions - before.directions).max()
        moved.append(away / max(np.abs(before.directions).max(), np.finfo(float).tiny))
    for (_, corners), (_, old) in zip(units.corners, before.corners, strict=True):
        moved.append(np.abs(corners - old).max())
    return max(moved)


def units_of(kernel, scale, by_variance=False):
    """Return the `Units` of a bound kernel with given length scales, or these if they are enough.

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
    directions, is_seen = _directions_of(kernel)
    if not corners and not len(directions):
        return scale
    is_seen[list(corners)] = False
    return Units(scale, tuple(corners.items()), directions, ~is_seen)


def _directions_of(kernel):
    """Return weights of columns in directions, (k, d), and a mask of columns others see, too.

    Without directions all columns are seen.
    """
    d = kernel.expression.n_features
    rows, is_seen = [np.empty((0, d))], np.zeros(d, dtype=bool)
    for leaf, columns in kernel.expression.leaves:
        metrics = leaf.metrics(kernel.values) if isinstance(leaf, Directions) else []
        for _, weights in metrics:
            rows.append(np.zeros((len(weights), d)))
            np.add.at(rows[-1], (slice(None), columns), weights)  # a column may come twice
        if not metrics and not isinstance(leaf, Constant):
            is_seen[columns] = True
    directions = np.vstack(rows)
    return directions, is_seen if len(directions) else np.ones(d, dtype=bool)


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
