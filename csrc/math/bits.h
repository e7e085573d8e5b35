/* The bits of floats, and what is read or changed by them.

   How these files are written: every function is preceded by a line that names it and the functions that it needs,
   and ends where the next such line begins; `tinytrace.csources.math_functions` pastes the ones that a program uses.
   A function works on one element, without branches, so that the compiler turns a loop over it into vector code.
   A product that is added to something is written as tt_fma; __builtin_fma stands where exactness rests on it. */

/* tt: tt_bits_f32; needs:  */
static inline uint32_t tt_bits_f32(float x) {
    union { float value; uint32_t bits; } both = {.value = x};
    return both.bits;
}

/* tt: tt_float_f32; needs:  */
static inline float tt_float_f32(uint32_t bits) {
    union { uint32_t bits; float value; } both = {.bits = bits};
    return both.value;
}

/* tt: tt_bits_f64; needs:  */
static inline uint64_t tt_bits_f64(double x) {
    union { double value; uint64_t bits; } both = {.value = x};
    return both.bits;
}

/* tt: tt_float_f64; needs:  */
static inline double tt_float_f64(uint64_t bits) {
    union { uint64_t bits; double value; } both = {.bits = bits};
    return both.value;
}

/* tt: tt_exponent_f64; needs: tt_float_f64 */
/* The whole number in the upper 12 bits, negative ones included, by its place among the digits of 2**52: only AVX-512
   converts whole numbers of 64 bits in vectors, or shifts them with their sign. */
static inline double tt_exponent_f64(uint64_t bits) {
    return tt_float_f64((bits ^ 0x8000000000000000u) >> 52 | 0x4330000000000000u) - 4503599627372544.0;
}

/* tt: tt_complex_of_word; needs: tt_float_f32 */
/* A complex number that was read as a word, see tinytrace/codegen/c/threes.py: what is at the lower address is real. */
static inline float _Complex tt_complex_of_word(uint64_t word) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = word << 32 | word >> 32;
#endif
    return __builtin_complex(tt_float_f32((uint32_t)word), tt_float_f32((uint32_t)(word >> 32)));
}

/* tt: tt_word_of_complex; needs: tt_bits_f32 */
static inline uint64_t tt_word_of_complex(float _Complex z) {
    uint64_t first = tt_bits_f32(__real__ z), second = tt_bits_f32(__imag__ z);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return first << 32 | second;
#else
    return second << 32 | first;
#endif
}

/* tt: tt_abs_f32; needs:  */
static inline float tt_abs_f32(float x) { return __builtin_fabsf(x); }

/* tt: tt_abs_f64; needs:  */
static inline double tt_abs_f64(double x) { return __builtin_fabs(x); }

/* tt: tt_neg_f32; needs: tt_bits_f32, tt_float_f32 */
/* -x where x may be a sum of products, of which gcc would make another one: "negated sums" and "paired products" of
   tinytrace/codegen/c/quirks.py. */
static inline float tt_neg_f32(float x) { return tt_float_f32(tt_bits_f32(x) ^ 0x80000000u); }

/* tt: tt_neg_f64; needs: tt_bits_f64, tt_float_f64 */
static inline double tt_neg_f64(double x) { return tt_float_f64(tt_bits_f64(x) ^ 0x8000000000000000u); }

/* tt: tt_no_sign; needs:  */
/* 0, of which gcc does not know that it is: called once before a loop. */
#if defined(__GNUC__) && !defined(__clang__)
static __attribute__((noipa, const)) uint32_t tt_no_sign(void) { return 0; }
#else
static inline uint32_t tt_no_sign(void) { return 0; }
#endif

/* tt: tt_plain_f32; needs: tt_bits_f32, tt_float_f32, tt_no_sign */
/* x, beside -x by `tt_neg_f32`: to a compiler both do the same with another mask, which it makes one vector of. */
static inline float tt_plain_f32(float x) { return tt_float_f32(tt_bits_f32(x) ^ tt_no_sign()); }

/* tt: tt_plain_f64; needs: tt_bits_f64, tt_float_f64, tt_no_sign */
static inline double tt_plain_f64(double x) { return tt_float_f64(tt_bits_f64(x) ^ tt_no_sign()); }

/* tt: tt_fma_f32; needs:  */
/* a * b + c, rounded once where the machine has an instruction for that, else twice. Which sums are written so is
   decided by tinytrace/passes/multiply_add.py: compilers may not fuse by themselves (-ffp-contract=off), for they do so
   in the vectors of a loop and not in the elements that are left over. */
static inline float tt_fma_f32(float a, float b, float c) {
#if defined __FP_FAST_FMAF || defined __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* tt: tt_quotient_f32; needs: tt_fma_f32 */
/* x / c for a small whole number x and a number c that compilers know: c/known_quotients.py asks whether it is. */
static inline float tt_quotient_f32(float x, float c) {
#if defined __FP_FAST_FMAF || defined __FMA__
    const float r = 1.0f / c;
    const float q = x * r;
    return tt_fma_f32(tt_fma_f32(-q, c, x), r, q);
#else
    return x / c;
#endif
}

/* tt: tt_fma_f64; needs:  */
static inline double tt_fma_f64(double a, double b, double c) {
#if defined __FP_FAST_FMA || defined __FMA__
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* tt: tt_copysign_f32; needs:  */
static inline float tt_copysign_f32(float size, float sign) { return __builtin_copysignf(size, sign); }

/* tt: tt_copysign_f64; needs:  */
static inline double tt_copysign_f64(double size, double sign) { return __builtin_copysign(size, sign); }

/* tt: tt_is_finite_f32; needs:  */
static inline uint8_t tt_is_finite_f32(float x) { return __builtin_fabsf(x) < __builtin_inff(); }

/* tt: tt_is_finite_f64; needs:  */
static inline uint8_t tt_is_finite_f64(double x) { return __builtin_fabs(x) < __builtin_inf(); }

/* tt: tt_sign_f32; needs:  */
/* -1 or 1; zeros and NaN are returned as they are. */
static inline float tt_sign_f32(float x) {
    float one = __builtin_copysignf(1.0f, x);
    return __builtin_fabsf(x) > 0.0f ? one : x;
}

/* tt: tt_sign_f64; needs:  */
static inline double tt_sign_f64(double x) {
    double one = __builtin_copysign(1.0, x);
    return __builtin_fabs(x) > 0.0 ? one : x;
}

/* tt: tt_max_f32; needs: tt_bits_f32, tt_float_f32 */
/* The greater one; NaN if either is NaN; max(-0, 0) is 0: equal numbers differ at most in the sign of zero. The last
   step is not a choice: where the result of one choice goes to the next, as in min(max(x, 0), 6), gcc's elimination of
   partial redundancies makes jumps of them, and a loop with jumps in it has no vectors (40 times the time). What two
   comparisons say together AVX-512 finds by the second, under the mask of the first: `or` would be a third operation.
   Beside a number that is known one comparison decides; of 0 and -0 it takes the one that is known, so that is not -0. */
static inline float tt_max_f32(float x, float y) {
    if (__builtin_constant_p(y) && y == y && (y != 0.0f || !__builtin_signbit(y))) {
        uint32_t kept = x <= y ? 0 : ~(uint32_t)0;
        return tt_float_f32((tt_bits_f32(x) & kept) | (tt_bits_f32(y) & ~kept));
    }
    float greater = (x == x) & !(x > y) ? y : x;
    uint32_t same = x == y ? tt_bits_f32(x) : ~(uint32_t)0;
    return tt_float_f32(tt_bits_f32(greater) & same);
}

/* tt: tt_max_f64; needs: tt_bits_f64, tt_float_f64 */
static inline double tt_max_f64(double x, double y) {
    if (__builtin_constant_p(y) && y == y && (y != 0.0 || !__builtin_signbit(y))) {
        uint64_t kept = x <= y ? 0 : ~(uint64_t)0;
        return tt_float_f64((tt_bits_f64(x) & kept) | (tt_bits_f64(y) & ~kept));
    }
    double greater = (x == x) & !(x > y) ? y : x;
    uint64_t same = x == y ? tt_bits_f64(x) : ~(uint64_t)0;
    return tt_float_f64(tt_bits_f64(greater) & same);
}

/* tt: tt_min_f32; needs: tt_bits_f32, tt_float_f32 */
/* The lesser one; NaN if either is NaN; min(-0, 0) is -0. A known number is not 0. */
static inline float tt_min_f32(float x, float y) {
    if (__builtin_constant_p(y) && y == y && (y != 0.0f || __builtin_signbit(y))) {
        uint32_t kept = x >= y ? 0 : ~(uint32_t)0;
        return tt_float_f32((tt_bits_f32(x) & kept) | (tt_bits_f32(y) & ~kept));
    }
    float lesser = (x == x) & !(x < y) ? y : x;
    uint32_t same = x == y ? tt_bits_f32(x) : 0;
    return tt_float_f32(tt_bits_f32(lesser) | same);
}

/* tt: tt_min_f64; needs: tt_bits_f64, tt_float_f64 */
static inline double tt_min_f64(double x, double y) {
    if (__builtin_constant_p(y) && y == y && (y != 0.0 || __builtin_signbit(y))) {
        uint64_t kept = x >= y ? 0 : ~(uint64_t)0;
        return tt_float_f64((tt_bits_f64(x) & kept) | (tt_bits_f64(y) & ~kept));
    }
    double lesser = (x == x) & !(x < y) ? y : x;
    uint64_t same = x == y ? tt_bits_f64(x) : 0;
    return tt_float_f64(tt_bits_f64(lesser) | same);
}

/* tt: tt_number_max_f32; needs:  */
/* y if it is a number and greater, else x: of updates one after the other, which compare what lies in memory once. Both
   are arguments: gcc makes one instruction of such a choice between variables, and three of one that reads memory. */
static inline float tt_number_max_f32(float x, float y) { return y > x ? y : x; }

/* tt: tt_number_max_f64; needs:  */
static inline double tt_number_max_f64(double x, double y) { return y > x ? y : x; }

/* tt: tt_number_min_f32; needs:  */
/* y if it is a number and less, else x. */
static inline float tt_number_min_f32(float x, float y) { return y < x ? y : x; }

/* tt: tt_number_min_f64; needs:  */
static inline double tt_number_min_f64(double x, double y) { return y < x ? y : x; }
