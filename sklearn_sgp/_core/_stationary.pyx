"""Blocks K(Z, X) of a stationary covariance and their reverse mode, in one pass, without the GIL.

Blocks are stored (n_inducing, n_rows) in C order, so that a row of the block is contiguous in the
data and BLAS sees the transpose. Inputs arrive divided by their length scales; the data transposed.
"""
import numpy as np
from libc.stddef cimport ptrdiff_t
from scipy.linalg.cython_blas cimport dgemm

from ._linalg import check_sizes

include "_blas_int.pxi"

ctypedef const double *In

cdef extern from "profiles.h" nogil:
    ctypedef struct sgp_row_kernels:
        void (*sqdist)(
            double *, In, ptrdiff_t, In, ptrdiff_t, ptrdiff_t) noexcept nogil
        void (*sqdist_from_products)(double *, In, double, ptrdiff_t) noexcept nogil
        void (*value)(int, double *, double, In, ptrdiff_t) noexcept nogil
        void (*vjp)(int, double *, In, double, In, double *, ptrdiff_t) noexcept nogil
    const sgp_row_kernels *sgp_rows()
    const char *sgp_simd_level()

# Rows of the block whose distances are formed together by one GEMM.
cdef enum:
    TILE = 64

PROFILES = {
    "squared_exponential": 0,
    "matern12": 1,
    "matern32": 2,
    "matern52": 3,
    "rational_quadratic": 4,
    "periodic": 5,
}


def check_profile(int profile):
    """Refuse a number of no profile, as C has a case for each of them and for no other."""
    if not 0 <= profile < 6:
        raise ValueError(f"profile must be one of the numbers of PROFILES. Got {profile}.")


def simd_level():
    """Name of the instruction set in use: "baseline", "avx2" or "avx512"."""
    return sgp_simd_level().decode()


# Scaled inputs end here: squares of larger numbers are not finite.
cdef double FARTHEST = 1e100


def scale_rows(
    const double[:, :] X,         # IN (n, d)
    const double[::1] center,     # IN (d,)
    const double[::1] scales,     # IN (d,), or (1,) for all columns
    double[:, :] out,             # OUT (n, d): (X - center) / scales
):
    """Inputs in units of the length scales, as all other functions take them; NaN stays NaN."""
    cdef ptrdiff_t n = X.shape[0], d = X.shape[1], i, q
    cdef double value
    cdef bint one_scale = scales.shape[0] == 1
    if (center.shape[0] != d or not one_scale and scales.shape[0] != d
            or out.shape[0] != n or out.shape[1] != d):
        raise ValueError("scale_rows: shapes do not agree")
    with nogil:
        for i in range(n):
            for q in range(d):
                value = (X[i, q] - center[q]) / scales[0 if one_scale else q]
                if value > FARTHEST:
                    value = FARTHEST
                elif value < -FARTHEST:
                    value = -FARTHEST
                out[i, q] = value


cdef void _products(
    double *out,          # OUT (rows, n): -2 Z X^T
    const double *z,      # IN (rows, d)
    const double *xt,     # IN (d, n)
    ptrdiff_t rows,
    ptrdiff_t d,
    ptrdiff_t n,
) noexcept nogil:
    cdef blas_int n_ = <blas_int> n, r_ = <blas_int> rows, d_ = <blas_int> d
    cdef double minus_two = -2, zero = 0
    dgemm("N", "N", &n_, &r_, &d_, &minus_two, <double *> xt, &n_, <double *> z, &d_, &zero,
          out, &n_)


cdef void _sqdist_tile(
    double *r2,           # OUT (rows, n)
    const double *xt,     # IN (d, n)
    const double *xx,     # IN (n,) squared norms, or NULL for direct differences
    const double *z,      # IN (rows, d)
    ptrdiff_t rows,
    ptrdiff_t d,
    ptrdiff_t n,
) noexcept nogil:
    cdef ptrdiff_t j, q
    cdef double zz
    if xx == NULL:
        for j in range(rows):
            sgp_rows().sqdist(r2 + j * n, xt, n, z + j * d, d, n)
        return
    _products(r2, z, xt, rows, d, n)
    for j in range(rows):
        zz = 0
        for q in range(d):
            zz = zz + z[j * d + q] * z[j * d + q]
        sgp_rows().sqdist_from_products(r2 + j * n, xx, zz, n)


def value_block(
    int profile,
    const double[:, ::1] Z,       # IN (m, d), divided by the length scales
    const double[:, ::1] Xt,      # IN (d, n), divided by the length scales
    double variance,
    const double[::1] shape,        # IN (2,)
    double[:, ::1] out,           # OUT (m, n)
    bint direct,
    bint lower=False,
):
    """out = variance * profile(|z - x|^2), or only its lower triangle, for which Z must be Xt.T.

    ``direct`` takes differences; otherwise squared norms and one GEMM, cheaper for many columns.
    """
    cdef ptrdiff_t m = Z.shape[0], d = Z.shape[1], n = Xt.shape[1], j, lo, rows
    cdef double[::1] xx
    cdef const double *xx_ptr = NULL
    if Xt.shape[0] != d or out.shape[0] != m or out.shape[1] != n or shape.shape[0] != 2:
        raise ValueError("value_block: shapes do not agree")
    check_profile(profile)
    if m == 0 or n == 0:
        return
    if lower:
        if m != n or not direct:
            raise ValueError("value_block: a lower triangle is square and direct")
        with nogil:
            for j in range(m):
                sgp_rows().sqdist(&out[j, 0], &Xt[0, 0], n, &Z[j, 0], d, j + 1)
                sgp_rows().value(profile, &out[j, 0], variance, &shape[0], j + 1)
        return
    if not direct:
        check_sizes(n, d)
        xx = np.einsum("qi,qi->i", Xt, Xt)
        xx_ptr = &xx[0]
    with nogil:
        lo = 0
        while lo < m:
            rows = min(TILE, m - lo) if xx_ptr != NULL else 1
            _sqdist_tile(&out[lo, 0], &Xt[0, 0], xx_ptr, &Z[lo, 0], rows, d, n)
            for j in range(lo, lo + rows):
                sgp_rows().value(profile, &out[j, 0], variance, &shape[0], n)
            lo = lo + rows


def check_index(const ptrdiff_t[::1] index, const ptrdiff_t[::1] bounds, ptrdiff_t length):
    """Refuse what are no rows of small blocks, or no bounds of these."""
    cdef ptrdiff_t last = bounds.shape[0] - 1, i
    cdef bint fits = last >= 0 and bounds[0] == 0 and bounds[last] == index.shape[0]
    for i in range(last):
        fits = fits and bounds[i] <= bounds[i + 1]
    if not fits:
        raise ValueError("small blocks: bounds must divide the indices")
    for i in range(index.shape[0]):
        fits = fits and 0 <= index[i] < length
    if not fits:
        raise ValueError("small blocks: indices must be those of rows")


def value_blocks(
    int profile,
    const double[:, ::1] Z,           # IN (N, d), divided by the length scales
    const double[:, ::1] X,           # IN (M, d), divided by the length scales
    const ptrdiff_t[::1] rows,        # IN rows of Z of all blocks, one block after the other
    const ptrdiff_t[::1] columns,     # IN the same for rows of X
    const ptrdiff_t[::1] row_bounds,      # IN (g + 1,): where those of each block are
    const ptrdiff_t[::1] column_bounds,   # IN (g + 1,)
    double variance,
    const double[::1] shape,          # IN (2,)
    double[::1] out,                  # OUT the entries of all blocks, row by row
    bint direct,
    bint upper=False,
):
    """Many small blocks K(Z[rows], X[columns]) in one call, ``direct`` as in `value_block`.

    ``upper`` writes of each row only what is on the diagonal and right of it, for blocks that are
    square and symmetric; it is direct.
    """
    cdef ptrdiff_t g, m, n, n_blocks = row_bounds.shape[0] - 1, d = Z.shape[1], start = 0
    cdef double[::1] room, squares
    cdef double *xx = NULL
    cdef ptrdiff_t total = 0, largest = 0
    if X.shape[1] != d or shape.shape[0] != 2 or column_bounds.shape[0] != n_blocks + 1:
        raise ValueError("value_blocks: shapes do not agree")
    check_profile(profile)
    check_index(rows, row_bounds, Z.shape[0])
    check_index(columns, column_bounds, X.shape[0])
    for g in range(n_blocks):
        m, n = row_bounds[g + 1] - row_bounds[g], column_bounds[g + 1] - column_bounds[g]
        if upper and m != n:
            raise ValueError("value_blocks: shapes do not agree")
        largest = max(largest, n)
        total += m * (m + 1) // 2 if upper else m * n
    if out.shape[0] != total:
        raise ValueError("value_blocks: shapes do not agree")
    if total == 0:
        return
    check_sizes(largest, d)
    room, squares = np.empty(largest * d), np.empty(largest)
    if not (direct or upper):
        xx = &squares[0]
    with nogil:
        for g in range(n_blocks):
            m, n = row_bounds[g + 1] - row_bounds[g], column_bounds[g + 1] - column_bounds[g]
            if m == 0 or n == 0:
                continue
            _gathered(X, &columns[column_bounds[g]], n, &room[0], xx)
            _small_block(profile, Z, &rows[row_bounds[g]], m, &room[0], xx, n, variance,
                         &shape[0], &out[start], upper)
            start = start + (m * (m + 1) // 2 if upper else m * n)


cdef void _gathered(
    const double[:, ::1] X,
    const ptrdiff_t *index,
    ptrdiff_t n,
    double *xt,           # OUT (d, n)
    double *xx,           # OUT (n,) squared norms, unless it is NULL
) noexcept nogil:
    cdef ptrdiff_t i, q, d = X.shape[1]
    for i in range(n):
        for q in range(d):
            xt[q * n + i] = X[index[i], q]
        if xx != NULL:
            xx[i] = 0
            for q in range(d):
                xx[i] = xx[i] + X[index[i], q] * X[index[i], q]


cdef void _small_block(
    int profile,
    const double[:, ::1] Z,
    const ptrdiff_t *rows,
    ptrdiff_t m,
    const double *xt,     # IN (d, n)
    const double *xx,
    ptrdiff_t n,
    double variance,
    const double *shape,
    double *out,
    bint upper,
) noexcept nogil:
    cdef ptrdiff_t j = 0, _i, lo, run, d = Z.shape[1]
    while j < m:
        lo = j if upper else 0
        run = 1
        if xx == NULL:
            sgp_rows().sqdist(out, xt + lo, n, &Z[rows[j], 0], d, n - lo)
        else:
            while run < TILE and j + run < m and rows[j + run] == rows[j] + run:
                run = run + 1
            _sqdist_tile(out, xt, xx, &Z[rows[j], 0], run, d, n)
        for _i in range(run):
            sgp_rows().value(profile, out, variance, shape, n - lo)
            out = out + n - lo
        j = j + run


def vjp_block(
    int profile,
    const double[:, ::1] Z,       # IN (m, d)
    const double[:, ::1] Xt,      # IN (d, n)
    double variance,
    const double[::1] shape,        # IN (2,)
    double[:, ::1] G,             # IN/OUT (m, n): dF/dK on entry, dF/dr2 on exit
    double[::1] sums,               # OUT (3,): sums of G K, G dK/dshape[0], G dK/dshape[1]
    bint direct,
    bint lower=False,
):
    """Overwrite the cotangent of K by that of the squared distances; add up the rest.

    ``lower`` is for a symmetric G and Z = Xt.T: each pair of rows is met once, in the lower
    triangle, with twice its cotangent; above it G is 0 on exit.
    """
    cdef ptrdiff_t m = Z.shape[0], d = Z.shape[1], n = Xt.shape[1], i, j, lo, rows
    cdef double[::1] xx
    cdef double[:, ::1] r2
    cdef const double *xx_ptr = NULL
    if (Xt.shape[0] != d or G.shape[0] != m or G.shape[1] != n or shape.shape[0] != 2
            or sums.shape[0] != 3):
        raise ValueError("vjp_block: shapes do not agree")
    check_profile(profile)
    sums[0] = sums[1] = sums[2] = 0
    if m == 0 or n == 0:
        return
    if not direct:
        check_sizes(n, d)
        xx = np.einsum("qi,qi->i", Xt, Xt)
        xx_ptr = &xx[0]
    r2 = np.empty((1 if direct else min(TILE, m), n))
    if lower:
        if m != n or not direct:
            raise ValueError("vjp_block: a lower triangle is square and direct")
        with nogil:
            for j in range(m):
                sgp_rows().sqdist(&r2[0, 0], &Xt[0, 0], n, &Z[j, 0], d, j + 1)
                for i in range(j):
                    G[j, i] = 2 * G[j, i]
                sgp_rows().vjp(
                    profile, &G[j, 0], &r2[0, 0], variance, &shape[0], &sums[0], j + 1)
                for i in range(j + 1, n):
                    G[j, i] = 0
        return
    with nogil:
        lo = 0
        while lo < m:
            rows = min(TILE, m - lo) if xx_ptr != NULL else 1
            _sqdist_tile(&r2[0, 0], &Xt[0, 0], xx_ptr, &Z[lo, 0], rows, d, n)
            for j in range(rows):
                sgp_rows().vjp(
                    profile, &G[lo + j, 0], &r2[j, 0], variance, &shape[0], &sums[0], n)
            lo = lo + rows
