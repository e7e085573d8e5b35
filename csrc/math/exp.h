/* Exponentials. x = n ln 2 + r with |r| <= ln 2 / 2, so exp(x) = 2**n exp(r), and exp(r) is a polynomial.

   n comes from adding 1.5 * 2**23 (2**52 for doubles): the sum has no room for a fraction, so it rounds, and its low
   bits are n. 2**n is applied as two factors, each with half of n + 254 as its biased exponent, because n may lie
   outside the exponent's range at both ends: overflow and denormal results come out of the last product right.
   ln 2 is subtracted in two parts, of which the
   first has so few bits that its product with n is exact (W. Cody, W. Waite, "Software Manual for the Elementary
   Functions", 1980). Coefficients: minimax, by Sollya's fpminimax. */

/* tt: tt_exp_times_f32; needs: tt_bits_f32, tt_float_f32, tt_fma_f32 */
/* exp(x) * 2**power for |power| <= 1. Degree 6, error 2**-28.2; the result within 1.2 ulp. */
static inline float tt_exp_times_f32(float x, int32_t power) {
    float t = tt_fma_f32(x, 1.442695041f, 12582912.0f);
    float n = t - 12582912.0f;
    float r = tt_fma_f32(-n, 0.693359375f, x);
    r = tt_fma_f32(n, 2.12194440e-4f, r);
    float p = 0.0013823546f;
    p = tt_fma_f32(p, r, 0.008368823f);
    p = tt_fma_f32(p, r, 0.041668236f);
    p = tt_fma_f32(p, r, 0.1666652f);
    p = tt_fma_f32(p, r, 0.49999994f);
    p = tt_fma_f32(p, r, 1.0f);
    p = tt_fma_f32(p, r, 1.0f);
    uint32_t exponent = tt_bits_f32(t) + 254 + (uint32_t)power;
    uint32_t half = exponent >> 1;
    float y = p * tt_float_f32(half << 23) * tt_float_f32((exponent - half) << 23);
    y = x < -104.7f ? 0.0f : y;
    return x > 90.0f ? __builtin_inff() : y;
}

/* tt: tt_exp_f32; needs: tt_exp_times_f32; long */
static inline float tt_exp_f32(float x) { return tt_exp_times_f32(x, 0); }

/* tt: tt_exp_reduced_f64; needs: tt_fma_f64; long */
/* exp(r) for |r| <= ln 2 / 2. Degree 11, error 2**-57.9. */
static inline double tt_exp_reduced_f64(double r) {
    double p = 2.5004611700418618e-08;
    p = tt_fma_f64(p, r, 2.763047317929422e-07);
    p = tt_fma_f64(p, r, 2.7557572053878852e-06);
    p = tt_fma_f64(p, r, 2.4801492415614528e-05);
    p = tt_fma_f64(p, r, 0.00019841269522593487);
    p = tt_fma_f64(p, r, 0.0013888888944362959);
    p = tt_fma_f64(p, r, 0.008333333333487038);
    p = tt_fma_f64(p, r, 0.041666666666526936);
    p = tt_fma_f64(p, r, 0.16666666666666424);
    p = tt_fma_f64(p, r, 0.5000000000000011);
    p = tt_fma_f64(p, r, 1.0);
    return tt_fma_f64(p, r, 1.0);
}

/* tt: tt_exp_times_f64; needs: tt_bits_f64, tt_float_f64, tt_fma_f64, tt_exp_reduced_f64 */
/* The result within 1.2 ulp. */
static inline double tt_exp_times_f64(double x, int64_t power) {
    double t = tt_fma_f64(x, 1.4426950408889634, 6755399441055744.0);
    double n = t - 6755399441055744.0;
    double r = tt_fma_f64(-n, 0.69314718036912382, x);
    r = tt_fma_f64(-n, 1.9082149292705877e-10, r);
    uint64_t exponent = tt_bits_f64(t) + 2046 + (uint64_t)power;
    uint64_t half = exponent >> 1;
    double y = tt_exp_reduced_f64(r) * tt_float_f64(half << 52) * tt_float_f64((exponent - half) << 52);
    y = x < -746.0 ? 0.0 : y;
    return x > 711.0 ? __builtin_inf() : y;
}

/* tt: tt_exp_f64; needs: tt_exp_times_f64; long */
static inline double tt_exp_f64(double x) { return tt_exp_times_f64(x, 0); }

/* tt: tt_exp2_f32; needs: tt_bits_f32, tt_float_f32, tt_fma_f32; long */
/* The fraction of x is exact. Degree 7, error 2**-32.4; the result within 1.2 ulp. */
static inline float tt_exp2_f32(float x) {
    float t = x + 12582912.0f;
    float r = x - (t - 12582912.0f);
    float p = 1.4475279e-5f;
    p = tt_fma_f32(p, r, 0.00015455947f);
    p = tt_fma_f32(p, r, 0.0013337279f);
    p = tt_fma_f32(p, r, 0.009618078f);
    p = tt_fma_f32(p, r, 0.055504058f);
    p = tt_fma_f32(p, r, 0.2402265f);
    p = tt_fma_f32(p, r, 0.6931472f);
    p = tt_fma_f32(p, r, 1.0f);
    uint32_t exponent = tt_bits_f32(t) + 254;
    uint32_t half = exponent >> 1;
    float y = p * tt_float_f32(half << 23) * tt_float_f32((exponent - half) << 23);
    y = x < -151.0f ? 0.0f : y;
    return x >= 128.0f ? __builtin_inff() : y;
}

/* tt: tt_exp2_f64; needs: tt_bits_f64, tt_float_f64, tt_fma_f64; long */
/* Degree 11, error 2**-57.3; the result within 1.2 ulp. */
static inline double tt_exp2_f64(double x) {
    double t = x + 6755399441055744.0;
    double r = x - (t - 6755399441055744.0);
    double p = 4.451517992739643e-10;
    p = tt_fma_f64(p, r, 7.073894181145976e-09);
    p = tt_fma_f64(p, r, 1.0178076598297676e-07);
    p = tt_fma_f64(p, r, 1.3215434563163586e-06);
    p = tt_fma_f64(p, r, 1.5252733828893405e-05);
    p = tt_fma_f64(p, r, 0.00015403530458754546);
    p = tt_fma_f64(p, r, 0.0013333558146358634);
    p = tt_fma_f64(p, r, 0.009618129107592587);
    p = tt_fma_f64(p, r, 0.05550410866482233);
    p = tt_fma_f64(p, r, 0.24022650695910136);
    p = tt_fma_f64(p, r, 0.6931471805599453);
    p = tt_fma_f64(p, r, 1.0);
    uint64_t exponent = tt_bits_f64(t) + 2046;
    uint64_t half = exponent >> 1;
    double y = p * tt_float_f64(half << 52) * tt_float_f64((exponent - half) << 52);
    y = x < -1076.0 ? 0.0 : y;
    return x >= 1024.0 ? __builtin_inf() : y;
}

/* tt: tt_expm1_f32; needs: tt_bits_f32, tt_float_f32, tt_fma_f32; long */
/* With s = 2**n: exp(x) - 1 = s (exp(r) - 1) + (s - 1), where s - 1 is exact or does not matter. The doubling at the
   end keeps s finite for n = 128. Degree 7, error 2**-31.0; the result within 1.5 ulp. */
static inline float tt_expm1_f32(float x) {
    float t = tt_fma_f32(x, 1.442695041f, 12582912.0f);
    float n = t - 12582912.0f;
    float r = tt_fma_f32(-n, 0.693359375f, x);
    r = tt_fma_f32(n, 2.12194440e-4f, r);
    float p = 0.00019743445f;
    p = tt_fma_f32(p, r, 0.0013933713f);
    p = tt_fma_f32(p, r, 0.008333567f);
    p = tt_fma_f32(p, r, 0.041666478f);
    p = tt_fma_f32(p, r, 0.16666666f);
    p = tt_fma_f32(p, r, 0.5f);
    p = __builtin_fmaf(p * r, r, r);
    float s = tt_float_f32((tt_bits_f32(t) + 126) << 23);
    float y = tt_fma_f32(s, p, s - 0.5f);
    y = x < -18.0f ? -0.5f : y;
    y = x > 89.0f ? __builtin_inff() : y;
    return __builtin_copysignf(y + y, x);
}

/* tt: tt_expm1_f64; needs: tt_bits_f64, tt_float_f64, tt_fma_f64; long */
/* Degree 13, error 2**-64.5; the result within 1.5 ulp. */
static inline double tt_expm1_f64(double x) {
    double t = tt_fma_f64(x, 1.4426950408889634, 6755399441055744.0);
    double n = t - 6755399441055744.0;
    double r = tt_fma_f64(-n, 0.69314718036912382, x);
    r = tt_fma_f64(-n, 1.9082149292705877e-10, r);
    double p = 1.694414047583933e-10;
    p = tt_fma_f64(p, r, 2.092168192178325e-09);
    p = tt_fma_f64(p, r, 2.504885954104003e-08);
    p = tt_fma_f64(p, r, 2.7557252052565267e-07);
    p = tt_fma_f64(p, r, 2.7557323791636277e-06);
    p = tt_fma_f64(p, r, 2.4801587349003396e-05);
    p = tt_fma_f64(p, r, 0.00019841269838275126);
    p = tt_fma_f64(p, r, 0.0013888888888873338);
    p = tt_fma_f64(p, r, 0.008333333333334225);
    p = tt_fma_f64(p, r, 0.041666666666666685);
    p = tt_fma_f64(p, r, 0.16666666666666666);
    p = tt_fma_f64(p, r, 0.5);
    p = __builtin_fma(p * r, r, r);
    double s = tt_float_f64((tt_bits_f64(t) + 1022) << 52);
    double y = tt_fma_f64(s, p, s - 0.5);
    y = x < -38.0 ? -0.5 : y;
    y = x > 710.0 ? __builtin_inf() : y;
    return __builtin_copysign(y + y, x);
}

/* tt: tt_logistic_f32; needs: tt_exp_f32, tt_fma_f32; long */
/* With e = exp(-|x|): 1 / (1 + e), or e / (1 + e) below 0. What 1 + e and the quotient lost in rounding is put back.
   The result within 2 ulp. */
static inline float tt_logistic_f32(float x) {
    float e = tt_exp_f32(-__builtin_fabsf(x));
    float over = x < 0.0f ? e : 1.0f;
    float under = 1.0f + e, lost = e - (under - 1.0f);
    float inverse = 1.0f / under;
    float y = over * inverse;
    return tt_fma_f32(tt_fma_f32(-y, lost, __builtin_fmaf(-y, under, over)), inverse, y);
}

/* tt: tt_logistic_f64; needs: tt_exp_f64, tt_fma_f64; long */
static inline double tt_logistic_f64(double x) {
    double e = tt_exp_f64(-__builtin_fabs(x));
    double over = x < 0.0 ? e : 1.0;
    double under = 1.0 + e, lost = e - (under - 1.0);
    double inverse = 1.0 / under;
    double y = over * inverse;
    return tt_fma_f64(tt_fma_f64(-y, lost, __builtin_fma(-y, under, over)), inverse, y);
}
