/* Moments of a softmax of independent normal variables (docs/theory.md, section 10, equation 37).

   A row has a mean and a standard deviation for each of its classes, the largest mean 0. The
   integrals are sums over lattice points s = k * step. At each of them every class needs
   G = E[exp(-x)] and D = E[x exp(-x)], x = exp(s + f), by one of three ways: the series in moments
   of x where x is small, else Gauss-Hermite where sd is small, else a sum over a table. */
#ifndef SKLEARN_SGP_SOFTMAX_H
#define SKLEARN_SGP_SOFTMAX_H
#include <stddef.h>

/* Points are taken in whole vectors: each row's range, and what is not left to the series. */
enum { SGP_SOFTMAX_LANES = 8 };

typedef struct {
    double step;
    int doublings;           /* step = 0.35 * 2^doublings */
    const double *powers;    /* exp(n step) for n >= -n_powers, powers[0] = 1 */
    ptrdiff_t n_powers;
    const double *nodes, *weights; /* Gauss-Hermite with 1, 2, ... nodes, one after another */
    const double *reaches;   /* largest sd for each of these */
    /* Tables of G, and width[level] further on of D, at n * step: level 0 for sd 0, level l for
       sd 0.35 / 0.6 * 2^(l - 1). */
    const double *tables;
    const ptrdiff_t *origin; /* of n = 0 */
    const ptrdiff_t *width;
} sgp_softmax_lattice;

/* Lattice points that matter to a row: their number, 0 for a row with NaN or infinities. */
ptrdiff_t sgp_softmax_range(const double *mean, const double *sd, ptrdiff_t C, double step,
                            ptrdiff_t *first);

/* log_sum[0] = E[log sum exp f], p[c] = E[p_c], p2[c] = E[p_c^2]; work holds (4 C + 2) n numbers. */
typedef void (*sgp_softmax_row)(const double *mean, const double *sd, ptrdiff_t C,
                                const sgp_softmax_lattice *lattice, ptrdiff_t first, ptrdiff_t n,
                                double *work, double *log_sum, double *p, double *p2);
sgp_softmax_row sgp_softmax(void);

#endif
