/* Instantiates profiles_rows.h for float and double and three x86-64 instruction sets, chosen at
   run time (simd.h). */
#include "profiles.h"
#include <math.h>
#include "simd.h"

#define SGP_PI 3.14159265358979323846

#define REAL double
#define EXP_NEG exp_neg64
#define SQRT sqrt
#define LOG1P log1p
#define SIN sin
#define COS cos
#define TARGET
#define NAME(x) x##_f64
#include "profiles_rows.h"
#undef NAME
#undef TARGET
#ifdef SGP_X86
#define TARGET TARGET_AVX2
#define NAME(x) x##_f64_avx2
#include "profiles_rows.h"
#undef NAME
#undef TARGET
#define TARGET TARGET_AVX512
#define NAME(x) x##_f64_avx512
#include "profiles_rows.h"
#undef NAME
#undef TARGET
#endif
#undef REAL
#undef EXP_NEG
#undef SQRT
#undef LOG1P
#undef SIN
#undef COS

#define REAL float
#define EXP_NEG exp_neg32
#define SQRT sqrtf
#define LOG1P log1pf
#define SIN sinf
#define COS cosf
#define TARGET
#define NAME(x) x##_f32
#include "profiles_rows.h"
#undef NAME
#undef TARGET
#ifdef SGP_X86
#define TARGET TARGET_AVX2
#define NAME(x) x##_f32_avx2
#include "profiles_rows.h"
#undef NAME
#undef TARGET
#define TARGET TARGET_AVX512
#define NAME(x) x##_f32_avx512
#include "profiles_rows.h"
#undef NAME
#undef TARGET
#endif

#define ROWS(suffix) {sqdist_##suffix, sqdist_from_products_##suffix, value_##suffix, vjp_##suffix}

static const sgp_rows_f64 rows64[] = {
    ROWS(f64),
#ifdef SGP_X86
    ROWS(f64_avx2),
    ROWS(f64_avx512),
#endif
};
static const sgp_rows_f32 rows32[] = {
    ROWS(f32),
#ifdef SGP_X86
    ROWS(f32_avx2),
    ROWS(f32_avx512),
#endif
};

const sgp_rows_f64 *sgp_rows64(void) { return &rows64[sgp_simd()]; }
const sgp_rows_f32 *sgp_rows32(void) { return &rows32[sgp_simd()]; }
const char *sgp_simd_level(void) {
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    return names[sgp_simd()];
}
