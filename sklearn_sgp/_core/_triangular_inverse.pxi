# Inverses of triangular matrices, for `include` in .pyx files that have `blas_int`.
from libc.stddef cimport ptrdiff_t
from scipy.linalg.cython_blas cimport dtrmm
from scipy.linalg.cython_lapack cimport dlauum, dtrtri

# Larger ones are inverted in halves, which products join. LAPACK's routine does 11 operations a
# nanosecond on 250 rows, where products do 40.
cdef enum:
    WHOLE = 48


cdef void invert_triangle(char uplo, blas_int n, double *A, blas_int ld) noexcept nogil:
    """A := inv(A) of a triangle whose diagonal has no zeros; matrices are as LAPACK sees them."""
    cdef char left = b"L", right = b"R", no = b"N"
    cdef double one = 1.0, minus = -1.0
    cdef blas_int half = n // 2, rest = n - n // 2, info = 0
    cdef double *last = A + <ptrdiff_t> half * ld + half
    cdef double *corner
    if n <= WHOLE:
        dtrtri(&uplo, &no, &n, A, &ld, &info)
        return
    invert_triangle(uplo, half, A, ld)
    invert_triangle(uplo, rest, last, ld)
    if uplo == b"L":
        corner = A + half
        dtrmm(&left, &uplo, &no, &no, &rest, &half, &minus, last, &ld, corner, &ld)
        dtrmm(&right, &uplo, &no, &no, &rest, &half, &one, A, &ld, corner, &ld)
    else:
        corner = A + <ptrdiff_t> half * ld
        dtrmm(&left, &uplo, &no, &no, &half, &rest, &minus, A, &ld, corner, &ld)
        dtrmm(&right, &uplo, &no, &no, &half, &rest, &one, last, &ld, corner, &ld)


cdef void invert_factored(char uplo, blas_int n, double *A, blas_int ld) noexcept nogil:
    """Triangle of A := that of the inverse of what A is the Cholesky factor of."""
    cdef blas_int info = 0
    invert_triangle(uplo, n, A, ld)
    dlauum(&uplo, &n, A, &ld, &info)
