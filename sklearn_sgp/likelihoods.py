"""Observation models: what a likelihood must say for every row, and nothing more.

A likelihood gives, for latent means and variances of the rows, the expected log density under
N(mean, variance) and its two derivatives, from which the bound, the natural-gradient step and all
hyperparameter gradients follow (docs/theory.md, eqs. 12 to 15 and 23).
"""

from typing import NamedTuple

import numpy as np


class ExpectedLogDensity(NamedTuple):
    """Expected log density of each row and its derivatives.

    ``value`` (n,) is summed over outputs, in nats; ``d_mean`` and ``d_variance`` are (n, t);
    ``d_log_noise`` (n,) is the derivative of ``value`` in the logarithm of the noise variance.
    """

    value: np.ndarray
    d_mean: np.ndarray
    d_variance: np.ndarray
    d_log_noise: np.ndarray


class Gaussian:
    """Gaussian noise of one variance, the same for every row and output."""

    def expected_log_density(self, y, mean, variance, noise_variance):
        """E[log N(y; f, noise_variance)] for f ~ N(mean, variance).

        Parameters
        ----------
        y, mean : ndarray of shape (n, t)
            Targets and latent means.
        variance : ndarray of shape (n,)
            Latent variances, shared by the outputs.
        noise_variance : float
            Variance of the noise.

        Returns
        -------
        expected : ExpectedLogDensity
        """
        residual = y - mean
        quadratic = (residual**2 + variance[:, None]) / noise_variance
        value = -0.5 * (np.log(2.0 * np.pi * noise_variance) + quadratic)
        return ExpectedLogDensity(
            value=value.sum(axis=1),
            d_mean=residual / noise_variance,
            d_variance=np.full_like(residual, -0.5 / noise_variance),
            d_log_noise=0.5 * (quadratic - 1.0).sum(axis=1),
        )
