"""Room for functions without noise: bounds of fits whose rows are so few that they are exact."""

from dataclasses import replace

import numpy as np

from ..kernels._length_scales import variance_mask

# The least noise variance there, in units of the targets' variance, where nobody has chosen its
# bounds, and by how much larger than elsewhere the variance of a default kernel may be. Covariances
# of near rows given inducing values are differences, which rounding takes before: with 1e-9 and
# 100, 100 runs of two of five functions could not be factorised.
_OF_ROWS, _OF_NEAR_ROWS = (1e-9, 100.0), (1e-8, 10.0)


def with_room(start, rows, near):
    """Return a start, and its alternatives, whose noise may be next to nothing.

    All rows are inducing inputs, so that the process is exact. The noise of many rows has a bound,
    a thousandth of their deviation, which sparse models need. A simulator, whose runs are few, has
    no noise: its errors were those of the bound.

    Parameters
    ----------
    start : Start
    rows : Rows
        Of large weights the noise is as much less, and stays above rounding.
    near : bool
        Whether predictions are from near rows beside inducing inputs.
    """
    is_given = "theta" not in start.with_default_bounds  # its variance may be of any size
    if is_given or not has_equal_noise(start.likelihood):
        return start
    least, more = _OF_NEAR_ROWS if near else _OF_ROWS
    least = least * max(float(np.max(rows.weights[0])), 1.0) * start.units.variance
    others = tuple(_widened(one, least, more) for one in start.alternatives)
    return replace(_widened(start, least, more), alternatives=others)


def _widened(start, least, more):
    space = start.space
    if "log_noise" in start.with_default_bounds and space.learns("log_noise"):
        bounds = np.array(np.reshape(space.group("log_noise").bounds, (-1, 2)))
        bounds[:, 0] = np.minimum(bounds[:, 0], np.log(least))
        space = space.with_group("log_noise", bounds=bounds)
    if "theta" in start.with_default_bounds and space.learns("theta"):
        bounds = np.array(space.group("theta").bounds)
        bounds[variance_mask(start.parameters.expression), 1] += np.log(more)
        space = space.with_group("theta", bounds=bounds)
    return replace(start, space=space)


def has_equal_noise(likelihood):
    """Return whether the noise is Gaussian, and the same in all rows."""
    precision = likelihood.row_precision
    return likelihood.conjugate and precision is not None and not precision.differs
