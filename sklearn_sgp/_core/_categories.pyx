"""Many small blocks of covariances between categories, and their reverse mode, without the GIL.

The covariance of two rows is <F_i, F_j>, and what category i has alone besides if both codes are
the same. Rows of F and codes of a block's columns are gathered first, so that the inner loops go
over numbers that follow each other.
"""
import numpy as np
from libc.stddef cimport ptrdiff_t
from libc.string cimport memset

from ._stationary import check_index


def value_blocks(
    const double[:, ::1] F,           # IN (k, r), the last row for codes from k - 1 on
    const double[::1] specific,       # IN (k,), what each category has alone
    const ptrdiff_t[::1] left,        # IN (N,) codes
    const ptrdiff_t[::1] right,       # IN (M,) codes
    const ptrdiff_t[::1] rows,        # IN places in `left` of all blocks, one after the other
    const ptrdiff_t[::1] columns,     # IN the same for `right`
    const ptrdiff_t[::1] row_bounds,      # IN (g + 1,): where those of each block are
    const ptrdiff_t[::1] column_bounds,   # IN (g + 1,)
    double[::1] out,                  # OUT the entries of all blocks, row by row
    bint upper,
):
    """Covariances of codes; ``upper`` writes what is on the diagonal and right of it."""
    cdef ptrdiff_t g, i, j, q, n, first, place, code, start = 0, r = F.shape[1]
    cdef ptrdiff_t largest = _check(
        F, specific, left, right, rows, columns, row_bounds, column_bounds, out, upper)
    cdef double[::1] room = np.empty(largest * r + 1)
    cdef ptrdiff_t[::1] codes = np.empty(largest + 1, dtype=np.intp)
    cdef double alone, f
    cdef double *K
    with nogil:
        for g in range(row_bounds.shape[0] - 1):
            n = column_bounds[g + 1] - column_bounds[g]
            if n == 0:
                continue
            _gathered(F, right, &columns[column_bounds[g]], n, &codes[0], &room[0])
            for i in range(row_bounds[g + 1] - row_bounds[g]):
                first = i if upper else 0
                code = left[rows[row_bounds[g] + i]]
                place = code if code < F.shape[0] else F.shape[0] - 1
                alone, K = specific[place], &out[start]
                for j in range(n - first):
                    K[j] = alone if codes[first + j] == code else 0.0
                for q in range(r):
                    f = F[place, q]
                    for j in range(n - first):
                        K[j] = K[j] + f * room[q * n + first + j]
                start = start + n - first


def vjp_blocks(
    const double[:, ::1] F,           # IN as in `value_blocks`
    const double[::1] specific,       # IN
    const ptrdiff_t[::1] left,        # IN
    const ptrdiff_t[::1] right,       # IN
    const ptrdiff_t[::1] rows,        # IN
    const ptrdiff_t[::1] columns,     # IN
    const ptrdiff_t[::1] row_bounds,      # IN
    const ptrdiff_t[::1] column_bounds,   # IN
    const double[::1] G,              # IN cotangents of the entries
    bint upper,
    double[:, ::1] in_F,              # OUT (k, r): gradient of sum(G * K) in F
    double[::1] in_specific,          # OUT (k,)
):
    """Reverse mode of `value_blocks`."""
    cdef ptrdiff_t g, i, j, q, n, first, place, code, start = 0, r = F.shape[1]
    cdef ptrdiff_t largest = _check(
        F, specific, left, right, rows, columns, row_bounds, column_bounds, G, upper)
    cdef double[::1] room = np.empty(2 * largest * r + 1)
    cdef ptrdiff_t[::1] codes = np.empty(largest + 1, dtype=np.intp)
    cdef double total, f
    cdef double *pulled
    cdef const double *of_row
    if (in_F.shape[0] != F.shape[0] or in_F.shape[1] != r
            or in_specific.shape[0] != F.shape[0]):
        raise ValueError("vjp_blocks: shapes do not agree")
    in_F[:] = 0.0
    in_specific[:] = 0.0
    with nogil:
        for g in range(row_bounds.shape[0] - 1):
            n = column_bounds[g + 1] - column_bounds[g]
            if n == 0:
                continue
            _gathered(F, right, &columns[column_bounds[g]], n, &codes[0], &room[0])
            pulled = &room[0] + n * r
            memset(pulled, 0, n * r * sizeof(double))
            for i in range(row_bounds[g + 1] - row_bounds[g]):
                first = i if upper else 0
                code = left[rows[row_bounds[g] + i]]
                place = code if code < F.shape[0] else F.shape[0] - 1
                of_row, total = &G[start], 0.0
                for j in range(n - first):
                    total = total + (of_row[j] if codes[first + j] == code else 0.0)
                in_specific[place] += total
                for q in range(r):
                    f, total = F[place, q], 0.0
                    for j in range(n - first):
                        total = total + of_row[j] * room[q * n + first + j]
                        pulled[q * n + first + j] += of_row[j] * f
                    in_F[place, q] += total
                start = start + n - first
            for j in range(n):
                place = codes[j] if codes[j] < F.shape[0] else F.shape[0] - 1
                for q in range(r):
                    in_F[place, q] += pulled[q * n + j]


cdef void _gathered(
    const double[:, ::1] F,
    const ptrdiff_t[::1] codes,
    const ptrdiff_t *index,
    ptrdiff_t n,
    ptrdiff_t *own,       # OUT (n,) codes
    double *Ft,           # OUT (r, n) their rows of F
) noexcept nogil:
    cdef ptrdiff_t j, q, place
    for j in range(n):
        own[j] = codes[index[j]]
        place = own[j] if own[j] < F.shape[0] else F.shape[0] - 1
        for q in range(F.shape[1]):
            Ft[q * n + j] = F[place, q]


cdef ptrdiff_t _check(
    const double[:, ::1] F,
    const double[::1] specific,
    const ptrdiff_t[::1] left,
    const ptrdiff_t[::1] right,
    const ptrdiff_t[::1] rows,
    const ptrdiff_t[::1] columns,
    const ptrdiff_t[::1] row_bounds,
    const ptrdiff_t[::1] column_bounds,
    const double[::1] entries,
    bint upper,
) except -1:
    """Refuse what does not agree; return the most columns that a block has."""
    cdef ptrdiff_t g, m, n, total = 0, largest = 0
    cdef bint fits = F.shape[0] > 0 and specific.shape[0] == F.shape[0]
    fits = fits and row_bounds.shape[0] == column_bounds.shape[0]
    if not fits:
        raise ValueError("blocks of categories: shapes do not agree")
    check_index(rows, row_bounds, left.shape[0])
    check_index(columns, column_bounds, right.shape[0])
    for g in range(row_bounds.shape[0] - 1):
        m, n = row_bounds[g + 1] - row_bounds[g], column_bounds[g + 1] - column_bounds[g]
        fits = fits and not (upper and m != n)
        largest = max(largest, n)
        total += m * (m + 1) // 2 if upper else m * n
    if not fits or entries.shape[0] != total:
        raise ValueError("blocks of categories: shapes do not agree")
    for g in range(left.shape[0]):
        fits = fits and left[g] >= 0
    for g in range(right.shape[0]):
        fits = fits and right[g] >= 0
    if not fits:
        raise ValueError("blocks of categories: codes must not be negative")
    return largest
