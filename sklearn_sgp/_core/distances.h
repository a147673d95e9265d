/* Squared distances, summed over the columns in their order, and the nearest of some rows. */
#ifndef SKLEARN_SGP_DISTANCES_H
#define SKLEARN_SGP_DISTANCES_H
#include <stddef.h>

typedef struct {
    double away;
    ptrdiff_t row;
} sgp_near;

/* out[j] = |x - point j|^2 of n points, given column after column: xt is (d, ld). */
static inline void sgp_distances(double *restrict out, const double *restrict x,
                                 const double *restrict xt, ptrdiff_t ld, ptrdiff_t d,
                                 ptrdiff_t n) {
    ptrdiff_t q = 0;
    for (ptrdiff_t j = 0; j < n; ++j) out[j] = 0.0;
    for (; q + 4 <= d; q += 4) {
        const double *a = xt + q * ld, *b = a + ld, *c = b + ld, *e = c + ld;
        const double x0 = x[q], x1 = x[q + 1], x2 = x[q + 2], x3 = x[q + 3];
        for (ptrdiff_t j = 0; j < n; ++j) {
            const double u = a[j] - x0, v = b[j] - x1, w = c[j] - x2, t = e[j] - x3;
            out[j] = (((out[j] + u * u) + v * v) + w * w) + t * t;
        }
    }
    for (; q < d; ++q) {
        const double *a = xt + q * ld;
        const double x0 = x[q];
        for (ptrdiff_t j = 0; j < n; ++j) {
            const double u = a[j] - x0;
            out[j] += u * u;
        }
    }
}

/* Place of the least of some numbers, the first of equals. */
static inline ptrdiff_t sgp_least(const double *values, ptrdiff_t n) {
    ptrdiff_t least = 0;
    for (ptrdiff_t j = 1; j < n; ++j) least = values[j] < values[least] ? j : least;
    return least;
}

static inline int sgp_is_nearer(sgp_near a, sgp_near b) {
    return a.away < b.away || (a.away == b.away && a.row < b.row);
}

/* Bring the nearest `count` > 0 of n rows to the front: Hoare's selection, the middle as pivot. */
static inline void sgp_select_nearest(sgp_near *rows, ptrdiff_t n, ptrdiff_t count) {
    ptrdiff_t lo = 0, hi = n - 1;
    while (lo < hi) {
        const sgp_near pivot = rows[lo + (hi - lo) / 2];
        ptrdiff_t i = lo, j = hi;
        while (i <= j) {
            while (sgp_is_nearer(rows[i], pivot)) ++i;
            while (sgp_is_nearer(pivot, rows[j])) --j;
            if (i <= j) {
                const sgp_near other = rows[i];
                rows[i++] = rows[j];
                rows[j--] = other;
            }
        }
        if (count - 1 <= j) {
            hi = j;
        } else if (count - 1 >= i) {
            lo = i;
        } else {
            return;
        }
    }
}

/* Sort a few rows, the nearest first. */
static inline void sgp_sort_nearest(sgp_near *rows, ptrdiff_t n) {
    for (ptrdiff_t i = 1; i < n; ++i) {
        const sgp_near moved = rows[i];
        ptrdiff_t j = i;
        for (; j > 0 && sgp_is_nearer(moved, rows[j - 1]); --j) rows[j] = rows[j - 1];
        rows[j] = moved;
    }
}

#endif
