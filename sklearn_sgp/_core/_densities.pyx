"""Log densities of groups of rows given near rows, and slopes: all groups in one call, no GIL.

A group has some hundred rows, and a few dozen calls of BLAS on them take less time than two threads
lose to each other over the GIL between such calls. Matrices are in C order and factors are upper
triangles, as in _groups.pyx.
"""
import numpy as np
from libc.math cimport INFINITY, M_PI, NAN, fabs, log
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemm, dsyrk, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf, dpotri

include "_blas_int.pxi"


def add_densities(
    const double[::1] K,                # IN upper triangles of K of all groups, row by row
    const ptrdiff_t[::1] n_rows,        # IN (g,): n_g, of each group with its conditions
    const ptrdiff_t[::1] n_before,      # IN (g,): k_g < n_g
    const double[:, ::1] y,             # IN (n, t), of each group the k_g conditions first
    const double[::1] noise,            # IN (n,)
    double[::1] K_bar,                  # IN/OUT as K: slopes in its entries are added
    double[:, ::1] y_bar,               # OUT (n, t): slopes in y
):
    """Sum of log p(y_B | y_N), S = K + noise (docs/theory.md, eq. 47).

    Off the diagonal slopes are those of both equal entries of S together. Returns the sum, its
    slope in the logarithm of a factor of all noise, and the number of the first group whose S is
    not positive definite, where it stops; -1 if there is none.
    """
    cdef ptrdiff_t g, n, k, b, at = 0, start = 0, t = y.shape[1]
    cdef double value = 0.0, slope = 0.0, more
    cdef double[::1] room
    cdef double *U
    cdef double *S_bar
    cdef double *rest
    sizes, counts = np.asarray(n_rows), np.asarray(n_before)
    if sizes.shape != counts.shape or np.any(counts < 0) or np.any(counts >= sizes):
        raise ValueError("add_densities: the sizes of the groups do not agree")
    if (K.shape[0] != (sizes * (sizes + 1) // 2).sum() or K_bar.shape[0] != K.shape[0]
            or y.shape[0] != sizes.sum() or noise.shape[0] != y.shape[0] or t == 0
            or y_bar.shape[0] != y.shape[0] or y_bar.shape[1] != t):
        raise ValueError("add_densities: the shapes of the arrays do not agree")
    if y.shape[0] == 0:
        return 0.0, 0.0, -1
    room = np.empty((2 * sizes**2 + 2 * counts * (sizes - counts) + (sizes + counts) * t).max())
    with nogil:
        for g in range(n_rows.shape[0]):
            n, k = n_rows[g], n_before[g]
            b = n - k
            U, S_bar = &room[0], &room[0] + n * n
            rest = S_bar + n * n
            more = _density(&K[start], n, k, t, &y[at, 0], &noise[at], U, S_bar, rest,
                            rest + k * b, rest + 2 * k * b, &y_bar[at, 0])
            if more != more:
                break
            value += more
            slope += _added(S_bar, &noise[at], n, &K_bar[start])
            start += n * (n + 1) // 2
            at += n
        else:
            g = -1
    return value, slope, g


cdef double _density(
    const double *K,
    ptrdiff_t n,
    ptrdiff_t k,
    ptrdiff_t t,
    const double *y,
    const double *noise,
    double *U,                  # room for (n, n)
    double *S_bar,              # OUT (n, n): slopes in S, its upper triangle
    double *C,                  # room for (k, b)
    double *V,                  # room for (k, b)
    double *w,                  # room for (n, t) and (k, t)
    double *y_bar,              # OUT (n, t)
) noexcept nogil:
    """The density of one group, or NaN.

    With C = inv(S_NN) S_NB, R = S_BB - S_BN C, b = inv(R) (y_B - C' y_N), V = C inv(chol R)',
    a = inv(S_NN) y_N and e = C b - a the slopes are

        in y_B, y_N     -b, C b
        in S_BB         (b b' - t inv(R)) / 2
        in S_NB         (t V inv(chol R) - e b') / 2
        in S_NN         (e e' - a a' - t V V') / 2
    """
    cdef blas_int n_ = <blas_int> n, k_ = <blas_int> k, t_ = <blas_int> t, b_ = n_ - k_, info = 0
    cdef char lower = b"L", left = b"L", right = b"R", yes = b"T", no = b"N"
    cdef double one = 1.0, zero = 0.0, half = 0.5, minus_half = -0.5, half_t = 0.5 * t
    cdef double minus_half_t = -half_t, log_det = 0.0, squares = 0.0
    cdef ptrdiff_t i, j, own = k * n + k, b = n - k
    cdef double *e = w + n * t      # C b - a, and first of all C b
    cdef double *error = w + k * t
    for i in range(n):
        memcpy(U + i * n + i, K, (n - i) * sizeof(double))
        K = K + n - i
        U[i * n + i] += noise[i]
    dpotrf(&lower, &n_, U, &n_, &info)
    for i in range(n):
        if info != 0 or not fabs(U[i * n + i]) < INFINITY:
            return NAN
    memcpy(w, y, n * t * sizeof(double))
    dtrsm(&right, &lower, &yes, &no, &t_, &n_, &one, U, &n_, w, &t_)
    for i in range(b):
        log_det += log(U[own + i * n + i])
        for j in range(t):
            squares += error[i * t + j] * error[i * t + j]
    # from here on error is b, and the first k rows of w are a
    dtrsm(&right, &lower, &no, &no, &t_, &b_, &one, U + own, &n_, error, &t_)
    for i in range(b * t):
        y_bar[k * t + i] = -error[i]
    if k:
        dtrsm(&right, &lower, &no, &no, &t_, &k_, &one, U, &n_, w, &t_)
        for j in range(k):
            memcpy(C + j * b, U + j * n + k, b * sizeof(double))
        dtrsm(&right, &lower, &no, &no, &b_, &k_, &one, U, &n_, C, &b_)
        dgemm(&no, &no, &t_, &k_, &b_, &one, error, &t_, C, &b_, &zero, e, &t_)
        memcpy(y_bar, e, k * t * sizeof(double))
        for i in range(k * t):
            e[i] -= w[i]
        memcpy(V, C, k * b * sizeof(double))
        dtrsm(&left, &lower, &no, &no, &b_, &k_, &one, U + own, &n_, V, &b_)
        dsyrk(&lower, &yes, &k_, &b_, &minus_half_t, V, &b_, &zero, S_bar, &n_)
        dsyrk(&lower, &yes, &k_, &t_, &half, e, &t_, &one, S_bar, &n_)
        dsyrk(&lower, &yes, &k_, &t_, &minus_half, w, &t_, &one, S_bar, &n_)
        for j in range(k):
            memcpy(S_bar + j * n + k, V + j * b, b * sizeof(double))
        dtrsm(&left, &lower, &yes, &no, &b_, &k_, &half_t, U + own, &n_, S_bar + k, &n_)
        dgemm(&yes, &no, &b_, &k_, &t_, &minus_half, error, &t_, e, &t_, &one, S_bar + k, &n_)
    dpotri(&lower, &b_, U + own, &n_, &info)
    for i in range(b):
        for j in range(i, b):
            S_bar[own + i * n + j] = minus_half_t * U[own + i * n + j]
    dsyrk(&lower, &yes, &b_, &t_, &half, error, &t_, &one, S_bar + own, &n_)
    return -0.5 * squares - t * (log_det + 0.5 * b * log(2.0 * M_PI))


cdef double _added(
    const double *S_bar, const double *noise, ptrdiff_t n, double *K_bar
) noexcept nogil:
    """Add slopes to those of the packed triangle; their sum over the diagonal, times the noise."""
    cdef double slope = 0.0
    cdef ptrdiff_t i, j
    for i in range(n):
        slope += S_bar[i * n + i] * noise[i]
        K_bar[0] += S_bar[i * n + i]
        for j in range(i + 1, n):
            K_bar[j - i] += 2.0 * S_bar[i * n + j]
        K_bar += n - i
    return slope
