/* Logarithms. x = 2**e (1 + f) with 1 + f between 2/3 and 4/3 (float) or between the roots of 1/2 and 2 (double), so
   log(x) = e ln 2 + log(1 + f), where f is exact.

   e and f are read off the bits of x: subtracting those of the lower end leaves e in the exponent's place. Denormals
   are scaled up first. Coefficients: minimax, by Sollya's fpminimax. */

/* tt: tt_log_sum_f32; needs:  */
/* e ln 2 + log(1 + f) = f - f**2 / 2 + f**3 p(f). Degree 10, error 2**-27.7. */
static inline float tt_log_sum_f32(float e, float f) {
    float p = -0.12893544f;
    p = p * f + 0.139877f;
    p = p * f - 0.12183892f;
    p = p * f + 0.14005183f;
    p = p * f - 0.16680509f;
    p = p * f + 0.2001045f;
    p = p * f - 0.24999797f;
    p = p * f + 0.33333215f;
    float square = f * f;
    float tail = (p * f - 0.5f) * square + e * 1.4286068e-6f;
    return (tail + f) + e * 0.69314575f;
}

/* tt: tt_log_f32; needs: tt_bits_f32, tt_float_f32, tt_log_sum_f32 */
/* The result within 1 ulp. */
static inline float tt_log_f32(float x) {
    float scaled = x < 0x1p-126f ? x * 0x1p23f : x;
    uint32_t bits = tt_bits_f32(scaled) - 0x3F2AAAABu;
    float e = (float)((int32_t)bits >> 23) - (x < 0x1p-126f ? 23.0f : 0.0f);
    float f = tt_float_f32((bits & 0x007FFFFFu) + 0x3F2AAAABu) - 1.0f;
    float y = tt_log_sum_f32(e, f);
    y = x < __builtin_inff() ? y : x;
    return x > 0.0f ? y : x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
}

/* tt: tt_log1p_f32; needs: tt_bits_f32, tt_float_f32, tt_log_sum_f32 */
/* f comes from x itself, not from the rounded 1 + x: f = x / 2**e + (1 / 2**e - 1); the quarters keep 1 / 2**e normal.
   The result within 1.5 ulp. */
static inline float tt_log1p_f32(float x) {
    uint32_t bits = tt_bits_f32(1.0f + x) - 0x3F2AAAABu;
    float e = (float)((int32_t)bits >> 23);
    float scale = tt_float_f32(0x40800000u - (bits & 0xFF800000u));
    float f = x * scale * 0.25f + (scale * 0.25f - 1.0f);
    float y = tt_log_sum_f32(e, f);
    y = x < __builtin_inff() ? __builtin_copysignf(y, x) : x;
    return x > -1.0f ? y : x == -1.0f ? -__builtin_inff() : __builtin_nanf("");
}

/* tt: tt_log_sum_f64; needs:  */
/* With s = f / (2 + f): log(1 + f) = 2 atanh(s) = 2 s + s R, R = s**2 p(s**2), and 2 s = f - s f, which keeps f exact:
   f - (f**2 / 2 - s (f**2 / 2 + R)) (fdlibm's e_log.c). Degree 15, error 2**-59.5. */
static inline double tt_log_sum_f64(double e, double f) {
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 0.14795705373451823;
    p = p * z + 0.15314080455870435;
    p = p * z + 0.18183562917310292;
    p = p * z + 0.2222219860560716;
    p = p * z + 0.2857142874200941;
    p = p * z + 0.3999999999941674;
    p = p * z + 0.6666666666666734;
    double half_square = 0.5 * f * f;
    double tail = s * (half_square + z * p) + e * 1.9082149292705877e-10;
    return e * 0.69314718036912382 - ((half_square - tail) - f);
}

/* tt: tt_log_f64; needs: tt_bits_f64, tt_float_f64, tt_log_sum_f64 */
/* The result within 1 ulp. */
static inline double tt_log_f64(double x) {
    double scaled = x < 0x1p-1022 ? x * 0x1p52 : x;
    uint64_t bits = tt_bits_f64(scaled) - 0x3FE6A09E667F3BCDu;
    double e = (double)((int64_t)bits >> 52) - (x < 0x1p-1022 ? 52.0 : 0.0);
    double f = tt_float_f64((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    double y = tt_log_sum_f64(e, f);
    y = x < __builtin_inf() ? y : x;
    return x > 0.0 ? y : x == 0.0 ? -__builtin_inf() : __builtin_nan("");
}

/* tt: tt_log1p_f64; needs: tt_bits_f64, tt_float_f64, tt_log_sum_f64 */
/* The result within 1.5 ulp. */
static inline double tt_log1p_f64(double x) {
    uint64_t bits = tt_bits_f64(1.0 + x) - 0x3FE6A09E667F3BCDu;
    double e = (double)((int64_t)bits >> 52);
    double scale = tt_float_f64(0x4010000000000000u - (bits & 0xFFF0000000000000u));
    double f = x * scale * 0.25 + (scale * 0.25 - 1.0);
    double y = tt_log_sum_f64(e, f);
    y = x < __builtin_inf() ? __builtin_copysign(y, x) : x;
    return x > -1.0 ? y : x == -1.0 ? -__builtin_inf() : __builtin_nan("");
}

/* tt: tt_logaddexp_f32; needs: tt_exp_f32, tt_log1p_f32 */
/* log(exp(x) + exp(y)), without leaving the range. */
static inline float tt_logaddexp_f32(float x, float y) {
    float greater = x > y ? x : y;
    float sum = greater + tt_log1p_f32(tt_exp_f32(-__builtin_fabsf(x - y)));
    sum = __builtin_fabsf(greater) < __builtin_inff() ? sum : greater;
    return (x != x) | (y != y) ? x + y : sum;
}

/* tt: tt_logaddexp_f64; needs: tt_exp_f64, tt_log1p_f64 */
static inline double tt_logaddexp_f64(double x, double y) {
    double greater = x > y ? x : y;
    double sum = greater + tt_log1p_f64(tt_exp_f64(-__builtin_fabs(x - y)));
    sum = __builtin_fabs(greater) < __builtin_inf() ? sum : greater;
    return (x != x) | (y != y) ? x + y : sum;
}
