/* Ranges of lattice points, and softmax_rows.h for three x86-64 instruction sets (simd.h). */
#include "softmax.h"
#include <math.h>
#include "simd.h"

#define EULER_GAMMA 0.57721566490153286061
#define LANES SGP_SOFTMAX_LANES
#define TERMS 6
#define MAX_NODES 12 /* of Gauss-Hermite */
#define MAX_OFFSETS 64 /* of a sum over a table */

static const double REACH = 7.2; /* standard deviations */
/* x is negligible left of the first, exp(-x) right of the second, for x = exp of it */
static const double LEFT = -27.0, RIGHT = 3.6;
/* What the tables are for: sd from SMALL to FIRST by level 0, and twice as wide at each level */
static const double SMALL = 0.45, FIRST = 0.779;
static const double STEP = 0.35, TABLE_SD = 0.35 / 0.6;

/* The K-th term of the series, exp(K t + K^2 sd^2 / 2) / K!, is below 1e-12 to the left of
   SERIES_LEFT[K - 2] - K sd^2 / 2. */
static const double SERIES_LEFT[TERMS] = {
    /* (log 1e-12 + log K!) / K for K = 2 .. 7 */
    -13.468936968, -8.613087216, -6.113241821, -4.568705875, -3.508628317, -2.729408536,
};

/* log E[x] at t = 0, or what x does not exceed for a wide posterior */
static double log_size(double sd) {
    const double half_variance = 0.5 * sd * sd;
    return half_variance < REACH * sd ? half_variance : REACH * sd;
}

/* Means so far below are without weight, and cast to integers. */
static double bounded(double mean) { return mean < -1e12 ? -1e12 : mean; }

ptrdiff_t sgp_softmax_range(const double *mean, const double *sd, ptrdiff_t C, double step,
                            ptrdiff_t *first) {
    double left = -HUGE_VAL, right = HUGE_VAL, all = 0.0;
    for (ptrdiff_t c = 0; c < C; ++c) {
        const double lo = mean[c] + log_size(sd[c]), hi = RIGHT + REACH * sd[c] - bounded(mean[c]);
        left = lo > left ? lo : left;
        right = hi < right ? hi : right;
        all += mean[c] * 0.0 + sd[c] * 0.0;
    }
    *first = 0;
    if (all != 0.0) return 0;
    const ptrdiff_t lo = (ptrdiff_t)floor((LEFT - log((double)C) - left) / step);
    const ptrdiff_t hi = (ptrdiff_t)ceil(right / step) + 1;
    const ptrdiff_t n = (hi - lo + LANES - 1) / LANES * LANES;
    *first = hi - n;
    return n;
}

#define ROW_KERNELS "softmax_rows.h"
#include "instruction_sets.h"

static const sgp_softmax_row rows[] = {
    row_base,
#ifdef SGP_X86
    row_avx2,
    row_avx512,
#endif
};

sgp_softmax_row sgp_softmax(void) { return rows[sgp_simd()]; }
