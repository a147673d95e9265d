"""Two classes, y in {-1, +1}: probit and logit links (docs/theory.md, section 10)."""

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from ._base import ExpectedLogDensity, Likelihood
from ._quadrature import gaussian_expectations

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)


class _Bernoulli(Likelihood):
    """p(y | f) = link(y f); subclasses give log link with its first two derivatives."""

    max_classes = 2

    def n_latent(self, n_outputs):
        """One latent function for both classes."""
        return 1

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """E[log link(y f)] for f ~ N(mean, variance), and its derivatives.

        Parameters
        ----------
        y : ndarray of shape (n, 1)
            -1 or +1.
        mean, variance : ndarray of shape (n, 1)
        noise_variance : ignored

        Returns
        -------
        expected : ExpectedLogDensity
        """
        sign = y[:, 0]
        value, slope, curvature = gaussian_expectations(
            lambda f, rows: self._derivatives(f), sign * mean[:, 0], variance[:, 0]
        )
        return ExpectedLogDensity(
            value, (sign * slope)[:, None], 0.5 * curvature[:, None], np.zeros(len(value))
        )

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """log P(y) for f ~ N(mean, variance), shape (n,)."""
        return self._log_probability(y[:, 0] * mean[:, 0], variance[:, 0])

    def probabilities(self, mean, variance):
        """P(-1) and P(+1), shape (n, 2)."""
        both = [self._log_probability(sign * mean[:, 0], variance[:, 0]) for sign in (-1.0, 1.0)]
        return np.exp(np.column_stack(both))


class Probit(_Bernoulli):
    """p(y | f) = Phi(y f)."""

    def decision(self, mean, variance):
        """Latent mean over sqrt(1 + latent variance), shape (n,)."""
        return mean[:, 0] / np.sqrt(1.0 + variance[:, 0])

    @staticmethod
    def _derivatives(f):
        log_p = log_ndtr(f)
        ratio = np.exp(-0.5 * f * f - _HALF_LOG_2PI - log_p)
        return log_p, ratio, -ratio * (f + ratio)

    @staticmethod
    def _log_probability(mean, variance):
        return log_ndtr(mean / np.sqrt(1.0 + variance))


class Logit(_Bernoulli):
    """p(y | f) = 1 / (1 + exp(-y f))."""

    @staticmethod
    def _derivatives(f):
        other = expit(-f)
        return log_expit(f), other, -other * (1.0 - other)

    @staticmethod
    def _log_probability(mean, variance):
        # the smaller of the two probabilities keeps its digits
        (tail,) = gaussian_expectations(lambda f, rows: (expit(-f),), np.abs(mean), variance)
        return np.where(mean < 0, np.log(tail), np.log1p(-tail))
