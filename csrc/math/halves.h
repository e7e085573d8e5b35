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
