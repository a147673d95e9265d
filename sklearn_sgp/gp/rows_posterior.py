"""q(u) of the exact process where the noise is next to nothing beside the function."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._linalg import copy_of, product, triangular_inverse
from ..data.distinct import places_in
from .posterior import Posterior, with_caches_of

# Share by which noises of one and the same row may differ by rounding.
_SAME = 1e-12


@dataclass(frozen=True)
class PosteriorOfRows(Posterior):
    """q(u) of the exact process, which knows its rows, and leaves each out without rounding.

    Where noise is a millionth of the function's variance and less, what one row says is lost in the
    jitter and in rounding.

    Parameters
    ----------
    places : ndarray of int, shape (k,)
        Of the rows among the inducing inputs.
    weights : ndarray of shape (m, t)
        The means at x are K(x, Z) times these; 0 but for the rows.
    factors : tuple of ndarray of shape (k, k)
        For each H the Cholesky factor of the covariance of the rows, noise included.
    noise : tuple of ndarray of shape (k,)
        For each H the noise variances of the rows; empty in models of before these were kept.
    """

    places: np.ndarray
    weights: np.ndarray
    factors: tuple
    noise: tuple = ()

    def seen_by(self, prior):
        """Predict by a prior of the same u, and know the rows; see `functionals`."""
        names = "precisions", "v_mean", "coefficients"
        return with_caches_of(self, replace(self, prior=prior), names)

    def sites_of(self, X):
        """Return which of its rows each row of X is, (n,); None where one is none of them."""
        places = places_in(self.prior.Z, X) if self.noise else None
        if places is None or not np.isin(places, self.places).all():
            return None
        return np.searchsorted(self.places, places)

    def left_out(self, X, sites, targets, noise):
        """Return means (n, t) and variances (n, q) at its rows, each without an observation of it.

        They are those of `without_own`, of which no digits cancel here: given all rows f has the
        mean y - R a and the variance R - R P R at a row (docs/theory.md, eq. 85).

        Parameters
        ----------
        X : ndarray of shape (n, d)
        sites : ndarray of int, shape (n,)
            Which of its rows these are.
        targets : ndarray of shape (n, t)
            Observations that are left out.
        noise : ndarray of shape (n, 1) or (n, t)
            Variances of their noise.
        """
        R, P = np.stack(self.noise, axis=1)[sites], self._precision[sites]
        is_alone = noise <= (1.0 + _SAME) * R  # no other observation is there
        error = np.where(is_alone, R * self.weights[self.places[sites]], targets - self.mean(X))
        gain = noise / (np.where(is_alone, 0.0, noise - R) + R * P * R)
        return targets - gain * error, gain * np.maximum(R - R * P * R, 0.0)

    @cached_property
    def _precision(self):
        """P, the diagonals of the inverse covariances of the rows, (k, q)."""
        roots = map(triangular_inverse, self.factors)
        return np.stack([np.einsum("ij,ij->j", root, root) for root in roots], axis=1)


@dataclass(frozen=True)
class RowsPosterior(PosteriorOfRows):
    """The same, which also predicts from its rows: without the rounding of (I + H)^-1.

    Where noise is a billionth of the function's variance, I + H has the inverse of that as its
    condition: means were wrong by far more than the noise, and deviations ten times as wide.
    """

    @cached_property
    def v_mean(self):
        """Means of v, shape (m, t)."""
        return product(self.prior.L, self.weights, trans_a=True)

    @property
    def coefficients(self):
        """The weights; shape (m, t)."""
        return self.weights

    def seen_by(self, prior):
        """Predict by a prior of the same u."""
        return replace(self, prior=prior)

    def mean_variance(self, X):
        """Return latent means (n, t) and variances (n, q), one column for each H."""
        variance, diagonal = np.empty((len(X), len(self.H))), self.prior.kernel.diag(X)
        for c, root in enumerate(self._roots(X)):
            left = diagonal.copy()
            la.column_dots(root, root, left, -1.0)
            np.maximum(left, 0.0, out=variance[:, c])  # below 0 by rounding only
        return self.mean(X), variance

    def mean_covariance(self, X):
        """Return latent means (n, t) and joint covariances (n, n, q), one for each H."""
        gram, covariances = self.prior.kernel.gram(X), []
        for root in self._roots(X):
            covariance = copy_of(gram)
            la.gemm(root, root, covariance, True, False, -1.0, 1.0)
            np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), 0.0))
            covariances.append(0.5 * (covariance + covariance.T))
        return self.mean(X), np.stack(covariances, axis=2)

    def _roots(self, X):
        """Yield for each H the inverse of its factor times K(rows, X), (k, n)."""
        K = self.prior.kernel.block(np.ascontiguousarray(self.prior.Z[self.places]), X)
        for L in self.factors:
            root = copy_of(K)
            la.trsm(L, root)
            yield root
