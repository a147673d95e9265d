"""Solves for all classes of a group of rows at once, where the noise of each has two values.

With S_0 of rows that have none of the classes, class c has S_c = S_0 - diag(e) at its own rows
alone. Every row has one class, so with W_0 = inv(S_0) and M = inv(diag(1 / e) - W_0 between rows of
one class), which has a block for each class,

    inv(S_c) = W_0 + W_0 M_c W_0        product of |S_c| = |S_0|^C prod(e) / |M|

where M_c has the block of class c alone. One inverse serves all classes (docs/theory.md, section
14).
"""

from dataclasses import dataclass

import numpy as np

from ..._core import _linalg as la
from ..._linalg import NotPositiveDefiniteError, cholesky, inverse_from_cholesky, product
from ...factors.block_factors import LOG_2PI


@dataclass(frozen=True)
class Labels:
    """The noise of some rows.

    Parameters
    ----------
    number : ndarray of int, shape (n,)
        Class of each row.
    other : ndarray of shape (n,)
        Noise variances in the regressions of classes that a row does not have.
    less : ndarray of shape (n,)
        How much less they are in that of the class that it has.
    together : ndarray of shape (n, n)
        1 for rows of one class, 0 for others.
    """

    number: np.ndarray
    other: np.ndarray
    less: np.ndarray
    together: np.ndarray

    @classmethod
    def of(cls, weight):
        """From weights (n, C) of rows, of which the largest is that of the own class."""
        number, other = np.argmax(weight, axis=1), 1.0 / weight.min(axis=1)
        together = (number[:, None] == number).astype(np.float64)
        return cls(number, other, other - 1.0 / weight.max(axis=1), together)


class LabelledSolve:
    """inv(S_c) y_c of all classes, and what a density and its slope need besides.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Is overwritten by W_0.
    y : ndarray of shape (n, C)
    labels : Labels
    """

    def __init__(self, K, y, labels):
        n, C = y.shape
        K.flat[:: n + 1] += labels.other
        L = cholesky(K, overwrite=True)
        self.W, self.y, self.labels = inverse_from_cholesky(L), y, labels
        T = -self.W * labels.together
        T.flat[:: n + 1] += 1.0 / labels.less
        L_T = cholesky(T, overwrite=True)
        M = inverse_from_cholesky(L_T)
        self.spread = product(self.W, M)  # W_0 M
        of_T = np.log(labels.less).sum() + 2.0 * np.log(np.diagonal(L_T)).sum()
        self.log_det = float(2.0 * C * np.log(np.diagonal(L)).sum() + of_T)
        rows, solved = np.arange(n), product(self.W, np.ascontiguousarray(y))
        own = np.zeros((n, C))
        own[rows, labels.number] = M @ solved[rows, labels.number]
        la.gemm(self.W, own, solved, False, False, 1.0, 1.0)
        self.solved = solved

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
        la.gemm(self.spread, self.W, S_bar, False, False, -0.5, 0.5)
        return S_bar

    def precisions(self):
        """Diagonals of all inv(S_c), (n, C)."""
        of_class = np.zeros(self.y.shape)
        of_class[np.arange(len(of_class)), self.labels.number] = 1.0
        return np.diagonal(self.W)[:, None] + (self.spread * self.W) @ of_class
