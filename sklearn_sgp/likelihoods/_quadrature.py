"""Expectations under one-dimensional Gaussians, for many rows at once."""

import numpy as np

# Outermost nodes, in standard deviations: the normal density there is 1e-11 of its peak.
_REACH = 7.2
# Largest distance of nodes, in standard deviations. If the function's singularities are 2.8
# standard deviations or more from the real axis, the trapezoidal rule is then off by 1e-11 of the
# function's size (docs/theory.md, section 10).
_STEP = 0.6
_PIECE = 1 << 18  # largest number of function values in memory


def gaussian_expectations(function, mean, variance, width=1.0):
    """E[function(f)] for f ~ N(mean, variance), row by row, by the trapezoidal rule.

    The rule converges geometrically for functions that are analytic in a strip about the real axis.
    Its step is halved once for every factor of two by which the standard deviation exceeds the
    width.

    Parameters
    ----------
    function : callable
        ``function(f, rows)`` gets f of shape (k, n_nodes) and the index of these k rows, and
        returns a tuple of arrays of the shape of f, one for each expectation.
    mean, variance : ndarray of shape (n,)
    width : float, default=1.0
        Distance of the function's singularities from the real axis, divided by 2.8.

    Returns
    -------
    expectations : list of ndarray of shape (n,)
        One for each array that the function returns.
    """
    sd = np.sqrt(variance)
    level = np.ceil(np.log2(np.maximum(sd / width, 1.0))).astype(int)
    found = None
    for power in np.unique(level):
        half = int(np.ceil(_REACH * 2.0**power / _STEP))
        z = np.arange(-half, half + 1) * (_STEP / 2.0**power)
        weight = np.exp(-0.5 * z * z)
        weight /= weight.sum()
        rows = np.flatnonzero(level == power)
        for lo in range(0, len(rows), max(1, _PIECE // len(z))):
            piece = rows[lo : lo + max(1, _PIECE // len(z))]
            values = function(mean[piece, None] + sd[piece, None] * z, piece)
            if found is None:
                found = [np.empty(len(mean)) for _ in values]
            for out, value in zip(found, values, strict=True):
                out[piece] = value @ weight
    return found
