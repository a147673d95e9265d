"""Default kernels whose smooth term sees weighted sums of the columns, not the columns."""

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, Product, Sum

from ._columns import Columns

# Bounds of a weight, in units of one over a column's standard deviation.
_MOST_OF_A_WEIGHT = 100.0


def scales_of_smooth_term(kernel, n_columns):
    """Return the length scales of the first term of a default kernel, (d,).

    The kernel is without white noise.

    Returns
    -------
    scales : ndarray
        None where the kernel is not a variance times an RBF or Matern kernel of all columns, more
        than one, alone or beside another such term.
    """
    terms = [kernel.k1, kernel.k2] if isinstance(kernel, Sum) else [kernel]
    if not all(_has_own_scales(term, n_columns) for term in terms):
        return None
    return np.array(terms[0].k2.length_scale, dtype=np.float64)


def _has_own_scales(term, n_columns):
    if not (isinstance(term, Product) and type(term.k1) is ConstantKernel):
        return False
    return type(term.k2) in (RBF, Matern) and np.size(term.k2.length_scale) == n_columns > 1


def turned(kernel, columns, directions, spread):
    """Return a default kernel whose first term sees directions, the weights of which are learned.

    Parameters
    ----------
    kernel : Kernel
        With `scales_of_smooth_term`, or one that was turned before.
    columns : ndarray of int, shape (k,)
    directions : ndarray of shape (r, k)
    spread : ndarray of shape (k,)
        Standard deviations of these columns, positive.
    """
    first = _first(kernel)
    shape = first.k2.kernel if isinstance(first.k2, Columns) else first.k2
    shape = clone(shape).set_params(length_scale=1.0, length_scale_bounds="fixed")
    most = np.tile(_MOST_OF_A_WEIGHT / spread, len(directions))
    bounds = np.stack([-most, most], axis=1)
    term = clone(first.k1) * Columns(shape, columns.tolist(), np.array(directions), bounds)
    return Sum(term, clone(kernel.k2)) if isinstance(kernel, Sum) else term


def directions_of(kernel):
    """Return the learned weights of the first term of a kernel, (r, k), or None."""
    seen = _seen_directions(kernel)
    return None if seen is None else np.array(seen.directions)


def columns_of_directions(kernel):
    """Return the list of columns that the first term of a kernel learns weights of, or None."""
    seen = _seen_directions(kernel)
    return None if seen is None else list(seen.columns)


def _seen_directions(kernel):
    first = _first(kernel)
    shape = first.k2 if isinstance(first, Product) else None
    is_turned = isinstance(shape, Columns) and shape.learns_directions
    return shape if is_turned else None


def count_of_weights(kernel):
    """Count what the weights of the first term of a default kernel say; 0 where it sees columns.

    Directions that are turned among themselves are the same kernel: r of them in d columns have
    r d - r (r - 1) / 2 numbers.
    """
    directions = directions_of(kernel)
    if directions is None:
        return 0
    r, d = directions.shape
    return r * d - r * (r - 1) // 2


def _first(kernel):
    return kernel.k1 if isinstance(kernel, Sum) else kernel
