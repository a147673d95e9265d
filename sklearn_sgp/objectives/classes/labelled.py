"""Solves for all classes of a group of rows at once; see `factors.labelled`."""

import numpy as np

from ..._core import _linalg as la
from ..._linalg import NotPositiveDefiniteError, cholesky, inverse_from_cholesky, product
from ...factors.block_factors import LOG_2PI
from ...factors.labelled import ClassFactors


class LabelledSolve:
    """inv(S_c) y_c of all classes, and what a density and its slope need besides.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Is overwritten.
    y : ndarray of shape (n, C)
    labels : Labels
    """

    def __init__(self, K, y, labels):
        K.flat[:: len(K) + 1] += labels.other
        L = cholesky(K, overwrite=True)
        self.y, self.labels, self.W = y, labels, inverse_from_cholesky(L)
        factors, of_shared = ClassFactors(self.W, labels), float(np.log(np.diagonal(L)).sum())
        self.log_det = 2.0 * y.shape[1] * of_shared + factors.log_det
        self.F = factors.own(self.W)  # all F_c
        self.solved = product(self.W, np.ascontiguousarray(y))
        la.gemm(self.W, factors.added(self.solved), self.solved, False, False, 1.0, 1.0)

    def log_density(self):
        """Sum over classes of log N(y_c; 0, S_c)."""
        fit = float(np.vdot(self.y, self.solved))
        value = -0.5 * (fit + self.log_det + self.y.size * LOG_2PI)
        if not np.isfinite(value):
            raise NotPositiveDefiniteError("the density of labels near one another is not finite")
        return value

    def slope(self):
        """Its derivative in K, (sum of a_c a_c^T - inv(S_c)) / 2 with a_c = inv(S_c) y_c."""
        S_bar = product(self.solved, self.solved, trans_b=True)
        la.axpy(-float(self.y.shape[1]), self.W, S_bar)
        la.gemm(self.F, self.F, S_bar, True, False, -0.5, 0.5)
        return S_bar

    def precisions(self):
        """Diagonals of all inv(S_c), (n, C)."""
        labels, of_class = self.labels, np.zeros(self.y.shape)
        of_class[np.arange(len(labels)), labels.number[labels.order]] = 1.0
        more = product(self.F * self.F, of_class, trans_a=True)
        return np.diagonal(self.W)[:, None] + more
