"""Room for functions without noise, such as simulators: where users say that there is next to none.

The least noise variance by default, a millionth of the targets', is one that tables of any kind
bear. 150 rows of concrete, whose noise went down to a billionth where nobody had said so, came to
-12,000 nats a row by few new rows beside known ones.
"""

from dataclasses import replace

import numpy as np

from ..kernels._length_scales import variance_mask
from ..kernels._white_noise import DEFAULT_BOUNDS

# The default bound of the noise variance, in units of the targets' variance.
LEAST_BY_DEFAULT = DEFAULT_BOUNDS[0]
# By how much larger than elsewhere the variance of a default kernel may be, where predictions are
# from all rows and where from near ones. Covariances of near rows given inducing values are
# differences, which rounding takes before: with 100, 100 runs of two of five functions could not be
# factorised.
_MORE_VARIANCE, _MORE_NEAR_ROWS = 100.0, 10.0


def expects_no_noise(noise_variance, bounds):
    """Return whether the noise is held below the default bound, or may go there."""
    if isinstance(bounds, str):
        return noise_variance is not None and bool(np.max(noise_variance) < LEAST_BY_DEFAULT)
    return bounds is not None and bool(np.min(bounds) < LEAST_BY_DEFAULT)


def with_room(start, near):
    """Return a start, and its alternatives, whose functions may vary far more than the targets.

    A smooth function without noise is a small part of what its kernel allows. ``near`` says that
    predictions are from near rows beside inducing inputs.
    """
    if not start.has_equal_noise:
        return start
    more = _MORE_NEAR_ROWS if near else _MORE_VARIANCE
    return replace(
        _widened(start, more), alternatives=tuple(_widened(one, more) for one in start.alternatives)
    )


def _widened(start, more):
    if not start.learns_default_kernel:
        return start
    bounds = np.array(start.space.group("theta").bounds)
    bounds[variance_mask(start.parameters.expression), 1] += np.log(more)
    return replace(start, space=start.space.with_group("theta", bounds=bounds))
