"""The noise of each row: predicted from its input, and updated by squared errors."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..data.targets import read_only_copy
from ..data.varying_noise import VaryingNoise, varying
from ..engines.fitted import Fitted
from .ceiling import largest_log_noise, typical_share
from .log_noise import with_squares
from .variance_scale import VarianceScale

# A wide prior of the log noise, where nothing is known of it, expects more than floats can hold.
_LARGEST_LOG_PRECISION = 300.0
# Of what is forgotten a ceiling has no logarithm.
_FORGOTTEN = 1e-100


def squared_errors(rows, mean, variance, noise_variance):
    """Return E (y - f)^2 in units of the noise variance, (n, t)."""
    return ((rows.targets - mean) ** 2 + variance) / noise_variance


def row_noise_of(fitted):
    """Return the noise of a fit as `RowNoise`, in which nothing but the likelihood may be known."""
    noise = fitted.row_noise
    return noise if noise.differs else RowNoise(fitted.likelihood)


class Counting(NamedTuple):
    """Tell how the rows of a later batch count.

    Attributes
    ----------
    scale : float
        For so many rows each stands.
    natural_step : float
        By how much q(g) moves towards what the rows ask for, where they are not new.
    is_new : bool
        Whether they are added to the rows before.
    """

    scale: float = 1.0
    natural_step: float = 1.0
    is_new: bool = True


AS_NEW = Counting()


class LogNoiseMoments(NamedTuple):
    """Hold mean and variance of the log noise g at some rows.

    Both, (n, k), are of one that all outputs share, k = 1, or of one of each.
    """

    mean: np.ndarray
    variance: np.ndarray

    @classmethod
    def zeros(cls, n):
        """Return the moments of n rows with the same noise."""
        return cls(np.zeros((n, 1)), np.zeros((n, 1)))

    @property
    def precision(self):
        """E exp(-g), shape (n, k)."""
        return np.exp(np.minimum(0.5 * self.variance - self.mean, _LARGEST_LOG_PRECISION))

    def below(self, level):
        """Return the moments with no expected noise above the exponential of a level."""
        mean = np.minimum(self.mean, level)
        return LogNoiseMoments(mean, np.minimum(self.variance, 2.0 * (level - mean)))


class Update(NamedTuple):
    """Noise that suits the squared errors of some rows.

    Attributes
    ----------
    noise : RowNoise
    scale : float or ndarray of shape (t,)
        Factor of the noise variances.
    precision : ndarray of shape (n,) or (n, t)
    of_tails : ndarray of shape (n, 1) or (n, t)
        The precision besides that of the log noise.
    at_rows : LogNoiseMoments
        Log noise that the update rests on.
    likelihood_bound : float
        Its part of the bound, but for a constant that all noise has.
    """

    noise: object
    scale: object
    precision: np.ndarray
    of_tails: np.ndarray
    at_rows: LogNoiseMoments
    likelihood_bound: float


@dataclass(frozen=True)
class RowNoise:
    """Predict the noise of each row, and update it.

    Parameters
    ----------
    likelihood : Likelihood
        Predicts; it has a ``row_precision``.
    constant : float
        Difference of the bound from the Gaussian one.
    log_noise : Fitted or None
        Fit of the log noise variance, besides its constant.
    variance_scale : VarianceScale or None
        Factor of predictive variances, noise included.
    ceiling : float or ndarray of shape (k,)
        Largest log noise that is predicted.
    share : float or ndarray of shape (k,)
        Of the variance of the log noise that predictions have; see `ceiling.typical_share`.
    """

    likelihood: object
    constant: float = 0.0
    log_noise: Fitted | None = None
    variance_scale: VarianceScale | None = None
    ceiling: object = np.inf
    share: object = 1.0

    differs = True  # from row to row

    @property
    def has_tails(self):
        """True if each row has a precision of its own, besides that of its input."""
        return self.likelihood.row_precision.has_tails

    @property
    def n_parameters(self):
        """Number of parameters of the likelihood and of the kernel of the log noise."""
        of_log_noise = 0 if self.log_noise is None else len(self.log_noise.parameters.theta)
        return self.likelihood.row_precision.n_parameters + of_log_noise

    @property
    def divergence(self):
        """KL(q(g) || p(g)) in nats, 0 where there is no g."""
        return 0.0 if self.log_noise is None else self.log_noise.posterior.kl()

    def under(self, likelihood):
        """Return the same: it has its likelihood."""
        return self

    @property
    def attributes(self):
        """Fitted attributes of an estimator."""
        if self.log_noise is None:
            return {}
        Z = read_only_copy(self.log_noise.parameters.Z)
        return {"noise_kernel_": self.log_noise.sklearn_kernel, "noise_inducing_points_": Z}

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        log_noise = None if self.log_noise is None else self.log_noise.without_caches()
        scale = None if self.variance_scale is None else self.variance_scale.without_caches()
        return replace(self, log_noise=log_noise, variance_scale=scale)

    def log_noise_at(self, X, n_jobs):
        """Return the `LogNoiseMoments` at some inputs."""
        if self.log_noise is None:
            return LogNoiseMoments.zeros(len(X))
        mean, variance = self.log_noise.moments_at(X, n_jobs)
        return LogNoiseMoments(mean, np.broadcast_to(variance, mean.shape))

    def noise_at(self, X, noise_variance, n_outputs, n_jobs):
        """Return the noise at some inputs, as the likelihood's methods take it."""
        noise, shape = noise_variance, (len(X), n_outputs)
        if self.log_noise is not None:
            mean, variance = self.log_noise_at(X, n_jobs)
            mean, variance = LogNoiseMoments(mean, self.share * variance).below(self.ceiling)
            log_mean = np.broadcast_to(np.log(noise_variance) + mean, shape)
            noise = VaryingNoise(log_mean, np.broadcast_to(variance, shape))
        if self.variance_scale is not None:
            log_mean, log_variance = varying(noise, shape)
            log_square = self.variance_scale.log_square(X, n_jobs)
            noise = VaryingNoise(log_mean + log_square, log_variance)
        return noise

    def with_levels(self, rows, squares, at_rows):
        """Find the largest and the typical log noise from squared errors of rows, (n, t)."""
        weight, prior = rows.weights[1], self.log_noise.posterior.prior.kernel.diag(rows.X)
        ceiling = largest_log_noise(at_rows, squares, weight)
        return replace(self, ceiling=ceiling, share=typical_share(at_rows, prior, weight))

    def scaled(self, factor):
        """Multiply what the rows say of the log noise."""
        if self.log_noise is None:
            return self
        return replace(self, log_noise=self.log_noise.with_information(factor))

    def fading(self, share):
        """Let what bears out large noise count as a share, and the errors of a variance scale."""
        ceiling = self.ceiling + np.log(max(share, _FORGOTTEN))
        scale = None if self.variance_scale is None else self.variance_scale.fading(share)
        return replace(self, ceiling=ceiling, variance_scale=scale)

    def joined(self, rows, squares, n_jobs, counting=AS_NEW, add=with_squares):
        """Add a later batch.

        Parameters
        ----------
        squares : ndarray of shape (n, t)
            As those of `updated`, expected before the batch.
        add : callable
            How squared errors are added to the log noise.

        Returns
        -------
        noise : RowNoise
            Of all rows.
        precision : ndarray of shape (n,) or (n, t)
            Of the batch.
        """
        noise, before, at_rows = self, 0.0, self.log_noise_at(rows.X, n_jobs)
        if self.log_noise is not None:
            of_tails = self.updated(rows, squares, at_rows).of_tails
            squared = of_tails * squares
            log_noise = add(self.log_noise, rows, squared, n_jobs, counting)
            noise, before = replace(self, log_noise=log_noise), self.divergence
            at_rows = noise.log_noise_at(rows.X, n_jobs)
            of_batch = largest_log_noise(at_rows, squared, rows.weights[1])
            noise = replace(noise, ceiling=np.maximum(self.ceiling, of_batch))
        update = noise.updated(rows, squares, at_rows)
        # the divergence of the log noise is that of all rows, and counts once
        constant = self.constant + before + update.noise.constant
        if not counting.is_new:
            divergence = noise.divergence
            constant = counting.scale * (update.noise.constant + divergence) - divergence
        return replace(update.noise, constant=constant), update.precision

    def updated(self, rows, squares, at_rows, *, learns=False, n_scales=0):
        """Update the noise by expected squared errors, at a given log noise.

        Parameters
        ----------
        squares : ndarray of shape (n, t)
            See `squared_errors`.
        at_rows : LogNoiseMoments
            Of this noise.
        learns : bool
            True where parameters of the likelihood may move.
        n_scales : int
            Number of noise variances that may.
        """
        t, (_, weight), common = rows.y.shape[1], rows.weights, at_rows.precision
        update = self.likelihood.row_precision.updated(
            common * squares, weight, learns=learns, n_scales=n_scales
        )
        constant, scale = update.constant, np.atleast_1d(update.scale)
        if self.log_noise is not None:
            of_all = float((weight @ at_rows.mean).sum()) * t / common.shape[1]
            constant += -0.5 * of_all - self.divergence
        precision = common * update.precision
        errors = float((weight @ (precision * squares) / scale).sum())
        normaliser = float(weight.sum()) * np.log(scale).sum() * t / len(scale)
        return Update(
            replace(self, likelihood=update.likelihood, constant=constant),
            update.scale,
            precision if precision.shape[1] > 1 else precision[:, 0],
            update.precision,
            at_rows,
            constant - 0.5 * (normaliser + errors),
        )
