"""Two classes, y in {-1, +1}: probit and logit links (docs/theory.md, section 10)."""

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr

from ._base import SMALLEST_PROBABILITY, ExpectedLogDensity, Likelihood
from ._quadrature import gaussian_expectations

_ROOT_HALF, _ROOT_2_OVER_PI = np.sqrt(0.5), np.sqrt(2.0 / np.pi)


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
        with np.errstate(over="ignore"):  # the ratio is 0 then
            ratio = _ROOT_2_OVER_PI / erfcx(-_ROOT_HALF * f)
        far = f < -1e3  # there f and the ratio cancel
        curvature = np.where(far, 1.0 / np.where(far, f, 1.0) ** 2 - 1.0, -ratio * (f + ratio))
        return log_ndtr(f), ratio, curvature

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
        tail = np.maximum(tail, SMALLEST_PROBABILITY)  # one that underflowed has a logarithm too
        return np.where(mean < 0, np.log(tail), np.log1p(-tail))
