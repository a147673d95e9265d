"""Log densities of groups of rows given near rows, and slopes: all groups in one call, no GIL.

A group has some hundred rows, and a few dozen calls of BLAS on them take less time than two threads
lose to each other over the GIL between such calls. Matrices are in C order and factors are upper
triangles, as in _groups.pyx.
"""
import numpy as np
from libc.math cimport INFINITY, M_PI, NAN, fabs, log
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport daxpy, dgemm, dsyrk, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf

from ._linalg import check_sizes
from ._memory import empty

include "_blas_int.pxi"
include "_triangular_inverse.pxi"


def _group_sizes(name, n_rows, n_before, K, y):
    """Return the numbers of rows (g,) of groups that belong to packed K and to y."""
    sizes, counts = np.asarray(n_rows), np.asarray(n_before)
    if sizes.shape != counts.shape or np.any(counts < 0) or np.any(counts >= sizes):
        raise ValueError(f"{name}: the sizes of the groups do not agree")
    if K.shape[0] != (sizes * (sizes + 1) // 2).sum() or y.shape[0] != sizes.sum():
        raise ValueError(f"{name}: the shapes of the arrays do not agree")
    return sizes


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
    sizes, counts = _group_sizes("add_densities", n_rows, n_before, K, y), np.asarray(n_before)
    if (K_bar.shape[0] != K.shape[0] or noise.shape[0] != y.shape[0] or t == 0
            or y_bar.shape[0] != y.shape[0] or y_bar.shape[1] != t):
        raise ValueError("add_densities: the shapes of the arrays do not agree")
    check_sizes(t)
    if y.shape[0] == 0:
        return 0.0, 0.0, -1
    most = (2 * sizes**2 + 2 * counts * (sizes - counts) + (sizes + counts) * t).max()
    room = empty((int(most),))
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
            slope += _slope_of_noise(S_bar, &noise[at], n)
            _add(1.0, S_bar, n, n, &K_bar[start])
            start += n * (n + 1) // 2
            at += n
        else:
            g = -1
    return value, slope, g


def densities(
    const double[::1] K,                # IN upper triangles of K of all groups, row by row
    const ptrdiff_t[::1] n_rows,        # IN (g,): n_g, of each group with its conditions
    const ptrdiff_t[::1] n_before,      # IN (g,): k_g < n_g
    const double[:, ::1] y,             # IN (n, t), of each group the k_g conditions first
    const double[::1] noise,            # IN (n,)
    double[::1] values,                 # OUT (g,)
):
    """log p(y_B | y_N) of each group, as `add_densities` adds them up.

    Returns the number of the first group whose S is not positive definite, where it stops; -1 if
    there is none.
    """
    cdef ptrdiff_t g, n, at = 0, start = 0, t = y.shape[1]
    cdef double[::1] room
    sizes = _group_sizes("densities", n_rows, n_before, K, y)
    if noise.shape[0] != y.shape[0] or t == 0 or values.shape[0] != sizes.shape[0]:
        raise ValueError("densities: the shapes of the arrays do not agree")
    check_sizes(t)
    if y.shape[0] == 0:
        return -1
    room = empty((int((sizes**2 + sizes * t).max()),))
    with nogil:
        for g in range(n_rows.shape[0]):
            n = n_rows[g]
            values[g] = _value(&K[start], n, n_before[g], t, &y[at, 0], &noise[at],
                               &room[0], &room[0] + n * n)
            if values[g] != values[g]:
                break
            start += n * (n + 1) // 2
            at += n
        else:
            g = -1
    return g


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
    cdef blas_int n_ = <blas_int> n, k_ = <blas_int> k, t_ = <blas_int> t, b_ = n_ - k_
    cdef char lower = b"L", left = b"L", right = b"R", yes = b"T", no = b"N"
    cdef double one = 1.0, zero = 0.0, half = 0.5, minus_half = -0.5, half_t = 0.5 * t
    cdef double minus_half_t = -half_t
    cdef ptrdiff_t i, j, own = k * n + k, b = n - k
    cdef double *e = w + n * t      # C b - a, and first of all C b
    cdef double *error = w + k * t
    cdef double value = _value(K, n, k, t, y, noise, U, w)
    if value != value:
        return NAN
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
    invert_factored(lower, b_, U + own, n_)
    for i in range(b):
        for j in range(i, b):
            S_bar[own + i * n + j] = minus_half_t * U[own + i * n + j]
    dsyrk(&lower, &yes, &b_, &t_, &half, error, &t_, &one, S_bar + own, &n_)
    return value


cdef double _value(
    const double *K,
    ptrdiff_t n,
    ptrdiff_t k,
    ptrdiff_t t,
    const double *y,
    const double *noise,
    double *U,                  # OUT (n, n): chol S
    double *w,                  # OUT (n, t): inv(chol S) y
) noexcept nogil:
    """The density of one group, or NaN."""
    cdef blas_int n_ = <blas_int> n, t_ = <blas_int> t, info = 0
    cdef char lower = b"L", right = b"R", yes = b"T", no = b"N"
    cdef double one = 1.0, log_det = 0.0, squares = 0.0
    cdef ptrdiff_t i
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
    for i in range(k, n):
        log_det += log(U[i * n + i])
    for i in range(k * t, n * t):
        squares += w[i] * w[i]
    return -0.5 * squares - t * (log_det + 0.5 * (n - k) * log(2.0 * M_PI))


cdef double _slope_of_noise(
    const double *S_bar, const double *noise, ptrdiff_t n
) noexcept nogil:
    cdef double slope = 0.0
    cdef ptrdiff_t i
    for i in range(n):
        slope += S_bar[i * n + i] * noise[i]
    return slope


cdef void _add(
    double sign, const double *S_bar, ptrdiff_t s, ptrdiff_t n, double *K_bar
) noexcept nogil:
    """Add slopes in the first s rows and columns to those of a packed triangle of n rows."""
    cdef ptrdiff_t i, j
    for i in range(s):
        K_bar[0] += sign * S_bar[i * s + i]
        for j in range(i + 1, s):
            K_bar[j - i] += 2.0 * sign * S_bar[i * s + j]
        K_bar += n - i


def add_class_densities(
    const double[::1] K,                # IN as in `add_densities`
    const ptrdiff_t[::1] n_rows,        # IN (g,)
    const ptrdiff_t[::1] n_before,      # IN (g,)
    const double[:, ::1] y,             # IN (n, C): the regressions of C classes
    const ptrdiff_t[::1] number,        # IN (n,): the class of each row
    const double[::1] other,            # IN (n,): noise in the regressions of the other classes
    const double[::1] root,             # IN (n,): root of what it is less by in that of its own
    double[::1] K_bar,                  # IN/OUT as K: slopes in its entries are added
    double[:, ::1] y_bar,               # OUT (n, C): slopes in y
):
    """Sum over classes of log p(y_B | y_N), of known noise (docs/theory.md, eqs. 47 and 56).

    Off the diagonal slopes are those of both equal entries of K together. Returns the sum, and the
    number of the first group in which a covariance is not positive definite, where it stops; -1 if
    there is none.
    """
    cdef ptrdiff_t g, n, k, at = 0, start = 0, t = y.shape[1]
    cdef double value = 0.0, joint, before
    cdef double[::1] room
    cdef ptrdiff_t[::1] order
    sizes = _group_sizes("add_class_densities", n_rows, n_before, K, y)
    if (K_bar.shape[0] != K.shape[0] or number.shape[0] != y.shape[0]
            or other.shape[0] != y.shape[0] or root.shape[0] != y.shape[0]
            or y_bar.shape[0] != y.shape[0] or y_bar.shape[1] != t):
        raise ValueError("add_class_densities: the shapes of the arrays do not agree")
    check_sizes(t)
    if y.shape[0] == 0:
        return 0.0, -1
    if np.min(number) < 0 or np.max(number) >= t:
        raise ValueError("add_class_densities: number must hold classes")
    largest = int(sizes.max())
    room, order = empty((largest * (3 * largest + t + 1),)), np.empty(largest + t + 1, np.intp)
    with nogil:
        for g in range(n_rows.shape[0]):
            n, k = n_rows[g], n_before[g]
            joint = _of_classes(&K[start], n, n, t, &y[at, 0], &number[at], &other[at], &root[at],
                                &room[0], &order[0], 1.0, &K_bar[start], &y_bar[at, 0])
            before = 0.0
            if joint == joint and k:
                before = _of_classes(
                    &K[start], k, n, t, &y[at, 0], &number[at], &other[at], &root[at], &room[0],
                    &order[0], -1.0, &K_bar[start], &y_bar[at, 0])
            if joint != joint or before != before:
                break
            value += joint + before
            start += n * (n + 1) // 2
            at += n
        else:
            g = -1
    return value, g


cdef double _of_classes(
    const double *K,            # IN packed triangle of n rows
    ptrdiff_t s,                # the first so many rows count
    ptrdiff_t n,
    ptrdiff_t t,
    const double *y,
    const ptrdiff_t *number,
    const double *other,
    const double *root,
    double *W,                  # room for (s, s) three times, (s, t) and (s,)
    ptrdiff_t *order,           # room for (s,) and (t + 1,)
    double sign,
    double *K_bar,              # sign times slopes are added
    double *y_bar,              # set for sign 1, else sign times slopes are added
) noexcept nogil:
    """Sign times the sum over classes of log N(y_c; 0, S_c), or NaN; `factors.class_noise` has how.

    With a_c = inv(S_c) y_c the slope in y_c is -a_c, that in K (sum of a_c a_c' - inv(S_c)) / 2.
    """
    cdef blas_int s_ = <blas_int> s, t_ = <blas_int> t, one_ = 1, q_, info = 0
    cdef char lower = b"L", right = b"R", yes = b"T", no = b"N"
    cdef double one = 1.0, zero = 0.0, half = 0.5, minus_half = -0.5, minus_half_t = -0.5 * t
    cdef double log_det = 0.0, fit = 0.0, step
    cdef double *F = W + s * s          # F_c of all classes, rows class after class
    cdef double *U = F + s * s          # room for chol(1 - D W D) of one class
    cdef double *solved = U + s * s     # a_c of all classes
    cdef double *moved = solved + s * t
    cdef ptrdiff_t *ends = order + s
    cdef ptrdiff_t i, j, c, r, lo, q
    for i in range(s):
        memcpy(W + i * s + i, K, (s - i) * sizeof(double))
        K = K + n - i
        W[i * s + i] += other[i]
    dpotrf(&lower, &s_, W, &s_, &info)
    for i in range(s):
        if info != 0 or not fabs(W[i * s + i]) < INFINITY:
            return NAN
        log_det += t * log(W[i * s + i])
    invert_factored(lower, s_, W, s_)
    for i in range(s):
        for j in range(i + 1, s):
            W[j * s + i] = W[i * s + j]
    dgemm(&no, &no, &t_, &s_, &s_, &one, <double *> y, &t_, W, &s_, &zero, solved, &t_)
    _sort(number, s, t, order, ends)
    for r in range(s):
        i = order[r]
        moved[r] = root[i] * solved[i * t + number[i]]
        for j in range(s):
            F[r * s + j] = root[i] * W[i * s + j]
    for c in range(t):
        lo, q = ends[c], ends[c + 1] - ends[c]
        if q == 0:
            continue
        q_ = <blas_int> q
        for r in range(q):
            i = order[lo + r]
            for j in range(r, q):
                U[r * q + j] = -root[order[lo + j]] * F[(lo + r) * s + order[lo + j]]
            U[r * q + r] += 1.0
        dpotrf(&lower, &q_, U, &q_, &info)
        for r in range(q):
            if info != 0 or not fabs(U[r * q + r]) < INFINITY:
                return NAN
            log_det += log(U[r * q + r])
        dtrsm(&right, &lower, &yes, &no, &s_, &q_, &one, U, &q_, F + lo * s, &s_)
        dtrsm(&right, &lower, &yes, &no, &one_, &q_, &one, U, &q_, moved + lo, &one_)
        dtrsm(&right, &lower, &no, &no, &one_, &q_, &one, U, &q_, moved + lo, &one_)
    for r in range(s):
        i = order[r]
        step = root[i] * moved[r]
        daxpy(&s_, &step, W + i * s, &one_, solved + number[i], &t_)
    for i in range(s * t):
        fit += y[i] * solved[i]
        y_bar[i] = -solved[i] if sign > 0.0 else y_bar[i] + solved[i]
    # W := (sum of a_c a_c' - inv(S_c)) / 2, inv(S_c) = W + F_c' F_c
    dsyrk(&lower, &yes, &s_, &t_, &half, solved, &t_, &minus_half_t, W, &s_)
    dsyrk(&lower, &no, &s_, &s_, &minus_half, F, &s_, &one, W, &s_)
    _add(sign, W, s, n, K_bar)
    return sign * (-0.5 * fit - log_det - 0.5 * s * t * log(2.0 * M_PI))


cdef void _sort(
    const ptrdiff_t *number, ptrdiff_t n, ptrdiff_t t, ptrdiff_t *order, ptrdiff_t *ends
) noexcept nogil:
    """Rows class after class, in their order, and where those of each begin, and their end."""
    cdef ptrdiff_t i, c
    for c in range(t + 1):
        ends[c] = 0
    for i in range(n):
        ends[number[i] + 1] += 1
    for c in range(t):
        ends[c + 1] += ends[c]
    for i in range(n - 1, -1, -1):  # each end moves down to its beginning, and is moved up below
        ends[number[i] + 1] -= 1
        order[ends[number[i] + 1]] = i
    for c in range(t):
        ends[c] = ends[c + 1]
    ends[t] = n
