/* Includes ROW_KERNELS, a header of functions NAME(x) with the attribute TARGET, for the baseline and,
   on x86-64, for AVX2 and AVX-512; which of them runs is chosen at run time (simd.h). */
#define TARGET
#define NAME(x) x##_base
#include ROW_KERNELS
#undef NAME
#undef TARGET
#ifdef SGP_X86
#define TARGET TARGET_AVX2
#define NAME(x) x##_avx2
#include ROW_KERNELS
#undef NAME
#undef TARGET
#define TARGET TARGET_AVX512
#define NAME(x) x##_avx512
#include ROW_KERNELS
#undef NAME
#undef TARGET
#endif
