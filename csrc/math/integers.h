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

/* tt: tt_div_i32; needs:  */
/* The quotient of doubles truncates to the right integer: 53 bits hold every quotient of 32 bits apart from the next.
   2**31, the one result that does not fit, wraps through 64 bits. */
static inline int32_t tt_div_i32(int32_t x, int32_t y) {
    if (__builtin_constant_p(y) && y != 0 && y != -1) return x / y;
    int32_t divisor = y == 0 ? 1 : y;
    int32_t quotient = (int32_t)(int64_t)((double)x / (double)divisor);
    return y == 0 ? -1 : quotient;
}

/* tt: tt_div_u32; needs:  */
static inline uint32_t tt_div_u32(uint32_t x, uint32_t y) {
    if (__builtin_constant_p(y) && y != 0) return x / y;
    uint32_t divisor = y == 0 ? 1 : y;
    uint32_t quotient = (uint32_t)(int64_t)((double)x / (double)divisor);
    return y == 0 ? 0xFFFFFFFFu : quotient;
}

/* tt: tt_div_i64; needs:  */
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

/* tt: tt_shl_i32; needs:  */
/* Shifts take the width of the type (8, 16 or 32): distances outside [0, width) leave no bit of the number, only its
   sign where `sar` (shift arithmetic right) keeps that. */
static inline int32_t tt_shl_i32(int32_t x, int32_t distance, uint32_t width) {
    uint32_t shifted = (uint32_t)x << ((uint32_t)distance & 31);
    return (uint32_t)distance < width ? (int32_t)shifted : 0;
}

/* tt: tt_shl_u32; needs:  */
static inline uint32_t tt_shl_u32(uint32_t x, uint32_t distance, uint32_t width) {
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

/* tt: tt_shr_u32; needs:  */
static inline uint32_t tt_shr_u32(uint32_t x, uint32_t distance, uint32_t width) {
    uint32_t shifted = x >> (distance & 31);
    return distance < width ? shifted : 0;
}

/* tt: tt_shr_u64; needs:  */
static inline uint64_t tt_shr_u64(uint64_t x, uint64_t distance, uint64_t width) {
    uint64_t shifted = x >> (distance & 63);
    return distance < width ? shifted : 0;
}

/* tt: tt_sar_i32; needs:  */
static inline int32_t tt_sar_i32(int32_t x, int32_t distance, uint32_t width) {
    return x >> ((uint32_t)distance < width ? distance : 31);
}

/* tt: tt_sar_i64; needs:  */
static inline int64_t tt_sar_i64(int64_t x, int64_t distance, uint64_t width) {
    return x >> ((uint64_t)distance < width ? distance : 63);
}

/* tt: tt_popcount_u32; needs:  */
/* Sums of neighbouring fields of 1, 2, 4, 8 and 16 bits (Warren, Hacker's Delight, 5-1). Where vectors have no instruction
 * for it, the last sums are not written as a product: gcc would read that as one `popcnt` for each element. */
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

/* tt: tt_clz_u32; needs: tt_popcount_u32 */
/* Copies the highest 1 into every bit below it: the zeros that remain are those asked for. */
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
