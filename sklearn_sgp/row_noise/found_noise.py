"""What is known of the noise of each row, and what squared errors say of it."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..fitting.problem import FitResult
from ..predictions.noise import VaryingNoise
from .log_noise import with_squares


@dataclass(frozen=True)
class FoundNoise:
    """What was found of the noise of each row.

    Parameters
    ----------
    likelihood : Likelihood
        That predicts.
    constant : float
        What the bound has besides the Gaussian one.
    log_noise : FitResult or None
        Of the function that the logarithm of the noise variance is, besides a constant.
    """

    likelihood: object
    constant: float = 0.0
    log_noise: FitResult | None = None

    @property
    def n_parameters(self):
        """Of tails and of the kernel of the log noise."""
        of_tails = int("df" in self.likelihood.get_params())
        return of_tails + (0 if self.log_noise is None else len(self.log_noise.parameters.theta))

    def noise_at(self, X, noise_variance, n_outputs, n_jobs):
        """The noise at some inputs, as the likelihood's methods take it."""
        if self.log_noise is None:
            return noise_variance
        mean, variance = self.log_noise.moments_at(X, n_jobs)
        shape = (len(X), n_outputs)
        log_mean = np.broadcast_to(np.log(noise_variance) + mean, shape)
        return VaryingNoise(log_mean, np.broadcast_to(variance, shape))

    def joined(self, rows, squares, n_jobs):
        """The noise after a later batch, and what it says of the batch's rows.

        Parameters
        ----------
        rows : Rows
        squares : ndarray of shape (n,)
            As those of `updated`, expected before the batch.
        n_jobs : int or None

        Returns
        -------
        noise : FoundNoise
            Of all rows.
        precision : ndarray of shape (n,)
            Of the batch.
        """
        noise, before = self, 0.0
        if self.log_noise is not None:
            of_tails = self.updated(rows, squares, n_jobs).precision
            of_tails = of_tails / self.common_precision(rows.X, n_jobs)
            log_noise = with_squares(self.log_noise, rows, of_tails * squares, n_jobs)
            noise, before = replace(self, log_noise=log_noise), self.log_noise.posterior.kl()
        update = noise.updated(rows, squares, n_jobs)
        # the divergence of the log noise is that of all rows, and counts once
        constant = self.constant + before + update.noise.constant
        return replace(update.noise, constant=constant), update.precision

    def common_precision(self, X, n_jobs):
        """E exp(-g) of the log noise g at some inputs, (n,), or 1."""
        if self.log_noise is None:
            return 1.0
        mean, variance = self.log_noise.moments_at(X, n_jobs)
        return np.exp(0.5 * variance - mean)[:, 0]

    def updated(self, rows, squares, n_jobs, *, learns=False, learns_scale=False):
        """The noise of rows whose expected squared errors are known, at a given log noise.

        Parameters
        ----------
        rows : Rows
        squares : ndarray of shape (n,)
            In units of the noise variance, summed over outputs.
        n_jobs : int or None
        learns, learns_scale : bool
            Whether the tails, and a factor of the noise variance, are learned.

        Returns
        -------
        update : Update
        """
        t, weight = rows.y.shape[1], rows.observations
        weight = np.ones(len(rows)) if weight is None else weight
        common, constant = 1.0, 0.0
        if self.log_noise is not None:
            mean, variance = (part[:, 0] for part in self.log_noise.moments_at(rows.X, n_jobs))
            common = np.exp(0.5 * variance - mean)
            constant = -0.5 * t * float(np.dot(weight, mean)) - self.log_noise.posterior.kl()
        found = self.likelihood.updated(
            common * squares, weight, t, learns=learns, learns_scale=learns_scale
        )
        noise = replace(self, likelihood=found.likelihood, constant=found.constant + constant)
        precision = common * found.precision
        errors = float(np.dot(weight, precision * squares)) / found.scale
        bound = noise.constant - 0.5 * (t * float(weight.sum()) * np.log(found.scale) + errors)
        return Update(noise, found.scale, precision, bound)


class Update(NamedTuple):
    """What squared errors say of the noise.

    Attributes
    ----------
    noise : FoundNoise
    scale : float
        What the noise variances are multiplied by.
    precision : ndarray of shape (n,)
    likelihood_bound : float
        Its part of the bound, but for a constant that all noise has.
    """

    noise: FoundNoise
    scale: float
    precision: np.ndarray
    likelihood_bound: float
