"""Bands of streams: narrower or wider, as rows vouch for it, and about a level that wanders."""

from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from .._parallel import in_chunks
from ..data.inputs import Inputs
from ..gp.pathwise import MovedDraws
from .base import AroundPredictor
from .observations import Observations
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
        scale = PlaceScale(model.predictor, model.noise_variance, near, share, usual)
        return ObservationsByPlace.around(model, ByPlace(model.predictor, scale))
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
    return share * within + beyond * (variance - within)  # not 0 where the share is next to it


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
    reach : float
        Correlation with a row from which on a place is near.
    """

    kernel: object
    X: np.ndarray
    variance: np.ndarray
    squares: np.ndarray
    power: int = 0
    prior: float = 1.0
    reach: float = 1.0

    def correlations(self, X):
        """Return those of some places with the rows, (n_places, n), 0 where they are negative."""
        return correlations(self.kernel, X, self.X)

    def nearness(self, weights):
        """Return how near places are to rows, (n_places, 1), in [0, 1], by `correlations`."""
        return np.minimum(weights.max(axis=1, keepdims=True) / self.reach, 1.0)

    def narrowed_at(self, X, variance, share, usual):
        """Return variances (n_places, t) at some places in the place of others.

        ``share`` and ``usual``, (t,), are those of bands that are the same everywhere.
        """
        weights = self.correlations(X)
        nearness, sums = self.nearness(weights), self.sums(powers(weights, 2 * self.power))
        return self.narrowed_by(sums, nearness, variance, narrowed(variance, share, usual))

    def sums(self, weights):
        """Return what rows of the sample tell of all, and where they count by some weights.

        Parameters
        ----------
        weights : ndarray of shape (n_places, n)

        Returns
        -------
        of_all, near : ndarray of shape (3 t,), (n_places, 3 t)
            Numbers of targets, and sums of squares in units of variances, and of variances.
        """
        seen = np.isfinite(self.squares)
        ratio = np.where(seen, self.squares / self.variance, 0.0)
        every = np.hstack([seen, ratio, np.where(seen, self.variance, 0.0)])
        return every.sum(axis=0), weights @ every

    def narrowed_by(self, sums, nearness, variance, same):
        """Return the same where rows of the sample tell some `sums`.

        As far as places are not near any row, (n_places, 1), none is less than where bands are the
        same everywhere.
        """
        here = narrowed(variance, *self._means(*sums))
        return here + (1.0 - nearness) * np.maximum(same - here, 0.0)

    def _means(self, of_all, near):
        """Return the share and what is usual where rows tell `sums`, each (n_places, t)."""
        n, *of_all = np.split(of_all, 3)
        count, *near = np.split(near, 3, axis=1)
        share, usual = (
            (self.prior * total / np.maximum(n, 1.0) + own) / (self.prior + count)
            for total, own in zip(of_all, near, strict=True)
        )
        return np.where(n > 0.0, share, 1.0), usual


def correlations(kernel, X, rows):
    """Return those of some places with some rows, (n_places, n), 0 where they are negative."""
    deviation, own = (np.sqrt(kernel.diag(each)) for each in (X, rows))
    inverse, of_rows = (
        np.divide(1.0, a, out=np.zeros_like(a), where=a > 0.0) for a in (deviation, own)
    )
    share = kernel.block(X, rows)
    share *= inverse[:, None]
    share *= of_rows
    return np.clip(share, 0.0, 1.0, out=share)


def powers(near, squared):
    """Return numbers that are squared so many times, a new array where it is any."""
    for _ in range(squared):
        near = np.square(near)
    return near


@dataclass(frozen=True)
class PlaceScale:
    """Factor of deviations, noise included, that rows of a sample near a place ask for.

    Parameters
    ----------
    noise_variance : float or ndarray of shape (t,)
    near : NearSample
    share, usual : ndarray of shape (t,)
        Of bands that are the same everywhere.
    """

    predictor: object
    noise_variance: object
    near: NearSample
    share: np.ndarray
    usual: np.ndarray

    def at(self, X, n_jobs):
        """Return the factor of deviations, (n, t)."""
        return np.sqrt(self.of_variances(Inputs(X), n_jobs)[2])

    def of_variances(self, inputs, n_jobs):
        """Return the predictor's moments, and the factor of variances, (n, t)."""
        mean, variance = self.predictor.moments(inputs, n_jobs)
        total = variance + self.noise_variance
        X = np.ascontiguousarray(inputs.X, dtype=np.float64)
        of_rows = partial(self.near.narrowed_at, share=self.share, usual=self.usual)
        return mean, variance, in_chunks(of_rows, (X, total), n_jobs) / total


@dataclass(frozen=True)
class ByPlace(Rescaled):
    """Has the bands of a place; `scale` is a `PlaceScale`."""

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        mean, variance, factor = self.scale.of_variances(inputs, n_jobs)
        return mean, variance * factor

    def of_functional(self, kernel):
        """Return the predictor of a functional, with the factor as it is at its input."""
        return Rescaled(self.predictor.of_functional(kernel), self.scale)


class ObservationsByPlace(Observations):
    """Observations whose noise has the factor of a `ByPlace`."""

    @classmethod
    def around(cls, model, predictor, **changes):
        """Return the `Observations` of a model with a `ByPlace` for its predictor."""
        parts = {part.name: getattr(model, part.name) for part in fields(model)} | changes
        return cls(**parts | {"predictor": predictor, "row_noise": NoiseByPlace(predictor.scale)})

    def _observed(self, inputs):
        if not isinstance(self.predictor, ByPlace):  # but an average of it
            return super()._observed(inputs)
        mean, variance, factor = self.predictor.scale.of_variances(inputs, self.n_jobs)
        return (inputs.shifted(mean), variance * factor), self.noise_variance * factor


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
        return MovedDraws(functions, np.sqrt(self.variance)[:, None] * normal)
