"""Small factors of the rows of each class among near rows: all classes in one call, no GIL.

As in _cells.pyx, BLAS is handed the transposed problem, and factors are upper triangles.
"""
import numpy as np
from libc.math cimport INFINITY, NAN, fabs, log
from libc.stddef cimport ptrdiff_t
from scipy.linalg.cython_blas cimport dtrsm
from scipy.linalg.cython_lapack cimport dpotrf

from ._linalg import check_sizes

include "_blas_int.pxi"


cdef int _check(const ptrdiff_t[::1] ends, ptrdiff_t n, ptrdiff_t size) except -1:
    counts = np.diff(ends)
    if (ends.shape[0] == 0 or ends[0] != 0 or ends[ends.shape[0] - 1] != n or (counts < 0).any()
            or size != (counts * counts).sum()):
        raise ValueError("classes: the shapes of the arrays do not agree")
    return 0


def factorise_classes(
    const double[:, ::1] W,             # IN (n, n)
    const ptrdiff_t[::1] order,         # IN (n,): rows, class after class
    const ptrdiff_t[::1] ends,          # IN (classes + 1,): where those of each begin, and the end
    const double[::1] root,             # IN (n,): d of the rows in that order
    double[::1] U,                      # OUT (sum of n_c^2,): chol(1 - d W d)^T of each class
):
    """Factorise 1 - d W d between the rows of each class, row by row; 0 below the diagonals.

    Returns the sum of the logarithms of the diagonals; NaN where a matrix is not positive definite.
    """
    cdef ptrdiff_t n = W.shape[0], c, i, j, lo, size, start = 0
    cdef double log_det = 0.0
    cdef blas_int n_, info = 0
    cdef char lower = b"L"
    _check(ends, n, U.shape[0])
    if W.shape[1] != n or order.shape[0] != n or root.shape[0] != n:
        raise ValueError("classes: the shapes of the arrays do not agree")
    if n and (np.min(order) < 0 or np.max(order) >= n):
        raise ValueError("classes: order must hold rows of W")
    with nogil:
        for c in range(ends.shape[0] - 1):
            lo, size = ends[c], ends[c + 1] - ends[c]
            if size == 0:
                continue
            for i in range(size):
                for j in range(i):
                    U[start + i * size + j] = 0.0
                for j in range(i, size):
                    U[start + i * size + j] = (
                        -root[lo + i] * root[lo + j] * W[order[lo + i], order[lo + j]])
                U[start + i * size + i] += 1.0
            n_ = <blas_int> size
            dpotrf(&lower, &n_, &U[start], &n_, &info)
            for i in range(size):
                if info != 0 or not fabs(U[start + i * size + i]) < INFINITY:
                    log_det = NAN
                    break
                log_det += log(U[start + i * size + i])
            if info != 0 or log_det != log_det:
                log_det = NAN
                break
            start += size * size
    return log_det


def solve_classes(
    double[::1] U,                      # IN as `factorise_classes` makes it
    const ptrdiff_t[::1] ends,          # IN (classes + 1,)
    double[:, ::1] B,                   # IN/OUT (n, k): rows class after class
    bint trans=False,
):
    """B of each class := inv(U^T) B with its U, or inv(U) B."""
    cdef ptrdiff_t c, lo, size, start = 0
    cdef blas_int n_, k_
    cdef char right = b"R", lower = b"L", no = b"N"
    cdef char op = b"N" if trans else b"T"
    cdef double one = 1.0
    _check(ends, B.shape[0], U.shape[0])
    check_sizes(B.shape[1])
    if B.shape[1] == 0:
        return
    k_ = <blas_int> B.shape[1]
    with nogil:
        for c in range(ends.shape[0] - 1):
            lo, size = ends[c], ends[c + 1] - ends[c]
            if size == 0:
                continue
            n_ = <blas_int> size
            dtrsm(&right, &lower, &op, &no, &k_, &n_, &one, &U[start], &n_, &B[lo, 0], &k_)
            start += size * size
