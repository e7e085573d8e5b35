/* Rounding to integers, and from floats to the integer types.

   A conversion truncates towards zero and saturates; NaN becomes 0. C leaves all of that undefined, and x86 gives the
   smallest integer for every value out of range. */

/* tt: tt_floor_f32; needs:  */
static inline float tt_floor_f32(float x) { return __builtin_floorf(x); }

/* tt: tt_floor_f64; needs:  */
static inline double tt_floor_f64(double x) { return __builtin_floor(x); }

/* tt: tt_ceil_f32; needs:  */
static inline float tt_ceil_f32(float x) { return __builtin_ceilf(x); }

/* tt: tt_ceil_f64; needs:  */
static inline double tt_ceil_f64(double x) { return __builtin_ceil(x); }

/* tt: tt_rint_f32; needs:  */
/* Halves go to the even neighbour. */
static inline float tt_rint_f32(float x) { return __builtin_rintf(x); }

/* tt: tt_rint_f64; needs:  */
static inline double tt_rint_f64(double x) { return __builtin_rint(x); }

/* tt: tt_round_f32; needs:  */
/* Halves go away from zero. x - whole is exact, so 0.49999997 is not a half, as floor(x + 0.5) would have it. */
static inline float tt_round_f32(float x) {
    float whole = __builtin_truncf(x);
    float step = __builtin_fabsf(x - whole) >= 0.5f ? 1.0f : 0.0f;
    return __builtin_copysignf(whole + __builtin_copysignf(step, x), x);
}

/* tt: tt_round_f64; needs:  */
static inline double tt_round_f64(double x) {
    double whole = __builtin_trunc(x);
    double step = __builtin_fabs(x - whole) >= 0.5 ? 1.0 : 0.0;
    return __builtin_copysign(whole + __builtin_copysign(step, x), x);
}

/* tt: tt_f32_to_i32; needs:  */
/* 2147483520 is the greatest float below 2**31. */
static inline int32_t tt_f32_to_i32(float x) {
    float low = x > -2147483648.0f ? x : -2147483648.0f;
    float inside = low < 2147483520.0f ? low : 2147483520.0f;
    int32_t saturated = x >= 2147483648.0f ? 2147483647 : (int32_t)inside;
    return x == x ? saturated : 0;
}

/* tt: tt_f32_to_u32; needs:  */
/* 4294967040 is the greatest float below 2**32; a signed conversion of 64 bits is the wider instruction set's. */
static inline uint32_t tt_f32_to_u32(float x) {
    float low = x > 0.0f ? x : 0.0f;
    float inside = low < 4294967040.0f ? low : 4294967040.0f;
    return x >= 4294967296.0f ? 0xFFFFFFFFu : (uint32_t)inside;
}

/* tt: tt_f32_to_i64; needs:  */
static inline int64_t tt_f32_to_i64(float x) {
    float low = x > -9223372036854775808.0f ? x : -9223372036854775808.0f;
    float inside = low < 9223371487098961920.0f ? low : 9223371487098961920.0f;
    int64_t saturated = x >= 9223372036854775808.0f ? 0x7FFFFFFFFFFFFFFF : (int64_t)inside;
    return x == x ? saturated : 0;
}

/* tt: tt_f32_to_u64; needs:  */
static inline uint64_t tt_f32_to_u64(float x) {
    float low = x > 0.0f ? x : 0.0f;
    float inside = low < 18446742974197923840.0f ? low : 18446742974197923840.0f;
    return x >= 18446744073709551616.0f ? ~(uint64_t)0 : (uint64_t)inside;
}

/* tt: tt_f32_to_narrow; needs:  */
/* To an integer type of one or two bytes, whose least and greatest numbers floats hold; NaN is never above the least. */
static inline int32_t tt_f32_to_narrow(float x, float least, float greatest) {
    float above = x > least ? x : least;
    int32_t whole = (int32_t)(above < greatest ? above : greatest);
    return least == 0.0f || x == x ? whole : 0;
}

/* tt: tt_f64_to_narrow; needs:  */
static inline int32_t tt_f64_to_narrow(double x, double least, double greatest) {
    double above = x > least ? x : least;
    int32_t whole = (int32_t)(above < greatest ? above : greatest);
    return least == 0.0 || x == x ? whole : 0;
}

/* tt: tt_f64_to_i32; needs:  */
static inline int32_t tt_f64_to_i32(double x) {
    double low = x > -2147483648.0 ? x : -2147483648.0;
    double inside = low < 2147483647.0 ? low : 2147483647.0;
    return x == x ? (int32_t)inside : 0;
}

/* tt: tt_f64_to_u32; needs:  */
static inline uint32_t tt_f64_to_u32(double x) {
    double low = x > 0.0 ? x : 0.0;
    double inside = low < 4294967295.0 ? low : 4294967295.0;
    return (uint32_t)inside;
}

/* tt: tt_f64_to_i64; needs:  */
static inline int64_t tt_f64_to_i64(double x) {
    double low = x > -9223372036854775808.0 ? x : -9223372036854775808.0;
    double inside = low < 9223372036854774784.0 ? low : 9223372036854774784.0;
    int64_t saturated = x >= 9223372036854775808.0 ? 0x7FFFFFFFFFFFFFFF : (int64_t)inside;
    return x == x ? saturated : 0;
}

/* tt: tt_f64_to_u64; needs:  */
static inline uint64_t tt_f64_to_u64(double x) {
    double low = x > 0.0 ? x : 0.0;
    double inside = low < 18446744073709549568.0 ? low : 18446744073709549568.0;
    return x >= 18446744073709551616.0 ? ~(uint64_t)0 : (uint64_t)inside;
}

/* tt: tt_reduce_precision_f32; needs: tt_bits_f32, tt_float_f32 */
/* Rounds the mantissa to even on the bits, then sends what leaves the smaller exponent's range to infinity or zero. */
static inline float tt_reduce_precision_f32(float x, uint32_t exponent_bits, uint32_t mantissa_bits) {
    uint32_t sign = tt_bits_f32(x) & 0x80000000u;
    uint32_t magnitude = tt_bits_f32(x) & 0x7FFFFFFFu;
    if (mantissa_bits < 23) {
        uint32_t dropped = 23 - mantissa_bits;
        uint32_t last_kept = magnitude >> dropped & 1;
        magnitude = (magnitude + (1u << dropped >> 1) - 1 + last_kept) >> dropped << dropped;
    }
    if (exponent_bits < 8) {
        uint32_t bias = (1u << (exponent_bits - 1)) - 1;
        magnitude = magnitude >= (127 + bias + 1) << 23 ? 0x7F800000u : magnitude;
        magnitude = magnitude < (127 - bias + 1) << 23 ? 0 : magnitude;
    }
    return x == x ? tt_float_f32(sign | magnitude) : x;
}

/* tt: tt_reduce_precision_f64; needs: tt_bits_f64, tt_float_f64 */
static inline double tt_reduce_precision_f64(double x, uint32_t exponent_bits, uint32_t mantissa_bits) {
    uint64_t sign = tt_bits_f64(x) & 0x8000000000000000u;
    uint64_t magnitude = tt_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu;
    if (mantissa_bits < 52) {
        uint64_t dropped = 52 - mantissa_bits;
        uint64_t last_kept = magnitude >> dropped & 1;
        magnitude = (magnitude + ((uint64_t)1 << dropped >> 1) - 1 + last_kept) >> dropped << dropped;
    }
    if (exponent_bits < 11) {
        uint64_t bias = ((uint64_t)1 << (exponent_bits - 1)) - 1;
        magnitude = magnitude >= (1023 + bias + 1) << 52 ? 0x7FF0000000000000u : magnitude;
        magnitude = magnitude < (1023 - bias + 1) << 52 ? 0 : magnitude;
    }
    return x == x ? tt_float_f64(sign | magnitude) : x;
}
