/* bfloat16 is the upper half of a float; float16 is C's own `_Float16`. */

/* tt: tt_bf16_to_f32; needs: tt_float_f32 */
static inline float tt_bf16_to_f32(uint16_t x) { return tt_float_f32((uint32_t)x << 16); }

/* tt: tt_f32_to_bf16; needs: tt_bits_f32 */
/* Rounds to nearest, halves to even; a NaN stays one. */
static inline uint16_t tt_f32_to_bf16(float x) {
    uint32_t bits = tt_bits_f32(x);
    uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x == x ? rounded : bits >> 16 | 0x0040u);
}

/* tt: tt_nextafter_bf16; needs: tt_bits_f32, tt_float_f32 */
/* As tt_nextafter_f32, in steps of a bfloat16's last bit. */
static inline float tt_nextafter_bf16(float x, float y) {
    uint32_t bits = tt_bits_f32(x), step = 0x10000u;
    uint32_t away = (x < y) == (x > 0.0f);
    uint32_t next = x == 0.0f ? (tt_bits_f32(y) & 0x80000000u) | step : away ? bits + step : bits - step;
    float result = x == y ? y : tt_float_f32(next);
    return (x != x) | (y != y) ? x + y : result;
}

/* tt: tt_nextafter_f16; needs:  */
/* As tt_nextafter_f32, on the bits of the float16 that x is. */
static inline float tt_nextafter_f16(float x, float y) {
    union { _Float16 value; uint16_t bits; } here = {.value = (_Float16)x}, there = {.value = (_Float16)y};
    uint16_t away = (x < y) == (x > 0.0f);
    here.bits = (uint16_t)(x == 0.0f ? (there.bits & 0x8000u) | 1u : away ? here.bits + 1u : here.bits - 1u);
    float result = x == y ? y : (float)here.value;
    return (x != x) | (y != y) ? x + y : result;
}
