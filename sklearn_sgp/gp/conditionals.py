"""Test conditionals p(f | u) of all models except PIC, and what they predict from q(u).

All start from a Gaussian q(u), optimal or not, in whitened coordinates (docs/theory.md, section 9),
and answer ``mean(X)``, ``mean_variance(X)`` and ``mean_covariance(X)``, in shapes as `Posterior`.
PIC's conditional needs training rows and is in `blocks/prediction.py`.
"""

import numpy as np

from .._core import _linalg as la
from .._linalg import product


class ExactConditional:
    """The exact conditional p(f | u): DTC, VFE, FITC, PITC and Power-EP.

    Parameters
    ----------
    posterior : Posterior
        With one H.
    """

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
        mean, root = self._mean_root(X)
        variance = np.zeros(len(X))
        la.column_dots(root, root, variance)
        return mean, variance[:, None]

    def mean_covariance(self, X):
        mean, root = self._mean_root(X)
        return mean, product(root, root, trans_a=True)[:, :, None]

    def _mean_root(self, X):
        """Mean (n, t) and a root (m, n) of the covariance."""
        root = self.posterior.prior.whitened(X)
        mean = product(root, self.posterior.v_mean, trans_a=True)
        la.trmm(self.posterior.precisions[0].L_inv, root)
        return mean, root


class FICConditional(SoRConditional):
    """Rows independent given u, with their full variances: FIC."""

    def mean_variance(self, X):
        return self.posterior.mean_variance(X)

    def mean_covariance(self, X):
        mean, covariance = super().mean_covariance(X)
        np.fill_diagonal(covariance[:, :, 0], self.posterior.mean_variance(X)[1][:, 0])
        return mean, covariance
