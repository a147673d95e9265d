"""q(u) of the exact process where the noise is next to nothing beside the function."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._linalg import copy_of, product
from .posterior import Posterior


@dataclass(frozen=True)
class RowsPosterior(Posterior):
    """q(u) of the exact process, which predicts from its rows: without the rounding of (I + H)^-1.

    Where noise is a billionth of the function's variance, I + H has the inverse of that as its
    condition: means were wrong by far more than the noise, and deviations ten times as wide.

    Parameters
    ----------
    places : ndarray of int, shape (k,)
        Of the rows among the inducing inputs.
    weights : ndarray of shape (m, t)
        The means at x are K(x, Z) times these; 0 but for the rows.
    factors : tuple of ndarray of shape (k, k)
        For each H the Cholesky factor of the covariance of the rows, noise included.
    """

    places: np.ndarray
    weights: np.ndarray
    factors: tuple

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
