"""Counts that vary more than Poisson's: negative binomial with a logarithmic link."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln, digamma, expit

from ._base import ExpectedLogDensity
from ._log_link import LogLink
from ._poisson import LARGEST_LOG_RATE, TAIL_WIDTH, are_counts, drawn_counts
from ._quadrature import gaussian_expectations

_NEXT_COUNT = 1e-10  # of a quantile, relative, before it is one of the next larger count


class NegativeBinomial(LogLink):
    """Counts with mean m = exp(offset + f) and variance m + dispersion m^2.

    A rate of its own, from a Gamma distribution with mean m, makes each count a Poisson one.

    Parameters
    ----------
    dispersion : float, ndarray of shape (t,) or None, default=None
        How much more than Poisson's the variance is. None learns it, for each target column.
    offset : float, ndarray of shape (t,) or None, default=None
        Prior mean of the logarithm of the mean, one number for all target columns or one for each.
        None: the estimator takes the logarithm of the mean count; outside of an estimator 0.
    """

    # as noise of numbers: a tenth of what varies
    _own, _own_start, _own_bounds = "dispersion", 0.1, (1e-6, 1e3)
    _impossible = "y must hold counts, 0, 1, 2 and so on, with likelihood='negative_binomial'."
    _ends = (-100.0, LARGEST_LOG_RATE)

    def __init__(
        self, dispersion: ArrayLike | None = None, offset: ArrayLike | None = None
    ) -> None:
        self.dispersion = dispersion
        self.offset = offset

    @staticmethod
    def _possible(y):
        return are_counts(y)

    @staticmethod
    def _offset_of(mean, total):
        return np.log(mean + 0.5 / total)  # half a count keeps the logarithm finite

    _of_mean = 1.0

    @property
    def _of_square(self):
        return self._own_value

    def _given(self, f):
        rate = np.exp(np.minimum(f, LARGEST_LOG_RATE))
        return rate, rate + self._own_value * rate**2

    # ---- Densities: y s - (y + r) log(1 + e^s) and a constant, s = log(dispersion) + log mean,
    # r = 1 / dispersion

    def log_density(self, y, f, noise_variance=None):
        """Return log P(y) given latent values, for one output."""
        s = np.log(self._own_value) + self._offset + f
        return self._constant(y) + y * s - (y + 1.0 / self._own_value) * np.logaddexp(0.0, s)

    def _constant(self, y):
        r = 1.0 / self._own_value
        return -betaln(y + 1.0, r) - np.log(y + r)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log P(y)] for f ~ N(mean, variance), and its derivatives."""
        value, n_theta = np.zeros(len(y)), len(self.theta)
        d_mean, d_variance = np.empty(mean.shape), np.empty(mean.shape)
        d_theta = np.zeros((len(y), n_theta)) if n_theta else None
        for c, (one, center, v, count) in enumerate(self._each(mean, variance, y)):
            own, slope, curvature, of_log = one._expected(center, v, count)
            value += own
            d_mean[:, c], d_variance[:, c] = slope, 0.5 * curvature
            if n_theta:
                d_theta[:, min(c, n_theta - 1)] += of_log
        return ExpectedLogDensity(value, d_mean, d_variance, np.zeros(len(y)), d_theta)

    def _expected(self, center, variance, y):
        """Return the expectation and its derivatives in mean, twice, and log dispersion."""
        r, s = 1.0 / self._own_value, np.log(self._own_value) + center

        def terms(s, rows):
            p = expit(s)
            return np.logaddexp(0.0, s), p, p * (1.0 - p)

        log_sum, p, slope = gaussian_expectations(terms, s, variance)
        value = self._constant(y) + y * s - (y + r) * log_sum
        of_log = y - (y + r) * p + r * log_sum - r * (digamma(y + r) - digamma(r))
        return value, y - (y + r) * p, -(y + r) * slope, of_log

    # ---- Predictions

    def _tails(self, above, y, mean, variance):
        return super()._tails(above, np.maximum(np.floor(y), -1.0), mean, variance)

    def _tail(self, above, y, f):
        """Return P(Y > y) or P(Y <= y), which go on smoothly between counts, from -1 on."""
        r, s = 1.0 / self._own_value, np.log(self._own_value) + f
        n, r, s = np.broadcast_arrays(y + 1.0, r, s)
        some = np.maximum(n, 1e-300)
        p = betainc(some, r, expit(s)) if above else betainc(r, some, expit(-s))
        return np.where(n > 0.0, p, 1.0 if above else 0.0)

    def _place(self, y):
        count = np.maximum(y, 0.0)
        width = np.minimum(1.0, TAIL_WIDTH * np.sqrt(self._own_value + 1.0 / (1.0 + count)))
        return width, np.log1p(count)

    def _guess(self, mean, variance, deviate):
        sd = np.sqrt(variance + self._own_value + np.exp(-np.maximum(mean, 0.0)))
        return np.logaddexp(0.0, mean) + deviate * sd, sd

    def _quantiles(self, mean, variance, level):
        """Return the smallest counts with P(Y <= count) >= level, up to rounding of the latter."""
        return np.rint(super()._quantiles(mean, variance, level))

    @staticmethod
    def _at(u):
        return np.expm1(u)

    @staticmethod
    def _rounded(u):
        count = np.expm1(u)
        return np.log1p(np.maximum(np.ceil(count - _NEXT_COUNT * (1.0 + count)), 0.0))

    def _drawn(self, f, rng):
        shape = 1.0 / self._own_value
        rate = np.exp(np.minimum(f, LARGEST_LOG_RATE)) * rng.gamma(shape, 1.0 / shape, f.shape)
        return drawn_counts(rate, rng)
