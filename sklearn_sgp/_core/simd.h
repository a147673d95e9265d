/* What the vectorised C files share: the exponential, and the choice of an instruction set.

   Each file instantiates its kernels for three x86-64 instruction sets, one of which is taken at
   run time. The environment variable SKLEARN_SGP_SIMD=0|1|2 lowers the choice.

   No -ffast-math (it would drop the rounding trick below, and at link time flush denormals for the
   whole process), no ifunc, no vector maths library: the exponential is a polynomial that every
   compiler vectorises. It returns exactly 0 far out, so no denormals reach BLAS. */
#ifndef SKLEARN_SGP_SIMD_H
#define SKLEARN_SGP_SIMD_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define SGP_INLINE static inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define SGP_INLINE static __forceinline
#else
#define SGP_INLINE static inline
#endif

/* Lets the compiler split the sums of the loop below over lanes. */
#if defined(__GNUC__) || defined(__clang__)
#define SGP_PRAGMA(text) _Pragma(#text)
#define SGP_SUMS(...) SGP_PRAGMA(omp simd reduction(+ : __VA_ARGS__))
#define SGP_LEAST(...) SGP_PRAGMA(omp simd reduction(min : __VA_ARGS__))
#else
#define SGP_LEAST(...)
#define SGP_SUMS(...) /* Visual C knows `omp simd` with an experimental flag only */
#endif

/* exp(x) for x <= 0: x = k log 2 + r with |r| <= log(2) / 2, Taylor in r to degree 12 (the
   remainder is below 2e-16), and k put into the exponent bits. Adding 1.5 * 2^52 rounds to an
   integer and leaves it in the low bits. The comparisons are written so that NaN stays NaN. */
SGP_INLINE double exp_neg(double x) {
    const double shift = 6755399441055744.0;
    const double xc = x < -708.0 ? -708.0 : x;
    const double t = xc * 1.4426950408889634074 + shift;
    const double k = t - shift;
    const double r = (xc - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 479001600.0;
    uint64_t bits; /* signed shifts are undefined */
    double scale;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    memcpy(&bits, &t, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return x < -708.0 ? 0.0 : p * scale;
}

#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
#define SGP_X86 1
#define TARGET_AVX2 __attribute__((target("avx2,fma")))
#if defined(__clang__)
#define TARGET_AVX512 \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"), min_vector_width(512)))
#else
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#endif
#endif

static inline int sgp_detect(void) {
    int level = 0;
#ifdef SGP_X86
    const char *wish = getenv("SKLEARN_SGP_SIMD");
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = 1;
    if (level == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        level = 2;
    if (wish && wish[0] >= '0' && wish[0] - '0' < level) level = wish[0] - '0';
#endif
    return level;
}

/* Racing first calls store the same value. */
static inline int sgp_simd(void) {
    static int level = -1;
    if (level < 0) level = sgp_detect();
    return level;
}

#endif
