/* Vectors of unsigned integers: which lanes hold small ones, and the chosen lanes side by side, before any others.

   Each is defined for words (u32) and long words (u64), wide (AVX-512) and narrow (AVX2). A place is a word. */
#ifndef TT_LANES_H
#define TT_LANES_H
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdint.h>
#include "vectors.h"

#define VECTORS_OF(KIND, ITEM, INTEGER, BYTES)                                                                    \
    typedef ITEM vector_##KIND __attribute__((vector_size(BYTES)));                                              \
    typedef INTEGER signed_##KIND __attribute__((vector_size(BYTES)));                                           \
    typedef uint32_t places_##KIND __attribute__((vector_size(BYTES / sizeof(ITEM) * sizeof(uint32_t))));
VECTORS_OF(u32_wide, uint32_t, int32_t, 64)
VECTORS_OF(u64_wide, uint64_t, int64_t, 64)
VECTORS_OF(u32_narrow, uint32_t, int32_t, 32)
VECTORS_OF(u64_narrow, uint64_t, int64_t, 32)

/* --- with AVX-512 ----------------------------------------------------------------------------------------------- */

#define WIDE_LANES WITH_AVX512 static inline
WIDE_LANES uint32_t at_most_u32_wide(vector_u32_wide x, vector_u32_wide y) {
    return _mm512_cmple_epu32_mask((__m512i)x, (__m512i)y);
}
WIDE_LANES uint32_t at_most_u64_wide(vector_u64_wide x, vector_u64_wide y) {
    return _mm512_cmple_epu64_mask((__m512i)x, (__m512i)y);
}
WIDE_LANES vector_u32_wide chosen_u32_wide(uint32_t which, vector_u32_wide x) {
    return (vector_u32_wide)_mm512_maskz_compress_epi32((__mmask16)which, (__m512i)x);
}
WIDE_LANES vector_u64_wide chosen_u64_wide(uint32_t which, vector_u64_wide x) {
    return (vector_u64_wide)_mm512_maskz_compress_epi64((__mmask8)which, (__m512i)x);
}
WIDE_LANES places_u32_wide chosen_places_u32_wide(uint32_t which, places_u32_wide x) {
    return chosen_u32_wide(which, x);
}
WIDE_LANES places_u64_wide chosen_places_u64_wide(uint32_t which, places_u64_wide x) {
    return (places_u64_wide)_mm256_maskz_compress_epi32((__mmask8)which, (__m256i)x);
}

/* --- with AVX2, which has no instruction for it ------------------------------------------------------------------- */

/* Which of four lanes are chosen, a byte each. */
static const uint32_t chosen_of_four[] = {0, 0,     1,     0x100,   2,     0x200,   0x201,   0x20100,
                                          3, 0x300, 0x301, 0x30100, 0x302, 0x30200, 0x30201, 0x3020100};

/* There are comparisons of signed numbers alone. */
WITH_AVX2 static inline uint32_t at_most_u32_narrow(vector_u32_narrow x, vector_u32_narrow y) {
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    const __m256i above = _mm256_cmpgt_epi32(_mm256_xor_si256((__m256i)x, sign), _mm256_xor_si256((__m256i)y, sign));
    return 0xff ^ (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(above));
}
WITH_AVX2 static inline uint32_t at_most_u64_narrow(vector_u64_narrow x, vector_u64_narrow y) {
    const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
    const __m256i above = _mm256_cmpgt_epi64(_mm256_xor_si256((__m256i)x, sign), _mm256_xor_si256((__m256i)y, sign));
    return 0xf ^ (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(above));
}
WITH_AVX2 static inline vector_u32_narrow chosen_u32_narrow(uint32_t which, vector_u32_narrow x) {
    const uint32_t lower = which & 15;
    const uint64_t higher = chosen_of_four[which >> 4] + 0x4040404ull;
    const uint64_t lanes = chosen_of_four[lower] | higher << 8 * __builtin_popcount(lower);
    const __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)lanes));
    return (vector_u32_narrow)_mm256_permutevar8x32_epi32((__m256i)x, places);
}
WITH_AVX2 static inline vector_u64_narrow chosen_u64_narrow(uint32_t which, vector_u64_narrow x) {
    const __m256i first = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int32_t)(2 * chosen_of_four[which])));
    const __m256i second = _mm256_or_si256(_mm256_slli_epi64(first, 32), _mm256_set1_epi64x(1ll << 32));
    return (vector_u64_narrow)_mm256_permutevar8x32_epi32((__m256i)x, _mm256_or_si256(first, second));
}
WITH_AVX2 static inline places_u32_narrow chosen_places_u32_narrow(uint32_t which, places_u32_narrow x) {
    return chosen_u32_narrow(which, x);
}
WITH_AVX2 static inline places_u64_narrow chosen_places_u64_narrow(uint32_t which, places_u64_narrow x) {
    const __m128i lanes = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int32_t)chosen_of_four[which]));
    return (places_u64_narrow)_mm_permutevar_ps((__m128)x, lanes);
}
#endif
#endif
