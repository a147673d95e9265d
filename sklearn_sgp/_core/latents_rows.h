/* The kernels of latents.h, written once and included for each instruction set.

   Expects NAME(x) (decorated name) and TARGET (function attribute). */

TARGET static void NAME(first)(double *restrict out, const double *restrict b, double scale,
                               ptrdiff_t m, ptrdiff_t Q) {
    for (ptrdiff_t j = 0; j < m; ++j) out[j] = 0.0;
    for (ptrdiff_t q = 0; q < Q; ++q, b += m)
        for (ptrdiff_t j = 0; j < m; ++j) out[j] += b[j] * b[j];
    for (ptrdiff_t j = 0; j < m; ++j) out[j] = scale * exp_neg(-out[j]);
}

/* Row i of the packed matrix: n = i + 1 entries. */
TARGET static void NAME(second_row)(double *restrict out, const double *restrict D,
                                    const double *restrict b, double scale, ptrdiff_t i,
                                    ptrdiff_t m, ptrdiff_t Q) {
    const ptrdiff_t n = i + 1;
    ptrdiff_t q = 0;
    for (ptrdiff_t j = 0; j < n; ++j) out[j] = D[j];
    for (; q + 4 <= Q; q += 4) {
        const double *b0 = b + q * m, *b1 = b0 + m, *b2 = b1 + m, *b3 = b2 + m;
        const double c0 = b0[i], c1 = b1[i], c2 = b2[i], c3 = b3[i];
        for (ptrdiff_t j = 0; j < n; ++j) {
            const double t0 = b0[j] + c0, t1 = b1[j] + c1, t2 = b2[j] + c2, t3 = b3[j] + c3;
            out[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3);
        }
    }
    for (; q < Q; ++q) {
        const double *b0 = b + q * m;
        const double c0 = b0[i];
        for (ptrdiff_t j = 0; j < n; ++j) {
            const double t0 = b0[j] + c0;
            out[j] += t0 * t0;
        }
    }
    for (ptrdiff_t j = 0; j < n; ++j) out[j] = scale * exp_neg(-out[j]);
}

TARGET static void NAME(second)(double *restrict out, const double *restrict D,
                                const double *restrict b, double scale, ptrdiff_t m,
                                ptrdiff_t Q) {
    for (ptrdiff_t i = 0; i < m; ++i) {
        NAME(second_row)(out, D, b, scale, i, m, Q);
        out += i + 1;
        D += i + 1;
    }
}

TARGET static double NAME(first_reverse)(double *restrict u, double *restrict work,
                                         const double *restrict g, const double *restrict b,
                                         double scale, ptrdiff_t m, ptrdiff_t Q) {
    double total = 0.0;
    NAME(first)(work, b, scale, m, Q);
    SGP_SUMS(total)
    for (ptrdiff_t j = 0; j < m; ++j) {
        work[j] *= g[j];
        total += work[j];
    }
    for (ptrdiff_t q = 0; q < Q; ++q, b += m, u += m)
        for (ptrdiff_t j = 0; j < m; ++j) u[j] = work[j] * b[j];
    return total;
}

/* t[j] = sum_i b[i] W[i, j], whole rows of W at a time: no sums over lanes, no short loops. */
TARGET static void NAME(times)(double *restrict t, const double *restrict b,
                               const double *restrict W, ptrdiff_t m, ptrdiff_t width) {
    ptrdiff_t i = 0;
    for (ptrdiff_t j = 0; j < width; ++j) t[j] = 0.0;
    for (; i + 4 <= m; i += 4, W += 4 * width) {
        const double *W1 = W + width, *W2 = W1 + width, *W3 = W2 + width;
        const double b0 = b[i], b1 = b[i + 1], b2 = b[i + 2], b3 = b[i + 3];
        for (ptrdiff_t j = 0; j < width; ++j)
            t[j] += (b0 * W[j] + b1 * W1[j]) + (b2 * W2[j] + b3 * W3[j]);
    }
    for (; i < m; ++i, W += width) {
        const double b0 = b[i];
        for (ptrdiff_t j = 0; j < width; ++j) t[j] += b0 * W[j];
    }
}

TARGET static double NAME(second_reverse)(double *restrict u, double *restrict V,
                                          double *restrict work, const double *restrict g,
                                          const double *restrict D, const double *restrict b,
                                          double scale, ptrdiff_t m, ptrdiff_t Q) {
    const ptrdiff_t width = sgp_latent_width(m);
    double all = 0.0, *restrict W = work, *restrict r = work + m * width, *restrict t = r + width;
    for (ptrdiff_t i = 0; i < m; ++i) {
        double *restrict row = W + i * width;
        NAME(second_row)(row, D, b, scale, i, m, Q);
        for (ptrdiff_t j = 0; j <= i; ++j) row[j] *= g[j];
        if (V != NULL) {
            for (ptrdiff_t j = 0; j <= i; ++j) V[j] += row[j];
            V += i + 1;
        }
        for (ptrdiff_t j = 0; j < i; ++j) W[j * width + i] = row[j];
        g += i + 1;
        D += i + 1;
    }
    for (ptrdiff_t i = 0; i < m; ++i)
        for (ptrdiff_t j = m; j < width; ++j) W[i * width + j] = 0.0;
    for (ptrdiff_t j = 0; j < width; ++j) r[j] = 0.0;
    for (ptrdiff_t i = 0; i < m; ++i)
        for (ptrdiff_t j = 0; j < width; ++j) r[j] += W[i * width + j];
    for (ptrdiff_t j = 0; j < m; ++j) all += r[j];
    for (ptrdiff_t q = 0; q < Q; ++q, b += m, u += m) {
        NAME(times)(t, b, W, m, width);
        for (ptrdiff_t j = 0; j < m; ++j) u[j] = t[j] + r[j] * b[j];
    }
    return all;
}

TARGET static void NAME(combine)(double *restrict out, const double *restrict weight,
                                 const double *restrict A, ptrdiff_t K, ptrdiff_t n) {
    for (ptrdiff_t c = 0; c < n; ++c) out[c] = 0.0;
    for (ptrdiff_t k = 0; k < K; ++k) {
        const double w = weight[k], *restrict row = A + k * n;
        if (w == 0.0) continue;
        for (ptrdiff_t c = 0; c < n; ++c) out[c] += w * row[c];
    }
}
