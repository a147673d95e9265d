"""Shares, numbers between 0 and 1: Beta distribution with a logit link."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln, digamma, expit, logit

from ._base import ExpectedLogDensity
from ._integrated import Integrated
from ._poisson import TAIL_WIDTH
from ._quadrature import gaussian_expectations

_LARGEST_LOGIT = 600.0  # further ones have parameters that no float holds
_BELOW_ONE = np.nextafter(1.0, 0.0)


class Beta(Integrated):
    """Shares with mean m = 1 / (1 + exp(-offset - f)) and variance m (1 - m) / (precision + 1).

    Parameters
    ----------
    precision : float, ndarray of shape (t,) or None, default=None
        Sum of the two parameters of the distribution. None learns it, for each target column.
    offset : float, ndarray of shape (t,) or None, default=None
        Prior mean of the log odds, one number for all target columns or one for each. None: the
        estimator takes those of the mean target; outside of an estimator 0.
    """

    _own, _own_start, _own_bounds = "precision", 10.0, (1e-2, 1e6)
    _impossible = "y must hold numbers between 0 and 1, both excluded, with likelihood='beta'."
    _ends = (-700.0, 36.0)

    def __init__(self, precision: ArrayLike | None = None, offset: ArrayLike | None = None) -> None:
        self.precision = precision
        self.offset = offset

    @staticmethod
    def _possible(y):
        return (y > 0.0) & (y < 1.0)

    @staticmethod
    def _offset_of(mean, total):
        return logit(mean)

    def _given(self, f):
        mean = expit(f)
        return mean, mean * expit(-f) / (self._own_value + 1.0)

    def _parameters(self, f):
        f = np.clip(f, -_LARGEST_LOGIT, _LARGEST_LOGIT)
        return self._own_value * expit(f), self._own_value * expit(-f)

    def log_density(self, y, f, noise_variance=None):
        """Return log p(y) given latent values, for one output."""
        a, b = self._parameters(self._offset + f)
        return (a - 1.0) * np.log(y) + (b - 1.0) * np.log1p(-y) - betaln(a, b)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log p(y)] for f ~ N(mean, variance), and its derivatives."""
        n_theta, parts = len(self.theta), []
        for one, center, v, share in self._each(mean, variance, y):
            parts.append(one._expected(center, v, share))
        value, slope, curvature, of_log = (np.stack(each, 1) for each in zip(*parts, strict=True))
        d_theta = None
        if n_theta:
            d_theta = of_log if n_theta > 1 else of_log.sum(axis=1, keepdims=True)
        zero = np.zeros(len(y))
        return ExpectedLogDensity(value.sum(axis=1), slope, curvature, zero, d_theta)

    def _expected(self, center, variance, y):
        """Return the expectation, its derivatives in mean and variance, and in log precision."""
        log_y, log_rest, whole = np.log(y)[:, None], np.log1p(-y)[:, None], self._own_value
        sd = np.maximum(np.sqrt(variance), 1e-4)[:, None]  # as `_expected` by quadrature has it

        def terms(f, rows):
            a, b = self._parameters(f)
            to_a, to_b = log_y[rows] - digamma(a), log_rest[rows] - digamma(b)
            log_p = (a - 1.0) * log_y[rows] + (b - 1.0) * log_rest[rows] - betaln(a, b)
            slope = a * b / whole * (to_a - to_b)
            away = (f - center[rows, None]) / sd[rows]
            return (
                log_p,
                slope,
                0.5 * slope * away / sd[rows],
                (a * to_a + b * to_b + whole * digamma(whole)),
            )

        return gaussian_expectations(terms, center, sd[:, 0] ** 2)

    def _tail(self, above, y, f):
        y, (a, b) = np.clip(y, 0.0, 1.0), self._parameters(f)
        return betainc(b, a, 1.0 - y) if above else betainc(a, b, y)

    def _place(self, y):
        y = np.clip(y, 1e-300, _BELOW_ONE)
        whole = self._own_value
        # tiny shares are those of a mean that is small beside the precision
        least, largest = -np.log1p(-whole * np.log(y)), np.log1p(-whole * np.log1p(-y))
        return TAIL_WIDTH / np.sqrt(1.0 + whole * y * (1.0 - y)), np.clip(logit(y), least, largest)

    def _guess(self, mean, variance, deviate):
        share = expit(np.clip(mean, -30.0, 30.0))
        sd = np.sqrt(variance + 1.0 / (1.0 + self._own_value * share * (1.0 - share)))
        return mean + deviate * sd, sd

    @staticmethod
    def _at(u):
        return expit(u)

    def _drawn(self, f, rng):
        return np.clip(rng.beta(*self._parameters(f)), np.finfo(np.float64).tiny, _BELOW_ONE)
