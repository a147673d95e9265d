"""Factors of groups of rows that are conditioned on earlier rows, for LMA and VIF.

With N the rows that a group B is conditioned on, S = Δ + noise on both together and C = inv(S_NN)
S_NB, its factor is that of a dense block after one elimination (docs/theory.md, eq. 44):

    t_B(u) = N(y_B - C^T y_N; (A_B - A_N C)^T v, R_B)        R_B = S_BB - S_BN C

A piece has many small groups; inducing inputs meet the rows of all of them at once.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._core._groups import eliminate
from .._core._memory import empty
from .._linalg import product, transposed
from .._parallel import blas_threads_for
from .block_factors import (
    LOG_2PI,
    SingularBlockError,
    repetition_constant,
    repetition_slope,
    singular_block,
)
from .class_noise import ClassTerms
from .gradients import BlockGradient


def rows_of_groups(groups):
    """Return the rows of each group, those that it is conditioned on first."""
    return [np.concatenate(group) for group in groups]


class _Group(NamedTuple):
    """One group after the elimination of what it is conditioned on.

    ``index`` (n_N + n_B,) are its rows in the piece, N first, ``L`` the Cholesky factor of S, ``C``
    (n_N, n_B), ``B`` its place among the piece's own rows.
    """

    index: np.ndarray
    L: np.ndarray
    C: np.ndarray
    B: slice

    @property
    def n_before(self):
        return len(self.C)

    @property
    def L_B(self):
        """Cholesky factor of R_B."""
        return self.L[self.n_before :, self.n_before :]


class ConditionedFactor:
    """The factor of a piece of conditioned groups.

    Parameters
    ----------
    At : ndarray of shape (n, m)
        A^T of all rows of the piece; rows of it are gathered.
    K : ndarray of shape (n_values,)
        Upper triangles of the kernel matrices of the rows of each group, `Groups.triangles` of
        `rows_of_groups`.
    groups : sequence of (ndarray, ndarray)
        Rows that a group is conditioned on, and its own; own rows come in order.
    counts : ndarray of shape (n,) or None
        Numbers of observations, where the weights are precisions as well.
    """

    def __init__(self, At, y, weight, K, groups, noise_variance, counts=None):
        self._At, self.y, self.weight, self.s2 = At, y, weight, noise_variance
        self._indices = rows_of_groups(groups)
        self._n_before = np.array([len(before) for before, _ in groups], dtype=np.intp)
        self._n_rows = np.array([len(index) for index in self._indices], dtype=np.intp)
        n_B = self._n_rows - self._n_before
        self._B = np.concatenate([own for _, own in groups])
        self._counts_B = (weight if counts is None else counts)[self._B]
        sizes = (self._n_rows**2).sum(), (self._n_before * n_B).sum()
        self._U, self._C = (empty((size,)) for size in sizes)
        self.residual_At = empty((len(self._B), At.shape[1]))  # (A_B - A_N C)^T, whitened
        self.residual_y = np.empty((len(self._B), y.shape[1]))  # by inv(chol R_B), as well
        with blas_threads_for(self._n_rows.max()):
            self._half_log_det, failed = eliminate(
                K,
                np.concatenate(self._indices),
                self._n_rows,
                self._n_before,
                At,
                y,
                noise_variance / weight,
                self._U,
                self._C,
                self.residual_At,
                self.residual_y,
            )
        if failed >= 0:
            raise SingularBlockError(singular_block(self.s2, weight[self._indices[failed]]))

    @cached_property
    def A(self):
        """A of all rows of the piece, (m, n)."""
        return transposed(self._At)

    @cached_property
    def groups(self):
        """A `_Group` for each group."""
        n, k, groups = self._n_rows, self._n_before, []
        ends = [np.cumsum(size) for size in (n * n, k * (n - k), n - k)]
        for index, n_g, k_g, of_U, of_C, end in zip(self._indices, n, k, *ends, strict=True):
            b = n_g - k_g
            L = transposed(self._U[of_U - n_g * n_g : of_U].reshape(n_g, n_g))
            C = self._C[of_C - k_g * b : of_C].reshape(k_g, b)
            groups.append(_Group(index, L, C, slice(end - b, end)))
        return groups

    def add_to(self, H, h):
        At, y = self.residual_At, self.residual_y
        la.syrk(At, H, 1.0, 1.0, True)
        la.gemm(At, y, h, True, False, 1.0, 1.0)
        return -0.5 * float(np.vdot(y, y)) - y.shape[1] * self._normaliser()

    def _normaliser(self):
        constant = 0.5 * len(self.residual_y) * LOG_2PI
        weight = self.weight[self._B]
        return self._half_log_det + constant + repetition_constant(weight, self.s2, self._counts_B)

    def class_terms(self, class_noise):
        both, before = [], []
        for index, L, C, _ in self.groups:
            both.append(self._class_terms(class_noise, index, L))
            if len(C):
                of_before = np.ascontiguousarray(L[: len(C), : len(C)])
                terms = self._class_terms(class_noise, index[: len(C)], of_before)
                before.append(terms.times(-1.0))
        of_noise = -0.5 * float(class_noise.log_ratio[self._B].sum())
        terms = ClassTerms.joined(both)
        terms = [terms._replace(normaliser=terms.normaliser + of_noise)]
        return [*terms, ClassTerms.joined(before)] if before else terms

    def _class_terms(self, class_noise, index, L):
        noise = class_noise.select(index)
        return ClassTerms.of_covariance(L, self._At[index], self.y[index], noise)

    def gradient(self, mean, covariance):
        """Compute E_q[log t_B] for v ~ N(mean, covariance) and its derivatives (eqs. 45 and 46)."""
        t = self.y.shape[1]
        value = -t * self._normaliser()
        error = self.residual_y - product(self.residual_At, mean)  # whitened
        value -= 0.5 * float(np.vdot(error, error))
        residual_S = product(self.residual_At, covariance)  # (n_B, m)
        A_t = self._At
        A_t_bar, noise, K_bars = np.zeros(A_t.shape), 0.0, []
        for group in self.groups:
            e, SAt = error[group.B], residual_S[group.B]
            E = product(SAt, self.residual_At[group.B], trans_b=True)
            value -= 0.5 * t * float(np.trace(E))
            J_bar, S_bar = self._cotangents(group, A_t, e, SAt, E, mean)
            A_t_bar[group.index] += J_bar
            noise += float((np.diagonal(S_bar) / self.weight[group.index]).sum())
            K_bars.append((group.index, S_bar))
        log_noise = self.s2 * noise - t * repetition_slope(self._counts_B)
        return BlockGradient(value, transposed(A_t_bar), K_bars, log_noise)

    def _cotangents(self, group, A_t, e, SAt, E, mean):
        """Return the cotangents of A_J^T (n_J, m) and of S (n_J, n_J) of one group.

        ``e`` (n_B, t) and ``SAt`` (n_B, m), the residuals and their A^T times the covariance, are
        whitened by the factor of R_B, and so is ``E`` (n_B, n_B), At cov At^T; it is overwritten.
        """
        k, t, C = group.n_before, e.shape[1], group.C
        L_B = np.ascontiguousarray(group.L_B)
        E *= 0.5 * t
        la.gemm(e, e, E, False, True, 0.5, 1.0)
        E.flat[:: len(E) + 1] -= 0.5 * t
        la.trsm(L_B, E, True)
        G = np.ascontiguousarray(E.T)
        la.trsm(L_B, G, True)  # cotangent of R_B
        # cotangent of (A_B - A_N C)^T, from the squares and from the trace
        At_bar = product(e, mean, trans_b=True)
        la.axpy(-t, SAt, At_bar)
        la.trsm(L_B, At_bar, True)
        residual = product(L_B, self.residual_At[group.B])  # A_B - A_N C, transposed
        inner = product(G, residual)
        if not k:
            la.axpy(-2.0, inner, At_bar)  # S = K - A^T A + noise
            return At_bar, G
        # C = inv(S_NN) S_NB moves with S, too
        r = np.array(e, order="C")
        la.trsm(L_B, r, True)  # inv(R_B) times the residual
        A_N, y_N = A_t[group.index[:k]], self.y[group.index[:k]]
        D = product(y_N, r, trans_b=True)
        la.gemm(A_N, At_bar, D, False, True, -1.0, 1.0)
        L_N = np.ascontiguousarray(group.L[:k, :k])
        la.trsm(L_N, D)
        la.trsm(L_N, D, True)
        la.gemm(D, A_N, inner, True, False, 0.5, 1.0)
        la.axpy(-2.0, inner, At_bar)
        J_bar = np.empty((k + len(G), At_bar.shape[1]))
        J_bar[k:] = At_bar
        from_before = product(C, At_bar)
        la.gemm(D, residual, from_before, False, False, 1.0, 1.0)
        J_bar[:k] = -from_before
        return J_bar, _cotangent_of_all(G, C, D)


def _cotangent_of_all(G, C, D):
    """Compute P G P^T + (P D^T, 0) / 2 + its transpose: R_B = P^T S P with P = (-C, 1)."""
    k = len(C)
    S_bar = np.empty((k + len(G), k + len(G)))
    CG = product(C, G)
    product_CD = product(C, D, trans_b=True)
    S_bar[:k, :k] = product(CG, C, trans_b=True)
    S_bar[:k, :k] -= 0.5 * (product_CD + product_CD.T)
    S_bar[:k, k:] = 0.5 * D - CG
    S_bar[k:, :k] = S_bar[:k, k:].T
    S_bar[k:, k:] = G
    return S_bar
