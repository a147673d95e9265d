"""Positive numbers whose deviations are in proportion to their mean: Gamma, logarithmic link."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammainc, gammaincc, gammaln

from ._base import ExpectedLogDensity
from ._log_link import LogLink
from ._poisson import LARGEST_LOG_RATE, TAIL_CENTER, TAIL_WIDTH


class Gamma(LogLink):
    """Positive numbers with mean m = exp(offset + f) and variance m^2 / shape.

    Parameters
    ----------
    shape : float, ndarray of shape (t,) or None, default=None
        The inverse square of the deviations relative to the mean; 1 is an exponential distribution.
        None learns it, for each target column.
    offset : float, ndarray of shape (t,) or None, default=None
        Prior mean of the logarithm of the mean, one number for all target columns or one for each.
        None: the estimator takes the logarithm of the mean target; outside of an estimator 0.
    """

    _own, _own_start, _own_bounds = "shape", 10.0, (1e-2, 1e6)
    _impossible = "y must hold finite numbers above 0 with likelihood='gamma'."
    _ends = (-700.0, 700.0)
    _of_mean = 0.0

    def __init__(self, shape: ArrayLike | None = None, offset: ArrayLike | None = None) -> None:
        self.shape = shape
        self.offset = offset

    @staticmethod
    def _possible(y):
        return (y > 0.0) & (y < np.inf)

    @staticmethod
    def _offset_of(mean, total):
        return np.log(mean)

    @property
    def _of_square(self):
        return 1.0 / self._own_value

    def _given(self, f):
        mean = np.exp(np.minimum(f, LARGEST_LOG_RATE))
        return mean, mean**2 / self._own_value

    def log_density(self, y, f, noise_variance=None):
        """Return log p(y) given latent values, for one output."""
        log_mean = self._offset + f
        with np.errstate(over="ignore"):
            return self._constant(y) - self._own_value * (log_mean + y * np.exp(-log_mean))

    def _constant(self, y):
        k = self._own_value
        return k * np.log(k) - gammaln(k) + (k - 1.0) * np.log(y)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log p(y)] for f ~ N(mean, variance), in closed form."""
        k, log_mean = self._own_value, self._offset + mean
        with np.errstate(over="ignore"):  # a value of -inf: the optimiser rejects such a trial
            scaled = y * np.exp(-log_mean + 0.5 * variance)
        value = self._constant(y) - k * (log_mean + scaled)
        d_theta, n_theta = None, len(self.theta)
        if n_theta:
            d_theta = k * (np.log(k) + 1.0 - digamma(k) + np.log(y) - log_mean - scaled)
            d_theta = d_theta if n_theta > 1 else d_theta.sum(axis=1, keepdims=True)
        slopes = k * (scaled - 1.0), -0.5 * k * scaled
        return ExpectedLogDensity(value.sum(axis=1), *slopes, np.zeros(len(y)), d_theta)

    def _tail(self, above, y, f):
        with np.errstate(over="ignore"):
            scaled = self._own_value * np.maximum(y, 0.0) * np.exp(np.clip(-f, -700.0, 700.0))
        return (gammaincc if above else gammainc)(self._own_value, scaled)

    def _place(self, y):
        width = TAIL_WIDTH / np.sqrt(max(self._own_value, 1.0))
        return width, np.log(np.maximum(y, 1e-300)) - TAIL_CENTER * width

    def _guess(self, mean, variance, deviate):
        sd = np.sqrt(variance + 1.0 / self._own_value)
        return mean + deviate * sd, sd

    @staticmethod
    def _at(u):
        return np.exp(u)

    def _drawn(self, f, rng):
        k = self._own_value
        drawn = np.exp(np.minimum(f, LARGEST_LOG_RATE)) * rng.gamma(k, 1.0 / k, f.shape)
        return np.maximum(drawn, np.finfo(np.float64).tiny)
