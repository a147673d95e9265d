"""Bands of streams: narrower or wider, as rows vouch for it, and about a level that wanders."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.inputs import Inputs
from .rescaled import Rescaled, ScaledDraws


def with_vouched_bands(model, share, usual, beyond):
    """Return `Observations` with a share of the variances, as far as rows vouch for that.

    Parameters
    ----------
    model : Observations
    share : ndarray of shape (t,)
        Of the usual variance; 1 where bands are what they are.
    usual : ndarray of shape (t,)
        The variance of observations that is usual, scaled.
    beyond : ndarray of shape (t,)
        Of what is beyond it.
    """
    if np.all(share == 1.0) and np.all(beyond == 1.0):
        return model
    of_functions = np.maximum(usual - model.noise_variance, 0.0)
    noise = share * model.noise_variance  # what is left of it
    predictor = Narrowed(model.predictor, Shares(model.predictor, share, of_functions, beyond))
    noise = float(noise[0]) if len(noise) == 1 else noise
    return replace(model, predictor=predictor, noise_variance=noise)


@dataclass(frozen=True)
class Narrowed(Rescaled):
    """Has a share of the variances; `scale` is a `Shares`."""

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        mean, variance = self.predictor.moments(inputs, n_jobs)
        return mean, self.scale.narrowed(variance)

    def of_functional(self, kernel):
        """Return the predictor of a functional, with the factor of the function at its input."""
        return Rescaled(self.predictor.of_functional(kernel), self.scale)


@dataclass(frozen=True)
class Shares:
    """Takes variances as far as they are usual times one share, and what is beyond times another.

    Parameters
    ----------
    predictor : Predictor
    share, usual, beyond : ndarray of shape (t,)
    """

    predictor: object
    share: np.ndarray
    usual: np.ndarray
    beyond: np.ndarray

    def narrowed(self, variance):
        """Return variances (n, t) in the place of the predictor's own."""
        within = np.minimum(variance, self.usual)
        return variance - (1.0 - self.share) * within + (self.beyond - 1.0) * (variance - within)

    def at(self, X, n_jobs):
        """Return the factor of deviations, (n, t)."""
        variance = np.maximum(self.predictor.moments(Inputs(X), n_jobs)[1], np.finfo(float).tiny)
        return np.sqrt(self.narrowed(variance) / variance)

    def of_functions(self, functions, mean):
        """Scale the deviations of functions that were drawn from their means."""
        return ScaledDraws(functions, mean, self)


def at_any_level(model, variance):
    """Return `Observations` with the variance of a level, (t,), that all rows have in common.

    As it is where there is none.
    """
    if not np.any(variance):
        return model
    return replace(model, predictor=AtAnyLevel(model.predictor, variance))


@dataclass(frozen=True)
class AtAnyLevel(Rescaled):
    """Adds a level that all rows have in common to the functions of a predictor.

    Parameters
    ----------
    scale : ndarray of shape (t,)
        Variances of the level.
    """

    def mean_at(self, X):
        """Return means at inputs."""
        return self.predictor.mean_at(X)

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        mean, variance = self.predictor.moments(inputs, n_jobs)
        return mean, variance + self.scale

    def joint(self, inputs, n_jobs=None):
        """Return means and joint covariances; see `Predictor`."""
        mean, covariance = self.predictor.joint(inputs, n_jobs)
        return mean, covariance + self.scale

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows, each given all others; see `Predictor`."""
        return self.predictor.left_out(rows, places, n_jobs)

    def of_functional(self, kernel):
        """Return the predictor of slopes, which a level has not."""
        return self.predictor.of_functional(kernel)

    def functions(self, n_samples, rng):
        """Draw functions; see `Predictor`."""
        functions = self.predictor.functions(n_samples, rng)
        level = np.sqrt(self.scale)[:, None] * rng.standard_normal((len(self.scale), n_samples))
        return DrawsAtLevels(functions, level)


class DrawsAtLevels:
    """Callable on X (n, d), result (n, t, n_samples), as `gp.pathwise.PathwiseDraws`.

    Parameters
    ----------
    level : ndarray of shape (t, n_samples)
        Added to each draw.
    """

    def __init__(self, functions, level):
        self.functions, self.level = functions, level

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.functions.n_features

    def __call__(self, X):
        return self.functions(X) + self.level
