"""Residuals of a few rows of a stream, predicted at places among them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._linalg import cholesky, triangular_inverse
from .._parallel import in_chunks
from ..data.inputs import Inputs
from ..gp.pathwise import MovedDraws
from ..kernels._functionals import SlopeKernel
from .observations import UnlikeRows
from .vouched_bands import ByPlace, ObservationsByPlace, correlations, powers

# A place counts in full as among the rows where those at one of its sides have this share of what
# those at the other have. With a fifth and a twentieth four made series (bursts, a chirp) end with
# .02 to .21 and .00 to .05 nats a row less; rows ahead of all have what they had with each.
_SIDED = 0.01
# Rows that the mean of all counts as, in how far off residuals near a place are.
_PRIOR = 1.0
# How often correlations are squared to say which rows are near a place, for that.
_SQUARED_NEAR = 2
# Places at a time, whose correlations stay in the cache.
_AT_A_TIME = 256
# Variance of rows that are like none, in units of the targets' (docs/theory.md, eq. 93).
_UNLIKE = 2.0
# Steps of slopes, in standard deviations of the rows.
_SLOPE_STEP = 1e-4


@dataclass(frozen=True)
class NearResiduals:
    """Predict residuals of rows by a process with the kernel's correlation, to some power.

    A share of that is added. It is 0, and variances are what they were, as far as rows are not near
    a place, or not at all of its sides (docs/theory.md, "Residuals by place").

    Parameters
    ----------
    kernel : BoundKernel
    X : ndarray of shape (n, d)
    residuals : ndarray of shape (n, t)
        Of targets, scaled.
    squared : int
        How often the correlation is squared.
    own : float
        Share of a residual's variance that it has for itself.
    reach : float
        Correlation with a row from which on a place is near.
    ratios : ndarray of shape (n, t)
        Squared residuals that were left out, in units of their variances as predicted here.
    weight : float
        Share that is added among rows.
    """

    kernel: object
    X: np.ndarray
    residuals: np.ndarray
    squared: int
    own: float
    reach: float
    ratios: np.ndarray | float = 1.0
    weight: float = 1.0

    def __getstate__(self):
        """Leave out what can be computed again."""
        return {key: self.__dict__[key] for key in self.__dataclass_fields__}

    @cached_property
    def root_inverse(self):
        """See `root_inverse`."""
        near = correlations(self.kernel, self.X, self.X)
        return root_inverse(near, self.squared, self.own)

    @cached_property
    def gains(self):
        """Weights of correlations to the power in what is expected at a place, (n, t)."""
        return (1.0 - self.own) * (self.root_inverse.T @ (self.root_inverse @ self.residuals))

    def mean_at(self, X):
        """Return the residuals that are expected at places, (n_places, t)."""
        near, X = self._near(X)
        return self.weight * self.among(near, X) * (powers(near, self.squared) @ self.gains)

    def at(self, X):
        """Return the residuals that are expected at places, and factors of variances, (n, t)."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        parts = (X[lo : lo + _AT_A_TIME] for lo in range(0, len(X), _AT_A_TIME))
        expected, factor = zip(*map(self._at, parts), strict=True)
        return np.concatenate(expected), np.concatenate(factor)

    def _at(self, X):
        near, X = self._near(X)
        share = self.weight * self.among(near, X)
        off = with_share(ratio_near(near_weights(near), self.ratios), share)
        weights = powers(near, self.squared)
        expected = share * (weights @ self.gains)
        la.trmm_right(weights, self.root_inverse, True)
        known = (1.0 - self.own) ** 2 * np.square(weights, out=weights).sum(axis=1, keepdims=True)
        return expected, left_of(share, known) * off

    def _near(self, X):
        X = np.ascontiguousarray(X, dtype=np.float64)
        return correlations(self.kernel, X, self.X), X

    def among(self, near, X, left_out=None):
        """Return how far places are near rows, and among them, (n_places, 1), in [0, 1].

        Parameters
        ----------
        near : ndarray of shape (n_places, n)
            Correlations, 0 for rows that are left out.
        X : ndarray of shape (n_places, d)
        left_out : ndarray of int, shape (n_places,), or None
            A row of each place, without which the same is returned, too: (2, n_places, 1).
        """
        nearest, own = near.max(axis=1), (np.arange(len(near)), left_out)
        if left_out is not None:
            fewer = near.copy()
            fewer[own] = 0.0
            nearest = np.stack([nearest, fewer.max(axis=1)])
        share = np.minimum(nearest / self.reach, 1.0)
        for place, row in zip(X.T, self.X.T, strict=True):
            away = row - place[:, None]
            away *= near
            balance, gone = away.sum(axis=1), 0.0 if left_out is None else away[own]
            total = np.abs(away, out=away).sum(axis=1)
            if left_out is not None:
                balance = np.stack([balance, balance - gone])
                total = np.stack([total, total - np.abs(gone)])
            less, more = total - np.abs(balance), total + np.abs(balance)
            sided = np.divide(less, more, out=np.zeros_like(less), where=more > 0.0)
            if np.ptp(row) == 0.0:
                sided[..., place == row[0]] = _SIDED  # no side has any
            share *= np.clip(sided / _SIDED, 0.0, 1.0)
        return share[..., None]


def root_inverse(near, squared, own):
    """Invert the lower Cholesky factor of the correlations of residuals, (n, n).

    ``near``, (n, n), are correlations of the kernel.
    """
    K = (1.0 - own) * powers(near, squared)
    np.fill_diagonal(K, 1.0)
    return triangular_inverse(cholesky(K, overwrite=True))


def near_weights(near):
    """Return what rows count in how far off residuals near places are, (n_places, n)."""
    return powers(near, _SQUARED_NEAR)


def ratio_near(weights, ratios):
    """Return how far off residuals near places are, in units of their variances, (n_places, t)."""
    off = weights @ ratios + _PRIOR * ratios.mean(axis=0)
    off /= weights.sum(axis=1, keepdims=True) + _PRIOR
    return off


def with_share(off, share):
    """Return factors of variances where a share is added of what is so far off."""
    return 1.0 + share * (2.0 - share) * (off - 1.0)


def left_of(share, known):
    """Return what is left of variances where a share is added of what explains so much of them."""
    return 1.0 - share * (2.0 - share) * known


def with_residuals(model, near, usual):
    """Return `Observations` with what a `NearResiduals` expects.

    ``usual`` is the targets' variance, scaled, a number or (t,).

    One row more than its n may be like none of them; densities have such a share (docs/theory.md,
    eq. 93).
    """
    inner = model.predictor
    own = inner.scale if isinstance(inner, ByPlace) else SameEverywhere(inner)
    scale = ResidualScale(own, near)
    unlike = UnlikeRows(1.0 / (len(near.X) + 2.0), _UNLIKE * usual)
    predictor = Corrected(own.predictor, scale)
    return ObservationsByPlace.around(model, predictor, unlike_rows=unlike)


@dataclass(frozen=True)
class SameEverywhere:
    """Has the methods of a `PlaceScale`, with the predictor's own variances."""

    predictor: object

    def of_variances(self, inputs, n_jobs):
        """Return the predictor's moments, and the factor of variances."""
        return *self.predictor.moments(inputs, n_jobs), 1.0


@dataclass(frozen=True)
class ResidualScale:
    """Has the methods of a `PlaceScale`, as residuals near a place ask for.

    Parameters
    ----------
    scale : PlaceScale or SameEverywhere
    near : NearResiduals
    """

    scale: object
    near: NearResiduals

    def at(self, X, n_jobs):
        """Return the factor of deviations, (n, t)."""
        return np.sqrt(self.of_variances(Inputs(X), n_jobs)[2])

    def of_variances(self, inputs, n_jobs):
        """Return means, the predictor's variances, and their factor, (n, t)."""
        mean, variance, factor = self.scale.of_variances(inputs, n_jobs)
        expected, left = in_chunks(self.near.at, inputs.X, n_jobs)
        return mean + expected, variance, factor * left


@dataclass(frozen=True)
class Corrected(ByPlace):
    """Adds the residuals that are expected at a place; `scale` is a `ResidualScale`."""

    def mean(self, inputs, n_jobs=None):
        """Return means; see `Predictor`."""
        expected = in_chunks(self.scale.near.mean_at, inputs.X, n_jobs)
        return self.predictor.mean(inputs, n_jobs) + expected

    def mean_at(self, X):
        """Return means at inputs."""
        return self.predictor.mean_at(X) + self.scale.near.mean_at(X)

    def joint(self, inputs, n_jobs=None):
        """Return means and joint covariances; see `Predictor`."""
        mean, covariance = super().joint(inputs, n_jobs)
        return mean + self.scale.near.mean_at(inputs.X), covariance

    def functions(self, n_samples, rng):
        """Draw functions; see `Predictor`."""
        return MovedDraws(super().functions(n_samples, rng), self.scale.near.mean_at)

    def of_functional(self, kernel):
        """Return the predictor of a functional, with the factor as it is at its input."""
        return CorrectedFunctional(super().of_functional(kernel), self.scale.near, kernel)


@dataclass(frozen=True)
class CorrectedFunctional:
    """Adds the functional of what is expected: its slope, or a term's share of the variance.

    Parameters
    ----------
    predictor : Rescaled
    near : NearResiduals
    kernel : SlopeKernel or BoundKernel
        Of the functional.
    """

    predictor: object
    near: NearResiduals
    kernel: object

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        mean, variance = self.predictor.moments(inputs, n_jobs)
        return mean + in_chunks(self._of_expected, inputs.X, n_jobs), variance

    def _of_expected(self, X):
        if not isinstance(self.kernel, SlopeKernel):
            return self._share(X)[:, None] * self.near.mean_at(X)
        step, column = np.zeros(X.shape[1]), self.kernel.column
        of_rows = self.near.X[:, column]
        if np.ptp(of_rows) == 0.0:  # rows tell of no slope; their deviation may be one of rounding
            return np.zeros((len(X), self.near.residuals.shape[1]))
        step[column] = _SLOPE_STEP * of_rows.std()
        apart = (X + step)[:, column] - (X - step)[:, column]
        return (self.near.mean_at(X + step) - self.near.mean_at(X - step)) / apart[:, None]

    def _share(self, X):
        """Return the term's share of the prior variance, (n,)."""
        whole = self.near.kernel.diag(X)
        return np.divide(self.kernel.diag(X), whole, out=np.zeros(len(X)), where=whole > 0.0)
