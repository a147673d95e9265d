"""Solves for all classes of a group of rows at once; see `factors.labelled`."""

import numpy as np

from .._core import _linalg as la
from .._linalg import cholesky, inverse_from_cholesky, product
from ..factors.labelled import ClassFactors


class LabelledSolve:
    """inv(S_c) y_c of all classes, ``solved``, and the diagonals of all inv(S_c).

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
        self.labels, self.W = labels, inverse_from_cholesky(L)
        factors = ClassFactors(self.W, labels)
        self.F = factors.own(self.W)  # all F_c
        self.solved = product(self.W, np.ascontiguousarray(y))
        la.gemm(self.W, factors.added(self.solved), self.solved, False, False, 1.0, 1.0)

    def precisions(self):
        """Diagonals of all inv(S_c), (n, C)."""
        labels, of_class = self.labels, np.zeros(self.solved.shape)
        of_class[np.arange(len(labels)), labels.number[labels.order]] = 1.0
        more = product(self.F * self.F, of_class, trans_a=True)
        return np.diagonal(self.W)[:, None] + more
