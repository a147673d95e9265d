"""Moments of a softmax of independent normal variables, row by row, without the GIL."""
import numpy as np
from libc.math cimport NAN
from libc.stddef cimport ptrdiff_t

cdef extern from "softmax.h" nogil:
    ctypedef struct sgp_softmax_lattice:
        double step
        int doublings
        const double *powers
        ptrdiff_t n_powers
        const double *nodes
        const double *weights
        const double *reaches
        const double *tables
        const ptrdiff_t *origin
        const ptrdiff_t *width
    ctypedef void (*sgp_softmax_row)(
        const double *, const double *, ptrdiff_t, const sgp_softmax_lattice *, ptrdiff_t,
        ptrdiff_t, double *, double *, double *, double *) noexcept nogil
    ptrdiff_t sgp_softmax_range(
        const double *, const double *, ptrdiff_t, double, ptrdiff_t *) noexcept
    sgp_softmax_row sgp_softmax()


def softmax_rows(
    const double[:, ::1] mean,      # IN (n, C), the largest of each row 0
    const double[:, ::1] sd,        # IN (n, C)
    const ptrdiff_t[::1] rows,      # IN (k,), those that belong on this lattice
    lattice,                        # IN as sklearn_sgp.likelihoods._softmax_lattice makes it
    double[::1] log_sum,            # OUT (n,)
    double[:, ::1] p,               # OUT (n, C)
    double[:, ::1] p2,              # OUT (n, C)
):
    """E[log sum exp f], E[p_c] and E[p_c^2] of some rows, NaN where a mean or sd is not finite."""
    cdef ptrdiff_t n = mean.shape[0], C = mean.shape[1], n_points, most = 0, first, i, c, row
    cdef const double[::1] powers = lattice.powers, nodes = lattice.nodes
    cdef const double[::1] weights = lattice.weights, reaches = lattice.reaches
    cdef const double[::1] tables = lattice.tables
    cdef const ptrdiff_t[::1] origin = lattice.origin, width = lattice.width
    cdef double[::1] work
    cdef sgp_softmax_lattice at
    cdef sgp_softmax_row moments = sgp_softmax()
    if (sd.shape[0] != n or sd.shape[1] != C or log_sum.shape[0] != n or p.shape[0] != n
            or p.shape[1] != C or p2.shape[0] != n or p2.shape[1] != C or C == 0):
        raise ValueError("softmax_rows: shapes do not agree")
    at.step, at.doublings, at.n_powers = lattice.step, lattice.doublings, lattice.n_powers
    at.powers = &powers[0] + at.n_powers
    at.nodes, at.weights, at.reaches = &nodes[0], &weights[0], &reaches[0]
    at.tables, at.origin, at.width = &tables[0], &origin[0], &width[0]
    with nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            n_points = sgp_softmax_range(&mean[row, 0], &sd[row, 0], C, at.step, &first)
            most = max(most, n_points)
    work = np.empty((4 * C + 2) * max(most, 1))
    with nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            n_points = sgp_softmax_range(&mean[row, 0], &sd[row, 0], C, at.step, &first)
            if n_points > 0:
                moments(&mean[row, 0], &sd[row, 0], C, &at, first, n_points, &work[0],
                        &log_sum[row], &p[row, 0], &p2[row, 0])
                continue
            log_sum[row] = NAN
            for c in range(C):
                p[row, c] = p2[row, c] = NAN
