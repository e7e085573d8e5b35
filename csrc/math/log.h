/* Logarithms. x = 2**e (1 + f) with 1 + f between the roots of 1/2 and 2, so log(x) = e ln 2 + log(1 + f), where f is
   exact.

   e and f are read off the bits of x: subtracting those of the root of 1/2 leaves e in the exponent's place. Denormals
   are scaled up first. Coefficients of the double functions: minimax, by Sollya's fpminimax. */

/* tt: tt_log_sum_f32; needs:  */
/* e ln 2 + log(1 + f) = e ln 2 + f - f**2 / 2 + f**3 P(f), P of degree 8 by thirds (S. Moshier, Cephes, logf.c).

   Rounded after the same steps as in JAX 0.4.35, because random samples hang on it: hence each product that JAX's
   compiler fuses with a sum is written as fma. */
static inline float tt_log_sum_f32(float e, float f) {
    float square = f * f, cube = square * f;
    float p = __builtin_fmaf(f, 0.070376836f, -0.1151461f);
    float q = __builtin_fmaf(f, -0.12420141f, 0.14249323f);
    float r = __builtin_fmaf(f, 0.20000714f, -0.24999994f);
    p = __builtin_fmaf(p, f, 0.116769984f);
    q = __builtin_fmaf(q, f, -0.16668057f);
    r = __builtin_fmaf(r, f, 0.3333333f);
    p = __builtin_fmaf(__builtin_fmaf(p, cube, q), cube, r);
    p = __builtin_fmaf(p, cube, -0.00021219444f * e);
    return __builtin_fmaf(0.6933594f, e, __builtin_fmaf(-0.5f, square, f) + p);
}

/* tt: tt_log_f32; needs: tt_bits_f32, tt_float_f32, tt_log_sum_f32; long, chooses */
/* The result within 1.2 ulp. */
static inline float tt_log_f32(float x) {
    float scaled = x < 0x1p-126f ? x * 0x1p23f : x;
    uint32_t bits = tt_bits_f32(scaled) - 0x3F3504F3u;
    float e = (float)((int32_t)bits >> 23) - (x < 0x1p-126f ? 23.0f : 0.0f);
    float f = tt_float_f32((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
    float y = tt_log_sum_f32(e, f);
    y = x < __builtin_inff() ? y : x;
    return x > 0.0f ? y : x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
}

/* tt: tt_log1p_f32; needs: tt_bits_f32, tt_float_f32, tt_log_sum_f32, tt_fma_f32; long, chooses */
/* Near 0: x - x**2 / 2 + x**3 N(x) / D(x) (S. Moshier, Cephes, log1p), in JAX's steps again. Elsewhere f = x / 2**e +
   (1 / 2**e - 1), where the quarters keep 1 / 2**e normal; below 0 of x as 1 + x leaves it, rounded, as in JAX, while
   above 0, where that would cost a digit, of x itself. The result within 2 ulp. */
static inline float tt_log1p_f32(float x) {
    float square = x * x;
    float n = __builtin_fmaf(4.527e-5f, x, 0.49854103f);
    n = __builtin_fmaf(n, x, 6.5787325f);
    n = __builtin_fmaf(n, x, 29.911919f);
    n = __builtin_fmaf(n, x, 60.949669f);
    n = __builtin_fmaf(n, x, 57.112965f);
    n = __builtin_fmaf(n, x, 20.0395535f);
    float d = x + 15.062909f;
    d = __builtin_fmaf(d, x, 83.04757f);
    d = __builtin_fmaf(d, x, 221.7624f);
    d = __builtin_fmaf(d, x, 309.09872f);
    d = __builtin_fmaf(d, x, 216.42789f);
    d = __builtin_fmaf(d, x, 60.118660f);
    float near = x + __builtin_fmaf(x * square, n / d, -0.5f * square);

    float sum = 1.0f + x, kept = x > 0.0f ? x : sum - 1.0f;
    uint32_t bits = tt_bits_f32(sum) - 0x3F3504F3u;
    float e = (float)((int32_t)bits >> 23);
    float scale = tt_float_f32(0x40800000u - (bits & 0xFF800000u));
    float far = tt_log_sum_f32(e, tt_fma_f32(kept * scale, 0.25f, tt_fma_f32(scale, 0.25f, -1.0f)));
    far = x < __builtin_inff() ? far : x;
    float y = __builtin_fabsf(x) < 0.41421357f ? near : far;
    return x > -1.0f ? y : x == -1.0f ? -__builtin_inff() : __builtin_nanf("");
}

/* tt: tt_log_sum_f64; needs: tt_fma_f64; long */
/* With s = f / (2 + f): log(1 + f) = 2 atanh(s) = 2 s + s R, R = s**2 p(s**2), and 2 s = f - s f, which keeps f exact:
   f - (f**2 / 2 - s (f**2 / 2 + R)) (fdlibm's e_log.c). Degree 15, error 2**-59.5. */
static inline double tt_log_sum_f64(double e, double f) {
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 0.14795705373451823;
    p = tt_fma_f64(p, z, 0.15314080455870435);
    p = tt_fma_f64(p, z, 0.18183562917310292);
    p = tt_fma_f64(p, z, 0.2222219860560716);
    p = tt_fma_f64(p, z, 0.2857142874200941);
    p = tt_fma_f64(p, z, 0.3999999999941674);
    p = tt_fma_f64(p, z, 0.6666666666666734);
    double half = 0.5 * f;
    double tail = tt_fma_f64(s, tt_fma_f64(half, f, z * p), e * 1.9082149292705877e-10);
    return tt_fma_f64(e, 0.69314718036912382, -(tt_fma_f64(half, f, -tail) - f));
}

/* tt: tt_log_f64; needs: tt_exponent_f64, tt_bits_f64, tt_float_f64, tt_log_sum_f64; long, chooses */
/* The result within 1 ulp. */
static inline double tt_log_f64(double x) {
    double scaled = x < 0x1p-1022 ? x * 0x1p52 : x;
    uint64_t bits = tt_bits_f64(scaled) - 0x3FE6A09E667F3BCDu;
    double e = tt_exponent_f64(bits) - (x < 0x1p-1022 ? 52.0 : 0.0);
    double f = tt_float_f64((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    double y = tt_log_sum_f64(e, f);
    y = x < __builtin_inf() ? y : x;
    return x > 0.0 ? y : x == 0.0 ? -__builtin_inf() : __builtin_nan("");
}

/* tt: tt_log1p_f64; needs: tt_exponent_f64, tt_bits_f64, tt_float_f64, tt_log_sum_f64, tt_fma_f64; long, chooses */
/* The result within 1.5 ulp. */
static inline double tt_log1p_f64(double x) {
    uint64_t bits = tt_bits_f64(1.0 + x) - 0x3FE6A09E667F3BCDu;
    double e = tt_exponent_f64(bits);
    double scale = tt_float_f64(0x4010000000000000u - (bits & 0xFFF0000000000000u));
    double f = tt_fma_f64(x * scale, 0.25, tt_fma_f64(scale, 0.25, -1.0));
    double y = tt_log_sum_f64(e, f);
    y = x < __builtin_inf() ? __builtin_copysign(y, x) : x;
    return x > -1.0 ? y : x == -1.0 ? -__builtin_inf() : __builtin_nan("");
}

/* tt: tt_logaddexp_f32; needs: tt_exp_f32, tt_log1p_f32; long */
/* log(exp(x) + exp(y)), without leaving the range. */
static inline float tt_logaddexp_f32(float x, float y) {
    float greater = x > y ? x : y;
    float sum = greater + tt_log1p_f32(tt_exp_f32(-__builtin_fabsf(x - y)));
    sum = __builtin_fabsf(greater) < __builtin_inff() ? sum : greater;
    return (x != x) | (y != y) ? x + y : sum;
}

/* tt: tt_logaddexp_f64; needs: tt_exp_f64, tt_log1p_f64; long */
static inline double tt_logaddexp_f64(double x, double y) {
    double greater = x > y ? x : y;
    double sum = greater + tt_log1p_f64(tt_exp_f64(-__builtin_fabs(x - y)));
    sum = __builtin_fabs(greater) < __builtin_inf() ? sum : greater;
    return (x != x) | (y != y) ? x + y : sum;
}
