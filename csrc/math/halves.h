/* bfloat16 is the upper half of a float; float16 has 5 bits of exponent and 10 of mantissa. Both are converted by integer
   operations without branches, for compilers make vectors of these: of C's own `_Float16` gcc 12 makes none. Strips
   of float16 are converted by the CPU's instructions (codegen/passes/half_strips.py). */

/* tt: tt_f16_to_f32; needs: tt_bits_f32, tt_float_f32 */
/* The exponent is counted anew; what is smaller than 2**-14 has none, and is the mantissa of 2**-14 without its 1. */
static inline float tt_f16_to_f32(uint16_t x) {
    uint32_t size = (uint32_t)(x & 0x7FFFu) << 13, sign = (uint32_t)(x & 0x8000u) << 16;
    uint32_t small = tt_bits_f32(tt_float_f32(size + 0x38800000u) - 0x1p-14f);
    uint32_t bits = size >= 0x0F800000u ? size + 0x70000000u : size + 0x38000000u; /* infinities and NaN; numbers */
    return tt_float_f32((size < 0x00800000u ? small : bits) | sign);
}

/* tt: tt_f32_to_f16; needs: tt_bits_f32, tt_float_f32 */
/* Rounds to nearest, halves to even; beside 0.5 a float's last bit is 2**-24, as that of the smallest float16. From 65520
   on all is infinite; a NaN stays one. */
static inline uint16_t tt_f32_to_f16(float x) {
    uint32_t all = tt_bits_f32(x), size = all & 0x7FFFFFFFu;
    uint32_t small = tt_bits_f32(tt_float_f32(size) + 0.5f) - 0x3F000000u;
    uint32_t large = size > 0x7F800000u ? 0x7E00u | (size >> 13 & 0x3FFu) : 0x7C00u;
    uint32_t bits = (size + 0xC8000FFFu + (size >> 13 & 1)) >> 13;
    bits = size < 0x38800000u ? small : bits;
    return (uint16_t)((size >= 0x477FF000u ? large : bits) | (all >> 16 & 0x8000u));
}

/* tt: tt_round_f16; needs: tt_bits_f32, tt_float_f32 */
/* The same number as a float: tt_f16_to_f32(tt_f32_to_f16(x)). A sum with 2**13 times the power of two below x, or below
   2**-14, has no bits after float16's last one, so adding rounds. From 65520 on all is infinite; a NaN stays one. */
static inline float tt_round_f16(float x) {
    uint32_t all = tt_bits_f32(x), power = all & 0x7F800000u;
    power = power > 0x38800000u ? power : 0x38800000u;
    float size = tt_float_f32(all & 0x7FFFFFFFu), coarse = tt_float_f32(power + (13u << 23));
    float rounded = size >= 65520.0f ? __builtin_inff() : (size + coarse) - coarse;
    return tt_float_f32(tt_bits_f32(rounded) | (all & 0x80000000u));
}

/* tt: tt_widen_f16; needs: tt_f16_to_f32 */
/* A strip of float16 as floats, by the instruction for it where the compiler says that the CPU has it. */
static inline void tt_widen_f16(float *restrict to, const uint16_t *restrict from, int64_t n) {
    int64_t done = 0;
#ifdef __AVX512F__
    typedef float floats __attribute__((vector_size(64), may_alias, aligned(4)));
    typedef short halves __attribute__((vector_size(32), may_alias, aligned(2)));
    done = n / 16 * 16;
    for (int64_t i = 0; i < done; i += 16)
        *(floats *)(to + i) = __builtin_ia32_vcvtph2ps512_mask(*(const halves *)(from + i), (floats){0}, -1, 4);
#elif defined(__F16C__)
    typedef float floats __attribute__((vector_size(32), may_alias, aligned(4)));
    typedef short halves __attribute__((vector_size(16), may_alias, aligned(2)));
    done = n / 8 * 8;
    for (int64_t i = 0; i < done; i += 8)
        *(floats *)(to + i) = __builtin_ia32_vcvtph2ps256(*(const halves *)(from + i));
#endif
    for (int64_t i = done; i < n; i++)
        to[i] = tt_f16_to_f32(from[i]);
}

/* tt: tt_narrow_f16; needs: tt_f32_to_f16 */
/* A strip of floats, each rounded to float16. */
static inline void tt_narrow_f16(uint16_t *restrict to, const float *restrict from, int64_t n) {
    int64_t done = 0;
#ifdef __AVX512F__
    typedef float floats __attribute__((vector_size(64), may_alias, aligned(4)));
    typedef short halves __attribute__((vector_size(32), may_alias, aligned(2)));
    done = n / 16 * 16;
    for (int64_t i = 0; i < done; i += 16)
        *(halves *)(to + i) = __builtin_ia32_vcvtps2ph512_mask(*(const floats *)(from + i), 0, (halves){0}, -1);
#elif defined(__F16C__)
    typedef float floats __attribute__((vector_size(32), may_alias, aligned(4)));
    typedef short halves __attribute__((vector_size(16), may_alias, aligned(2)));
    done = n / 8 * 8;
    for (int64_t i = 0; i < done; i += 8)
        *(halves *)(to + i) = __builtin_ia32_vcvtps2ph256(*(const floats *)(from + i), 0);
#endif
    for (int64_t i = done; i < n; i++)
        to[i] = tt_f32_to_f16(from[i]);
}

/* tt: tt_round_strip_f16; needs: tt_round_f16 */
/* A strip of floats, each rounded to float16, as floats. */
static inline void tt_round_strip_f16(float *restrict strip, int64_t n) {
    int64_t done = 0;
#ifdef __AVX512F__
    typedef float floats __attribute__((vector_size(64), may_alias, aligned(4)));
    typedef short halves __attribute__((vector_size(32)));
    done = n / 16 * 16;
    for (int64_t i = 0; i < done; i += 16) {
        halves rounded = __builtin_ia32_vcvtps2ph512_mask(*(floats *)(strip + i), 0, (halves){0}, -1);
        *(floats *)(strip + i) = __builtin_ia32_vcvtph2ps512_mask(rounded, (floats){0}, -1, 4);
    }
#elif defined(__F16C__)
    typedef float floats __attribute__((vector_size(32), may_alias, aligned(4)));
    done = n / 8 * 8;
    for (int64_t i = 0; i < done; i += 8)
        *(floats *)(strip + i) = __builtin_ia32_vcvtph2ps256(__builtin_ia32_vcvtps2ph256(*(floats *)(strip + i), 0));
#endif
    for (int64_t i = done; i < n; i++)
        strip[i] = tt_round_f16(strip[i]);
}

/* Where the CPU computes with float16 (AVX512-FP16), loops of sums, products, quotients, comparisons and these run as
   they stand: a float has more than twice as many bits, so rounding its operations to float16 gives the bits of the
   CPU's own. */

/* tt: tt_max_f16; needs:  */
/* As tt_max_f32. */
#ifdef __AVX512FP16__
static inline _Float16 tt_max_f16(_Float16 x, _Float16 y) {
    union { _Float16 value; uint16_t bits; } greater = {(x > y) | (x != x) ? x : y}, first = {x};
    greater.bits &= (uint16_t)(x == y ? first.bits : 0xFFFFu);
    return greater.value;
}
#endif

/* tt: tt_min_f16; needs:  */
/* As tt_min_f32. */
#ifdef __AVX512FP16__
static inline _Float16 tt_min_f16(_Float16 x, _Float16 y) {
    union { _Float16 value; uint16_t bits; } lesser = {(x < y) | (x != x) ? x : y}, first = {x};
    lesser.bits |= (uint16_t)(x == y ? first.bits : 0);
    return lesser.value;
}
#endif

/* tt: tt_abs_f16; needs:  */
#ifdef __AVX512FP16__
static inline _Float16 tt_abs_f16(_Float16 x) {
    union { _Float16 value; uint16_t bits; } size = {x};
    size.bits &= 0x7FFFu;
    return size.value;
}
#endif

/* tt: tt_bf16_to_f32; needs: tt_float_f32 */
static inline float tt_bf16_to_f32(uint16_t x) { return tt_float_f32((uint32_t)x << 16); }

/* tt: tt_f32_to_bf16; needs: tt_bits_f32 */
/* Rounds to nearest, halves to even; a NaN stays one. */
static inline uint16_t tt_f32_to_bf16(float x) {
    uint32_t bits = tt_bits_f32(x);
    uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x == x ? rounded : bits >> 16 | 0x0040u);
}

/* tt: tt_round_bf16; needs: tt_bits_f32, tt_float_f32 */
/* The same number as a float: tt_bf16_to_f32(tt_f32_to_bf16(x)). */
static inline float tt_round_bf16(float x) {
    uint32_t bits = tt_bits_f32(x);
    uint32_t rounded = bits + 0x7FFFu + (bits >> 16 & 1);
    return tt_float_f32((x == x ? rounded : bits | 0x00400000u) & 0xFFFF0000u);
}

/* Of what is computed from bfloat16 by C's own operations a NaN has zeros in its lower half, as its operands and the
   CPU's own NaN have. So it stays one when it is rounded, and needs no care. */

/* tt: tt_plain_to_bf16; needs: tt_bits_f32 */
/* tt_f32_to_bf16 of such a result. */
static inline uint16_t tt_plain_to_bf16(float x) {
    uint32_t bits = tt_bits_f32(x);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

/* tt: tt_round_plain_bf16; needs: tt_bits_f32, tt_float_f32 */
/* tt_round_bf16 of such a result. */
static inline float tt_round_plain_bf16(float x) {
    uint32_t bits = tt_bits_f32(x);
    return tt_float_f32((bits + 0x7FFFu + (bits >> 16 & 1)) & 0xFFFF0000u);
}

/* tt: tt_exact_to_bf16; needs: tt_bits_f32 */
/* The bfloat16 that x is. */
static inline uint16_t tt_exact_to_bf16(float x) { return (uint16_t)(tt_bits_f32(x) >> 16); }

/* tt: tt_words_bf16; needs:  */
/* A vector of what the CPU has, of words of two bfloat16 or of floats. In memory it begins anywhere. */
#if defined(__AVX512F__)
enum { TT_WORDS = 16 };
#elif defined(__AVX2__)
enum { TT_WORDS = 8 };
#else
enum { TT_WORDS = 4 };
#endif
typedef uint32_t tt_words_bf16 __attribute__((vector_size(4 * TT_WORDS)));
typedef uint32_t tt_any_words_bf16 __attribute__((vector_size(4 * TT_WORDS), may_alias, aligned(2)));

/* tt: tt_round_words_bf16; needs: tt_words_bf16 */
/* Plain results as tt_round_plain_bf16 rounds them, but for the lower halves, which hold what is left. An instruction for
   dot products adds two products of two bytes each: here 0x7FFF and the last bit that stays, times 1. */
static inline tt_words_bf16 tt_round_words_bf16(tt_words_bf16 x) {
#ifdef __AVX512VNNI__
    tt_words_bf16 added = (x & 0x10000u) | 0x7FFFu, ones = (tt_words_bf16){0} + 0x10001u;
    __asm__("vpdpwssd %2, %1, %0" : "+v"(x) : "v"(added), "v"(ones));
    return x;
#else
    return x + 0x7FFFu + (x >> 16 & 1);
#endif
}

/* tt: tt_widen_bf16; needs: tt_words_bf16, tt_bf16_to_f32 */
/* A strip of bfloat16 as floats: of each vector of words those in the lower halves, then those in the upper ones. So
   nothing is moved across a vector. What is left over stays in its order. */
static inline void tt_widen_bf16(float *restrict to, const uint16_t *restrict from, int64_t n) {
    int64_t done = n / (2 * TT_WORDS) * (2 * TT_WORDS);
    for (int64_t i = 0; i < done; i += 2 * TT_WORDS) {
        tt_words_bf16 both = *(const tt_any_words_bf16 *)(from + i);
        *(tt_any_words_bf16 *)(to + i) = both << 16;
        *(tt_any_words_bf16 *)(to + i + TT_WORDS) = both & 0xFFFF0000u;
    }
    for (int64_t i = done; i < n; i++)
        to[i] = tt_bf16_to_f32(from[i]);
}

/* tt: tt_round_strip_bf16; needs: tt_words_bf16, tt_round_words_bf16, tt_round_plain_bf16 */
/* A strip of plain results, each rounded to bfloat16, as floats; in any order. */
static inline void tt_round_strip_bf16(float *restrict strip, int64_t n) {
    int64_t done = n / TT_WORDS * TT_WORDS;
    for (int64_t i = 0; i < done; i += TT_WORDS) {
        tt_any_words_bf16 *all = (tt_any_words_bf16 *)(strip + i);
        *all = tt_round_words_bf16(*all) & 0xFFFF0000u;
    }
    for (int64_t i = done; i < n; i++)
        strip[i] = tt_round_plain_bf16(strip[i]);
}

/* tt: tt_narrow_bf16; needs: tt_words_bf16, tt_round_words_bf16, tt_plain_to_bf16 */
/* A strip of plain results in tt_widen_bf16's order, each rounded to bfloat16 and put where it belongs. */
static inline void tt_narrow_bf16(uint16_t *restrict to, const float *restrict from, int64_t n) {
    int64_t done = n / (2 * TT_WORDS) * (2 * TT_WORDS);
    for (int64_t i = 0; i < done; i += 2 * TT_WORDS) {
        tt_words_bf16 lower = tt_round_words_bf16(*(const tt_any_words_bf16 *)(from + i));
        tt_words_bf16 upper = tt_round_words_bf16(*(const tt_any_words_bf16 *)(from + i + TT_WORDS));
        *(tt_any_words_bf16 *)(to + i) = lower >> 16 | (upper & 0xFFFF0000u);
    }
    for (int64_t i = done; i < n; i++)
        to[i] = tt_plain_to_bf16(from[i]);
}

/* tt: tt_nextafter_bf16; needs: tt_bits_f32, tt_float_f32; chooses */
/* As tt_nextafter_f32, in steps of a bfloat16's last bit. */
static inline float tt_nextafter_bf16(float x, float y) {
    uint32_t bits = tt_bits_f32(x), step = 0x10000u;
    uint32_t away = (x < y) == (x > 0.0f);
    uint32_t next = x == 0.0f ? (tt_bits_f32(y) & 0x80000000u) | step : away ? bits + step : bits - step;
    float result = x == y ? y : tt_float_f32(next);
    return (x != x) | (y != y) ? x + y : result;
}

/* tt: tt_nextafter_f16; needs: tt_bits_f32, tt_float_f32; long, chooses */
/* As tt_nextafter_f32, in steps of a float16's last bit: of the smallest one below 2**-14; beyond 65504 lies infinity. */
static inline float tt_nextafter_f16(float x, float y) {
    float size = __builtin_fabsf(x);
    size = size > 65536.0f ? 65536.0f : size;
    uint32_t away = (x == 0.0f) | ((x < y) == (x > 0.0f));
    float step = away ? 0x1p-24f : -0x1p-24f;
    float next = tt_float_f32(tt_bits_f32(size) + (away ? 0x2000u : -0x2000u));
    next = size + step <= 0x1p-14f ? size + step : next;
    next = next >= 65536.0f ? __builtin_inff() : next;
    float result = x == y ? y : __builtin_copysignf(next, x == 0.0f ? y : x);
    return (x != x) | (y != y) ? x + y : result;
}

/* tt: tt_nextafter_words; needs:  */
/* Of bits: a step away from zero is one more. infinity: its bits; quiet: the bit of a NaN that is none that signals. */
static inline uint16_t tt_nextafter_words(uint16_t x, uint16_t y, int16_t infinity, uint16_t quiet) {
    const int16_t size = x & 0x7FFF, other = y & 0x7FFF, opposite = (int16_t)(x ^ y);
    uint16_t next = (uint16_t)(x + ((size > other) | (opposite < 0) ? 0xFFFFu : 1u));
    next = size == 0 ? (uint16_t)((y & 0x8000u) | 1u) : next;
    next = (x == y) | ((size | other) == 0) ? y : next;
    next = other > infinity ? (uint16_t)(y | quiet) : next;
    return size > infinity ? (uint16_t)(x | quiet) : next;
}

/* tt: tt_nextafter_words_f16; needs: tt_nextafter_words */
static inline uint16_t tt_nextafter_words_f16(uint16_t x, uint16_t y) {
    return tt_nextafter_words(x, y, 0x7C00, 0x0200u);
}

/* tt: tt_nextafter_words_bf16; needs: tt_nextafter_words */
static inline uint16_t tt_nextafter_words_bf16(uint16_t x, uint16_t y) {
    return tt_nextafter_words(x, y, 0x7F80, 0x0040u);
}

/* tt: tt_rank_of_bits; needs:  */
/* Bits of two-byte floats as integers in the order of what they are, -0 before 0: of negative ones all bits are turned
   but the sign. infinity: its bits; of_nan: what a NaN is. */
static inline int16_t tt_rank_of_bits(int16_t x, int16_t infinity, int16_t of_nan) {
    const int16_t size = x & 0x7FFF, rank = (int16_t)(x ^ (x >> 15 & 0x7FFF));
    return size > infinity ? of_nan : rank;
}

/* tt: tt_bits_at_rank; needs:  */
/* The other way round. */
static inline uint16_t tt_bits_at_rank(int16_t rank, int16_t infinity, uint16_t nan) {
    const int16_t bits = (int16_t)(rank ^ (rank >> 15 & 0x7FFF)), size = bits & 0x7FFF;
    return size > infinity ? nan : (uint16_t)bits;
}

/* tt: tt_f64_to_odd_f32; needs: tt_bits_f32, tt_float_f32 */
/* x as a float that is about to be rounded to fewer bits: the nearest one, or where x is none, that of its two neighbours
   whose last bit is 1. So the second rounding is the one of x. S. Boldo, G. Melquiond, "Emulation of FMA and correctly
   rounded sums: proved algorithms using rounding to odd", 2008. */
static inline float tt_f64_to_odd_f32(double x) {
    float near = (float)x;
    uint32_t bits = tt_bits_f32(near);
    uint32_t away = __builtin_fabs((double)near) > __builtin_fabs(x);
    uint32_t odd = (bits & 1u) ? bits : bits + 1u - 2u * away;
    return ((double)near == x) | (x != x) ? near : tt_float_f32(odd);
}
