/* Row kernels of a stationary covariance: squared distances, profile values and reverse mode.

   Every function works on one row of a block K(Z, X): one inducing input against n rows of data.
   Instruction sets are chosen once, at run time; nothing here needs a particular CPU. */
#ifndef SKLEARN_SGP_PROFILES_H
#define SKLEARN_SGP_PROFILES_H
#include <stddef.h>

enum sgp_profile {
    SGP_SQUARED_EXPONENTIAL = 0,
    SGP_MATERN12 = 1,
    SGP_MATERN32 = 2,
    SGP_MATERN52 = 3,
    SGP_RATIONAL_QUADRATIC = 4,
    SGP_PERIODIC = 5
};

typedef struct {
    /* r2[i] = sum_q (xt[q * ld + i] - z[q])^2 */
    void (*sqdist)(double *r2, const double *xt, ptrdiff_t ld, const double *z, ptrdiff_t d,
                   ptrdiff_t n);
    /* r2[i] = max(0, r2[i] + xx[i] + zz), where r2 holds -2 <x_i, z> on entry */
    void (*sqdist_from_products)(double *r2, const double *xx, double zz, ptrdiff_t n);
    /* row[i] = variance * profile(row[i]), where row holds r2 on entry */
    void (*value)(int profile, double *row, double variance, const double *shape, ptrdiff_t n);
    /* g[i] <- g[i] * dK/dr2;  sums += (sum g K, sum g dK/dshape[0], sum g dK/dshape[1]) */
    void (*vjp)(int profile, double *g, const double *r2, double variance, const double *shape,
                double *sums, ptrdiff_t n);
    /* row[i] = K and slope[i] = dK/dr2, of the first four profiles; row holds r2 on entry */
    void (*value_slope)(int profile, double *row, double *slope, double variance, ptrdiff_t n);
    /* slope[i] *= g[i]; returns sum_i g[i] value[i] */
    double (*times)(double *slope, const double *g, const double *value, ptrdiff_t n);
    /* sums[q] += sum_i g[i] (xt[q * ld + i] - z[q])^2 */
    void (*weighted)(double *sums, const double *g, const double *xt, ptrdiff_t ld,
                     const double *z, ptrdiff_t d, ptrdiff_t n);
} sgp_row_kernels;

const sgp_row_kernels *sgp_rows(void);
const char *sgp_simd_level(void);

#endif
