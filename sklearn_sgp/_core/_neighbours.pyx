"""Nearest centres, the iterations of k-means, and rows near many places, without the GIL.

Thousands of small nodes of a tree, and thousands of places, took more time in the Python calls
around their few numbers than in these. Distances are sums over the columns in their order.
"""
import numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.stddef cimport ptrdiff_t

ctypedef const double *In

cdef extern from "distances.h" nogil:
    ctypedef struct sgp_near:
        double away
        ptrdiff_t row
    ctypedef struct sgp_distance_kernels:
        void (*distances)(
            double *, In, In, ptrdiff_t, ptrdiff_t, ptrdiff_t) noexcept nogil
        void (*nearest)(
            ptrdiff_t *, double *, In, ptrdiff_t, In, ptrdiff_t, ptrdiff_t) noexcept nogil
    const sgp_distance_kernels *sgp_distance_rows() noexcept
    void sgp_select_nearest(sgp_near *, ptrdiff_t, ptrdiff_t) noexcept
    void sgp_nearest_of(sgp_near *, In, ptrdiff_t, ptrdiff_t) noexcept

# Points between two looks at whether Ctrl-C was pressed, times the number of centres.
cdef enum:
    AT_ONCE = 1 << 26


def nearest_centres(
    const double[:, ::1] X,         # IN (n, d)
    const double[:, ::1] centres,   # IN (k, d), k > 0
    ptrdiff_t[::1] label,           # OUT (n,)
):
    """Number of the centre nearest to each row, the first of equals."""
    cdef ptrdiff_t n = X.shape[0], d = X.shape[1], k = centres.shape[0], count
    if centres.shape[1] != d or label.shape[0] != n or k == 0 or d == 0:
        raise ValueError("nearest_centres: the shapes of the arrays do not agree")
    cdef double[:, ::1] columns = np.empty((d, k))
    count = min(max(<ptrdiff_t> 1, AT_ONCE // (k * d)), n)
    cdef double[::1] away = np.empty(count + 1)
    _transpose(centres, columns)
    _label(X, columns, label, away, count)


cdef void _transpose(const double[:, ::1] A, double[:, ::1] out) noexcept nogil:
    cdef ptrdiff_t i, j
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[j, i] = A[i, j]


cdef int _label(
    const double[:, ::1] X,
    const double[:, ::1] columns,   # (d, k) centres
    ptrdiff_t[::1] label,
    double[::1] away,               # room for (count,)
    ptrdiff_t count,                # rows between two looks at Ctrl-C
) except -1:
    cdef ptrdiff_t lo = 0, part
    while lo < X.shape[0]:
        part = min(count, X.shape[0] - lo)
        with nogil:
            sgp_distance_rows().nearest(&label[lo], &away[0], &X[lo, 0], part, &columns[0, 0],
                                        columns.shape[0], columns.shape[1])
        PyErr_CheckSignals()
        lo += part
    return 0


def move_centres(
    const double[:, ::1] X,         # IN (n, d)
    const double[::1] weight,       # IN (n,), positive
    double[:, ::1] centres,         # IN/OUT (k, d)
    ptrdiff_t max_iter,
    double at_rest,
):
    """Iterations of k-means: each centre to the mean of the rows that it is nearest to.

    It ends when the squares of all moves sum to ``at_rest`` at most. A centre without rows stays.
    """
    cdef ptrdiff_t n = X.shape[0], d = X.shape[1], k = centres.shape[0], j, q
    cdef double[:, ::1] sums
    cdef double[::1] total
    cdef double moved = 0.0, step
    if weight.shape[0] != n or centres.shape[1] != d or k == 0 or d == 0:
        raise ValueError("move_centres: the shapes of the arrays do not agree")
    cdef ptrdiff_t count = min(max(<ptrdiff_t> 1, AT_ONCE // (k * d)), n)
    cdef ptrdiff_t[::1] label = np.empty(n, dtype=np.intp)
    cdef double[:, ::1] columns = np.empty((d, k))
    cdef double[::1] away = np.empty(count + 1)
    sums, total = np.empty((k, d)), np.empty(k)
    for _ in range(max_iter):
        _transpose(centres, columns)
        _label(X, columns, label, away, count)
        with nogil:
            _add_up(X, weight, label, sums, total)
            moved = 0.0
            for j in range(k):
                if total[j] <= 0.0:
                    continue
                for q in range(d):
                    step = sums[j, q] / total[j]
                    moved += (step - centres[j, q]) * (step - centres[j, q])
                    centres[j, q] = step
        if moved <= at_rest:
            return


cdef void _add_up(
    const double[:, ::1] X,
    const double[::1] weight,
    const ptrdiff_t[::1] label,
    double[:, ::1] sums,        # OUT (k, d)
    double[::1] total,          # OUT (k,)
) noexcept nogil:
    cdef ptrdiff_t i, j, q
    for j in range(total.shape[0]):
        total[j] = 0.0
        for q in range(X.shape[1]):
            sums[j, q] = 0.0
    for i in range(X.shape[0]):
        j = label[i]
        total[j] += weight[i]
        for q in range(X.shape[1]):
            sums[j, q] += weight[i] * X[i, q]


def nearest_groups(
    const double[:, ::1] centres,   # IN (g, d)
    const ptrdiff_t[::1] sizes,     # IN (g,)
    const double[:, ::1] places,    # IN (k, d)
    const ptrdiff_t[::1] ends,      # IN (k,): only groups before it count
    const ptrdiff_t[::1] enough,    # IN (k,): rows that are wanted
    ptrdiff_t wanted,               # groups that may hold as many, about
):
    """Of each place the groups nearest to it, nearest first, until they hold enough rows.

    Returns ``near`` (k, w), filled up with the number of groups, by a look at all of them.
    """
    cdef ptrdiff_t k = places.shape[0], d = centres.shape[1], n = centres.shape[0]
    if (places.shape[1] != d or sizes.shape[0] != n or ends.shape[0] != k or enough.shape[0] != k
            or d == 0 or n == 0):
        raise ValueError("nearest_groups: the shapes of the arrays do not agree")
    if k and (np.min(ends) < 0 or np.max(ends) > n):
        raise ValueError("nearest_groups: ends must be numbers of groups")
    cdef double[:, ::1] columns = np.array(np.transpose(centres), order="C")  # writable
    cdef double[::1] away = np.empty(n), room = np.empty(2 * n)
    wanted = min(max(wanted, <ptrdiff_t> 1), n)
    while True:
        near = np.empty((k, wanted), dtype=np.intp)
        if _all_nearest(columns, sizes, places, ends, enough, near, away, room) or wanted == n:
            return near
        wanted = min(2 * wanted, n)


cdef bint _all_nearest(
    const double[:, ::1] columns,
    const ptrdiff_t[::1] sizes,
    const double[:, ::1] places,
    const ptrdiff_t[::1] ends,
    const ptrdiff_t[::1] enough,
    ptrdiff_t[:, ::1] near,
    double[::1] away,
    double[::1] room,           # for g rows with their distances
) except -1:
    """The same with so many groups of each place; whether they hold enough rows for all."""
    cdef ptrdiff_t i, j, end, rows, n = sizes.shape[0], wanted = near.shape[1]
    cdef sgp_near *found = <sgp_near *> &room[0]
    cdef bint is_enough = True
    with nogil:
        for i in range(places.shape[0]):
            end, rows = ends[i], 0
            sgp_distance_rows().distances(
                &away[0], &places[i, 0], &columns[0, 0], n, columns.shape[0], end)
            sgp_nearest_of(found, &away[0], end, min(wanted, end))
            for j in range(wanted):
                near[i, j] = found[j].row if j < end and rows < enough[i] else n
                rows += sizes[found[j].row] if j < end else 0
            is_enough = is_enough and rows >= enough[i]
    return is_enough


def rows_near_places(
    const double[:, ::1] points,    # IN (n, d), group after group
    const ptrdiff_t[::1] rank,      # IN (n,): of equally near points the one of least rank is first
    const ptrdiff_t[::1] starts,    # IN (g + 1,): where those of each group begin, and their end
    const double[:, ::1] places,    # IN (k, d)
    const ptrdiff_t[:, ::1] near,   # IN (k, w): groups to look in, nearest first; g for none
    const ptrdiff_t[::1] ends,      # IN (k,): only groups before it are looked in
    const ptrdiff_t[::1] enough,    # IN (k,): no further group is, once so many rows were
    ptrdiff_t[:, ::1] rows,         # OUT (k, count): ranks of points, in any order; after them -1
    ptrdiff_t[::1] counts,          # OUT (k,): how many; -1 where the groups hold too few
):
    """The points nearest to each place, of the groups nearest to it."""
    cdef ptrdiff_t k = places.shape[0], d = points.shape[1], i, largest
    if (places.shape[1] != d or near.shape[0] != k or ends.shape[0] != k or enough.shape[0] != k
            or rows.shape[0] != k or counts.shape[0] != k or starts.shape[0] == 0 or d == 0
            or rank.shape[0] != points.shape[0]
            or starts[0] != 0 or starts[starts.shape[0] - 1] != points.shape[0]
            or np.any(np.diff(starts) < 0)):
        raise ValueError("rows_near_places: the shapes of the arrays do not agree")
    if near.size and (np.min(near) < 0 or np.max(near) >= starts.shape[0]):
        raise ValueError("rows_near_places: near must hold numbers of groups")
    if k == 0:
        return
    largest = np.max(enough) + np.max(np.diff(starts), initial=0)
    room = np.empty(2 * largest + 2)
    cdef double[::1] place_for_rows = room
    with nogil:
        for i in range(k):
            counts[i] = _found(points, rank, starts, &places[i, 0], near[i], ends[i], enough[i],
                               rows[i], <sgp_near *> &place_for_rows[0])


cdef ptrdiff_t _found(
    const double[:, ::1] points,
    const ptrdiff_t[::1] rank,
    const ptrdiff_t[::1] starts,
    const double *place,
    const ptrdiff_t[::1] near,
    ptrdiff_t end,
    ptrdiff_t enough,
    ptrdiff_t[::1] rows,
    sgp_near *found,
) noexcept nogil:
    """The same for one place; how many rows."""
    cdef ptrdiff_t n = 0, j, q, row, g, d = points.shape[1], count = rows.shape[0]
    cdef double away
    cdef bint is_enough
    for j in range(near.shape[0]):
        g = near[j]
        if n >= enough or g >= end:
            continue
        for row in range(starts[g], starts[g + 1]):
            away = 0.0
            for q in range(d):
                away += (points[row, q] - place[q]) * (points[row, q] - place[q])
            found[n].away, found[n].row = away, rank[row]
            n += 1
    is_enough = n >= enough
    if n > count > 0:
        sgp_select_nearest(found, n, count)
    n = min(n, count)
    for j in range(count):
        rows[j] = found[j].row if j < n else -1
    return n if is_enough else -1
