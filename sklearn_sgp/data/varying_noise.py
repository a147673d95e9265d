"""Noise that is known for each row, in the place of one noise variance."""

from typing import NamedTuple

import numpy as np

# Of a noise variance: far from all rows a wide prior of its logarithm knows no bounds.
_LARGEST_LOG = 300.0


class VaryingNoise(NamedTuple):
    """Distribution of the noise variances of rows, in the place of a ``noise_variance``.

    The logarithm of that of each row and output is normal.

    Attributes
    ----------
    log_mean, log_variance : ndarray of shape (n, t)
    """

    log_mean: np.ndarray
    log_variance: np.ndarray

    @property
    def mean(self):
        """Expected noise variances, shape (n, t)."""
        return np.exp(np.minimum(self.log_mean + 0.5 * self.log_variance, _LARGEST_LOG))


def varying(noise, shape):
    """Return a noise variance, or one of each output, as `VaryingNoise` of rows."""
    if isinstance(noise, VaryingNoise):
        return noise
    return VaryingNoise(np.broadcast_to(np.log(noise), shape), np.zeros(shape))


def of_rows(noise, function):
    """Apply a function to the arrays of noise that differs from row to row, known or not."""
    if isinstance(noise, VaryingNoise):
        return VaryingNoise(*map(function, noise))
    return function(noise) if np.ndim(noise) == 2 else noise


def noise_of_output(noise, output):
    """Return noise of one output, of one for all, one for each, or one for each row."""
    if isinstance(noise, VaryingNoise) or np.ndim(noise) == 2:
        return of_rows(noise, lambda part: part[:, output : output + 1])
    return noise[output] if np.ndim(noise) else noise


def each_output(likelihood, noise, n_outputs):
    """Yield the columns of each output, its likelihood, and its noise."""
    if n_outputs == 1:
        yield slice(0, 1), likelihood, noise
        return
    for c in range(n_outputs):
        yield slice(c, c + 1), likelihood.for_output(c), noise_of_output(noise, c)
