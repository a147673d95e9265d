"""Counts: Poisson with a logarithmic link."""

import numpy as np
from scipy.special import gammaincc, gammaln, logsumexp

from ._base import ExpectedLogDensity
from ._quadrature import gaussian_expectations

_NODES = np.arange(-48, 49) / 6.0  # in standard deviations about the mode: to 8
_NEWTON_STEPS = 60


class Poisson:
    """Counts with mean exp(offset + f).

    Parameters
    ----------
    offset : float or ndarray of shape (t,), default=0.0
        Prior mean of the logarithm of the rate; estimators take the logarithm of the mean count.
    """

    n_noise = 0
    natural_step = 1.0
    shift_invariant = False

    def __init__(self, offset=0.0):
        self.offset = offset

    def __repr__(self):
        return "Poisson()"

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
        with np.errstate(over="ignore"):  # a trial far off, which is not taken
            rate = np.exp(self.offset + mean + 0.5 * variance)
        value = y * (self.offset + mean) - rate - gammaln(y + 1.0)
        return ExpectedLogDensity(value.sum(axis=1), y - rate, -0.5 * rate, np.zeros(len(y)))

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """log P(y), summed over outputs, shape (n,): quadrature about the mode of the integrand."""
        mean = self.offset + mean
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
        """Mean and variance of y, shape (n, t)."""
        rate = np.exp(self.offset + mean + 0.5 * variance)
        return rate, rate + np.expm1(variance) * rate**2

    def covariance(self, mean, covariance, noise_variance=None):
        """Mean (n, t) and joint covariance (n, n, t) of y, from those of f."""
        variance = np.moveaxis(np.diagonal(covariance), -1, 0)
        rate = np.exp(self.offset + mean + 0.5 * variance)
        found = np.expm1(covariance) * rate[:, None] * rate[None, :]
        found[np.diag_indices(len(mean))] += rate
        return rate, found

    def quantiles(self, mean, variance, noise_variance, levels):
        """Smallest counts whose probability not to be exceeded is a level, (n, t, n_levels)."""
        mean = self.offset + mean
        center, v = (np.repeat(part.ravel(), len(levels)) for part in (mean, variance))
        level = np.tile(levels, mean.size)
        rate = np.exp(center + 0.5 * v)
        spread = rate + np.expm1(v) * rate**2
        high = np.ceil(rate + np.sqrt(spread / (1.0 - level)) + 1.0)  # Cantelli's inequality
        low = np.full(len(high), -1.0)  # never enough
        width = 1.0 / np.sqrt(1.0 + high.max())
        while (high - low > 1.0).any():
            count = np.floor(0.5 * (low + high))
            (cdf,) = gaussian_expectations(
                lambda f, rows, count=count: (gammaincc(count[rows, None] + 1.0, np.exp(f)),),
                center,
                v,
                width,
            )
            enough = cdf >= level
            open_ = high - low > 1.0
            high = np.where(enough & open_, count, high)
            low = np.where(~enough & open_, count, low)
        return high.reshape(*mean.shape, len(levels))

    def draw(self, f, noise_variance, rng):
        """Observations for latent values of any shape."""
        offset = np.reshape(self.offset, (-1, *[1] * (f.ndim - 2)))
        return rng.poisson(np.exp(offset + f)).astype(np.float64)
