"""Bands of streams: narrower or wider, as rows vouch for it, and about a level that wanders."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.inputs import Inputs
from .base import AroundPredictor
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
class AtAnyLevel(AroundPredictor):
    """Adds a level that all rows have in common, of some variance (t,), and slopes have not."""

    variance: np.ndarray

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        mean, variance = self.predictor.moments(inputs, n_jobs)
        return mean, variance + self.variance

    def joint(self, inputs, n_jobs=None):
        """Return means and joint covariances; see `Predictor`."""
        mean, covariance = self.predictor.joint(inputs, n_jobs)
        return mean, covariance + self.variance

    def functions(self, n_samples, rng):
        """Draw functions; see `Predictor`."""
        functions = self.predictor.functions(n_samples, rng)
        normal = rng.standard_normal((len(self.variance), n_samples))
        return DrawsAtLevels(functions, np.sqrt(self.variance)[:, None] * normal)


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
