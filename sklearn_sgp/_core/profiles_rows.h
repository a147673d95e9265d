/* The row kernels, written once and included for each number type and instruction set.

   Expects REAL (number type), NAME(x) (decorated name), TARGET (function attribute), EXP_NEG
   (exp for arguments <= 0), LOG1P, SIN and COS. The reductions carry `omp simd` (SGP_SUMS) so that
   compilers may split the sums over lanes; no OpenMP runtime is involved. */

TARGET static void NAME(sqdist)(REAL *restrict r2, const REAL *restrict xt, ptrdiff_t ld,
                                const REAL *restrict z, ptrdiff_t d, ptrdiff_t n) {
    ptrdiff_t q = 0;
    if (d >= 4) {
        const REAL *a = xt, *b = xt + ld, *c = xt + 2 * ld, *e = xt + 3 * ld;
        const REAL z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL u = a[i] - z0, v = b[i] - z1, w = c[i] - z2, t = e[i] - z3;
            r2[i] = (u * u + v * v) + (w * w + t * t);
        }
        q = 4;
    } else {
        const REAL z0 = z[0];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL u = xt[i] - z0;
            r2[i] = u * u;
        }
        q = 1;
    }
    for (; q + 4 <= d; q += 4) {
        const REAL *a = xt + q * ld, *b = a + ld, *c = b + ld, *e = c + ld;
        const REAL z0 = z[q], z1 = z[q + 1], z2 = z[q + 2], z3 = z[q + 3];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL u = a[i] - z0, v = b[i] - z1, w = c[i] - z2, t = e[i] - z3;
            r2[i] += (u * u + v * v) + (w * w + t * t);
        }
    }
    for (; q < d; ++q) {
        const REAL *a = xt + q * ld;
        const REAL z0 = z[q];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL u = a[i] - z0;
            r2[i] += u * u;
        }
    }
}

TARGET static void NAME(sqdist_from_products)(REAL *restrict r2, const REAL *restrict xx, REAL zz,
                                              ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; ++i) {
        const REAL t = r2[i] + (xx[i] + zz);
        r2[i] = t < 0 ? 0 : t; /* NaN stays NaN */
    }
}

TARGET static void NAME(value)(int profile, REAL *restrict row, double variance,
                               const double *shape, ptrdiff_t n) {
    const REAL s2 = (REAL)variance;
    switch (profile) {
    case SGP_SQUARED_EXPONENTIAL:
        for (ptrdiff_t i = 0; i < n; ++i) row[i] = s2 * EXP_NEG((REAL)-0.5 * row[i]);
        break;
    case SGP_MATERN12:
        for (ptrdiff_t i = 0; i < n; ++i) row[i] = s2 * EXP_NEG(-SQRT(row[i]));
        break;
    case SGP_MATERN32:
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL t = SQRT((REAL)3.0 * row[i]);
            row[i] = s2 * ((REAL)1.0 + t) * EXP_NEG(-t);
        }
        break;
    case SGP_MATERN52:
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL t2 = (REAL)5.0 * row[i], t = SQRT(t2);
            row[i] = s2 * ((REAL)1.0 + t + t2 * (REAL)(1.0 / 3.0)) * EXP_NEG(-t);
        }
        break;
    case SGP_RATIONAL_QUADRATIC: {
        const REAL alpha = (REAL)shape[0], half = (REAL)(0.5 / shape[0]);
        for (ptrdiff_t i = 0; i < n; ++i) row[i] = s2 * EXP_NEG(-alpha * LOG1P(half * row[i]));
        break;
    }
    default: { /* periodic: shape = (length scale, period), r2 in the inputs' own units */
        const REAL c = (REAL)(-2.0 / (shape[0] * shape[0])), w = (REAL)(SGP_PI / shape[1]);
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL s = SIN(w * SQRT(row[i]));
            row[i] = s2 * EXP_NEG(c * s * s);
        }
    }
    }
}

TARGET static void NAME(vjp)(int profile, REAL *restrict g, const REAL *restrict r2, double variance,
                             const double *shape, double *sums, ptrdiff_t n) {
    const REAL s2 = (REAL)variance;
    double gk = 0.0, g0 = 0.0, g1 = 0.0;
    switch (profile) {
    case SGP_SQUARED_EXPONENTIAL:
        SGP_SUMS(gk)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL t = g[i] * s2 * EXP_NEG((REAL)-0.5 * r2[i]);
            gk += t;
            g[i] = (REAL)-0.5 * t;
        }
        break;
    case SGP_MATERN12:
        SGP_SUMS(gk)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL r = SQRT(r2[i]);
            const REAL t = g[i] * s2 * EXP_NEG(-r);
            gk += t;
            /* no derivative at r = 0: the subgradient 0 is taken there */
            g[i] = r == 0 ? 0 : (REAL)-0.5 * t / r;
        }
        break;
    case SGP_MATERN32:
        SGP_SUMS(gk)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL t = SQRT((REAL)3.0 * r2[i]);
            const REAL e = g[i] * s2 * EXP_NEG(-t);
            gk += ((REAL)1.0 + t) * e;
            g[i] = (REAL)-1.5 * e;
        }
        break;
    case SGP_MATERN52:
        SGP_SUMS(gk)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL t2 = (REAL)5.0 * r2[i], t = SQRT(t2);
            const REAL e = g[i] * s2 * EXP_NEG(-t);
            gk += ((REAL)1.0 + t + t2 * (REAL)(1.0 / 3.0)) * e;
            g[i] = (REAL)(-5.0 / 6.0) * ((REAL)1.0 + t) * e;
        }
        break;
    case SGP_RATIONAL_QUADRATIC: {
        const REAL alpha = (REAL)shape[0], half = (REAL)(0.5 / shape[0]);
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL u = half * r2[i], l = LOG1P(u);
            const REAL t = g[i] * s2 * EXP_NEG(-alpha * l);
            gk += t;
            g0 += t * (u / ((REAL)1.0 + u) - l);
            g[i] = (REAL)-0.5 * t / ((REAL)1.0 + u);
        }
        break;
    }
    default: {
        const double ell = shape[0], period = shape[1];
        const REAL c = (REAL)(-2.0 / (ell * ell)), w = (REAL)(SGP_PI / period);
        for (ptrdiff_t i = 0; i < n; ++i) {
            const REAL r = SQRT(r2[i]), s = SIN(w * r), co = COS(w * r);
            const REAL t = g[i] * s2 * EXP_NEG(c * s * s);
            /* dK/dr = K * 2 c w s cos; dr/dr2 = 1 / 2r, and s / r -> w at 0 */
            const REAL s_over_r = r > 0 ? s / r : w;
            gk += t;
            g0 += t * (REAL)(-2.0 / ell) * c * s * s;
            g1 += t * (REAL)(-2.0 / period) * c * w * s * co * r;
            g[i] = t * c * w * s_over_r * co;
        }
    }
    }
    sums[0] += gk;
    sums[1] += g0;
    sums[2] += g1;
}
