"""Test conditionals p(f | u) of models without near rows, and what they predict from q(u).

All start from a Gaussian q(u), optimal or not, in whitened coordinates (docs/theory.md, section 9),
and answer ``mean(X)``, ``mean_variance(X)`` and ``mean_covariance(X)``, in shapes as `Posterior`.
That of PIC, LMA and VIF needs training rows and is in `predict/near_rows.py`.
"""

import numpy as np

from .._core import _linalg as la
from .._linalg import copy_of, product

# Share of a row's noise that its own observation leaves unexplained; less is rounding.
_LEAST_LEFT = 1e-6


class ExactConditional:
    """The exact conditional p(f | u): DTC, VFE, FITC, PITC and Power-EP."""

    def __init__(self, posterior):
        self.posterior = posterior

    def mean(self, X):
        return self.posterior.mean(X)

    def mean_variance(self, X):
        return self.posterior.mean_variance(X)

    def mean_covariance(self, X):
        return self.posterior.mean_covariance(X)


class SoRConditional(ExactConditional):
    """f = K_XZ inv(K_ZZ) u without any variance of its own: SoR, degenerate away from Z."""

    def mean_variance(self, X):
        mean, roots = self._mean_roots(X)
        variance = np.zeros((len(roots), len(X)))
        for c, root in enumerate(roots):
            la.column_dots(root, root, variance[c])
        return mean, variance.T

    def mean_covariance(self, X):
        mean, roots = self._mean_roots(X)
        return mean, np.stack([product(root, root, trans_a=True) for root in roots], axis=2)

    def _mean_roots(self, X):
        """Return mean (n, t) and a root (m, n) of the covariance for each H."""
        A, roots = self.posterior.prior.whitened(X), []
        for precision in self.posterior.precisions:
            roots.append(copy_of(A))
            la.trmm(precision.L_inv, roots[-1])
        return product(A, self.posterior.v_mean, trans_a=True), roots


class FICConditional(SoRConditional):
    """Rows independent given u, with their full variances: FIC."""

    def mean_variance(self, X):
        return self.posterior.mean_variance(X)

    def mean_covariance(self, X):
        mean, covariance = super().mean_covariance(X)
        covariance[np.diag_indices(len(X))] = self.posterior.mean_variance(X)[1]
        return mean, covariance


def without_own(mean, variance, targets, noise):
    """Return moments of functions at rows given all other rows, from those given all of them.

    A row adds ``N(y; f, noise)``, which is taken out again (docs/theory.md, eq. 84).

    Parameters
    ----------
    mean, targets : ndarray of shape (n, t)
    variance, noise : ndarray of shape (n, 1) or (n, t)

    Returns
    -------
    mean, variance : ndarray
        NaN where a row is all that is known, to rounding.
    """
    left = noise - variance
    left = np.where(left > _LEAST_LEFT * noise, left, np.nan)
    return mean - variance / left * (targets - mean), variance * noise / left
