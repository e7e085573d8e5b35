/* Sine, cosine and tangent of floats of any size.

   |x| is counted in half turns (quarter turns for the tangent): |x| / pi = k + h with a whole k and |h| <= 1/2. Of a
   large x the product with 1 / pi needs bits of 1 / pi far behind the point, and none of those that only make even
   numbers of half turns. So 1 / pi is kept in five windows: for |x| = m 2**(24 w) with m < 2**47 the window w is
   2**(24 w) / pi modulo 2, as the sum of two doubles, and h is right to its last bits (the idea is M. Payne and
   R. Hanek's, "Radian Reduction for Trigonometric Functions", 1983). Coefficients: minimax, by Sollya. */

/* tt: tt_angle_f32; needs:  */
/* What is left of an angle, in radians, when whole half turns (or quarter turns) are taken away; `rest` is rounded. */
struct tt_angle_f32 {
    double exact;
    float rest;
    uint32_t turns;
};

/* tt: tt_half_turns_f32; needs: tt_angle_f32, tt_bits_f64 */
/* |x| = (turns + shift) pi + rest. */
static inline struct tt_angle_f32 tt_half_turns_f32(float x, double shift) {
    float size = __builtin_fabsf(x);
    double scale = 0x1p-96;
    scale = size < 0x1p119f ? 0x1p-72 : scale;
    scale = size < 0x1p95f ? 0x1p-48 : scale;
    scale = size < 0x1p71f ? 0x1p-24 : scale;
    scale = size < 0x1p47f ? 1.0 : scale;
    double high = 0x1.f534ddc0db629p-1;
    high = size < 0x1p119f ? 0x1.3abe8fa9a6ee0p-4 : high;
    high = size < 0x1p95f ? 0x1.529fc2757d1f5p-5 : high;
    high = size < 0x1p71f ? 0x1.b727220a94fe1p+0 : high;
    high = size < 0x1p47f ? 0x1.45f306dc9c882p-2 : high;
    double low = 0x1.664f10e4107f9p-55;
    low = size < 0x1p119f ? 0x1.b6c52b3278872p-58 : low;
    low = size < 0x1p95f ? 0x1.a6ee06db14acdp-60 : low;
    low = size < 0x1p71f ? 0x1.d5f47d4d37703p-55 : low;
    low = size < 0x1p47f ? 0x1.4a7f09d5f47d5p-55 : low;
    double m = (double)size * scale;
    double t = (m * high - shift) + 6755399441055744.0;
    double k = (t - 6755399441055744.0) + shift;
    double h = m * low + __builtin_fma(m, high, -k);
    double rest = h * 3.141592653589793;
    return (struct tt_angle_f32){rest, (float)rest, (uint32_t)tt_bits_f64(t)};
}

/* tt: tt_quarter_turns_f32; needs: tt_angle_f32, tt_bits_f64 */
/* |x| = turns pi / 2 + rest. */
static inline struct tt_angle_f32 tt_quarter_turns_f32(float x) {
    float size = __builtin_fabsf(x);
    double scale = 0x1p-96;
    scale = size < 0x1p119f ? 0x1p-72 : scale;
    scale = size < 0x1p95f ? 0x1p-48 : scale;
    scale = size < 0x1p71f ? 0x1p-24 : scale;
    scale = size < 0x1p47f ? 1.0 : scale;
    double high = 0x1.f534ddc0db629p+0;
    high = size < 0x1p119f ? 0x1.3abe8fa9a6ee0p-3 : high;
    high = size < 0x1p95f ? 0x1.529fc2757d1f5p-4 : high;
    high = size < 0x1p71f ? 0x1.6e4e441529fc2p+0 : high;
    high = size < 0x1p47f ? 0x1.45f306dc9c882p-1 : high;
    double low = 0x1.664f10e4107f9p-54;
    low = size < 0x1p119f ? 0x1.b6c52b3278872p-57 : low;
    low = size < 0x1p95f ? 0x1.a6ee06db14acdp-59 : low;
    low = size < 0x1p71f ? 0x1.d5f47d4d37703p-54 : low;
    low = size < 0x1p47f ? 0x1.4a7f09d5f47d5p-54 : low;
    double m = (double)size * scale;
    double t = m * high + 6755399441055744.0;
    double k = t - 6755399441055744.0;
    double h = m * low + __builtin_fma(m, high, -k);
    double rest = h * 1.5707963267948966;
    return (struct tt_angle_f32){rest, (float)rest, (uint32_t)tt_bits_f64(t)};
}

/* tt: tt_sin_rest_f32; needs:  */
/* The sine of an angle between -pi / 2 and pi / 2. Degree 9, error 2**-27.3. */
static inline float tt_sin_rest_f32(float r) {
    float z = r * r;
    float p = 2.606103e-6f;
    p = p * z - 0.00019809778f;
    p = p * z + 0.008333069f;
    p = p * z - 0.1666666f;
    return p * (r * z) + r;
}

/* tt: tt_sin_f32; needs: tt_angle_f32, tt_bits_f32, tt_float_f32, tt_half_turns_f32, tt_sin_rest_f32 */
/* Odd half turns negate, and so does a negative x. The result within 2 ulp. */
static inline float tt_sin_f32(float x) {
    struct tt_angle_f32 angle = tt_half_turns_f32(x, 0.0);
    uint32_t sign = (tt_bits_f32(x) & 0x80000000u) ^ angle.turns << 31;
    return tt_float_f32(tt_bits_f32(tt_sin_rest_f32(angle.rest)) ^ sign);
}

/* tt: tt_cos_f32; needs: tt_angle_f32, tt_bits_f32, tt_float_f32, tt_half_turns_f32, tt_sin_rest_f32 */
/* cos((k + 1/2) pi + r) = -sin(k pi + r). The result within 2 ulp. */
static inline float tt_cos_f32(float x) {
    struct tt_angle_f32 angle = tt_half_turns_f32(x, 0.5);
    return tt_float_f32(tt_bits_f32(tt_sin_rest_f32(angle.rest)) ^ (angle.turns + 1) << 31);
}

/* tt: tt_tan_f32; needs: tt_angle_f32, tt_bits_f32, tt_float_f32, tt_quarter_turns_f32 */
/* tan(k pi / 2 + r) is tan(r), or -1 / tan(r) for odd k. Degree 15, error 2**-29.5; the result within 2 ulp. */
static inline float tt_tan_f32(float x) {
    struct tt_angle_f32 angle = tt_quarter_turns_f32(x);
    float r = angle.rest;
    float z = r * r;
    float p = 0.0043768175f;
    p = p * z + 9.059266e-5f;
    p = p * z + 0.010832841f;
    p = p * z + 0.021284424f;
    p = p * z + 0.054059185f;
    p = p * z + 0.13332674f;
    p = p * z + 0.3333335f;
    double tangent = angle.exact + (double)(p * (r * z));
    float y = (float)(angle.turns & 1 ? -1.0 / tangent : tangent);
    return tt_float_f32(tt_bits_f32(y) ^ (tt_bits_f32(x) & 0x80000000u));
}
