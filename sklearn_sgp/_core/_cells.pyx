"""Test rows that are conditioned on near rows: all cells of a piece in one call, no GIL.

A cell is some near rows and the test rows among them. As in _groups.pyx, BLAS is handed the
transposed problem. Factors are upper triangles here, U = C^T with R = C C^T: LAPACK then sees a
lower one, which OpenBLAS factorises in two thirds of the time (120 rows: 39 against 56 us).
"""
import numpy as np
from libc.math cimport INFINITY, fabs
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport ddot, dgemm, dgemv, dsyrk, dtrsm, dtrsv
from scipy.linalg.cython_lapack cimport dpotrf

from ._linalg import check_sizes

include "_blas_int.pxi"

# Edge of the triangles that `_solve` leaves to dtrsm.
cdef enum:
    EDGE = 64


def factorise(
    const double[::1] K,                # IN upper triangles of K of all cells, row by row
    const ptrdiff_t[::1] index,         # IN near rows of all cells
    const double[:, ::1] At,            # IN (n, m)
    const double[:, ::1] y,             # IN (n, t) targets
    const double[:, ::1] v_mean,        # IN (m, t) mean of v
    const double[::1] noise,            # IN (n,)
    list own_At,                        # OUT ndarrays (n_g, m): A^T of each cell
    list U,                             # OUT ndarrays (n_g, n_g): chol(R)^T, 0 below the diagonal
    list whitened,                      # OUT ndarrays (n_g, t): inv(C) (y - A^T v_mean)
    list weights,                       # OUT ndarrays (n_g, t): inv(R) (y - A^T v_mean)
    list left,                          # IN/OUT ndarrays (m, t): v_mean; A weights is taken away
):
    """Factorise R = C C^T = K - A^T A + noise at the near rows of each cell.

    Returns the number of the first cell whose R is not positive definite, where it stops; -1 if
    there is none.
    """
    cdef ptrdiff_t g, n, n_cells, at = 0, start = 0, m = At.shape[1], t = y.shape[1]
    cdef const double *v_start = NULL
    cdef const double *At_start = NULL
    cdef bint done = True
    sizes = [len(A) for A in own_At]
    for n_g, *shapes in zip(
            sizes, *([X.shape for X in each] for each in (own_At, U, whitened, weights, left)),
            strict=True):
        if shapes != [(n_g, m), (n_g, n_g), (n_g, t), (n_g, t), (m, t)]:
            raise ValueError("factorise: the shapes of a cell do not agree")
    if (index.shape[0] != sum(sizes) or K.shape[0] != sum(n * (n + 1) // 2 for n in sizes)
            or y.shape[0] != At.shape[0] or noise.shape[0] != At.shape[0] or t == 0
            or v_mean.shape[0] != m or v_mean.shape[1] != t):
        raise ValueError("factorise: the shapes of the arrays do not agree")
    if index.shape[0] and (np.min(index) < 0 or np.max(index) >= At.shape[0]):
        raise ValueError("factorise: index must hold rows of At")
    check_sizes(m, t)
    if m and index.shape[0]:
        At_start, v_start = &At[0, 0], &v_mean[0, 0]
    n_cells = len(sizes)
    if n_cells == 0:
        return -1
    cdef ptrdiff_t[::1] n_rows = np.array(sizes, dtype=np.intp)
    cdef ptrdiff_t[:, ::1] places = _places([own_At, U, whitened, weights, left])
    with nogil:
        for g in range(n_cells):
            n = n_rows[g]
            if n == 0:
                continue
            done = _factorised(
                &K[start], &index[at], n, m, t, At_start, &y[0, 0], v_start, &noise[0],
                <double *> places[0, g], <double *> places[1, g], <double *> places[2, g],
                <double *> places[3, g], <double *> places[4, g])
            if not done:
                break
            at += n
            start += n * (n + 1) // 2
    return -1 if done else g


cdef _places(list lists):
    """Where the numbers of C-ordered arrays begin, 0 for empty ones: with these no GIL is needed.

    Threads that give it back and ask for it again for each cell wait for one another.
    """
    cdef ptrdiff_t[:, ::1] places = np.zeros((len(lists), len(lists[0])), dtype=np.intp)
    cdef double[:, ::1] array
    cdef ptrdiff_t i, g
    for i in range(len(lists)):
        for g in range(len(lists[i])):
            if lists[i][g] is None:
                continue
            array = lists[i][g]
            if array.shape[0] and array.shape[1]:
                places[i, g] = <ptrdiff_t> &array[0, 0]
    return places


cdef bint _factorised(
    const double *K,
    const ptrdiff_t *index,
    ptrdiff_t n,
    ptrdiff_t m,
    ptrdiff_t t,
    const double *At,
    const double *y,
    const double *v_mean,
    const double *noise,
    double *own_At,
    double *U,
    double *whitened,
    double *weights,
    double *left,
) noexcept nogil:
    """The same for one cell; whether R is positive definite."""
    cdef blas_int n_ = <blas_int> n, m_ = <blas_int> m, t_ = <blas_int> t, info = 0
    cdef char lower = b"L", right = b"R", yes = b"T", no = b"N"
    cdef double one = 1.0, minus = -1.0
    cdef ptrdiff_t i, j
    for i in range(n):
        for j in range(i):
            U[i * n + j] = 0.0
        memcpy(U + i * n + i, K, (n - i) * sizeof(double))
        K = K + n - i
        U[i * n + i] += noise[index[i]]
        memcpy(whitened + i * t, y + index[i] * t, t * sizeof(double))
        if m:
            memcpy(own_At + i * m, At + index[i] * m, m * sizeof(double))
    if m:
        dsyrk(&lower, &yes, &n_, &m_, &minus, own_At, &m_, &one, U, &n_)
        dgemm(&no, &no, &t_, &n_, &m_, &minus, <double *> v_mean, &t_, own_At, &m_, &one,
              whitened, &t_)
    dpotrf(&lower, &n_, U, &n_, &info)
    if info != 0:
        return False
    for i in range(n):
        if not fabs(U[i * n + i]) < INFINITY:
            return False
    dtrsm(&right, &lower, &yes, &no, &t_, &n_, &one, U, &n_, whitened, &t_)
    memcpy(weights, whitened, n * t * sizeof(double))
    dtrsm(&right, &lower, &no, &no, &t_, &n_, &one, U, &n_, weights, &t_)
    if m:
        dgemm(&no, &yes, &t_, &m_, &n_, &minus, weights, &t_, own_At, &m_, &one, left, &t_)
    return True


def whiten(
    double[:, ::1] U,           # IN (n, n), as `factorise` makes it
    double[:, ::1] At,          # IN/OUT (n, m): inv(C) A^T
):
    """What `condition` needs for many test rows of one cell."""
    check_sizes(At.shape[0], At.shape[1])
    cdef blas_int n = <blas_int> At.shape[0], m = <blas_int> At.shape[1]
    cdef char right = b"R", lower = b"L", yes = b"T", no = b"N"
    cdef double one = 1.0
    if U.shape[0] != n or U.shape[1] != n:
        raise ValueError("whiten: the shapes of the arrays do not agree")
    if n == 0 or m == 0:
        return
    with nogil:
        dtrsm(&right, &lower, &yes, &no, &m, &n, &one, &U[0, 0], &n, &At[0, 0], &m)


def condition(
    list U,                             # IN ndarrays (n_g, n_g), as `factorise` makes them
    list At,                            # IN ndarrays (n_g, m): A^T of each cell
    list whitened_At,                   # IN ndarrays (n_g, m): inv(C) A^T, or None
    list whitened,                      # IN ndarrays (n_g, t): inv(C) (y - A^T v_mean)
    const ptrdiff_t[::1] bounds,        # IN (g + 1,): test rows of each cell
    const double[:, ::1] a,             # IN (n, m): A^T of the test rows
    double[::1] cross,                  # IN/OUT K(test, near) of all cells, c^T after
    double[:, ::1] b,                   # IN/OUT (n, m): a on entry
    double[:, ::1] mean,                # IN/OUT (n, t): c^T whitened is added
    double[::1] squares,                # OUT (n,): |c|^2
    double[::1] solved=None,            # OUT inv(C)^T c of all cells, as cross has c, or None
):
    """c = inv(C) (k_* - A^T a) and b = a - A inv(C)^T c of the test rows of all cells.

    Where a cell has more test rows than A has columns, inv(C) A^T is worth while: with it nothing
    is solved for the transpose of C, unless that is asked for.
    """
    cdef ptrdiff_t g, n, rows, start = 0, m = a.shape[1], t = mean.shape[1], lo, total = 0
    cdef ptrdiff_t n_cells = len(At), largest = 0, most_rows = 0
    cdef double[::1] room
    cdef double *b_start = NULL
    cdef double *solved_start
    cdef const double *a_start = NULL
    cdef ptrdiff_t[::1] n_rows = np.empty(n_cells, dtype=np.intp)
    cdef bint agree = (
        bounds.shape[0] == n_cells + 1 and bounds[0] == 0 and bounds[n_cells] == a.shape[0]
        and b.shape[0] == a.shape[0] and b.shape[1] == m and mean.shape[0] == a.shape[0] and t > 0
        and squares.shape[0] == a.shape[0]
        and (solved is None or solved.shape[0] == cross.shape[0]))
    if not agree:
        raise ValueError("condition: the shapes of the arrays do not agree")
    for g, (A, factor, W_or_none, error) in enumerate(
            zip(At, U, whitened_At, whitened, strict=True)):
        n, rows = len(A), bounds[g + 1] - bounds[g]
        if (A.shape[1] != m or factor.shape != (n, n) or error.shape != (n, t)
                or W_or_none is not None and W_or_none.shape != A.shape):
            raise ValueError("condition: the shapes of a cell do not agree")
        agree = agree and rows >= 0
        n_rows[g], total = n, total + n * rows
        largest, most_rows = max(largest, n * rows), max(most_rows, rows)
    if not agree or cross.shape[0] != total:
        raise ValueError("condition: the shapes of the arrays do not agree")
    check_sizes(m, t, most_rows)
    room = np.empty(largest + 1)
    if n_cells == 0:
        return
    cdef ptrdiff_t[:, ::1] places = _places([U, At, whitened_At, whitened])
    with nogil:
        for g in range(n_cells):
            n, lo, rows = n_rows[g], bounds[g], bounds[g + 1] - bounds[g]
            if n == 0 or rows == 0:
                squares[lo : lo + rows] = 0.0
                continue
            if m:
                a_start, b_start = &a[lo, 0], &b[lo, 0]
            solved_start = &room[0] if solved is None else &solved[start]
            _conditioned(
                rows, n, m, t, <double *> places[0, g], <double *> places[1, g],
                <double *> places[2, g], <double *> places[3, g], a_start, &cross[start], b_start,
                &mean[lo, 0], &squares[lo], solved_start, solved is not None)
            start += n * rows


cdef void _conditioned(
    ptrdiff_t rows,
    ptrdiff_t n,
    ptrdiff_t m,
    ptrdiff_t t,
    double *U,
    double *At,
    double *whitened_At,
    double *whitened,
    const double *a,
    double *cross,
    double *b,
    double *mean,
    double *squares,
    double *solved,             # room for (rows, n)
    bint is_wanted,
) noexcept nogil:
    """The same for one cell."""
    cdef blas_int n_ = <blas_int> n, m_ = <blas_int> m, t_ = <blas_int> t, r_ = <blas_int> rows
    cdef double one = 1.0, minus = -1.0
    cdef blas_int unit = 1
    cdef ptrdiff_t i
    if m:
        _add_product(True, n_, r_, m_, minus, At, m_, a, cross)
    _solve(U, n, cross, rows, False)
    for i in range(rows):
        squares[i] = ddot(&n_, cross + i * n, &unit, cross + i * n, &unit)
    _add_product(False, t_, r_, n_, one, whitened, t_, cross, mean)
    if is_wanted or m and whitened_At == NULL:
        memcpy(solved, cross, rows * n * sizeof(double))
        _solve(U, n, solved, rows, True)
    if m and whitened_At != NULL:
        _add_product(False, m_, r_, n_, minus, whitened_At, m_, cross, b)
    elif m:
        _add_product(False, m_, r_, n_, minus, At, m_, solved, b)


cdef void _add_product(
    bint trans,
    blas_int p,
    blas_int rows,
    blas_int k,
    double factor,
    double *A,                  # IN in Fortran's order (p, k), or (k, p) if trans
    blas_int ld,
    const double *B,            # IN (rows, k)
    double *C,                  # IN/OUT (rows, p)
) noexcept nogil:
    """Each row of C += factor op(A) times that of B; of one row dgemm would copy A first."""
    cdef char yes = b"T", no = b"N"
    cdef double one = 1.0
    cdef blas_int unit = 1
    if rows > 1:
        dgemm(&yes if trans else &no, &no, &p, &rows, &k, &factor, A, &ld, <double *> B, &k, &one,
              C, &p)
    elif trans:
        dgemv(&yes, &k, &p, &factor, A, &ld, <double *> B, &unit, &one, C, &unit)
    else:
        dgemv(&no, &p, &k, &factor, A, &ld, <double *> B, &unit, &one, C, &unit)


cdef void _solve(double *U, ptrdiff_t n, double *B, ptrdiff_t rows, bint trans) noexcept nogil:
    """Each of the rows of B (rows, n) := inv(C) times it, or inv(C)^T.

    Most of the work is products of blocks, which are faster than dtrsm: with 600 near rows,
    100 test rows are conditioned in 3.4 ms instead of 4.6.
    """
    cdef blas_int n_ = <blas_int> n, r_ = <blas_int> rows, edge, rest
    cdef char lower = b"L", left = b"L", yes = b"T", no = b"N"
    cdef double one = 1.0, minus = -1.0
    cdef blas_int unit = 1
    cdef ptrdiff_t k, lo, size, parts = (n + EDGE - 1) // EDGE
    if rows == 1:
        dtrsv(&lower, &yes if trans else &no, &no, &n_, U, &n_, B, &unit)
        return
    for k in range(parts):
        lo = (parts - 1 - k if trans else k) * EDGE
        size = min(<ptrdiff_t> EDGE, n - lo)
        edge = <blas_int> size
        dtrsm(&left, &lower, &yes if trans else &no, &no, &edge, &r_, &one, U + lo * n + lo, &n_,
              B + lo, &n_)
        rest = <blas_int> (lo if trans else n - lo - size)
        if rest == 0:
            continue
        if trans:
            dgemm(&yes, &no, &rest, &r_, &edge, &minus, U + lo, &n_, B + lo, &n_, &one, B, &n_)
        else:
            dgemm(&no, &no, &rest, &r_, &edge, &minus, U + lo * n + lo + size, &n_, B + lo, &n_,
                  &one, B + lo + size, &n_)
