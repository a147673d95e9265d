"""Gaussian noise."""

from functools import partial

import numpy as np
from scipy.special import ndtr, ndtri

from .._base import ExpectedLogDensity, Likelihood
from .._row_precision import RowPrecision, equal_precisions
from ._heteroscedastic import HeteroscedasticGaussian
from ._mixtures import Contaminated


class Gaussian(Likelihood):
    """y = f + e with Gaussian noise e, of the same variance in every row."""

    conjugate = True
    has_noise = True
    scales_targets = True

    @property
    def row_precision(self):
        """All precisions are 1."""
        return RowPrecision(partial(equal_precisions, self), varying=HeteroscedasticGaussian)

    def contaminated(self, share, variance):
        """Return the same noise with a share of wide normal noise; see `Contaminated`."""
        return Contaminated(self, share, variance)

    def expected_log_density(self, y, mean, variance, noise_variance):
        """Return E[log N(y; f, noise_variance)]; outputs share a variance of f of shape (n,)."""
        residual = y - mean
        quadratic = (residual**2 + variance.reshape(len(y), -1)) / noise_variance
        value = -0.5 * (np.log(2.0 * np.pi * noise_variance) + quadratic)
        return ExpectedLogDensity(
            value=value.sum(axis=1),
            d_mean=residual / noise_variance,
            d_variance=np.full_like(residual, -0.5 / noise_variance),
            d_log_noise=0.5 * (quadratic - 1.0),
        )

    def moments(self, mean, variance, noise_variance):
        """Return mean and variance of y, shape (n, t)."""
        return mean, variance + noise_variance

    def components(self, variance, noise_variance):
        """Return a single normal distribution; see `NormalMixture.components`."""
        total = (variance + noise_variance).ravel()
        return lambda entries: total[entries, None], np.zeros(1)

    def covariance(self, mean, covariance, noise_variance):
        """Return mean (n, t) and covariance (n, n, t) of y; overwrites the covariance of f."""
        covariance[np.diag_indices(len(mean))] += noise_variance
        return mean, covariance

    def quantiles(self, mean, variance, noise_variance, levels):
        """Return quantiles of y, shape (n, t, n_levels)."""
        return mean[..., None] + np.sqrt(variance + noise_variance)[..., None] * ndtri(levels)

    def log_predictive_density(self, y, mean, variance, noise_variance):
        """Return log p(y), summed over outputs, shape (n,)."""
        total = variance + noise_variance
        with np.errstate(over="ignore"):  # -inf
            square = (y - mean) ** 2 / total
        return -0.5 * (square + np.log(2.0 * np.pi * total)).sum(axis=1)

    def cdf(self, y, mean, variance, noise_variance):
        """Return P(Y <= y), shape (n, t)."""
        return ndtr((y - mean) / np.sqrt(variance + noise_variance))

    def sf(self, y, mean, variance, noise_variance):
        """Return P(Y > y), shape (n, t)."""
        return self.cdf(-y, -mean, variance, noise_variance)

    def draw(self, f, noise_variance, rng):
        """Draw observations for latent values of shape (n, t, k)."""
        return f + np.sqrt(noise_variance)[..., None] * rng.standard_normal(f.shape)
