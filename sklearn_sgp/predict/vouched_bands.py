"""Bands of streams: narrower or wider, as rows vouch for it, and about a level that wanders."""

from dataclasses import dataclass, replace

import numpy as np

from .._parallel import in_chunks
from ..data.inputs import Inputs
from .base import AroundPredictor
from .rescaled import Rescaled


def with_vouched_bands(model, share, usual, beyond, near=None):
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
    near : NearSample or None
        With it shares below 1 depend on the place.
    """
    if near is not None:
        model = with_vouched_bands(model, np.maximum(share, 1.0), usual, beyond)
        scale = PlaceScale(model.predictor, model.noise_variance, near)
        noise = NoiseByPlace(scale)
        return replace(model, predictor=Rescaled(model.predictor, scale), row_noise=noise)
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
        return narrowed(variance, self.share, self.usual, self.beyond)

    def at(self, X, n_jobs):
        """Return the factor of deviations, (n, t)."""
        variance = np.maximum(self.predictor.moments(Inputs(X), n_jobs)[1], np.finfo(float).tiny)
        return np.sqrt(self.narrowed(variance) / variance)


def narrowed(variance, share, usual, beyond=1.0):
    """Return a share of variances as far as they are usual, and another of what is beyond it."""
    within = np.minimum(variance, usual)
    return variance - (1.0 - share) * within + (beyond - 1.0) * (variance - within)


@dataclass(frozen=True)
class NearSample:
    """Know how far off rows of a sample are: the mean of those near a place, and of all, counts.

    Parameters
    ----------
    kernel : BoundKernel
    X : ndarray of shape (n, d)
    variance, squares : ndarray of shape (n, t)
        Predicted variances and squared residuals; NaN where an output was not observed.
    power : int
        Rows count by their correlation with the place, raised to the fourth power so many times.
    prior : float
        Number of rows at the place that the mean of all counts as.
    """

    kernel: object
    X: np.ndarray
    variance: np.ndarray
    squares: np.ndarray
    power: int = 0
    prior: float = 1.0

    def correlations(self, X):
        """Return those of some places with the rows, (n_places, n), 0 where they are negative."""
        deviation, own = (np.sqrt(self.kernel.diag(each)) for each in (X, self.X))
        inverse, of_rows = (
            np.divide(1.0, a, out=np.zeros_like(a), where=a > 0.0) for a in (deviation, own)
        )
        share = self.kernel.block(X, self.X)
        share *= inverse[:, None]
        share *= of_rows
        return np.clip(share, 0.0, 1.0, out=share)

    def narrowed_at(self, X, variance):
        """Return variances (n_places, t) at some places in the place of others."""
        weights = self.correlations(X)
        for _ in range(self.power):
            weights = np.square(np.square(weights))
        return self.narrowed_by(weights, variance)

    def narrowed_by(self, weights, variance):
        """Return the same where rows of the sample count by some weights, (n_places, n)."""
        seen = np.isfinite(self.squares)
        ratio = np.where(seen, self.squares / self.variance, 0.0)
        usual = np.where(seen, self.variance, 0.0)
        n, count = np.maximum(seen.sum(axis=0), 1), self.prior + weights @ seen
        of_all = np.where(seen.any(axis=0), ratio.sum(axis=0) / n, 1.0)
        share = (self.prior * of_all + weights @ ratio) / count
        usual = (self.prior * usual.sum(axis=0) / n + weights @ usual) / count
        return narrowed(variance, share, usual)


@dataclass(frozen=True)
class PlaceScale:
    """Factor of deviations, noise included, that rows of a sample near a place ask for.

    Parameters
    ----------
    predictor : Predictor
    noise_variance : float or ndarray of shape (t,)
    near : NearSample
    """

    predictor: object
    noise_variance: object
    near: NearSample

    def at(self, X, n_jobs):
        """Return the factor of deviations, (n, t)."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        variance = self.predictor.moments(Inputs(X), n_jobs)[1] + self.noise_variance
        return np.sqrt(in_chunks(self.near.narrowed_at, (X, variance), n_jobs) / variance)


@dataclass(frozen=True)
class NoiseByPlace:
    """Noise with the factor of a `PlaceScale`; see `observations.EqualNoise`."""

    scale: PlaceScale
    differs = True

    def noise_at(self, X, noise_variance, n_outputs, n_jobs):
        """Return the noise variances at inputs, (n, t)."""
        factor = self.scale.at(X, n_jobs) ** 2
        return np.broadcast_to(noise_variance * factor, (len(X), n_outputs))


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
