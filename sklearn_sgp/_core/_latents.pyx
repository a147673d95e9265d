"""Expectations of a squared exponential under q(x_n) = N(mu_n, diag s_n), and their reverse mode.

docs/theory.md, section 17, equation 66. Symmetric matrices are packed: the lower triangle, row by
row, m (m + 1) / 2 numbers. Callers hand in some rows at a time, so that no more than their packed
matrices are ever held.
"""
import numpy as np
from libc.math cimport sqrt
from libc.stddef cimport ptrdiff_t

cdef extern from "latents.h" nogil:
    ctypedef struct sgp_latent_kernels:
        void (*first)(double *, const double *, double, ptrdiff_t, ptrdiff_t) noexcept nogil
        void (*second)(
            double *, const double *, const double *, double, ptrdiff_t, ptrdiff_t) noexcept nogil
        double (*first_reverse)(
            double *, double *, const double *, const double *, double, ptrdiff_t,
            ptrdiff_t) noexcept nogil
        double (*second_reverse)(
            double *, double *, double *, const double *, const double *, const double *, double,
            ptrdiff_t, ptrdiff_t) noexcept nogil
        void (*combine)(
            double *, const double *, const double *, ptrdiff_t, ptrdiff_t) noexcept nogil
    const sgp_latent_kernels *sgp_latents()
    ptrdiff_t sgp_latent_work(ptrdiff_t)


cdef int _check(
    const double[:, ::1] mean, const double[:, ::1] variance, const double[:, ::1] Zt,
    const double[::1] scale, const double[::1] D, ptrdiff_t n_first, ptrdiff_t m_first,
    ptrdiff_t n_second, ptrdiff_t packed,
) except -1:
    cdef ptrdiff_t n = mean.shape[0], Q = mean.shape[1], m = Zt.shape[1]
    if (variance.shape[0] != n or variance.shape[1] != Q or Zt.shape[0] != Q
            or scale.shape[0] != Q or D.shape[0] != m * (m + 1) // 2 or n_first != n
            or m_first != m or n_second != n or packed != D.shape[0]):
        raise ValueError("latent expectations: shapes do not agree")
    return 0


cdef double _scaled(
    double *b,                  # OUT (Q, m): root of (share w_q) times mu_q - z_q
    double *w,                  # OUT (Q,): 1 / (l^2 + order s)
    const double *mean,         # IN (Q,)
    const double *variance,     # IN (Q,)
    const double[:, ::1] Zt,
    const double[::1] scale,
    double share,
    double order,
) noexcept nogil:
    """Return the product over q of (1 + order s / l^2)^(-1/2)."""
    cdef ptrdiff_t q, j, m = Zt.shape[1]
    cdef double product = 1.0, square, root
    for q in range(Zt.shape[0]):
        square = scale[q] * scale[q]
        w[q] = 1.0 / (square + order * variance[q])
        product = product * square * w[q]
        root = sqrt(share * w[q])
        for j in range(m):
            b[q * m + j] = root * (mean[q] - Zt[q, j])
    return sqrt(product)


def expectations(
    const double[:, ::1] mean,      # IN (n, Q)
    const double[:, ::1] variance,  # IN (n, Q), not negative
    const double[:, ::1] Zt,        # IN (Q, m)
    const double[::1] scale,        # IN (Q,) length scales
    double kappa,
    const double[::1] D,            # IN packed: sum_q (z - z')^2 / (4 l^2)
    double[:, ::1] first,           # OUT (n, m)
    double[:, ::1] second,          # OUT (n, m (m + 1) / 2), packed
):
    """E k(x_n, z_j) and E k(x_n, z_i) k(x_n, z_j) of each row."""
    cdef ptrdiff_t n = mean.shape[0], Q = Zt.shape[0], m = Zt.shape[1], i
    cdef double factor
    cdef const sgp_latent_kernels *kernels = sgp_latents()
    cdef double[::1] b, w
    _check(mean, variance, Zt, scale, D, first.shape[0], first.shape[1], second.shape[0],
           second.shape[1])
    if n == 0 or m == 0 or Q == 0:
        return
    b, w = np.empty(Q * m), np.empty(Q)
    with nogil:
        for i in range(n):
            factor = _scaled(&b[0], &w[0], &mean[i, 0], &variance[i, 0], Zt, scale, 0.5, 1.0)
            kernels.first(&first[i, 0], &b[0], kappa * factor, m, Q)
            factor = _scaled(&b[0], &w[0], &mean[i, 0], &variance[i, 0], Zt, scale, 0.25, 2.0)
            kernels.second(&second[i, 0], &D[0], &b[0], kappa * kappa * factor, m, Q)


cdef void _carry(
    const double *u,        # IN (Q, m)
    const double *b,        # IN (Q, m)
    const double *w,        # IN (Q,)
    double total,           # IN: the sum of W
    double share,
    double order,
    const double[::1] scale,
    const double *variance,
    double *mean_,          # IN/OUT (Q,): cotangents
    double *variance_,      # IN/OUT (Q,)
    double *Zt_,            # IN/OUT (Q, m), or NULL
    double *scale_,         # IN/OUT (Q,)
    ptrdiff_t m,
    ptrdiff_t Q,
) noexcept nogil:
    """From u = W b to the cotangents; for the second moments u sums over both arguments."""
    cdef ptrdiff_t q, j
    cdef double sum_u, sum_ub, root, squares
    for q in range(Q):
        sum_u, sum_ub = 0.0, 0.0
        root = 2.0 * order * sqrt(share * w[q])
        for j in range(m):
            sum_u = sum_u + u[q * m + j]
            sum_ub = sum_ub + u[q * m + j] * b[q * m + j]
        if Zt_ != NULL:
            for j in range(m):
                Zt_[q * m + j] += root * u[q * m + j]
        squares = order * sum_ub
        mean_[q] -= root * sum_u
        variance_[q] += order * w[q] * (squares - 0.5 * total)
        scale_[q] += w[q] * (
            2.0 * scale[q] * squares + order * variance[q] * total / scale[q])


def expectations_vjp(
    const double[:, ::1] mean,      # IN (n, Q)
    const double[:, ::1] variance,  # IN (n, Q), not negative
    const double[:, ::1] Zt,        # IN (Q, m)
    const double[::1] scale,        # IN (Q,)
    double kappa,
    const double[::1] D,            # IN packed
    const double[:, ::1] first_,    # IN (n, m): cotangents of E k
    const double[:, ::1] second_,   # IN (n or 1, packed): of E k k', each of two equal entries
    double[::1] value,              # OUT (n,): sums of cotangents times expectations
    double[:, ::1] mean_,           # OUT (n, Q): cotangents
    double[:, ::1] variance_,       # OUT (n, Q)
    double[:, ::1] Zt_,             # IN/OUT (Q, m), without D's; or None
    double[::1] scale_,             # IN/OUT (Q,), without D's
    double[::1] V,                  # IN/OUT packed: E k k' times cotangents; or None
    double[::1] totals,             # IN/OUT (2,): sums of cotangents times E k, and E k k'
):
    """Reverse mode of `expectations`. What belongs to D is left to the caller, by way of V."""
    cdef ptrdiff_t n = mean.shape[0], Q = Zt.shape[0], m = Zt.shape[1], i, q
    cdef bint one = second_.shape[0] == 1
    cdef double factor, total
    cdef double *V_ = NULL
    cdef double *Z_ = NULL
    cdef const sgp_latent_kernels *kernels = sgp_latents()
    cdef double[::1] b, u, w, work
    _check(mean, variance, Zt, scale, D, first_.shape[0], first_.shape[1],
           n if one else second_.shape[0], second_.shape[1])
    if (value.shape[0] != n or mean_.shape[0] != n or mean_.shape[1] != Q
            or variance_.shape[0] != n or variance_.shape[1] != Q or scale_.shape[0] != Q
            or totals.shape[0] != 2 or Zt_ is not None and (Zt_.shape[0] != Q or Zt_.shape[1] != m)
            or V is not None and V.shape[0] != D.shape[0]):
        raise ValueError("latent expectations: shapes do not agree")
    if n == 0 or m == 0 or Q == 0:
        return
    b, u, w, work = np.empty(Q * m), np.empty(Q * m), np.empty(Q), np.empty(sgp_latent_work(m))
    if V is not None:
        V_ = &V[0]
    if Zt_ is not None:
        Z_ = &Zt_[0, 0]
    with nogil:
        for i in range(n):
            for q in range(Q):
                mean_[i, q] = variance_[i, q] = 0.0
            factor = _scaled(&b[0], &w[0], &mean[i, 0], &variance[i, 0], Zt, scale, 0.5, 1.0)
            total = kernels.first_reverse(
                &u[0], &work[0], &first_[i, 0], &b[0], kappa * factor, m, Q)
            _carry(&u[0], &b[0], &w[0], total, 0.5, 1.0, scale, &variance[i, 0], &mean_[i, 0],
                   &variance_[i, 0], Z_, &scale_[0], m, Q)
            value[i] = total
            totals[0] += total
            factor = _scaled(&b[0], &w[0], &mean[i, 0], &variance[i, 0], Zt, scale, 0.25, 2.0)
            total = kernels.second_reverse(
                &u[0], V_, &work[0], &second_[0 if one else i, 0], &D[0], &b[0],
                kappa * kappa * factor, m, Q)
            _carry(&u[0], &b[0], &w[0], total, 0.25, 2.0, scale, &variance[i, 0], &mean_[i, 0],
                   &variance_[i, 0], Z_, &scale_[0], m, Q)
            value[i] += total
            totals[1] += total


def combine(
    const double[:, ::1] weight,    # IN (n, K)
    const double[:, ::1] A,         # IN (K, c)
    double[:, ::1] out,             # OUT (n, c)
):
    """out = weight @ A, where rows get the same to the last bit alone and among others."""
    cdef ptrdiff_t n = weight.shape[0], K = weight.shape[1], c = A.shape[1], i
    cdef const sgp_latent_kernels *kernels = sgp_latents()
    if A.shape[0] != K or out.shape[0] != n or out.shape[1] != c:
        raise ValueError("combine: shapes do not agree")
    if n == 0 or c == 0 or K == 0:
        np.asarray(out)[...] = 0.0
        return
    with nogil:
        for i in range(n):
            kernels.combine(&out[i, 0], &weight[i, 0], &A[0, 0], K, c)
