"""Upper triangles of many small K(X, X) of a stationary covariance, and their reverse mode, no GIL.

Learning from groups of rows wants values, and then slopes. Where both are made in one pass, there
is one distance and one exponential for each pair of rows. Inputs arrive divided by length scales.
"""
import numpy as np
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dtrmm

from ._linalg import check_sizes
from ._stationary import check_index, check_profile

include "_blas_int.pxi"

ctypedef const double *In

cdef extern from "profiles.h" nogil:
    ctypedef struct sgp_row_kernels:
        void (*sqdist)(
            double *, In, ptrdiff_t, In, ptrdiff_t, ptrdiff_t) noexcept nogil
        void (*vjp)(int, double *, In, double, In, double *, ptrdiff_t) noexcept nogil
        void (*value_slope)(int, double *, double *, double, ptrdiff_t) noexcept nogil
        double (*times)(double *, In, In, ptrdiff_t) noexcept nogil
        void (*weighted)(double *, In, In, ptrdiff_t, In, ptrdiff_t, ptrdiff_t) noexcept nogil
    const sgp_row_kernels *sgp_rows()

# Profiles whose slopes in the squared distance can be kept beside the values.
WITH_SLOPES = frozenset(("squared_exponential", "matern12", "matern32", "matern52"))


def vjp_triangles(
    int profile,
    const double[:, ::1] X,       # IN (N, d), divided by the length scales
    const ptrdiff_t[::1] rows,    # IN rows of X of all triangles, one after the other
    const ptrdiff_t[::1] bounds,  # IN (g + 1,): where those of each triangle are
    double variance,
    const double[::1] shape,      # IN (2,)
    double[::1] G,                # IN/OUT cotangents of the entries on entry, dF/dr2 on exit
    double[::1] sums,             # OUT (3,): as in `vjp_block`
    double[::1] squares,          # OUT (d,): sums of dF/dr2 times each column's squared difference
):
    """Reverse mode of `value_blocks` with ``upper``."""
    cdef ptrdiff_t g, j, n, d = X.shape[1], start = 0
    cdef double[::1] room, r2
    counts = np.diff(bounds)
    if (G.shape[0] != (counts * (counts + 1) // 2).sum() or shape.shape[0] != 2
            or sums.shape[0] != 3 or squares.shape[0] != d):
        raise ValueError("vjp_triangles: shapes do not agree")
    check_profile(profile)
    check_index(rows, bounds, X.shape[0])
    sums[:] = 0.0
    squares[:] = 0.0
    if G.shape[0] == 0:
        return
    room, r2 = np.empty(counts.max() * d), np.empty(counts.max())
    with nogil:
        for g in range(bounds.shape[0] - 1):
            n = bounds[g + 1] - bounds[g]
            if n == 0:
                continue
            _gathered(X, &rows[bounds[g]], n, &room[0])
            for j in range(n):
                sgp_rows().sqdist(&r2[0], &room[j], n, &X[rows[bounds[g] + j], 0], d, n - j)
                sgp_rows().vjp(
                    profile, &G[start], &r2[0], variance, &shape[0], &sums[0], n - j)
                sgp_rows().weighted(
                    &squares[0], &G[start], &room[j], n, &X[rows[bounds[g] + j], 0], d, n - j)
                start = start + n - j


def values_and_slopes(
    int profile,                  # one of WITH_SLOPES
    const double[:, ::1] X,       # IN (N, d), divided by the length scales
    const ptrdiff_t[::1] rows,    # IN rows of X of all triangles, one after the other
    const ptrdiff_t[::1] bounds,  # IN (g + 1,): where those of each triangle are
    double variance,
    double[::1] K,                # OUT the entries of all triangles, as `value_blocks` has them
    double[::1] slopes,           # OUT dK/dr2
):
    """Upper triangles of many small K(X[rows], X[rows]) with their slopes: one exponential each."""
    cdef ptrdiff_t g, j, n, d = X.shape[1], start = 0
    cdef ptrdiff_t largest = _check_triangles("values_and_slopes", X, rows, bounds, K, slopes)
    cdef double[::1] room = np.empty(largest * d + 1)
    if not 0 <= profile < 4:
        raise ValueError("values_and_slopes: this profile keeps no slopes")
    with nogil:
        for g in range(bounds.shape[0] - 1):
            n = bounds[g + 1] - bounds[g]
            if n == 0:
                continue
            _gathered(X, &rows[bounds[g]], n, &room[0])
            for j in range(n):
                sgp_rows().sqdist(&K[start], &room[j], n, &X[rows[bounds[g] + j], 0], d, n - j)
                sgp_rows().value_slope(profile, &K[start], &slopes[start], variance, n - j)
                start = start + n - j


def slopes_vjp(
    const double[:, ::1] X,       # IN as in `values_and_slopes`
    const ptrdiff_t[::1] rows,    # IN
    const ptrdiff_t[::1] bounds,  # IN
    const double[::1] K,          # IN as it returns them
    double[::1] slopes,           # IN/OUT times G on exit
    const double[::1] G,          # IN cotangents of K
    double[::1] squares,          # OUT (d,): sums of dF/dr2 times each column's squared difference
    bint by_products,
):
    """Reverse mode of `values_and_slopes`; returns the sum of G K.

    With W = G dK/dr2 above the diagonal and 0 elsewhere, the sum of W (x - z)^2 over all pairs is
    that of w x^2 - 2 x (W x), w the sums of W's rows and columns. ``by_products`` takes these, of
    inputs less their mean in the group, so that they are no larger than the distances.
    """
    cdef ptrdiff_t g, j, n, d = X.shape[1], start = 0, begin
    cdef ptrdiff_t largest = _check_triangles("slopes_vjp", X, rows, bounds, K, slopes)
    cdef double total = 0.0
    cdef double[::1] room
    cdef double *W
    if G.shape[0] != K.shape[0] or squares.shape[0] != d:
        raise ValueError("slopes_vjp: shapes do not agree")
    check_sizes(largest, d)
    room = np.empty(largest * (largest + 2 * d + 1) + 1 if by_products else largest * d + 1)
    squares[:] = 0.0
    with nogil:
        for g in range(bounds.shape[0] - 1):
            n = bounds[g + 1] - bounds[g]
            if n == 0:
                continue
            begin = start
            for j in range(n):
                total += sgp_rows().times(&slopes[start], &G[start], &K[start], n - j)
                start = start + n - j
            if by_products:
                W = &room[0]
                _squares_by_products(X, &rows[bounds[g]], n, &slopes[begin], W, W + n * n,
                                     W + n * n + n * d, W + n * n + 2 * n * d, &squares[0])
                continue
            _gathered(X, &rows[bounds[g]], n, &room[0])
            for j in range(n):
                sgp_rows().weighted(&squares[0], &slopes[begin], &room[j], n,
                                    &X[rows[bounds[g] + j], 0], d, n - j)
                begin = begin + n - j
    return total


cdef void _squares_by_products(
    const double[:, ::1] X,
    const ptrdiff_t *rows,
    ptrdiff_t n,
    const double *triangle,   # IN W, the upper triangle row by row
    double *W,                # room for (n, n)
    double *x,                # room for (n, d)
    double *Wx,               # room for (n, d)
    double *w,                # room for (n,)
    double *squares,          # IN/OUT (d,)
) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, d_ = <blas_int> X.shape[1]
    cdef char right = b"R", lower = b"L", no = b"N"
    cdef double two = 2.0
    cdef ptrdiff_t i, j, q, d = X.shape[1]
    memset(w, 0, n * sizeof(double))
    for i in range(n):
        W[i * n + i] = 0.0
        for j in range(i + 1, n):
            W[i * n + j] = triangle[j - i]
            w[i] += triangle[j - i]
            w[j] += triangle[j - i]
        triangle = triangle + n - i
    memset(Wx, 0, d * sizeof(double))
    for i in range(n):
        for q in range(d):
            Wx[q] += X[rows[i], q] / n
    for i in range(n):
        for q in range(d):
            x[i * d + q] = X[rows[i], q] - Wx[q]
    memcpy(Wx, x, n * d * sizeof(double))
    dtrmm(&right, &lower, &no, &no, &d_, &n_, &two, W, &n_, Wx, &d_)
    for i in range(n):
        for q in range(d):
            squares[q] += x[i * d + q] * (w[i] * x[i * d + q] - Wx[i * d + q])


cdef ptrdiff_t _check_triangles(
    str name,
    const double[:, ::1] X,
    const ptrdiff_t[::1] rows,
    const ptrdiff_t[::1] bounds,
    const double[::1] K,
    const double[::1] slopes,
) except -1:
    """The most rows of a triangle, if all arrays agree."""
    cdef ptrdiff_t g, n, total = 0, largest = 0
    check_index(rows, bounds, X.shape[0])
    for g in range(bounds.shape[0] - 1):
        n = bounds[g + 1] - bounds[g]
        total, largest = total + n * (n + 1) // 2, max(largest, n)
    if K.shape[0] != total or slopes.shape[0] != total:
        raise ValueError(f"{name}: shapes do not agree")
    return largest


cdef void _gathered(
    const double[:, ::1] X,
    const ptrdiff_t *index,
    ptrdiff_t n,
    double *xt,           # OUT (d, n)
) noexcept nogil:
    cdef ptrdiff_t i, q
    for i in range(n):
        for q in range(X.shape[1]):
            xt[q * n + i] = X[index[i], q]
