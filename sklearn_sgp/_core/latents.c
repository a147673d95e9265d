/* Instantiates latents_rows.h for three x86-64 instruction sets, chosen at run time (simd.h). */
#include "latents.h"
#include "simd.h"

#define ROW_KERNELS "latents_rows.h"
#include "instruction_sets.h"

#define KERNELS(suffix) \
    {first_##suffix, second_##suffix, first_reverse_##suffix, second_reverse_##suffix, \
     combine_##suffix}

static const sgp_latent_kernels latent_kernels[] = {
    KERNELS(base),
#ifdef SGP_X86
    KERNELS(avx2),
    KERNELS(avx512),
#endif
};

const sgp_latent_kernels *sgp_latents(void) { return &latent_kernels[sgp_simd()]; }
