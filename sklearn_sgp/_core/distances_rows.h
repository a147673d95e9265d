/* Squared distances and nearest centres, written once and included for each instruction set.

   Expects NAME(x) (decorated name) and TARGET (function attribute). Products and sums are rounded
   one by one (setup.py has them compiled without contraction), so that of equal distances the
   first is found by every instruction set. */

TARGET static void NAME(distances)(double *restrict out, const double *restrict x,
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

/* Centres go by in tiles that stay in the first cache while rows go by. */
TARGET static void NAME(nearest)(ptrdiff_t *restrict label, double *restrict away,
                                 const double *restrict x, ptrdiff_t n,
                                 const double *restrict centres, ptrdiff_t d, ptrdiff_t k) {
    double tile[SGP_CENTRES];
    if (k <= SGP_FEW_CENTRES) { /* lanes take longer to set up than numbers to compare */
        for (ptrdiff_t i = 0; i < n; ++i) {
            ptrdiff_t least = 0;
            NAME(distances)(tile, x + i * d, centres, k, d, k);
            for (ptrdiff_t c = 1; c < k; ++c) least = tile[c] < tile[least] ? c : least;
            label[i] = least;
        }
        return;
    }
    for (ptrdiff_t i = 0; i < n; ++i) {
        label[i] = 0;
        away[i] = HUGE_VAL;
    }
    for (ptrdiff_t lo = 0; lo < k; lo += SGP_CENTRES) {
        const ptrdiff_t m = k - lo < SGP_CENTRES ? k - lo : SGP_CENTRES;
        for (ptrdiff_t i = 0; i < n; ++i) {
            double least = HUGE_VAL;
            ptrdiff_t j = 0;
            NAME(distances)(tile, x + i * d, centres + lo, k, d, m);
            SGP_LEAST(least)
            for (ptrdiff_t c = 0; c < m; ++c) least = tile[c] < least ? tile[c] : least;
            if (!(least < away[i])) continue;
            while (tile[j] != least) ++j;
            label[i] = lo + j;
            away[i] = least;
        }
    }
}
