"""Predictive distributions of the latent function, for every test conditional.

All start from a Gaussian q(u), optimal or not, in whitened coordinates (docs/theory.md, section 9):
``mean(X, blocks)``, ``mean_variance(X, blocks)`` and ``mean_covariance(X, blocks)``, where blocks
are numbers of the blocks that the rows belong to, -1 for none, and matter to PIC only.
"""

import numpy as np

from ._core import _linalg as la
from .blocks import make_block
from .linalg import copy_of, product
from .parallel import map_groups


class Conditional:
    """The exact conditional p(f | u): DTC, VFE, FITC, PITC and Power-EP.

    Parameters
    ----------
    posterior : posterior.Posterior
    """

    def __init__(self, posterior):
        self.posterior = posterior

    def mean(self, X, blocks=None):
        return self.posterior.mean(X)

    def mean_variance(self, X, blocks=None):
        return self.posterior.mean_variance(X)

    def mean_covariance(self, X, blocks=None):
        return self.posterior.mean_covariance(X)


class Deterministic(Conditional):
    """f = K_XZ inv(K_ZZ) u without any variance of its own: SoR, degenerate away from Z."""

    def mean_variance(self, X, blocks=None):
        mean, A = self._whitened(X)
        variance = np.zeros(len(X))
        la.column_dots(A, A, variance)
        return mean, variance

    def mean_covariance(self, X, blocks=None):
        mean, A = self._whitened(X)
        return mean, product(A, A, trans_a=True)

    def _whitened(self, X):
        """Mean (n, t) and a root (m, n) of the covariance."""
        A = self.posterior.prior.whitened(X)
        mean = product(A, self.posterior.v_mean, trans_a=True)
        la.trmm(self.posterior.LB_inv, A)
        return mean, A


class Independent(Deterministic):
    """Rows independent given u, with their full variances: FIC."""

    def mean_variance(self, X, blocks=None):
        return self.posterior.mean_variance(X)

    def mean_covariance(self, X, blocks=None):
        mean, covariance = super().mean_covariance(X)
        np.fill_diagonal(covariance, self.posterior.mean_variance(X)[1])
        return mean, covariance


class InBlocks(Conditional):
    """p(f | u, y_B) in the row's own block: PIC.

    Parameters
    ----------
    posterior : posterior.Posterior
    noise_variance : float
    model : blocks.Model
    training : callable
        ``training(k)``: the rows.Rows of block k.
    n_jobs : int or None
    """

    def __init__(self, posterior, noise_variance, model, training, n_jobs=None):
        super().__init__(posterior)
        self.noise_variance, self.model = noise_variance, model
        self.training, self.n_jobs = training, n_jobs

    def mean(self, X, blocks=None):
        return self.mean_variance(X, blocks)[0]

    def mean_variance(self, X, blocks=None):
        mean = np.empty((len(X), self.posterior.h.shape[1]))
        variance = np.empty(len(X))
        places = self._places(X, blocks)
        tasks = [(self.posterior, X[index], *self._block(k)) for k, index in places]
        for (_, index), found in zip(
            places, map_groups(_local_mean_variance, tasks, self.n_jobs), strict=True
        ):
            mean[index], variance[index] = found
        return mean, variance

    def mean_covariance(self, X, blocks=None):
        """Rows of one block as the block's data correlate them, others only through u."""
        m, t = self.posterior.h.shape
        mean, roots = np.empty((len(X), t)), np.empty((m, len(X)))
        own = []
        places = self._places(X, blocks)
        for k, index in places:
            A, c, mean[index] = _local(self.posterior, X[index], *self._block(k))
            K = self.posterior.prior.kernel.gram(np.ascontiguousarray(X[index]))
            K -= A[0].T @ A[0]
            if c is not None:
                K -= c.T @ c
            np.fill_diagonal(K, np.maximum(np.diagonal(K), 0.0))
            roots[:, index] = A[1]
            own.append(K)
        covariance = product(roots, roots, trans_a=True)
        for (_, index), K in zip(places, own, strict=True):
            covariance[np.ix_(index, index)] += K
        return mean, covariance

    def _places(self, X, blocks):
        """Number of each block that is hit, and its rows."""
        blocks = np.full(len(X), -1) if blocks is None else blocks
        order = np.argsort(blocks, kind="stable")
        numbers, first = np.unique(blocks[order], return_index=True)
        return list(zip(numbers, np.split(order, first[1:]), strict=True))

    def _block(self, k):
        return (None if k < 0 else self.training(k)), self.noise_variance, self.model


def _local(posterior, X, rows, noise_variance, model):
    """(a, root of the part through u), c and the mean, for test rows of one block.

    With c = inv(C) (k_B* - A^T a) and b = a - A inv(C)^T c, the mean is b^T m + c^T inv(C) y and
    the variance k** - |a|^2 - |c|^2 + b^T S b (theory, eq. 32).
    """
    a = posterior.prior.whitened(X)
    b, c, local = copy_of(a), None, 0.0
    if rows is not None and len(rows):
        block = make_block(posterior.prior, rows, noise_variance, model)
        At, y = block.scaled
        c = posterior.prior.kernel.block(rows.X, X)
        la.gemm(block.A, a, c, True, False, -1.0, 1.0)
        la.trsm(block.C, c)
        la.gemm(At, c, b, True, False, -1.0, 1.0)
        local = product(c, y, trans_a=True)
    mean = product(b, posterior.v_mean, trans_a=True) + local
    la.trmm(posterior.LB_inv, b)
    return (a, b), c, mean


def _local_mean_variance(posterior, X, rows, noise_variance, model):
    (a, b), c, mean = _local(posterior, X, rows, noise_variance, model)
    variance = posterior.prior.kernel.diag(X)
    la.column_dots(a, a, variance, -1.0)
    if c is not None:
        la.column_dots(c, c, variance, -1.0)
    explained = np.zeros_like(variance)
    la.column_dots(b, b, explained)
    # k** - q** - |c|^2 is never negative but for rounding
    return mean, np.maximum(variance, 0.0) + explained
