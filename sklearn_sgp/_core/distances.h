/* Squared distances, summed over the columns in their order, and the nearest of some rows. */
#ifndef SKLEARN_SGP_DISTANCES_H
#define SKLEARN_SGP_DISTANCES_H
#include <stddef.h>

typedef struct {
    double away;
    ptrdiff_t row;
} sgp_near;

typedef struct {
    /* out[j] = |x - point j|^2 of n points, given column after column: xt is (d, ld). */
    void (*distances)(double *out, const double *x, const double *xt, ptrdiff_t ld, ptrdiff_t d,
                      ptrdiff_t n);
    /* The nearest of k > 0 centres, given likewise, of each of n rows x (n, d), the first of
       equals; away has room for (n,). */
    void (*nearest)(ptrdiff_t *label, double *away, const double *x, ptrdiff_t n,
                    const double *centres, ptrdiff_t d, ptrdiff_t k);
} sgp_distance_kernels;

const sgp_distance_kernels *sgp_distance_rows(void);

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
