"""Dense linear algebra on C-ordered float64 arrays through scipy's BLAS and LAPACK, GIL released.

scipy.linalg's own functions hold the GIL, and mixing numpy's BLAS with scipy's makes two thread
pools fight; every hot product of the package therefore goes through this file.

A C-ordered (r, c) array is a Fortran (c, r) array: each wrapper states its formula in C order and
hands BLAS the transposed problem. "Lower" below is the lower triangle as C order sees it.
"""
import numpy as np
from libc.stddef cimport ptrdiff_t
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemm, dgemv, dsyrk, dtrmv, dtrsm
from scipy.linalg.cython_lapack cimport dpocon, dpotrf

include "_blas_int.pxi"
include "_triangular_inverse.pxi"

# Edge of the tiles in which triangles are mirrored: two of them fit in the first-level cache.
cdef enum:
    TILE = 32

# Most numbers that `dot` and `axpy` hand to BLAS at once: sizes have 32 bits in most builds.
cdef enum:
    LONGEST = 1 << 30


cdef int _shapes_differ(str routine) except -1:
    raise ValueError(f"{routine}: the shapes of the arrays do not agree")


cdef blas_int _size(ptrdiff_t size) except -1:
    """A size as BLAS counts; most builds count up to 2^31 - 1."""
    if <ptrdiff_t> <blas_int> size != size:
        raise ValueError(
            f"Rows and columns of a matrix must be fewer than {1 << 31}, as BLAS counts them with "
            f"32 bits. Got {size}: work on fewer at a time."
        )
    return <blas_int> size


def check_sizes(*sizes):
    """Refuse sizes that BLAS cannot count, for modules that call it themselves."""
    for size in sizes:
        _size(size)


cdef int _scale(C, double beta) except -1:
    """C := beta * C; as in BLAS, beta = 0 also clears entries that were never written."""
    C[...] = beta * C if beta else 0.0


def gemm(
    const double[:, ::1] A,     # IN (p, k), or (k, p) if trans_a
    const double[:, ::1] B,     # IN (k, q), or (q, k) if trans_b
    double[:, ::1] C,           # IN/OUT (p, q)
    bint trans_a=False,
    bint trans_b=False,
    double alpha=1.0,
    double beta=0.0,
):
    """C := alpha * op(A) @ op(B) + beta * C."""
    cdef ptrdiff_t p = A.shape[1] if trans_a else A.shape[0]
    cdef ptrdiff_t k = A.shape[0] if trans_a else A.shape[1]
    cdef ptrdiff_t k_b = B.shape[1] if trans_b else B.shape[0]
    cdef ptrdiff_t q = B.shape[0] if trans_b else B.shape[1]
    if k != k_b or C.shape[0] != p or C.shape[1] != q:
        _shapes_differ("gemm")
    if p == 0 or q == 0 or k == 0:
        if p and q:
            _scale(np.asarray(C), beta)
        return
    cdef blas_int p_ = _size(p), q_ = _size(q), k_ = _size(k)
    cdef blas_int lda = _size(A.shape[1]), ldb = _size(B.shape[1])
    cdef char ta = b"T" if trans_a else b"N"
    cdef char tb = b"T" if trans_b else b"N"
    with nogil:
        if q == 1 and ldb == 1 and not trans_b:
            _gemv(A, &B[0, 0], &C[0, 0], trans_a, alpha, beta)
        else:
            dgemm(&tb, &ta, &q_, &p_, &k_, &alpha, <double *> &B[0, 0], &ldb,
                  <double *> &A[0, 0], &lda, &beta, &C[0, 0], &q_)


cdef void _gemv(
    const double[:, ::1] A,     # IN (r, c)
    const double *x,            # IN
    double *y,                  # IN/OUT
    bint trans_a,
    double alpha,
    double beta,
) noexcept nogil:
    """y := alpha * op(A) @ x + beta * y."""
    cdef blas_int r = <blas_int> A.shape[0], c = <blas_int> A.shape[1], one = 1
    cdef char t = b"N" if trans_a else b"T"
    dgemv(&t, &c, &r, &alpha, <double *> &A[0, 0], &c, <double *> x, &one, &beta, y, &one)


def syrk(
    const double[:, ::1] A,     # IN (m, n), or (n, m) if trans
    double[:, ::1] C,           # IN/OUT (m, m), lower triangle
    double alpha=1.0,
    double beta=0.0,
    bint trans=False,
):
    """Lower triangle of C := alpha * A @ A.T + beta * C, or A.T @ A in its place."""
    cdef blas_int m = _size(A.shape[1] if trans else A.shape[0])
    cdef blas_int n = _size(A.shape[0] if trans else A.shape[1])
    cdef blas_int lda = _size(A.shape[1])
    cdef char uplo = b"U", t = b"N" if trans else b"T"
    cdef ptrdiff_t i
    if C.shape[0] != m or C.shape[1] != m:
        _shapes_differ("syrk")
    if n == 0:
        for i in range(m):
            _scale(np.asarray(C[i, : i + 1]), beta)
        return
    if m == 0:
        return
    with nogil:
        dsyrk(&uplo, &t, &m, &n, &alpha, <double *> &A[0, 0], &lda, &beta, &C[0, 0], &m)


def mirror(double[:, ::1] C):   # IN/OUT (m, m)
    """Copy the lower triangle of C onto the upper one."""
    cdef ptrdiff_t m = C.shape[0], tiles = (m + TILE - 1) // TILE, ti, tj, i, j
    if C.shape[1] != m:
        _shapes_differ("mirror")
    with nogil:
        for ti in range(tiles):
            for tj in range(ti + 1):
                for i in range(ti * TILE, min(m, (ti + 1) * TILE)):
                    for j in range(tj * TILE, min(i, (tj + 1) * TILE)):
                        C[j, i] = C[i, j]


def transpose(
    const double[:, ::1] A,     # IN (r, c)
    double[:, ::1] out,         # OUT (c, r)
):
    """out := A.T, tile by tile; NumPy goes along one of them with long strides."""
    cdef ptrdiff_t r = A.shape[0], c = A.shape[1], i, j, ti, tj
    cdef ptrdiff_t row_tiles = (r + TILE - 1) // TILE, column_tiles = (c + TILE - 1) // TILE
    if out.shape[0] != c or out.shape[1] != r:
        _shapes_differ("transpose")
    with nogil:
        for ti in range(row_tiles):
            for tj in range(column_tiles):
                for j in range(tj * TILE, min(c, (tj + 1) * TILE)):
                    for i in range(ti * TILE, min(r, (ti + 1) * TILE)):
                        out[j, i] = A[i, j]


def symmetrize(double[:, ::1] C, double alpha=1.0):     # IN/OUT (m, m)
    """C := alpha * (C + C.T) / 2."""
    cdef ptrdiff_t m = C.shape[0], tiles = (m + TILE - 1) // TILE, ti, tj, i, j
    cdef double half = 0.5 * alpha, value
    if C.shape[1] != m:
        _shapes_differ("symmetrize")
    with nogil:
        for ti in range(tiles):
            for tj in range(ti + 1):
                for i in range(ti * TILE, min(m, (ti + 1) * TILE)):
                    for j in range(tj * TILE, min(i + 1, (tj + 1) * TILE)):
                        value = half * (C[i, j] + C[j, i])
                        C[i, j] = value
                        C[j, i] = value


def clear_upper(double[:, ::1] C):  # IN/OUT (m, m)
    """Set what is above the diagonal of C to zero."""
    cdef ptrdiff_t m = C.shape[0], i, j
    if C.shape[1] != m:
        _shapes_differ("clear_upper")
    with nogil:
        for i in range(m):
            for j in range(i + 1, m):
                C[i, j] = 0.0


def trmm(
    const double[:, ::1] L,     # IN (m, m), lower triangular
    double[:, ::1] B,           # IN/OUT (m, n)
    bint trans=False,
):
    """B := L @ B, or L.T @ B."""
    cdef blas_int m = _size(B.shape[0]), n = _size(B.shape[1])
    cdef char side = b"R", uplo = b"U", diag = b"N"
    cdef char t = b"T" if trans else b"N"
    cdef double one = 1.0
    if L.shape[0] != B.shape[0] or L.shape[1] != B.shape[0]:
        _shapes_differ("trmm")
    if m == 0 or n == 0:
        return
    with nogil:
        dtrmm(&side, &uplo, &t, &diag, &n, &m, &one, <double *> &L[0, 0], &m, &B[0, 0], &n)


def trmm_right(
    double[:, ::1] B,           # IN/OUT (r, m)
    const double[:, ::1] L,     # IN (m, m), lower triangular
    bint trans=False,
):
    """B := B @ L, or B @ L.T."""
    cdef blas_int r = _size(B.shape[0]), m = _size(B.shape[1])
    cdef char side = b"L", uplo = b"U", diag = b"N"
    cdef char t = b"T" if trans else b"N"
    cdef double one = 1.0
    cdef blas_int unit = 1
    if L.shape[0] != B.shape[1] or L.shape[1] != B.shape[1]:
        _shapes_differ("trmm_right")
    if r == 0 or m == 0:
        return
    with nogil:
        if r == 1:
            dtrmv(&uplo, &t, &diag, &m, <double *> &L[0, 0], &m, &B[0, 0], &unit)
        else:
            dtrmm(&side, &uplo, &t, &diag, &m, &r, &one, <double *> &L[0, 0], &m, &B[0, 0], &m)


def trsm(
    const double[:, ::1] L,     # IN (m, m), lower triangular
    double[:, ::1] B,           # IN/OUT (m, n)
    bint trans=False,
):
    """B := inv(L) @ B, or inv(L).T @ B."""
    cdef blas_int m = _size(B.shape[0]), n = _size(B.shape[1])
    cdef char side = b"R", uplo = b"U", diag = b"N"
    cdef char t = b"T" if trans else b"N"
    cdef double one = 1.0
    if L.shape[0] != B.shape[0] or L.shape[1] != B.shape[0]:
        _shapes_differ("trsm")
    if m == 0 or n == 0:
        return
    with nogil:
        dtrsm(&side, &uplo, &t, &diag, &n, &m, &one, <double *> &L[0, 0], &m, &B[0, 0], &n)


def potrf(double[:, ::1] A):    # IN/OUT (m, m)
    """Lower triangle of A := its Cholesky factor; returns LAPACK's info (0 is success)."""
    cdef blas_int m = _size(A.shape[0]), info = 0
    cdef char uplo = b"U"
    if A.shape[1] != A.shape[0]:
        _shapes_differ("potrf")
    if m == 0:
        return 0
    with nogil:
        dpotrf(&uplo, &m, &A[0, 0], &m, &info)
    clear_upper(A)
    return info


cdef blas_int _inverted(double[:, ::1] L, str name, bint of_product) except -1:
    """Invert lower triangular L, or L @ L.T; return as `trtri`."""
    cdef blas_int m = _size(L.shape[0]), i
    if L.shape[1] != L.shape[0]:
        _shapes_differ(name)
    for i in range(m):
        if L[i, i] == 0.0:
            return i + 1
    if m:
        with nogil:
            if of_product:
                invert_factored(b"U", m, &L[0, 0], m)
            else:
                invert_triangle(b"U", m, &L[0, 0], m)
    return 0


def trtri(double[:, ::1] L):    # IN/OUT (m, m)
    """Lower triangular L := inv(L); returns the number of its first zero diagonal entry, or 0."""
    return _inverted(L, "trtri", False)


def potri(double[:, ::1] L):    # IN/OUT (m, m)
    """Lower triangle of L := that of inv(L @ L.T); returns as `trtri`."""
    return _inverted(L, "potri", True)


def reciprocal_condition(
    const double[:, ::1] L,     # IN (m, m), lower Cholesky factor of A
    double norm,                # 1-norm of A
):
    """Estimate of 1 / cond(A) in the 1-norm, O(m^2)."""
    cdef blas_int m = _size(L.shape[0]), info = 0
    cdef char uplo = b"U"
    cdef double rcond = 0.0
    if L.shape[1] != L.shape[0]:
        _shapes_differ("reciprocal_condition")
    cdef double[::1] work = np.empty(3 * m + 1)
    if has_64bit_blas_int():
        iwork = np.empty(m + 1, dtype=np.int64)
    else:
        iwork = np.empty(m + 1, dtype=np.int32)
    cdef const unsigned char[::1] raw = iwork.view(np.uint8)
    if m == 0:
        return 1.0
    with nogil:
        dpocon(&uplo, &m, <double *> &L[0, 0], &m, &norm, &rcond, &work[0],
               <blas_int *> &raw[0], &info)
    return rcond


cdef bint has_64bit_blas_int() noexcept nogil:
    return sizeof(blas_int) == 8


def column_dots(
    const double[:, ::1] A,     # IN (m, n)
    const double[:, ::1] B,     # IN (m, n)
    double[::1] out,            # IN/OUT (n,)
    double alpha=1.0,
):
    """out[i] += alpha * sum_j A[j, i] * B[j, i], one pass over memory."""
    cdef ptrdiff_t m = A.shape[0], n = A.shape[1], i, j
    if B.shape[0] != m or B.shape[1] != n or out.shape[0] != n:
        _shapes_differ("column_dots")
    with nogil:
        for j in range(m):
            for i in range(n):
                out[i] += alpha * A[j, i] * B[j, i]


def row_dots(
    const double[:, ::1] A,     # IN (n, m)
    const double[:, ::1] B,     # IN (n, m)
    double[::1] out,            # IN/OUT (n,)
    double alpha=1.0,
):
    """out[i] += alpha * sum_j A[i, j] * B[i, j]."""
    cdef ptrdiff_t n = A.shape[0], i
    cdef blas_int m = _size(A.shape[1]), one = 1
    if B.shape[0] != n or B.shape[1] != m or out.shape[0] != n:
        _shapes_differ("row_dots")
    if m == 0:
        return
    with nogil:
        for i in range(n):
            out[i] += alpha * ddot(&m, <double *> &A[i, 0], &one, <double *> &B[i, 0], &one)


def dot(const double[:, ::1] A, const double[:, ::1] B):
    """Sum of the elementwise product of two C-ordered arrays of one shape."""
    cdef ptrdiff_t size = A.shape[0] * A.shape[1], start = 0
    cdef blas_int part, one = 1
    cdef double total = 0.0
    if A.shape[0] != B.shape[0] or A.shape[1] != B.shape[1]:
        _shapes_differ("dot")
    if size > 0:
        with nogil:
            while start < size:
                part = <blas_int> min(size - start, <ptrdiff_t> LONGEST)
                total += ddot(&part, <double *> &A[0, 0] + start, &one,
                              <double *> &B[0, 0] + start, &one)
                start += part
    return total


def axpy(double alpha, const double[:, ::1] X, double[:, ::1] Y):
    """Y += alpha * X."""
    cdef ptrdiff_t size = X.shape[0] * X.shape[1], start = 0
    cdef blas_int part, one = 1
    if X.shape[0] != Y.shape[0] or X.shape[1] != Y.shape[1]:
        _shapes_differ("axpy")
    if size > 0:
        with nogil:
            while start < size:
                part = <blas_int> min(size - start, <ptrdiff_t> LONGEST)
                daxpy(&part, &alpha, <double *> &X[0, 0] + start, &one, &Y[0, 0] + start, &one)
                start += part
