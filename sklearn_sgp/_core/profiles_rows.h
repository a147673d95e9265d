/* The row kernels, written once and included for each instruction set.

   Expects NAME(x) (decorated name) and TARGET (function attribute). The reductions carry `omp simd`
   (SGP_SUMS) so that compilers may split the sums over lanes; no OpenMP runtime is involved. Each
   profile has a case and there is no default, so that compilers tell of one that is forgotten;
   callers have refused numbers that are no profile (`check_profile`). */

TARGET static void NAME(sqdist)(double *restrict r2, const double *restrict xt, ptrdiff_t ld,
                                const double *restrict z, ptrdiff_t d, ptrdiff_t n) {
    ptrdiff_t q = 0;
    if (d >= 4) {
        const double *a = xt, *b = xt + ld, *c = xt + 2 * ld, *e = xt + 3 * ld;
        const double z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double u = a[i] - z0, v = b[i] - z1, w = c[i] - z2, t = e[i] - z3;
            r2[i] = (u * u + v * v) + (w * w + t * t);
        }
        q = 4;
    } else {
        const double z0 = z[0];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double u = xt[i] - z0;
            r2[i] = u * u;
        }
        q = 1;
    }
    for (; q + 4 <= d; q += 4) {
        const double *a = xt + q * ld, *b = a + ld, *c = b + ld, *e = c + ld;
        const double z0 = z[q], z1 = z[q + 1], z2 = z[q + 2], z3 = z[q + 3];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double u = a[i] - z0, v = b[i] - z1, w = c[i] - z2, t = e[i] - z3;
            r2[i] += (u * u + v * v) + (w * w + t * t);
        }
    }
    for (; q < d; ++q) {
        const double *a = xt + q * ld;
        const double z0 = z[q];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double u = a[i] - z0;
            r2[i] += u * u;
        }
    }
}

TARGET static void NAME(sqdist_from_products)(double *restrict r2, const double *restrict xx,
                                              double zz, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; ++i) {
        const double t = r2[i] + (xx[i] + zz);
        r2[i] = t < 0 ? 0 : t; /* NaN stays NaN */
    }
}

TARGET static void NAME(value)(int profile, double *restrict row, double variance,
                               const double *shape, ptrdiff_t n) {
    const double s2 = variance;
    switch ((enum sgp_profile)profile) {
    case SGP_SQUARED_EXPONENTIAL:
        for (ptrdiff_t i = 0; i < n; ++i) row[i] = s2 * exp_neg(-0.5 * row[i]);
        break;
    case SGP_MATERN12:
        for (ptrdiff_t i = 0; i < n; ++i) row[i] = s2 * exp_neg(-sqrt(row[i]));
        break;
    case SGP_MATERN32:
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double t = sqrt(3.0 * row[i]);
            row[i] = s2 * (1.0 + t) * exp_neg(-t);
        }
        break;
    case SGP_MATERN52:
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double t2 = 5.0 * row[i], t = sqrt(t2);
            row[i] = s2 * (1.0 + t + t2 * (1.0 / 3.0)) * exp_neg(-t);
        }
        break;
    case SGP_RATIONAL_QUADRATIC: {
        const double alpha = shape[0], half = 0.5 / shape[0];
        for (ptrdiff_t i = 0; i < n; ++i) row[i] = s2 * exp_neg(-alpha * log1p(half * row[i]));
        break;
    }
    case SGP_PERIODIC: { /* shape = (length scale, period), r2 in the inputs' own units */
        const double c = -2.0 / (shape[0] * shape[0]), w = SGP_PI / shape[1];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double s = sin(w * sqrt(row[i]));
            row[i] = s2 * exp_neg(c * s * s);
        }
        break;
    }
    }
}

TARGET static void NAME(value_slope)(int profile, double *restrict row, double *restrict slope,
                                     double variance, ptrdiff_t n) {
    const double s2 = variance;
    switch ((enum sgp_profile)profile) {
    case SGP_SQUARED_EXPONENTIAL:
        for (ptrdiff_t i = 0; i < n; ++i) {
            row[i] = s2 * exp_neg(-0.5 * row[i]);
            slope[i] = -0.5 * row[i];
        }
        break;
    case SGP_MATERN12:
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double r = sqrt(row[i]), e = s2 * exp_neg(-r);
            row[i] = e;
            slope[i] = r == 0 ? 0 : -0.5 * e / r; /* as in vjp */
        }
        break;
    case SGP_MATERN32:
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double t = sqrt(3.0 * row[i]), e = s2 * exp_neg(-t);
            row[i] = (1.0 + t) * e;
            slope[i] = -1.5 * e;
        }
        break;
    case SGP_MATERN52:
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double t2 = 5.0 * row[i], t = sqrt(t2), e = s2 * exp_neg(-t);
            row[i] = (1.0 + t + t2 * (1.0 / 3.0)) * e;
            slope[i] = (-5.0 / 6.0) * (1.0 + t) * e;
        }
        break;
    case SGP_RATIONAL_QUADRATIC:
    case SGP_PERIODIC:
        break; /* keep no slopes: `values_and_slopes` refuses them */
    }
}

TARGET static double NAME(times)(double *restrict slope, const double *restrict g,
                                 const double *restrict value, ptrdiff_t n) {
    double sum = 0.0;
    SGP_SUMS(sum)
    for (ptrdiff_t i = 0; i < n; ++i) {
        slope[i] *= g[i];
        sum += g[i] * value[i];
    }
    return sum;
}

TARGET static void NAME(vjp)(int profile, double *restrict g, const double *restrict r2,
                             double variance, const double *shape, double *sums, ptrdiff_t n) {
    const double s2 = variance;
    double gk = 0.0, g0 = 0.0, g1 = 0.0;
    switch ((enum sgp_profile)profile) {
    case SGP_SQUARED_EXPONENTIAL:
        SGP_SUMS(gk)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double t = g[i] * s2 * exp_neg(-0.5 * r2[i]);
            gk += t;
            g[i] = -0.5 * t;
        }
        break;
    case SGP_MATERN12:
        SGP_SUMS(gk)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double r = sqrt(r2[i]);
            const double t = g[i] * s2 * exp_neg(-r);
            gk += t;
            /* no derivative at r = 0: the subgradient 0 is taken there */
            g[i] = r == 0 ? 0 : -0.5 * t / r;
        }
        break;
    case SGP_MATERN32:
        SGP_SUMS(gk)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double t = sqrt(3.0 * r2[i]);
            const double e = g[i] * s2 * exp_neg(-t);
            gk += (1.0 + t) * e;
            g[i] = -1.5 * e;
        }
        break;
    case SGP_MATERN52:
        SGP_SUMS(gk)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double t2 = 5.0 * r2[i], t = sqrt(t2);
            const double e = g[i] * s2 * exp_neg(-t);
            gk += (1.0 + t + t2 * (1.0 / 3.0)) * e;
            g[i] = (-5.0 / 6.0) * (1.0 + t) * e;
        }
        break;
    case SGP_RATIONAL_QUADRATIC: {
        const double alpha = shape[0], half = 0.5 / shape[0];
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double u = half * r2[i], l = log1p(u);
            const double t = g[i] * s2 * exp_neg(-alpha * l);
            gk += t;
            g0 += t * (u / (1.0 + u) - l);
            g[i] = -0.5 * t / (1.0 + u);
        }
        break;
    }
    case SGP_PERIODIC: {
        const double ell = shape[0], period = shape[1];
        const double c = -2.0 / (ell * ell), w = SGP_PI / period;
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double r = sqrt(r2[i]), s = sin(w * r), co = cos(w * r);
            const double t = g[i] * s2 * exp_neg(c * s * s);
            /* dK/dr = K * 2 c w s cos; dr/dr2 = 1 / 2r, and s / r -> w at 0 */
            const double s_over_r = r > 0 ? s / r : w;
            gk += t;
            g0 += t * (-2.0 / ell) * c * s * s;
            g1 += t * (-2.0 / period) * c * w * s * co * r;
            g[i] = t * c * w * s_over_r * co;
        }
        break;
    }
    }
    sums[0] += gk;
    sums[1] += g0;
    sums[2] += g1;
}

TARGET static void NAME(weighted)(double *restrict sums, const double *restrict g,
                                  const double *restrict xt, ptrdiff_t ld,
                                  const double *restrict z, ptrdiff_t d, ptrdiff_t n) {
    ptrdiff_t q = 0;
    for (; q + 4 <= d; q += 4) {
        const double *a = xt + q * ld, *b = a + ld, *c = b + ld, *e = c + ld;
        const double z0 = z[q], z1 = z[q + 1], z2 = z[q + 2], z3 = z[q + 3];
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
        SGP_SUMS(s0, s1, s2, s3)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double u = a[i] - z0, v = b[i] - z1, w = c[i] - z2, t = e[i] - z3;
            s0 += g[i] * u * u;
            s1 += g[i] * v * v;
            s2 += g[i] * w * w;
            s3 += g[i] * t * t;
        }
        sums[q] += s0;
        sums[q + 1] += s1;
        sums[q + 2] += s2;
        sums[q + 3] += s3;
    }
    for (; q < d; ++q) {
        const double *x = xt + q * ld;
        const double zq = z[q];
        double sum = 0.0;
        SGP_SUMS(sum)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const double u = x[i] - zq;
            sum += g[i] * u * u;
        }
        sums[q] += sum;
    }
}
