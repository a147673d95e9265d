/* Expectations of a squared exponential under Gaussian inputs, and their reverse mode
   (docs/theory.md, section 17).

   Every function works on one row of data against all m inducing inputs, whose entries are stored
   by dimension, (Q, m). Symmetric m x m matrices are packed: the lower triangle, row by row. */
#ifndef SKLEARN_SGP_LATENTS_H
#define SKLEARN_SGP_LATENTS_H
#include <stddef.h>

/* Rows of W are filled up to whole vectors. */
static inline ptrdiff_t sgp_latent_width(ptrdiff_t m) { return (m + 7) / 8 * 8; }

/* Numbers that a reverse pass works in: W, the sums of its rows, and a row of a product. */
static inline ptrdiff_t sgp_latent_work(ptrdiff_t m) { return (m + 2) * sgp_latent_width(m); }

typedef struct {
    /* out[j] = scale * exp(-sum_q b[q, j]^2) */
    void (*first)(double *out, const double *b, double scale, ptrdiff_t m, ptrdiff_t Q);
    /* out[i, j] = scale * exp(-D[i, j] - sum_q (b[q, i] + b[q, j])^2) for j <= i */
    void (*second)(double *out, const double *D, const double *b, double scale, ptrdiff_t m,
                   ptrdiff_t Q);
    /* With W = g * out of the above: u[q, j] = W[j] b[q, j]; returns the sum of W. */
    double (*first_reverse)(double *u, double *work, const double *g, const double *b,
                            double scale, ptrdiff_t m, ptrdiff_t Q);
    /* With W = g * out and the sum over both triangles: u[q, i] = sum_j W[i, j] (b[q, i] + b[q, j]);
       unless V is NULL, V[i, j] += W[i, j]; returns the sum of W. work holds
       sgp_latent_work(m) numbers. */
    double (*second_reverse)(double *u, double *V, double *work, const double *g, const double *D,
                             const double *b, double scale, ptrdiff_t m, ptrdiff_t Q);
    /* out[c] = sum_k weight[k] A[k, c], always in the same order */
    void (*combine)(double *out, const double *weight, const double *A, ptrdiff_t K, ptrdiff_t n);
} sgp_latent_kernels;

const sgp_latent_kernels *sgp_latents(void);

#endif
