"""Solves for all classes of a group of rows at once, where the noise of each has two values.

With S_0 of rows that have none of the classes, class c has S_c = S_0 - diag(e) at its own rows I_c
alone, which are few. With W_0 = inv(S_0) and M_c = inv(diag(1 / e) - W_0) on I_c

    inv(S_c) = W_0 + W_0[:, I_c] M_c W_0[I_c, :]        |S_c| = |S_0| prod(e) |diag(1 / e) - W_0|

so that one inverse serves all classes (docs/theory.md, section 14).
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la
from .._linalg import NotPositiveDefiniteError, cholesky, inverse_from_cholesky, product

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Labels:
    """The noise of some rows.

    Parameters
    ----------
    other : ndarray of shape (n,)
        Noise variances in the regressions of classes that a row does not have.
    parts : list of (int, ndarray of int, ndarray)
        Classes that are there, with their rows, and how much less noise these have then.
    """

    other: np.ndarray
    parts: list

    @classmethod
    def of(cls, weight):
        """From weights (n, C) of rows, of which the largest is that of the own class."""
        number, other = np.argmax(weight, axis=1), 1.0 / weight.min(axis=1)
        less, parts = other - 1.0 / weight.max(axis=1), []
        for c in np.unique(number):
            own = np.flatnonzero(number == c)
            parts.append((c, own, less[own]))
        return cls(other, parts)


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
        K.flat[:: len(K) + 1] += labels.other
        L = cholesky(K, overwrite=True)
        C = y.shape[1]
        self.log_det = 2.0 * C * float(np.log(np.diagonal(L)).sum())
        self.W, self.y = inverse_from_cholesky(L), y
        self.solved = product(self.W, np.ascontiguousarray(y))
        self.parts = []
        for c, own, e in labels.parts:
            columns = np.ascontiguousarray(self.W[:, own])
            T = -columns[own]
            T.flat[:: len(T) + 1] += 1.0 / e
            L_T = cholesky(T, overwrite=True)
            M = inverse_from_cholesky(L_T)
            self.log_det += float(np.log(e).sum() + 2.0 * np.log(np.diagonal(L_T)).sum())
            self.solved[:, c] += columns @ (M @ self.solved[own, c])
            self.parts.append((c, own, columns, M))

    def log_density(self):
        """Sum over classes of log N(y_c; 0, S_c)."""
        fit = float(np.vdot(self.y, self.solved))
        value = -0.5 * (fit + self.log_det + self.y.size * _LOG_2PI)
        if not np.isfinite(value):
            raise NotPositiveDefiniteError("the density of labels near one another is not finite")
        return value

    def slope(self):
        """Its derivative in K, (sum of a_c a_c^T - inv(S_c)) / 2 with a_c = inv(S_c) y_c."""
        S_bar = product(self.solved, self.solved, trans_b=True)
        la.axpy(-float(self.y.shape[1]), self.W, S_bar)
        spread = np.zeros(S_bar.shape)
        for _, own, columns, M in self.parts:
            spread[:, own] = product(columns, M)
        la.gemm(spread, self.W, S_bar, False, False, -1.0, 1.0)
        S_bar *= 0.5
        return S_bar

    def precisions(self):
        """Diagonals of all inv(S_c), (n, C)."""
        found = np.repeat(np.diagonal(self.W)[:, None], self.y.shape[1], axis=1)
        for c, _, columns, M in self.parts:
            found[:, c] += (product(columns, M) * columns).sum(axis=1)
        return found
