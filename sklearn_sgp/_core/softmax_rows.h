/* One row of softmax moments, written once and included for each instruction set.

   Expects NAME(x) (decorated name) and TARGET (function attribute). Numbers of points come in
   blocks of LANES, so that no loop over points has a remainder. */

/* G and D from x = E[k] exp(rest + sd z) by polynomials in E[k]: g are the coefficients of G. */
TARGET static void NAME(series)(double *restrict G, double *restrict D, const double *restrict E,
                                ptrdiff_t n, const double *g) {
    const double g1 = g[0], g2 = g[1], g3 = g[2], g4 = g[3], g5 = g[4], g6 = g[5];
    const double d2 = 2 * g2, d3 = 3 * g3, d4 = 4 * g4, d5 = 5 * g5, d6 = 6 * g6;
    for (ptrdiff_t k = 0; k < n; ++k) {
        const double x = E[k];
        G[k] = 1.0 + x * (g1 + x * (g2 + x * (g3 + x * (g4 + x * (g5 + x * g6)))));
        D[k] = -x * (g1 + x * (d2 + x * (d3 + x * (d4 + x * (d5 + x * d6)))));
    }
}

/* The same by Gauss-Hermite. */
TARGET static void NAME(hermite)(double *restrict G, double *restrict D, const double *restrict E,
                                 ptrdiff_t blocks, double rest, double sd,
                                 const sgp_softmax_lattice *lattice) {
    const double top = 4.0; /* above every exponent: exp_neg is for the others */
    double scale[MAX_NODES];
    int count = 1;
    while (count < MAX_NODES && lattice->reaches[count - 1] < sd) ++count;
    const double *nodes = lattice->nodes + count * (count - 1) / 2;
    const double *weights = lattice->weights + count * (count - 1) / 2;
    for (int j = 0; j < count; ++j) scale[j] = exp_neg(rest + sd * nodes[j] - top);
    for (ptrdiff_t k = 0; k < LANES * blocks; ++k) G[k] = D[k] = 0.0;
    for (int j = 0; j < count; ++j) {
        const double times = scale[j] * 54.598150033144239078, weight = weights[j];
        for (ptrdiff_t k = 0; k < LANES * blocks; ++k) {
            const double x = times * E[k], f = weight * exp_neg(-x);
            G[k] += f;
            D[k] += x * f;
        }
    }
}

/* out[k] = sum_j weight[j] table[k + j q], the number of weights a multiple of 4. */
TARGET static void NAME(convolve)(double *restrict out, const double *restrict table, ptrdiff_t q,
                                  const double *weight, ptrdiff_t count, ptrdiff_t blocks) {
    for (ptrdiff_t j = 0; j < count; j += 4, table += 4 * q) {
        const double *t1 = table + q, *t2 = t1 + q, *t3 = t2 + q;
        const double w0 = weight[j], w1 = weight[j + 1], w2 = weight[j + 2], w3 = weight[j + 3];
        if (j == 0)
            for (ptrdiff_t k = 0; k < LANES * blocks; ++k)
                out[k] = (w0 * table[k] + w1 * t1[k]) + (w2 * t2[k] + w3 * t3[k]);
        else
            for (ptrdiff_t k = 0; k < LANES * blocks; ++k)
                out[k] += (w0 * table[k] + w1 * t1[k]) + (w2 * t2[k] + w3 * t3[k]);
    }
}

/* The same at s = n step and on, where a table of a smaller sd is smoothed by what it lacks. */
TARGET static void NAME(smooth)(double *restrict G, double *restrict D, ptrdiff_t n,
                                ptrdiff_t blocks, double rest, double sd,
                                const sgp_softmax_lattice *lattice) {
    double weight[MAX_OFFSETS], lacks = sd, spacing = STEP;
    ptrdiff_t level = 0, q = 1;
    if (sd >= FIRST) {
        int power = ilogb(sd / FIRST);
        if (power < lattice->doublings) power = lattice->doublings;
        const double table_sd = ldexp(TABLE_SD, power);
        level = power + 1;
        lacks = sqrt(sd * sd - table_sd * table_sd);
        spacing = ldexp(STEP, power);
        q = (ptrdiff_t)1 << (power - lattice->doublings);
    }
    const ptrdiff_t lo = (ptrdiff_t)ceil((rest - REACH * lacks) / spacing);
    const ptrdiff_t hi = (ptrdiff_t)floor((rest + REACH * lacks) / spacing);
    const ptrdiff_t count = (hi - lo + 4) / 4 * 4;
    const double by = spacing / lacks, at = ((double)lo * spacing - rest) / lacks;
    double sum = 0.0;
    SGP_SUMS(sum)
    for (ptrdiff_t j = 0; j < count; ++j) {
        const double z = at + (double)j * by;
        weight[j] = exp_neg(-0.5 * z * z);
        sum += weight[j];
    }
    for (ptrdiff_t j = 0; j < count; ++j) weight[j] /= sum;
    const double *table = lattice->tables + lattice->origin[level] + n + lo * q;
    NAME(convolve)(G, table, q, weight, count, blocks);
    NAME(convolve)(D, table + lattice->width[level], q, weight, count, blocks);
}

/* G and D of one class at the row's points: from the left the series, then one of the others. */
TARGET static void NAME(class_on_lattice)(double *G, double *D, double mean, double sd,
                                          ptrdiff_t first, ptrdiff_t n,
                                          const sgp_softmax_lattice *lattice) {
    const double variance = sd * sd, step = lattice->step;
    const double whole = floor(bounded(mean) / step), rest = bounded(mean) - whole * step;
    const ptrdiff_t at = first + (ptrdiff_t)whole; /* in units of step, less rest */
    double g[TERMS] = {0}, size = log_size(sd), left = LEFT - size;
    int terms = 1;
    for (int K = 2; K <= TERMS + 1; ++K) {
        const double limit = SERIES_LEFT[K - 2] - 0.5 * K * variance;
        if (limit > left) left = limit, terms = K - 1;
    }
    /* all of the series where nothing else will do: exp overflows at sizes without weight */
    double ratio = exp(rest + (size < 600.0 ? size : 600.0)), g_k = 1.0;
    const double growth = terms > 1 ? exp(variance) : 1.0;
    for (int k = 1; k <= terms; ++k, ratio *= growth) {
        g_k *= -ratio / k;
        g[k - 1] = g_k;
    }
    ptrdiff_t split = (ptrdiff_t)floor((left - rest) / step) - at;
    split = split < 0 ? 0 : split > n ? n : split;
    const ptrdiff_t blocks = (n - split + LANES - 1) / LANES;
    split = n - LANES * blocks;
    ptrdiff_t below = -lattice->n_powers - at; /* exp(s + mean) underflows */
    below = below < 0 ? 0 : below > split ? split : below;
    for (ptrdiff_t k = 0; k < below; ++k) G[k] = 1.0, D[k] = 0.0;
    if (split > below)
        NAME(series)(G + below, D + below, lattice->powers + at + below, split - below, g);
    if (blocks == 0) return;
    if (sd < SMALL)
        NAME(hermite)(G + split, D + split, lattice->powers + at + split, blocks, rest, sd, lattice);
    else
        NAME(smooth)(G + split, D + split, at + split, blocks, rest, sd, lattice);
}

TARGET static void NAME(row)(const double *mean, const double *sd, ptrdiff_t C,
                             const sgp_softmax_lattice *lattice, ptrdiff_t first, ptrdiff_t n,
                             double *work, double *log_sum, double *p, double *p2) {
    const ptrdiff_t blocks = n / LANES;
    const double step = lattice->step;
    /* products over the classes before, and minus their derivatives in s */
    double *before = work + 2 * C * n, *slope = before + C * n;
    for (ptrdiff_t c = 0; c < C; ++c)
        NAME(class_on_lattice)(work + 2 * c * n, work + (2 * c + 1) * n, mean[c], sd[c], first, n,
                               lattice);
    for (ptrdiff_t k = 0; k < LANES * blocks; ++k) before[k] = 1.0, slope[k] = 0.0;
    for (ptrdiff_t c = 0; c + 1 < C; ++c) {
        const double *restrict G = work + 2 * c * n, *restrict D = G + n;
        const double *restrict b = before + c * n, *restrict d = slope + c * n;
        double *restrict next = before + (c + 1) * n, *restrict next_slope = slope + (c + 1) * n;
        for (ptrdiff_t k = 0; k < LANES * blocks; ++k) {
            next_slope[k] = d[k] * G[k] + b[k] * D[k];
            next[k] = b[k] * G[k];
        }
    }
    {
        const double *restrict b = before + (C - 1) * n, *restrict G = work + 2 * (C - 1) * n;
        double lack = 0.0;
        SGP_SUMS(lack)
        for (ptrdiff_t k = 0; k < LANES * blocks; ++k) lack += 1.0 - b[k] * G[k];
        /* exp(-exp s) has the integral of a step at 0 less Euler's constant */
        *log_sum = step * (lack + 0.5 - (double)(first + n)) - EULER_GAMMA;
    }
    double *restrict after = work + 4 * C * n, *restrict after_slope = after + n;
    for (ptrdiff_t k = 0; k < LANES * blocks; ++k) after[k] = 1.0, after_slope[k] = 0.0;
    for (ptrdiff_t c = C - 1; c >= 0; --c) {
        const double *restrict G = work + 2 * c * n, *restrict D = G + n;
        const double *restrict b = before + c * n, *restrict d = slope + c * n;
        double sum = 0.0, cross = 0.0;
        SGP_SUMS(sum, cross)
        for (ptrdiff_t k = 0; k < LANES * blocks; ++k) {
            const double a = after[k], a_slope = after_slope[k];
            sum += D[k] * (b[k] * a);
            cross += D[k] * (d[k] * a + b[k] * a_slope);
            after_slope[k] = a_slope * G[k] + a * D[k];
            after[k] = a * G[k];
        }
        p[c] = step * sum;
        p2[c] = step * (sum - cross);
    }
}
