"""Groups of rows that are conditioned on earlier rows, or have sites, without the GIL.

A group has some thirty to some hundred rows. Its Cholesky factor, solves and products take less
time than the Python calls around them would, and between such calls threads wait for the GIL.
Matrices are in C order; as in _linalg.pyx, BLAS is handed the transposed problem, and as in
_cells.pyx factors are upper triangles, which LAPACK sees as lower ones.
"""
import numpy as np
from libc.math cimport INFINITY, NAN, fabs, log
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dgemm, dsymv, dsyrk, dtrmv, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf

from ._linalg import check_sizes
from ._memory import empty

include "_blas_int.pxi"
include "_triangular_inverse.pxi"

cdef enum:
    TILE = 32   # columns whose rows stay in the cache


def eliminate(
    const double[::1] K,                # IN upper triangles of K of all groups, row by row
    const ptrdiff_t[::1] index,         # IN rows of all groups, for each its k_g conditions first
    const ptrdiff_t[::1] n_rows,        # IN (g,): n_g, of each group with its conditions
    const ptrdiff_t[::1] n_before,      # IN (g,): k_g < n_g
    const double[:, ::1] At,            # IN (n, m)
    const double[:, ::1] y,             # IN (n, t)
    const double[::1] noise,            # IN (n,)
    double[::1] U,                      # OUT (n_g, n_g) of all groups: chol(S)^T, below it 0
    double[::1] C,                      # OUT (k_g, n_g - k_g) of all groups: inv(S_NN) S_NB
    double[:, ::1] residual_At,         # OUT (n_own, m): inv(chol R_B) (A_B - A_N C)^T
    double[:, ::1] residual_y,          # OUT (n_own, t): inv(chol R_B) (y_B - C^T y_N)
):
    """Eliminate the rows N that each group B is conditioned on, S = K - A_J^T A_J + noise.

    Returns the sum of log diag chol(R_B) over all groups, R_B = S_BB - S_BN C, and the number of
    the first group whose S is not positive definite, where it stops; -1 if there is none.
    """
    cdef ptrdiff_t g, n, k, m = At.shape[1], t = y.shape[1], at = 0, own = 0
    cdef double half_log_det = 0.0, more
    cdef const double *K_g
    cdef const double *At_start = NULL
    cdef double *residual_start = NULL
    cdef double *U_g
    cdef double *C_g
    sizes, counts = np.asarray(n_rows), np.asarray(n_before)
    if sizes.shape != counts.shape or np.any(counts < 0) or np.any(counts >= sizes):
        raise ValueError("eliminate: the sizes of the groups do not agree")
    n_own, n_pairs = (sizes - counts).sum(), (counts * (sizes - counts)).sum()
    if (index.shape[0] != sizes.sum() or K.shape[0] != (sizes * (sizes + 1) // 2).sum()
            or U.shape[0] != (sizes * sizes).sum() or C.shape[0] != n_pairs or t == 0
            or residual_At.shape[0] != n_own or residual_y.shape[0] != n_own
            or residual_At.shape[1] != m or residual_y.shape[1] != t
            or y.shape[0] != At.shape[0] or noise.shape[0] != At.shape[0]):
        raise ValueError("eliminate: the shapes of the arrays do not agree")
    if index.shape[0] == 0:
        return 0.0, -1
    if np.min(index) < 0 or np.max(index) >= At.shape[0]:
        raise ValueError("eliminate: index must hold rows of At")
    check_sizes(m, t)
    cdef double[::1] rows = np.empty(sizes.max() * m + 1)
    if m:  # without inducing inputs there is nothing to point at
        At_start, residual_start = &At[0, 0], &residual_At[0, 0]
    K_g, U_g, C_g = &K[0], &U[0], &C[0] if n_pairs else NULL
    with nogil:
        for g in range(n_rows.shape[0]):
            n, k = n_rows[g], n_before[g]
            more = _eliminated(
                K_g, U_g, C_g, &index[at], n, k, m, t, At_start, &y[0, 0], &noise[0], &rows[0],
                residual_start + own * m, &residual_y[own, 0])
            if more != more:
                break
            half_log_det += more
            K_g, U_g, C_g = K_g + n * (n + 1) // 2, U_g + n * n, C_g + k * (n - k)
            at += n
            own += n - k
        else:
            g = -1
    return half_log_det, g


cdef double _eliminated(
    const double *K,
    double *U,
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
    cdef char lower = b"L", right = b"R", yes = b"T", no = b"N"
    cdef double one = 1.0, minus = -1.0, log_det = 0.0, value
    cdef double *U_own = U + k * n + k
    cdef ptrdiff_t i, j, c, b = n - k
    for i in range(n):
        memset(U + i * n, 0, i * sizeof(double))
        memcpy(U + i * n + i, K, (n - i) * sizeof(double))
        K = K + n - i
        U[i * n + i] += noise[index[i]]
        if m:
            memcpy(rows + i * m, At + index[i] * m, m * sizeof(double))
    if m:
        dsyrk(&lower, &yes, &n_, &m_, &minus, rows, &m_, &one, U, &n_)
    dpotrf(&lower, &n_, U, &n_, &info)
    for i in range(n):
        if info != 0 or not fabs(U[i * n + i]) < INFINITY:
            return NAN
    for i in range(b):
        if m:
            memcpy(residual_At + i * m, rows + (k + i) * m, m * sizeof(double))
        memcpy(residual_y + i * t, y + index[k + i] * t, t * sizeof(double))
        log_det += log(U_own[i * n + i])
    if k:
        for j in range(k):
            memcpy(C + j * b, U + j * n + k, b * sizeof(double))
        dtrsm(&right, &lower, &no, &no, &b_, &k_, &one, U, &n_, C, &b_)
        if m:
            dgemm(&no, &yes, &m_, &b_, &k_, &minus, rows, &m_, C, &b_, &one, residual_At, &m_)
        for j in range(k):
            for c in range(t):
                value = y[index[j] * t + c]
                for i in range(b):
                    residual_y[i * t + c] -= C[j * b + i] * value
    if m:
        dtrsm(&right, &lower, &yes, &no, &m_, &b_, &one, U_own, &n_, residual_At, &m_)
    dtrsm(&right, &lower, &yes, &no, &t_, &b_, &one, U_own, &n_, residual_y, &t_)
    return log_det


def given_sites(
    const double[:, ::1] K,             # IN (n, n), symmetric
    const double[::1] root,             # IN (n,): W^(1/2), roots of the sites' precisions
    const double[::1] shift,            # IN (n,): b
    double[:, ::1] L_inv,               # OUT (n, n): inv(L), I + W^(1/2) K W^(1/2) = L L^T
    double[::1] squares,                # OUT (n,): of the columns of inv(L), their sums
    double[::1] slope,                  # OUT (n,): b - W^(1/2) inv(L L^T) W^(1/2) K b
    double[::1] mean,                   # OUT (n,): K slope
):
    """What the sites of one group make of its prior (docs/theory.md, section 13).

    Returns the sum of log diag(L), or NaN where the matrix is not positive definite.
    """
    cdef ptrdiff_t n = K.shape[0], i, j
    cdef blas_int n_, one_ = 1, info = 0
    cdef char upper = b"U", yes = b"T", no = b"N"
    cdef double one = 1.0, zero = 0.0, log_det = 0.0, r
    cdef double *L
    if (K.shape[1] != n or root.shape[0] != n or shift.shape[0] != n or L_inv.shape[0] != n
            or L_inv.shape[1] != n or squares.shape[0] != n or slope.shape[0] != n
            or mean.shape[0] != n):
        raise ValueError("given_sites: the shapes of the arrays do not agree")
    check_sizes(n)
    if n == 0:
        return 0.0
    n_, L = <blas_int> n, &L_inv[0, 0]
    with nogil:
        for i in range(n):
            r = root[i]
            for j in range(i + 1):
                L[i * n + j] = r * K[i, j] * root[j]
            L[i * n + i] += 1.0
            memset(L + i * n + i + 1, 0, (n - i - 1) * sizeof(double))
        dpotrf(&upper, &n_, L, &n_, &info)
        for i in range(n):
            if info != 0 or not fabs(L[i * n + i]) < INFINITY:
                log_det = NAN
                break
            log_det += log(L[i * n + i])
        if log_det == log_det:
            invert_triangle(upper, n_, L, n_)
            dsymv(&upper, &n_, &one, <double *> &K[0, 0], &n_, <double *> &shift[0], &one_, &zero,
                  &mean[0], &one_)
            for i in range(n):
                slope[i] = root[i] * mean[i]
                squares[i] = 0.0
            dtrmv(&upper, &yes, &no, &n_, L, &n_, &slope[0], &one_)
            dtrmv(&upper, &no, &no, &n_, L, &n_, &slope[0], &one_)
            for i in range(n):
                slope[i] = shift[i] - root[i] * slope[i]
                for j in range(i + 1):
                    squares[j] += L[i * n + j] * L[i * n + j]
            dsymv(&upper, &n_, &one, <double *> &K[0, 0], &n_, &slope[0], &one_, &zero, &mean[0],
                  &one_)
    return log_det


def add_slopes_given_sites(
    double sign,
    const double[:, ::1] L_inv,         # IN (k, k), as `given_sites` returns it
    const double[::1] root,             # IN (k,)
    const double[::1] slope,            # IN (k,)
    double[::1] K_bar,                  # IN/OUT packed upper triangle of n rows, row by row
    ptrdiff_t n,                        # of which the first k have sites
):
    """Add sign times slopes of the evidence in K at fixed sites, (slope slope^T - R) / 2.

    R = W^(1/2) inv(L L^T) W^(1/2). Off the diagonal slopes are those of both equal entries of K.
    """
    cdef ptrdiff_t k = L_inv.shape[0], i, j, tile, lo, end
    cdef blas_int k_, info = 0
    cdef char upper = b"U"
    cdef double *R
    cdef double *row
    if (L_inv.shape[1] != k or root.shape[0] != k or slope.shape[0] != k or k > n
            or K_bar.shape[0] != n * (n + 1) // 2):
        raise ValueError("add_slopes_given_sites: the shapes of the arrays do not agree")
    check_sizes(n)
    if k == 0:
        return
    cdef double[:, ::1] room = empty((k, k))
    k_, R = <blas_int> k, &room[0, 0]
    with nogil:
        memcpy(R, &L_inv[0, 0], k * k * sizeof(double))
        dlauum(&upper, &k_, R, &k_, &info)
        for i in range(k):
            row = &K_bar[0] + i * (2 * n - i - 1) // 2
            row[i] -= 0.5 * sign * (slope[i] * slope[i] - root[i] * root[i] * R[i * k + i])
        for tile in range((k + TILE - 1) // TILE):
            lo, end = tile * TILE, min(k, (tile + 1) * TILE)
            for i in range(end):
                row = &K_bar[0] + i * (2 * n - i - 1) // 2
                for j in range(max(i, lo), end):
                    row[j] += sign * (slope[i] * slope[j] - root[i] * root[j] * R[j * k + i])
