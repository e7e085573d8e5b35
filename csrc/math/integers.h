/* Integers: division that never traps, shifts by any distance, counts of bits. Narrow types are computed in 32 bits.

   A divisor of zero gives a quotient with all bits set and the dividend as remainder; the smallest integer divided by
   -1 gives itself, remainder 0. That is what XLA defines; the processor raises SIGFPE for both. By a number in the
   program's text, but 0 and -1, the compiler divides: with shifts or a product. */

/* tt: tt_max_i32; needs:  */
static inline int32_t tt_max_i32(int32_t x, int32_t y) { return x > y ? x : y; }

/* tt: tt_max_u32; needs:  */
static inline uint32_t tt_max_u32(uint32_t x, uint32_t y) { return x > y ? x : y; }

/* tt: tt_max_i64; needs:  */
static inline int64_t tt_max_i64(int64_t x, int64_t y) { return x > y ? x : y; }

/* tt: tt_max_u64; needs:  */
static inline uint64_t tt_max_u64(uint64_t x, uint64_t y) { return x > y ? x : y; }

/* tt: tt_min_i32; needs:  */
static inline int32_t tt_min_i32(int32_t x, int32_t y) { return x < y ? x : y; }

/* tt: tt_min_u32; needs:  */
static inline uint32_t tt_min_u32(uint32_t x, uint32_t y) { return x < y ? x : y; }

/* tt: tt_min_i64; needs:  */
static inline int64_t tt_min_i64(int64_t x, int64_t y) { return x < y ? x : y; }

/* tt: tt_min_u64; needs:  */
static inline uint64_t tt_min_u64(uint64_t x, uint64_t y) { return x < y ? x : y; }

/* tt: tt_div_i32; needs: ; chooses */
/* The quotient of doubles truncates to the right integer: 53 bits hold every quotient of 32 bits apart from the next.
   2**31, the one result that does not fit, is that of a division by -1, and without AVX-512 vectors of doubles become
   integers of 32 bits alone. */
static inline int32_t tt_div_i32(int32_t x, int32_t y) {
    if (__builtin_constant_p(y) && y != 0 && y != -1) return x / y;
    int32_t divisor = (y == 0) | (y == -1) ? 1 : y;
    int32_t quotient = (int32_t)((double)x / (double)divisor);
    return y == 0 ? -1 : y == -1 ? (int32_t)(0u - (uint32_t)x) : quotient;
}

/* tt: tt_div_u32; needs:  */
static inline uint32_t tt_div_u32(uint32_t x, uint32_t y) {
    if (__builtin_constant_p(y) && y != 0) return x / y;
    uint32_t divisor = y == 0 ? 1 : y;
    uint32_t quotient = (uint32_t)((double)x / (double)divisor);
    return y == 0 ? 0xFFFFFFFFu : quotient;
}

/* tt: tt_div_i64; needs: ; chooses */
/* The processor divides; x / -1 is -x, which wraps. */
static inline int64_t tt_div_i64(int64_t x, int64_t y) {
    if (__builtin_constant_p(y) && y != 0 && y != -1) return x / y;
    int64_t quotient = x / ((y == 0) | (y == -1) ? 1 : y);
    return y == 0 ? -1 : y == -1 ? -x : quotient;
}

/* tt: tt_div_u64; needs:  */
static inline uint64_t tt_div_u64(uint64_t x, uint64_t y) {
    if (__builtin_constant_p(y) && y != 0) return x / y;
    uint64_t quotient = x / (y == 0 ? 1 : y);
    return y == 0 ? ~(uint64_t)0 : quotient;
}

/* tt: tt_rem_i32; needs: tt_div_i32 */
static inline int32_t tt_rem_i32(int32_t x, int32_t y) { return x - tt_div_i32(x, y) * y; }

/* tt: tt_rem_u32; needs: tt_div_u32 */
static inline uint32_t tt_rem_u32(uint32_t x, uint32_t y) { return x - tt_div_u32(x, y) * y; }

/* tt: tt_rem_i64; needs: tt_div_i64 */
static inline int64_t tt_rem_i64(int64_t x, int64_t y) { return x - tt_div_i64(x, y) * y; }

/* tt: tt_rem_u64; needs: tt_div_u64 */
static inline uint64_t tt_rem_u64(uint64_t x, uint64_t y) { return x - tt_div_u64(x, y) * y; }

/* tt: tt_reciprocal_u32; needs: ; chooses */
/* What divides by `y` without dividing: 2**width * (2**bits - y) / y + 1, for the least 2**bits that is not below `y`. T.
   Granlund and P. L. Montgomery, "Division by invariant integers using multiplication" (1994). 0 is taken for 1. */
static inline uint32_t tt_reciprocal_u32(uint32_t y) {
    uint32_t divisor = y == 0 ? 1 : y, bits = divisor == 1 ? 0 : 32 - (uint32_t)__builtin_clz(divisor - 1);
    return (uint32_t)(((((uint64_t)1 << bits) - divisor) << 32) / divisor) + 1;
}

/* tt: tt_reciprocal_u64; needs: ; chooses */
static inline uint64_t tt_reciprocal_u64(uint64_t y) {
    uint64_t divisor = y == 0 ? 1 : y, bits = divisor == 1 ? 0 : 64 - (uint64_t)__builtin_clzll(divisor - 1);
    uint64_t rest = (bits == 64 ? 0 : (uint64_t)1 << bits) - divisor, quotient = 0;
#ifdef __SIZEOF_INT128__
    quotient = (uint64_t)(((unsigned __int128)rest << 64) / divisor);
#else
    for (int32_t k = 0; k < 64; k++) {
        uint64_t fits = (rest >> 63) | (2 * rest >= divisor);
        rest = 2 * rest - (fits ? divisor : 0);
        quotient = 2 * quotient + fits;
    }
#endif
    return quotient + 1;
}

/* tt: tt_reciprocal_i32; needs: tt_reciprocal_u32 */
static inline uint32_t tt_reciprocal_i32(int32_t y) { return tt_reciprocal_u32(y < 0 ? -(uint32_t)y : (uint32_t)y); }

/* tt: tt_reciprocal_i64; needs: tt_reciprocal_u64 */
static inline uint64_t tt_reciprocal_i64(int64_t y) { return tt_reciprocal_u64(y < 0 ? -(uint64_t)y : (uint64_t)y); }

/* tt: tt_share_u32; needs:  */
/* The quotient of `x` and `y`, whose reciprocal is given, or of `x` and 1. */
static inline uint32_t tt_share_u32(uint32_t x, uint32_t y, uint32_t reciprocal) {
    uint32_t shift = y <= 1 ? 0 : 31 - (uint32_t)__builtin_clz(y - 1), half = y > 1;
    uint32_t high = (uint32_t)((uint64_t)x * reciprocal >> 32);
    return (((x - high) >> half) + high) >> shift;
}

/* tt: tt_share_u64; needs:  */
/* Vectors of 64 bits have products since AVX-512; else one instruction gives the high half of one product. */
static inline uint64_t tt_share_u64(uint64_t x, uint64_t y, uint64_t reciprocal) {
    uint64_t shift = y <= 1 ? 0 : 63 - (uint64_t)__builtin_clzll(y - 1), half = y > 1;
#if defined(__SIZEOF_INT128__) && !defined(__AVX512DQ__)
    uint64_t high = (uint64_t)((unsigned __int128)x * reciprocal >> 64);
#else
    uint64_t a = (uint32_t)x, b = x >> 32, c = (uint32_t)reciprocal, d = reciprocal >> 32;
    uint64_t middle = (a * c >> 32) + (uint32_t)(b * c) + a * d;
    uint64_t high = b * d + (b * c >> 32) + (middle >> 32);
#endif
    return (((x - high) >> half) + high) >> shift;
}

/* tt: tt_div_by_u32; needs: tt_share_u32 */
static inline uint32_t tt_div_by_u32(uint32_t x, uint32_t y, uint32_t reciprocal) {
    return y == 0 ? 0xFFFFFFFFu : tt_share_u32(x, y, reciprocal);
}

/* tt: tt_div_by_u64; needs: tt_share_u64 */
static inline uint64_t tt_div_by_u64(uint64_t x, uint64_t y, uint64_t reciprocal) {
    return y == 0 ? ~(uint64_t)0 : tt_share_u64(x, y, reciprocal);
}

/* tt: tt_div_by_i32; needs: tt_share_u32 */
static inline int32_t tt_div_by_i32(int32_t x, int32_t y, uint32_t reciprocal) {
    uint32_t sign_x = (uint32_t)(x >> 31), sign_y = (uint32_t)(y >> 31), sign = sign_x ^ sign_y;
    uint32_t size = tt_share_u32(((uint32_t)x ^ sign_x) - sign_x, ((uint32_t)y ^ sign_y) - sign_y, reciprocal);
    return y == 0 ? -1 : (int32_t)((size ^ sign) - sign);
}

/* tt: tt_div_by_i64; needs: tt_share_u64; chooses */
static inline int64_t tt_div_by_i64(int64_t x, int64_t y, uint64_t reciprocal) {
    uint64_t sign_x = x < 0 ? ~(uint64_t)0 : 0, sign_y = y < 0 ? ~(uint64_t)0 : 0, sign = sign_x ^ sign_y;
    uint64_t size = tt_share_u64(((uint64_t)x ^ sign_x) - sign_x, ((uint64_t)y ^ sign_y) - sign_y, reciprocal);
    return y == 0 ? -1 : (int64_t)((size ^ sign) - sign);
}

/* tt: tt_rem_by_u32; needs: tt_div_by_u32 */
static inline uint32_t tt_rem_by_u32(uint32_t x, uint32_t y, uint32_t reciprocal) { return x - tt_div_by_u32(x, y, reciprocal) * y; }

/* tt: tt_rem_by_u64; needs: tt_div_by_u64 */
static inline uint64_t tt_rem_by_u64(uint64_t x, uint64_t y, uint64_t reciprocal) { return x - tt_div_by_u64(x, y, reciprocal) * y; }

/* tt: tt_rem_by_i32; needs: tt_div_by_i32 */
static inline int32_t tt_rem_by_i32(int32_t x, int32_t y, uint32_t reciprocal) { return x - tt_div_by_i32(x, y, reciprocal) * y; }

/* tt: tt_rem_by_i64; needs: tt_div_by_i64 */
static inline int64_t tt_rem_by_i64(int64_t x, int64_t y, uint64_t reciprocal) { return x - tt_div_by_i64(x, y, reciprocal) * y; }

/* tt: tt_shl_u8; needs:  */
/* Of 8 and 16 bits: by the powers of two in a distance, one after the other. Without AVX-512 vectors of such elements are
   shifted by one distance for all, and gcc, which narrows shifts, finds none for a loop over distances in 32 bits. With
   AVX-512, which shifts 16 bits, gcc finds wide ones where it does not see that distances are small. */
static inline uint8_t tt_shl_u8(uint8_t x, uint8_t distance) {
    x = (uint8_t)(distance & 4 ? x << 4 : x);
    x = (uint8_t)(distance & 2 ? x << 2 : x);
    x = (uint8_t)(distance & 1 ? x << 1 : x);
    return distance < 8 ? x : 0;
}

/* tt: tt_shl_u16; needs:  */
static inline uint16_t tt_shl_u16(uint16_t x, uint16_t distance) {
#if defined(__AVX512BW__)
    x = (uint16_t)(x << (distance & 15));
#else
    x = (uint16_t)(distance & 8 ? x << 8 : x);
    x = (uint16_t)(distance & 4 ? x << 4 : x);
    x = (uint16_t)(distance & 2 ? x << 2 : x);
    x = (uint16_t)(distance & 1 ? x << 1 : x);
#endif
    return distance < 16 ? x : 0;
}

/* tt: tt_shr_u8; needs:  */
static inline uint8_t tt_shr_u8(uint8_t x, uint8_t distance) {
    x = (uint8_t)(distance & 4 ? x >> 4 : x);
    x = (uint8_t)(distance & 2 ? x >> 2 : x);
    x = (uint8_t)(distance & 1 ? x >> 1 : x);
    return distance < 8 ? x : 0;
}

/* tt: tt_shr_u16; needs:  */
static inline uint16_t tt_shr_u16(uint16_t x, uint16_t distance) {
    x = (uint16_t)(distance & 8 ? x >> 8 : x);
    x = (uint16_t)(distance & 4 ? x >> 4 : x);
    x = (uint16_t)(distance & 2 ? x >> 2 : x);
    x = (uint16_t)(distance & 1 ? x >> 1 : x);
    return distance < 16 ? x : 0;
}

/* tt: tt_sar_i8; needs:  */
static inline int8_t tt_sar_i8(int8_t x, int8_t distance) {
    int8_t by = distance < 0 || distance > 7 ? 7 : distance;
#if defined(__AVX512BW__)
    return (int8_t)(x >> (by & 7));
#else
    x = (int8_t)(by & 4 ? x >> 4 : x);
    x = (int8_t)(by & 2 ? x >> 2 : x);
    return (int8_t)(by & 1 ? x >> 1 : x);
#endif
}

/* tt: tt_sar_i16; needs:  */
static inline int16_t tt_sar_i16(int16_t x, int16_t distance) {
    int16_t by = distance < 0 || distance > 15 ? 15 : distance;
    x = (int16_t)(by & 8 ? x >> 8 : x);
    x = (int16_t)(by & 4 ? x >> 4 : x);
    x = (int16_t)(by & 2 ? x >> 2 : x);
    return (int16_t)(by & 1 ? x >> 1 : x);
}

/* tt: tt_shl_i32; needs: tt_shl_u8, tt_shl_u16 */
/* Shifts take the width of the type (8, 16 or 32): distances outside [0, width) leave no bit of the number, only its
   sign where `sar` (shift arithmetic right) keeps that. */
static inline int32_t tt_shl_i32(int32_t x, int32_t distance, uint32_t width) {
#if defined(__x86_64__)
    if (width == 8) return (int8_t)tt_shl_u8((uint8_t)x, (uint8_t)distance);
    if (width == 16) return (int16_t)tt_shl_u16((uint16_t)x, (uint16_t)distance);
#endif
    uint32_t shifted = (uint32_t)x << ((uint32_t)distance & 31);
    return (uint32_t)distance < width ? (int32_t)shifted : 0;
}

/* tt: tt_shl_u32; needs: tt_shl_u8, tt_shl_u16 */
static inline uint32_t tt_shl_u32(uint32_t x, uint32_t distance, uint32_t width) {
#if defined(__x86_64__)
    if (width == 8) return tt_shl_u8((uint8_t)x, (uint8_t)distance);
    if (width == 16) return tt_shl_u16((uint16_t)x, (uint16_t)distance);
#endif
    uint32_t shifted = x << (distance & 31);
    return distance < width ? shifted : 0;
}

/* tt: tt_shl_i64; needs:  */
static inline int64_t tt_shl_i64(int64_t x, int64_t distance, uint64_t width) {
    uint64_t shifted = (uint64_t)x << ((uint64_t)distance & 63);
    return (uint64_t)distance < width ? (int64_t)shifted : 0;
}

/* tt: tt_shl_u64; needs:  */
static inline uint64_t tt_shl_u64(uint64_t x, uint64_t distance, uint64_t width) {
    uint64_t shifted = x << (distance & 63);
    return distance < width ? shifted : 0;
}

/* tt: tt_shr_u32; needs: tt_shr_u8, tt_shr_u16 */
static inline uint32_t tt_shr_u32(uint32_t x, uint32_t distance, uint32_t width) {
#if defined(__x86_64__) && !defined(__AVX512BW__)
    if (width == 8) return tt_shr_u8((uint8_t)x, (uint8_t)distance);
    if (width == 16) return tt_shr_u16((uint16_t)x, (uint16_t)distance);
#endif
    uint32_t shifted = x >> (distance & 31);
    return distance < width ? shifted : 0;
}

/* tt: tt_shr_u64; needs:  */
static inline uint64_t tt_shr_u64(uint64_t x, uint64_t distance, uint64_t width) {
    uint64_t shifted = x >> (distance & 63);
    return distance < width ? shifted : 0;
}

/* tt: tt_sar_i32; needs: tt_sar_i8, tt_sar_i16 */
static inline int32_t tt_sar_i32(int32_t x, int32_t distance, uint32_t width) {
#if defined(__x86_64__)
    if (width == 8) return tt_sar_i8((int8_t)x, (int8_t)distance);
#endif
#if defined(__x86_64__) && !defined(__AVX512BW__)
    if (width == 16) return tt_sar_i16((int16_t)x, (int16_t)distance);
#endif
    return x >> ((uint32_t)distance < width ? distance : 31);
}

/* tt: tt_sar_i64; needs:  */
static inline int64_t tt_sar_i64(int64_t x, int64_t distance, uint64_t width) {
    return x >> ((uint64_t)distance < width ? distance : 63);
}

/* tt: tt_popcount_u8; needs:  */
/* Sums of neighbouring fields of 1, 2, 4, 8 and 16 bits (Warren, Hacker's Delight, 5-1), in words as wide as the elements:
 * a vector has four times as many of bytes as of 32 bits. */
static inline uint8_t tt_popcount_u8(uint8_t x) {
    x = (uint8_t)(x - (x >> 1 & 0x55));
    x = (uint8_t)((x & 0x33) + (x >> 2 & 0x33));
    return (uint8_t)((x + (x >> 4)) & 0x0F);
}

/* tt: tt_popcount_u16; needs:  */
static inline uint16_t tt_popcount_u16(uint16_t x) {
    x = (uint16_t)(x - (x >> 1 & 0x5555));
    x = (uint16_t)((x & 0x3333) + (x >> 2 & 0x3333));
    x = (uint16_t)((x + (x >> 4)) & 0x0F0F);
    return (uint16_t)((x + (x >> 8)) & 31);
}

/* tt: tt_popcount_u32; needs:  */
/* Where vectors have no instruction for it, the last sums are not written as a product: gcc would read that as one
 * `popcnt` for each element. */
static inline uint32_t tt_popcount_u32(uint32_t x) {
#ifdef __AVX512VPOPCNTDQ__
    return __builtin_popcount(x);
#else
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0Fu;
    x += x >> 8;
    return (x + (x >> 16)) & 63;
#endif
}

/* tt: tt_popcount_u64; needs:  */
static inline uint64_t tt_popcount_u64(uint64_t x) {
#ifdef __AVX512VPOPCNTDQ__
    return __builtin_popcountll(x);
#else
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    x += x >> 8;
    x += x >> 16;
    return (x + (x >> 32)) & 127;
#endif
}

/* tt: tt_clz_u8; needs: tt_popcount_u8 */
/* Copies the highest 1 into every bit below it: the zeros that remain are those asked for. */
static inline uint8_t tt_clz_u8(uint8_t x) {
    x = (uint8_t)(x | x >> 1);
    x = (uint8_t)(x | x >> 2);
    x = (uint8_t)(x | x >> 4);
    return tt_popcount_u8((uint8_t)~x);
}

/* tt: tt_clz_u16; needs: tt_popcount_u16 */
static inline uint16_t tt_clz_u16(uint16_t x) {
    x = (uint16_t)(x | x >> 1);
    x = (uint16_t)(x | x >> 2);
    x = (uint16_t)(x | x >> 4);
    x = (uint16_t)(x | x >> 8);
    return tt_popcount_u16((uint16_t)~x);
}

/* tt: tt_clz_u32; needs: tt_popcount_u32 */
static inline uint32_t tt_clz_u32(uint32_t x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return tt_popcount_u32(~x);
}

/* tt: tt_clz_u64; needs: tt_popcount_u64 */
static inline uint64_t tt_clz_u64(uint64_t x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    x |= x >> 32;
    return tt_popcount_u64(~x);
}
