"""Counts: Poisson with a logarithmic link."""

import numpy as np
from scipy.special import gammaln, logsumexp

from ._base import ExpectedLogDensity

_NODES = np.arange(-48, 49) / 6.0  # in standard deviations about the mode: to 8
_NEWTON_STEPS = 60


class Poisson:
    """y with mean exp(f)."""

    n_noise = 0

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """E[log Poisson(y; exp f)] for f ~ N(mean, variance), in closed form.

        Parameters
        ----------
        y, mean, variance : ndarray of shape (n, t)
        noise_variance : ignored

        Returns
        -------
        expected : ExpectedLogDensity
        """
        rate = np.exp(mean + 0.5 * variance)
        value = y * mean - rate - gammaln(y + 1.0)
        return ExpectedLogDensity(value.sum(axis=1), y - rate, -0.5 * rate, np.zeros(len(y)))

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """log P(y), summed over outputs, shape (n,): quadrature about the mode of the integrand."""
        # log N(f) + y f - exp f is concave: Newton steps, of at most one unit, find its mode
        f = mean.copy()
        for _ in range(_NEWTON_STEPS):
            rate = np.exp(f)
            step = (y - rate - (f - mean) / variance) / (rate + 1.0 / variance)
            f += np.clip(step, -1.0, 1.0)
        sd = 1.0 / np.sqrt(np.exp(f) + 1.0 / variance)
        nodes = f[..., None] + sd[..., None] * _NODES
        log_integrand = y[..., None] * nodes - np.exp(nodes)
        log_integrand -= 0.5 * (nodes - mean[..., None]) ** 2 / variance[..., None]
        integral = logsumexp(log_integrand, axis=-1) + np.log(sd * (_NODES[1] - _NODES[0]))
        found = integral - 0.5 * np.log(2.0 * np.pi * variance) - gammaln(y + 1.0)
        return found.sum(axis=1)

    def moments(self, mean, variance, noise_variance=None):
        """Mean and variance of y."""
        rate = np.exp(mean + 0.5 * variance)
        return rate, rate + np.expm1(variance) * rate**2
