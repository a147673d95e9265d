"""Expectations under one-dimensional Gaussians, for many rows at once (theory.md, section 10)."""

import numpy as np

# Largest distance of nodes, in standard deviations. If the function's singularities are 2.8
# standard deviations or more from the real axis, the trapezoidal rule is then off by 1e-11 of the
# function's size. At the outermost nodes the normal density is 1e-11 of its peak.
_STEP, _CLEAR = 0.6, 2.8
_NODES = np.arange(-12, 13) * _STEP
# A function that is narrow about a center does not matter to a normal density so many standard
# deviations away.
_FAR = 16.0
# Distance of the nodes of the stretched rule, whose functions are analytic within pi / 4 of the
# real axis: an error of 1e-12.
_STRETCHED_STEP = 0.16
_REACH = 8.5  # its outermost nodes, in standard deviations
_COUNTS = 32  # their number is a multiple of this
_PIECE = 1 << 18  # largest number of function values in memory


def gaussian_expectations(function, mean, variance, width=1.0, center=0.0):
    """Return E[function(f)] for f ~ N(mean, variance), row by row, by the trapezoidal rule.

    The rule converges geometrically for functions that are analytic in a strip about the real axis.
    Where the strip is narrow for the standard deviation, nodes are dense about the center of the
    function, and their distance grows with that from the center: their number is of the order of
    the logarithm of the standard deviation over the width.

    Parameters
    ----------
    function : callable
        ``function(f, rows)`` gets f of shape (k, n_nodes) and the index of these k rows, and
        returns a tuple of arrays of the shape of f, one for each expectation.
    mean, variance : ndarray of shape (n,)
    width : float or ndarray of shape (n,), default=1.0
        Distance of the function's singularities from the real axis, divided by 2.8.
    center : float or ndarray of shape (n,), default=0.0
        Where they are. At a distance from there they may be as much nearer to the real axis as
        45 degrees allow.

    Returns
    -------
    expectations : list of ndarray of shape (n,)
        One for each array that the function returns.
    """
    width, center = np.broadcast_to(width, mean.shape), np.broadcast_to(center, mean.shape)
    sd = np.sqrt(variance)
    plain = (sd <= width) | (np.abs(mean - center) > _FAR * sd)
    expectations = None
    for rows, f, weight in _rules(mean, sd, _CLEAR * width, center, plain):
        values = function(f, rows)
        if expectations is None:
            expectations = [np.empty(len(mean)) for _ in values]
        for out, value in zip(expectations, values, strict=True):
            out[rows] = np.einsum("ij,ij->i", value, np.broadcast_to(weight, value.shape))
    return expectations


def _rules(mean, sd, scale, center, plain):
    """Yield rows, their nodes (k, n_nodes) and weights, piece by piece."""
    weight = np.exp(-0.5 * _NODES**2)
    weight /= weight.sum()
    for rows in pieces(np.flatnonzero(plain), len(_NODES)):
        yield rows, mean[rows, None] + sd[rows, None] * _NODES, weight
    others = np.flatnonzero(~plain)
    if not len(others):
        return
    sd, scale, center = sd[others], scale[others], center[others]
    away = (mean[others] - center) / sd
    ends = np.arcsinh((away + np.array([[-_REACH], [_REACH]])) * sd / scale)
    step = _STRETCHED_STEP / np.sqrt(1.0 + (away**2 + (scale / sd) ** 2) / 20.0)
    count = np.ceil((ends[1] - ends[0]) / step / _COUNTS).astype(int) * _COUNTS
    for size in np.unique(count):
        for k in pieces(np.flatnonzero(count == size), size):
            t = np.linspace(ends[0, k], ends[1, k], size + 1, axis=1)
            error = scale[k, None] * np.sinh(t)
            weight = np.exp(-0.5 * (error / sd[k, None] - away[k, None]) ** 2) * np.cosh(t)
            weight /= weight.sum(axis=1, keepdims=True)
            yield others[k], center[k, None] + error, weight


def pieces(rows, n_nodes):
    """Yield the rows in pieces of which none has more than so many function values."""
    size = max(1, _PIECE // n_nodes)
    for lo in range(0, len(rows), size):
        yield rows[lo : lo + size]
