/* Instantiates distances_rows.h for three x86-64 instruction sets, chosen at run time (simd.h). */
#include "distances.h"
#include <math.h>
#include "simd.h"

#define SGP_CENTRES 128
#define SGP_FEW_CENTRES 16

#define ROW_KERNELS "distances_rows.h"
#include "instruction_sets.h"

static const sgp_distance_kernels kernels[] = {
    {distances_base, nearest_base},
#ifdef SGP_X86
    {distances_avx2, nearest_avx2},
    {distances_avx512, nearest_avx512},
#endif
};

const sgp_distance_kernels *sgp_distance_rows(void) { return &kernels[sgp_simd()]; }
