"""The kernel of a level that wanders along a column that grows."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from ._columns import Columns
from ._defaults import scaled

# Length scales of level and trend, in spans of the rows: so long that Matern kernels are those of a
# random walk and of an integrated one, and so short that the jitter is small beside their steps.
LEVEL_SPANS, TREND_SPANS = 20.0, 5.0
# Squares of what level and trend may do over the span, in those of the targets.
_POSSIBLE_MOVES = np.array([1e-6, 1e3])
# The least that learning begins with: less has no gradient.
_LEAST_MOVE = 1e-4


def wandering_variances(n_steps):
    """Return variances of level and trend whose steps have variance 1, so many in the span.

    Steps of the trend are those of its slope, times the length of a step.
    """
    return 0.5 * LEVEL_SPANS * n_steps, (TREND_SPANS * n_steps / np.sqrt(3.0)) ** 3 / 4.0


def wandering_kernel(spread, column, span, step, variances):
    """Return a level and a trend that wander, besides a smooth function of the other columns.

    Parameters
    ----------
    spread : ndarray of shape (d,)
        Standard deviations of the columns; 0 for a column of one value.
    column : int
        That grows.
    span : float
        Largest less smallest value of it.
    step : float
        Between two rows, in the mean.
    variances : ndarray of shape (2,)
        Of the steps of level and trend, for targets of variance 1.
    """
    n_steps = span / step
    whole = np.array([n_steps, n_steps**3 / 3.0])  # squares over the span, of steps of variance 1
    units = np.array(wandering_variances(n_steps))
    bounds = _POSSIBLE_MOVES[:, None] * units / whole
    begin = np.maximum(variances * units, _LEAST_MOVE * units / whole)
    begin = np.clip(begin, *bounds)
    scales = LEVEL_SPANS * span, TREND_SPANS * span
    level, trend = (
        ConstantKernel(begin[k], tuple(bounds[:, k])) * Matern(scales[k], "fixed", nu=k + 0.5)
        for k in (0, 1)
    )
    if len(spread) == 1:
        return level + trend
    others = [c for c in range(len(spread)) if c != column]
    smooth = Columns(scaled(RBF, spread[others]), others)
    return smooth + Columns(level, [column]) + Columns(trend, [column])
