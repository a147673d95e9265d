"""The largest noise that rows bear out: predictions of the log noise do not go beyond it.

A smooth log noise that rises steeply overshoots where few rows are, and far from all rows its prior
knows no bounds. Beyond some level all squared errors together may say less than that level. Where
no rows are, the noise is what the rows have on average.
"""

import numpy as np

# Where the rows bear the largest log noise out, others may have noise of twice its deviation.
_MARGIN = 2.0 * np.log(2.0)
# So that quotients by the noise are finite.
_SMALLEST_LOG = -100.0


def largest_log_noise(moments, squares, weight):
    """Find the largest expected log noise that rows bear out (docs/theory.md, section 13).

    Parameters
    ----------
    moments : LogNoiseMoments
        Of the log noise at the rows, one that all outputs share, k = 1, or one of each.
    squares : ndarray of shape (n, t)
        Expected squared errors, in the same unit.

    Returns
    -------
    level : ndarray of shape (k,)
        The level c at which the likelihood of min(g, c) is largest, if that is worth a parameter;
        else one that leaves the rows' own noise as it is.
    """
    levels = moments.mean + 0.5 * moments.variance
    k = levels.shape[1]
    each = weight * (squares.shape[1] // k)  # values that a log noise is of
    if k < squares.shape[1]:
        squares = squares.sum(axis=1, keepdims=True)
    return np.array([_largest(levels[:, c], squares[:, c], weight, each) for c in range(k)])


def _largest(level, squares, weight, each):
    order = np.argsort(-level)
    order = order[each[order] > 0.0]
    g = np.maximum(level[order], _SMALLEST_LOG)
    each, errors = each[order], (weight * squares)[order]
    size, total = np.cumsum(each), np.cumsum(errors)
    before = np.cumsum(each * g + errors * np.exp(-g))
    # where the first rows alone are above c, their mean square is what e^c would be
    with np.errstate(divide="ignore"):
        c = np.clip(np.log(total / size), np.append(g[1:], g[-1]), g)
    gain = 0.5 * (before - size * c - total * np.exp(-c))
    best = int(gain.argmax())
    return c[best] if gain[best] > np.log(len(g)) else g[0] + _MARGIN


def typical_share(moments, prior_variance, weight):
    """Find the share of its variance with which the prior of g expects what rows have on average.

    The exponential of a normal variable expects far more than its median, by a tail that two levels
    of noise, say, do not have. ``prior_variance``, (n,), is that of g at these rows; all else is as
    of `largest_log_noise`.

    Returns
    -------
    share : ndarray of shape (k,)
        At most 1; where rows are, hardly any of the prior's variance is left, and nothing changes.
    """
    levels = np.maximum(moments.mean + 0.5 * moments.variance, _SMALLEST_LOG)
    largest = levels.max(axis=0)
    typical = largest + np.log(np.average(np.exp(levels - largest), axis=0, weights=weight))
    expected = 0.5 * np.average(prior_variance, weights=weight)
    return np.clip(typical / max(expected, np.finfo(np.float64).tiny), 0.0, 1.0)
