/* Elements that are kept in one byte and computed as others (tinytrace/core/storage_types.py): floats of eight bits, of
   which `mantissa` come after the point and whose exponent counts from -bias, and integers in the lowest bits. */

/* tt: tt_f8_to_f32; needs: tt_bits_f32, tt_float_f32 */
/* As tt_f16_to_f32: what is smaller than the power 2**(1 - bias) is the mantissa of that power without its 1. */
static inline float tt_f8_to_f32(uint32_t x, uint32_t mantissa, uint32_t bias) {
    uint32_t size = (x & 0x7Fu) << (23 - mantissa), least = (128 - bias) << 23;
    uint32_t small = tt_bits_f32(tt_float_f32(size + least) - tt_float_f32(least));
    return tt_float_f32((size < 0x00800000u ? small : size + ((127 - bias) << 23)) | (x & 0x80u) << 24);
}

/* tt: tt_f32_to_f8; needs: tt_bits_f32, tt_float_f32 */
/* The seven bits after the sign, rounded to nearest, halves to even; `beyond` for what is greater than `most`, as a NaN
   is. Beside the power of two `step` a float's last bit is that of the smallest numbers. */
static inline uint32_t tt_f32_to_f8(float x, uint32_t mantissa, uint32_t bias, uint32_t most, uint32_t beyond) {
    uint32_t size = tt_bits_f32(x) & 0x7FFFFFFFu, dropped = 23 - mantissa, step = (151 - bias - mantissa) << 23;
    uint32_t small = tt_bits_f32(tt_float_f32(size) + tt_float_f32(step)) - step;
    uint32_t large = (size - ((127 - bias) << 23) + (1u << (dropped - 1)) - 1 + (size >> dropped & 1)) >> dropped;
    uint32_t bits = size < (128 - bias) << 23 ? small : large;
    return bits > most ? beyond : bits;
}

/* tt: tt_f8_e5m2_to_f32; needs: tt_f8_to_f32, tt_bits_f32, tt_float_f32; chooses */
/* The upper half of a float16: with infinities, and NaN above them. */
static inline float tt_f8_e5m2_to_f32(uint8_t x) {
    uint32_t bits = tt_bits_f32(tt_f8_to_f32(x, 2, 15)), size = x & 0x7Fu;
    return tt_float_f32(bits | (size < 0x7Cu ? 0 : size == 0x7Cu ? 0x7F800000u : 0x7FC00000u));
}

/* tt: tt_f32_to_f8_e5m2; needs: tt_f32_to_f8, tt_bits_f32 */
static inline uint8_t tt_f32_to_f8_e5m2(float x) {
    uint32_t bits = tt_f32_to_f8(x, 2, 15, 0x7B, 0x7C);
    return (uint8_t)((x == x ? bits : 0x7Eu) | (tt_bits_f32(x) >> 24 & 0x80u));
}

/* tt: tt_f8_e4m3fn_to_f32; needs: tt_f8_to_f32, tt_bits_f32, tt_float_f32 */
/* No infinities (f: finite), and one NaN of each sign (n), where the greatest number would be. */
static inline float tt_f8_e4m3fn_to_f32(uint8_t x) {
    uint32_t bits = tt_bits_f32(tt_f8_to_f32(x, 3, 7));
    return tt_float_f32((x & 0x7Fu) < 0x7Fu ? bits : bits | 0x7FC00000u);
}

/* tt: tt_f32_to_f8_e4m3fn; needs: tt_f32_to_f8, tt_bits_f32 */
static inline uint8_t tt_f32_to_f8_e4m3fn(float x) {
    return (uint8_t)(tt_f32_to_f8(x, 3, 7, 0x7E, 0x7F) | (tt_bits_f32(x) >> 24 & 0x80u));
}

/* tt: tt_f8_unsigned_zero; needs: tt_f8_to_f32, tt_float_f32 */
/* A type with one zero (uz), whose one NaN is where the other zero would be. */
static inline float tt_f8_unsigned_zero(uint8_t x, uint32_t mantissa, uint32_t bias) {
    float number = tt_f8_to_f32(x, mantissa, bias);
    return x == 0x80u ? tt_float_f32(0xFFC00000u) : number;
}

/* tt: tt_unsigned_zero_f8; needs: tt_f32_to_f8, tt_bits_f32 */
static inline uint8_t tt_unsigned_zero_f8(float x, uint32_t mantissa, uint32_t bias) {
    uint32_t bits = tt_f32_to_f8(x, mantissa, bias, 0x7F, 0x80);
    return (uint8_t)(bits == 0 ? 0 : bits | (tt_bits_f32(x) >> 24 & 0x80u));
}

/* tt: tt_f8_e4m3fnuz_to_f32; needs: tt_f8_unsigned_zero */
static inline float tt_f8_e4m3fnuz_to_f32(uint8_t x) { return tt_f8_unsigned_zero(x, 3, 8); }

/* tt: tt_f32_to_f8_e4m3fnuz; needs: tt_unsigned_zero_f8 */
static inline uint8_t tt_f32_to_f8_e4m3fnuz(float x) { return tt_unsigned_zero_f8(x, 3, 8); }

/* tt: tt_f8_e4m3b11fnuz_to_f32; needs: tt_f8_unsigned_zero */
static inline float tt_f8_e4m3b11fnuz_to_f32(uint8_t x) { return tt_f8_unsigned_zero(x, 3, 11); }

/* tt: tt_f32_to_f8_e4m3b11fnuz; needs: tt_unsigned_zero_f8 */
static inline uint8_t tt_f32_to_f8_e4m3b11fnuz(float x) { return tt_unsigned_zero_f8(x, 3, 11); }

/* tt: tt_f8_e5m2fnuz_to_f32; needs: tt_f8_unsigned_zero */
static inline float tt_f8_e5m2fnuz_to_f32(uint8_t x) { return tt_f8_unsigned_zero(x, 2, 16); }

/* tt: tt_f32_to_f8_e5m2fnuz; needs: tt_unsigned_zero_f8 */
static inline uint8_t tt_f32_to_f8_e5m2fnuz(float x) { return tt_unsigned_zero_f8(x, 2, 16); }

/* tt: tt_nextafter_f8; needs: ; chooses */
/* As tt_nextafter_f32, on the bits of x and y, which are the floats `from` and `to`. */
static inline uint8_t tt_nextafter_f8(uint32_t x, uint32_t y, float from, float to, uint32_t below_least) {
    uint32_t away = (from < to) == (from > 0.0f);
    uint32_t next = from == 0.0f ? (y & 0x80u) | 1u : away ? x + 1u : x == 0x81u ? below_least : x - 1u;
    uint32_t result = from == to ? y : next;
    return (uint8_t)(from != from ? x : to != to ? y : result);
}

/* tt: tt_nextafter_f8_e5m2; needs: tt_nextafter_f8, tt_f8_e5m2_to_f32 */
static inline uint8_t tt_nextafter_f8_e5m2(uint8_t x, uint8_t y) {
    return tt_nextafter_f8(x, y, tt_f8_e5m2_to_f32(x), tt_f8_e5m2_to_f32(y), 0x80);
}

/* tt: tt_nextafter_f8_e4m3fn; needs: tt_nextafter_f8, tt_f8_e4m3fn_to_f32 */
static inline uint8_t tt_nextafter_f8_e4m3fn(uint8_t x, uint8_t y) {
    return tt_nextafter_f8(x, y, tt_f8_e4m3fn_to_f32(x), tt_f8_e4m3fn_to_f32(y), 0x80);
}

/* tt: tt_nextafter_f8_e4m3fnuz; needs: tt_nextafter_f8, tt_f8_e4m3fnuz_to_f32 */
static inline uint8_t tt_nextafter_f8_e4m3fnuz(uint8_t x, uint8_t y) {
    return tt_nextafter_f8(x, y, tt_f8_e4m3fnuz_to_f32(x), tt_f8_e4m3fnuz_to_f32(y), 0);
}

/* tt: tt_nextafter_f8_e4m3b11fnuz; needs: tt_nextafter_f8, tt_f8_e4m3b11fnuz_to_f32 */
static inline uint8_t tt_nextafter_f8_e4m3b11fnuz(uint8_t x, uint8_t y) {
    return tt_nextafter_f8(x, y, tt_f8_e4m3b11fnuz_to_f32(x), tt_f8_e4m3b11fnuz_to_f32(y), 0);
}

/* tt: tt_nextafter_f8_e5m2fnuz; needs: tt_nextafter_f8, tt_f8_e5m2fnuz_to_f32 */
static inline uint8_t tt_nextafter_f8_e5m2fnuz(uint8_t x, uint8_t y) {
    return tt_nextafter_f8(x, y, tt_f8_e5m2fnuz_to_f32(x), tt_f8_e5m2fnuz_to_f32(y), 0);
}

/* tt: tt_i2_to_i32; needs:  */
static inline int32_t tt_i2_to_i32(uint8_t x) { return (int32_t)((x & 3u) ^ 2u) - 2; }

/* tt: tt_i32_to_i2; needs:  */
static inline uint8_t tt_i32_to_i2(int32_t x) { return (uint8_t)(x & 3); }

/* tt: tt_i4_to_i32; needs:  */
static inline int32_t tt_i4_to_i32(uint8_t x) { return (int32_t)((x & 15u) ^ 8u) - 8; }

/* tt: tt_i32_to_i4; needs:  */
static inline uint8_t tt_i32_to_i4(int32_t x) { return (uint8_t)(x & 15); }

/* tt: tt_u2_to_u32; needs:  */
static inline uint32_t tt_u2_to_u32(uint8_t x) { return x & 3u; }

/* tt: tt_u32_to_u2; needs:  */
static inline uint8_t tt_u32_to_u2(uint32_t x) { return (uint8_t)(x & 3u); }

/* tt: tt_u4_to_u32; needs:  */
static inline uint32_t tt_u4_to_u32(uint8_t x) { return x & 15u; }

/* tt: tt_u32_to_u4; needs:  */
static inline uint8_t tt_u32_to_u4(uint32_t x) { return (uint8_t)(x & 15u); }
