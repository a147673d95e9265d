/* Instantiates profiles_rows.h for three x86-64 instruction sets, chosen at run time (simd.h). */
#include "profiles.h"
#include <math.h>
#include "simd.h"

#define SGP_PI 3.14159265358979323846

#define ROW_KERNELS "profiles_rows.h"
#include "instruction_sets.h"

#define ROWS(suffix) \
    {sqdist_##suffix, sqdist_from_products_##suffix, value_##suffix, vjp_##suffix, \
     value_slope_##suffix, times_##suffix, weighted_##suffix}

static const sgp_row_kernels row_kernels[] = {
    ROWS(base),
#ifdef SGP_X86
    ROWS(avx2),
    ROWS(avx512),
#endif
};

const sgp_row_kernels *sgp_rows(void) { return &row_kernels[sgp_simd()]; }
const char *sgp_simd_level(void) {
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    return names[sgp_simd()];
}
