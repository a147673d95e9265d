"""Groups of rows that are conditioned on earlier rows: all groups of a piece in one call, no GIL.

A group has some thirty to some hundred rows. Its Cholesky factor, solves and products take less
time than the Python calls around them would, and between such calls threads wait for the GIL.
Matrices are in C order; as in _linalg.pyx, BLAS is handed the transposed problem.
"""
import numpy as np
from libc.math cimport INFINITY, NAN, fabs, log
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemm, dsyrk, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf

include "_blas_int.pxi"


def eliminate(
    list S,                             # IN/OUT ndarrays (n_g, n_g): K of each group; chol(S) after
    list C,                             # OUT ndarrays (k_g, n_g - k_g): inv(S_NN) S_NB
    const ptrdiff_t[::1] index,         # IN rows of all groups, for each its k_g conditions first
    const double[:, ::1] At,            # IN (n, m)
    const double[:, ::1] y,             # IN (n, t)
    const double[::1] noise,            # IN (n,)
    double[:, ::1] residual_At,         # OUT (n_own, m): inv(chol R_B) (A_B - A_N C)^T
    double[:, ::1] residual_y,          # OUT (n_own, t): inv(chol R_B) (y_B - C^T y_N)
):
    """Eliminate the rows N that each group B is conditioned on, S = K - A_J^T A_J + noise.

    Returns the sum of log diag chol(R_B) over all groups, R_B = S_BB - S_BN C, and the number of
    the first group whose S is not positive definite, where it stops; -1 if there is none.
    """
    cdef ptrdiff_t g, n, k, m = At.shape[1], t = y.shape[1], at = 0, own = 0, largest = 0
    cdef double[:, ::1] K, W
    cdef double[::1] rows
    cdef double half_log_det = 0.0
    cdef double *C_start
    cdef double *residual_start = NULL
    cdef const double *At_start = NULL
    sizes, total, n_own = [len(K_g) for K_g in S], 0, 0
    for K_g, C_g in zip(S, C, strict=True):
        total += len(K_g)
        n_own += C_g.shape[1]
        if K_g.shape != (len(K_g), len(K_g)) or sum(C_g.shape) != len(K_g) or not C_g.shape[1]:
            raise ValueError("eliminate: the shapes of a group do not agree")
    if (index.shape[0] != total or residual_At.shape[0] != n_own or residual_y.shape[0] != n_own
            or residual_At.shape[1] != m or residual_y.shape[1] != t or t == 0
            or y.shape[0] != At.shape[0] or noise.shape[0] != At.shape[0]):
        raise ValueError("eliminate: the shapes of the arrays do not agree")
    if total and (np.min(index) < 0 or np.max(index) >= At.shape[0]):
        raise ValueError("eliminate: index must hold rows of At")
    largest = max(sizes, default=0)
    rows = np.empty(largest * m + 1)
    if m and n_own:  # without inducing inputs there is nothing to point at
        At_start, residual_start = &At[0, 0], &residual_At[0, 0]
    for g in range(len(sizes)):
        K, W = S[g], C[g]
        n, k = K.shape[0], W.shape[0]
        C_start = &W[0, 0] if k else NULL
        with nogil:
            half_log_det += _eliminated(
                &K[0, 0], C_start, &index[at], n, k, m, t, At_start, &y[0, 0], &noise[0],
                &rows[0], residual_start + own * m, &residual_y[own, 0])
        if half_log_det != half_log_det:
            return half_log_det, g
        at += n
        own += n - k
    return half_log_det, -1


cdef double _eliminated(
    double *S,
    double *C,
    const ptrdiff_t *index,
    ptrdiff_t n,
    ptrdiff_t k,
    ptrdiff_t m,
    ptrdiff_t t,
    const double *At,
    const double *y,
    const double *noise,
    double *rows,               # room for (n, m)
    double *residual_At,
    double *residual_y,
) noexcept nogil:
    """The same for one group; the logarithm of det chol(R_B), or NaN."""
    cdef blas_int n_ = <blas_int> n, k_ = <blas_int> k, m_ = <blas_int> m, t_ = <blas_int> t
    cdef blas_int b_ = n_ - k_, info = 0
    cdef char upper = b"U", right = b"R", yes = b"T", no = b"N"
    cdef double one = 1.0, minus = -1.0, log_det = 0.0, value
    cdef double *S_own = S + k * n + k
    cdef ptrdiff_t i, j, c, b = n - k
    if m:
        for i in range(n):
            memcpy(rows + i * m, At + index[i] * m, m * sizeof(double))
        dsyrk(&upper, &yes, &n_, &m_, &minus, rows, &m_, &one, S, &n_)
    for i in range(n):
        S[i * n + i] += noise[index[i]]
    dpotrf(&upper, &n_, S, &n_, &info)
    for i in range(n):
        if info != 0 or not fabs(S[i * n + i]) < INFINITY:
            return NAN
        for j in range(i + 1, n):
            S[i * n + j] = 0.0
    for i in range(b):
        if m:
            memcpy(residual_At + i * m, rows + (k + i) * m, m * sizeof(double))
        memcpy(residual_y + i * t, y + index[k + i] * t, t * sizeof(double))
        log_det += log(S_own[i * n + i])
    if k:
        for i in range(b):
            for j in range(k):
                C[j * b + i] = S[(k + i) * n + j]
        dtrsm(&right, &upper, &yes, &no, &b_, &k_, &one, S, &n_, C, &b_)
        if m:
            dgemm(&no, &yes, &m_, &b_, &k_, &minus, rows, &m_, C, &b_, &one, residual_At, &m_)
        for j in range(k):
            for c in range(t):
                value = y[index[j] * t + c]
                for i in range(b):
                    residual_y[i * t + c] -= C[j * b + i] * value
    if m:
        dtrsm(&right, &upper, &no, &no, &m_, &b_, &one, S_own, &n_, residual_At, &m_)
    dtrsm(&right, &upper, &no, &no, &t_, &b_, &one, S_own, &n_, residual_y, &t_)
    return log_det
