"""Factors of groups of rows that are conditioned on earlier rows, for LMA and VIF.

With N the rows that a group B is conditioned on, S = Δ + noise on both together and C = inv(S_NN)
S_NB, its factor is that of a dense block after one elimination (docs/theory.md, eq. 44):

    t_B(u) = N(y_B - C^T y_N; (A_B - A_N C)^T v, R_B)        R_B = S_BB - S_BN C

A piece has many small groups; inducing inputs meet the rows of all of them at once.
"""

from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import NotPositiveDefiniteError, cholesky, product
from .block_factors import (
    LOG_2PI,
    SingularBlockError,
    repetition_constant,
    repetition_slope,
    singular_block,
)
from .gradients import BlockGradient


class _Group(NamedTuple):
    """One group after the elimination of what it is conditioned on.

    ``index`` (n_N + n_B,) are its rows in the piece, N first, ``L`` the Cholesky factor of S, ``C``
    (n_N, n_B), ``own`` its place among the piece's own rows.
    """

    index: np.ndarray
    L: np.ndarray
    C: np.ndarray
    own: slice

    @property
    def n_before(self):
        return len(self.C)

    @property
    def L_own(self):
        """Cholesky factor of R_B."""
        return self.L[self.n_before :, self.n_before :]


class ConditionedFactor:
    """The factor of a piece of conditioned groups.

    Parameters
    ----------
    A : ndarray of shape (m, n)
        Of all rows of the piece.
    y : ndarray of shape (n, t)
    weight : ndarray of shape (n,)
    gram : callable
        ``gram(index)``: a new array, the kernel matrix of some of the rows.
    groups : sequence of (ndarray, ndarray)
        Rows that a group is conditioned on, and its own; own rows come in order.
    noise_variance : float
    """

    def __init__(self, A, y, weight, gram, groups, noise_variance):
        self.A, self.y, self.weight, self.s2 = A, y, weight, noise_variance
        At = np.ascontiguousarray(A.T)  # rows of it are gathered
        n_own = sum(len(own) for _, own in groups)
        self.residual_At = empty((n_own, len(A)))  # (A_B - A_N C)^T, whitened: inv(chol R_B)
        self.residual_y = np.empty((n_own, y.shape[1]))
        self.groups, lo = [], 0
        for before, own in groups:
            place = slice(lo, lo + len(own))
            self.groups.append(self._eliminated(At, gram, before, own, place))
            lo = place.stop

    def _eliminated(self, At, gram, before, own, place):
        index, k = np.concatenate([before, own]), len(before)
        S, A_J, y_J = gram(index), At[index], self.y[index]
        la.syrk(A_J, S, -1.0, 1.0)
        S.flat[:: len(S) + 1] += self.s2 / self.weight[index]
        try:
            L = cholesky(S)
        except NotPositiveDefiniteError as error:
            raise SingularBlockError(singular_block(self.s2, self.weight[index])) from error
        C = np.ascontiguousarray(L[k:, :k].T)
        residual_A, residual_y = A_J[k:], y_J[k:]
        if k:
            la.trsm(np.ascontiguousarray(L[:k, :k]), C, True)
            la.gemm(C, A_J[:k], residual_A, True, False, -1.0, 1.0)
            residual_y = residual_y - C.T @ y_J[:k]
        L_own = np.ascontiguousarray(L[k:, k:])
        residual_y = np.ascontiguousarray(residual_y)
        la.trsm(L_own, residual_A)
        la.trsm(L_own, residual_y)
        self.residual_At[place], self.residual_y[place] = residual_A, residual_y
        return _Group(index, L, C, place)

    def add_to(self, H, h):
        """Add the information; returns the constant."""
        At, y = self.residual_At, self.residual_y
        la.gemm(At, At, H, True, False, 1.0, 1.0)
        la.gemm(At, y, h, True, False, 1.0, 1.0)
        return -0.5 * float(np.vdot(y, y)) - y.shape[1] * self._normaliser()

    def _normaliser(self):
        half_log_det = sum(float(np.log(np.diagonal(group.L_own)).sum()) for group in self.groups)
        constant = 0.5 * len(self.residual_y) * LOG_2PI
        return half_log_det + constant + repetition_constant(self._own_weight, self.s2)

    @property
    def _own_weight(self):
        return self.weight[np.concatenate([group.index[group.n_before :] for group in self.groups])]

    def gradient(self, mean, covariance):
        """E_q[log t_B] for v ~ N(mean, covariance) and its derivatives (theory, eqs. 45 and 46)."""
        t = self.y.shape[1]
        value = -t * self._normaliser()
        error = self.residual_y - product(self.residual_At, mean)  # whitened
        value -= 0.5 * float(np.vdot(error, error))
        spread = product(self.residual_At, covariance)  # (n_own, m)
        A_t = np.ascontiguousarray(self.A.T)  # rows of it are gathered, and those of its cotangent
        A_t_bar, noise, K_bars = np.zeros(A_t.shape), 0.0, []
        for group in self.groups:
            e, SAt = error[group.own], spread[group.own]
            E = product(SAt, self.residual_At[group.own], trans_b=True)
            value -= 0.5 * t * float(np.trace(E))
            J_bar, S_bar = self._cotangents(group, A_t, e, SAt, E, mean)
            A_t_bar[group.index] += J_bar
            noise += float((np.diagonal(S_bar) / self.weight[group.index]).sum())
            K_bars.append((group.index, S_bar))
        log_noise = self.s2 * noise - t * repetition_slope(self._own_weight)
        return BlockGradient(value, np.ascontiguousarray(A_t_bar.T), K_bars, log_noise)

    def _cotangents(self, group, A_t, e, SAt, E, mean):
        """Cotangents of A_J^T (n_J, m) and of S (n_J, n_J) of one group.

        ``e`` (n_B, t) and ``SAt`` (n_B, m), the residuals and their A^T times the covariance, are
        whitened by the factor of R_B, and so is ``E`` (n_B, n_B), At cov At^T.
        """
        k, t, C = group.n_before, e.shape[1], group.C
        L_own = np.ascontiguousarray(group.L_own)
        E = t * E + e @ e.T
        E.flat[:: len(E) + 1] -= t
        G = 0.5 * E  # cotangent of R_B, whitened from both sides
        la.trsm(L_own, G, True)
        G = np.ascontiguousarray(G.T)
        la.trsm(L_own, G, True)
        # cotangent of (A_B - A_N C)^T, from the squares and from the trace
        At_bar = e @ mean.T - t * SAt
        la.trsm(L_own, At_bar, True)
        r = np.array(e, order="C")
        la.trsm(L_own, r, True)  # inv(R_B) times the residual
        residual = L_own @ self.residual_At[group.own]  # A_B - A_N C, transposed
        P = np.vstack([-C, np.eye(len(G))])  # R_B = P^T S P
        S_bar = P @ G @ P.T
        J_bar = np.vstack([-C @ At_bar, At_bar])
        inner = G @ residual
        if k:
            # C = inv(S_NN) S_NB moves with S, too
            A_N, y_N = A_t[group.index[:k]], self.y[group.index[:k]]
            D = y_N @ r.T - A_N @ At_bar.T
            L_N = np.ascontiguousarray(group.L[:k, :k])
            la.trsm(L_N, D)
            la.trsm(L_N, D, True)
            S_bar[:k] += 0.5 * (D @ P.T)
            S_bar[:, :k] += 0.5 * (P @ D.T)
            inner += 0.5 * (D.T @ A_N)
            J_bar[:k] -= D @ residual
        J_bar -= 2.0 * (P @ inner)  # S = K - A^T A + noise
        return J_bar, S_bar
