/* x to the power y = exp(y log x), with a logarithm so exact that y times its error does not show.

   Signs and special values are those of C's pow: x**0 = 1 and 1**y = 1 even for NaN; a negative x needs a whole y. */

/* tt: tt_pow_half_f32; needs: ; chooses */
/* x**y for y = k/2 with odd k, |k| <= 5: square roots and products, within 2.5 ulp. */
static inline float tt_pow_half_f32(float x, float y) {
    const float size = __builtin_fabsf(x), power = __builtin_fabsf(y);
    const float root = __builtin_sqrtf(size);
    const float p = power == 0.5f ? root : power == 1.5f ? size * root : size * size * root;
    return x < 0.0f && size < __builtin_inff() ? __builtin_nanf("") : y < 0.0f ? 1.0f / p : p;
}

/* tt: tt_pow_f32; needs: tt_bits_f32, tt_bits_f64, tt_float_f32, tt_float_f64, tt_pow_half_f32, tt_fma_f64; long */
/* In double precision. log2(1 + f) of degree 13, error 2**-35.9, its even and odd terms side by side; 2**r of degree 7,
   error 2**-34.3; the result, which a double can hold for every x and y, is rounded once: within 0.6 ulp. */
static inline float tt_pow_f32(float x, float y) {
    if (__builtin_constant_p(y) && (y == 0.5f || y == -0.5f || y == 1.5f || y == -1.5f || y == 2.5f || y == -2.5f))
        return tt_pow_half_f32(x, y); /* an exponent in the program's text */
    float size = __builtin_fabsf(x);
    float scaled = size < 0x1p-126f ? size * 0x1p23f : size;
    uint32_t bits = tt_bits_f32(scaled) - 0x3F2AAAABu;
    double e = (double)((int32_t)bits >> 23) - (size < 0x1p-126f ? 23.0 : 0.0);
    double f = (double)tt_float_f32((bits & 0x007FFFFFu) + 0x3F2AAAABu) - 1.0;
    double square = f * f;
    double p = 0.1575648300134891, odd_p = -0.16612776267330667;
    p = tt_fma_f64(p, square, 0.12355580843984677);
    odd_p = tt_fma_f64(odd_p, square, -0.1374548539990203);
    p = tt_fma_f64(p, square, 0.1608920176384538);
    odd_p = tt_fma_f64(odd_p, square, -0.18080668903627833);
    p = tt_fma_f64(p, square, 0.2060759329281296);
    odd_p = tt_fma_f64(odd_p, square, -0.24043363338170276);
    p = tt_fma_f64(p, square, 0.2885394426597721);
    odd_p = tt_fma_f64(odd_p, square, -0.3606739790847955);
    p = tt_fma_f64(p, square, 0.4808983439540268);
    odd_p = tt_fma_f64(odd_p, square, -0.7213475195670725);
    p = tt_fma_f64(p, square, 1.4426950408923405);
    p = tt_fma_f64(odd_p, f, p);
    double log2_size = tt_fma_f64(p, f, e);
    log2_size = size < __builtin_inff() ? log2_size : (double)size;
    log2_size = size == 0.0f ? -__builtin_inf() : log2_size;
    double z = (double)y * log2_size;
    z = z > 200.0 ? 200.0 : z;
    z = z < -200.0 ? -200.0 : z;
    double t = z + 6755399441055744.0;
    double r = z - (t - 6755399441055744.0);
    double q = 1.5196155832770998e-05;
    q = tt_fma_f64(q, r, 0.00015466756298003167);
    q = tt_fma_f64(q, r, 0.0013333935058266824);
    q = tt_fma_f64(q, r, 0.009618038132129896);
    q = tt_fma_f64(q, r, 0.055504103659890246);
    q = tt_fma_f64(q, r, 0.24022651066560607);
    q = tt_fma_f64(q, r, 0.6931471807045325);
    q = tt_fma_f64(q, r, 1.0);
    float power = (float)tt_float_f64(tt_bits_f64(q) + (tt_bits_f64(t) << 52));
    power = z == z ? power : __builtin_nanf("");
    power = (y == 0.0f) | (x == 1.0f) | ((size == 1.0f) & (__builtin_fabsf(y) == __builtin_inff())) ? 1.0f : power;
    float half = 0.5f * y;
    int whole = __builtin_rintf(y) == y, odd = whole & (__builtin_rintf(half) != half);
    power = (x < 0.0f) & !whole & (size < __builtin_inff()) ? __builtin_nanf("") : power;
    uint32_t sign = tt_bits_f32(x) & ((uint32_t)odd << 31); /* no choice: of a constant y it would stop vectors */
    return tt_float_f32(tt_bits_f32(power) ^ sign);
}

/* tt: tt_exp_sum_f64; needs: tt_bits_f64, tt_float_f64, tt_fma_f64, tt_exp_reduced_f64; long, chooses */
/* exp(w + w_error) for |w| <= 1e3; 0 at -1e3, infinity at 1e3. Scaled in two steps, so that a subnormal result is rounded
   once. */
static inline double tt_exp_sum_f64(double w, double w_error) {
    double t = tt_fma_f64(w, 1.4426950408889634, 6755399441055744.0);
    double n = t - 6755399441055744.0;
    double r = tt_fma_f64(-n, 0.69314718036912382, w);
    r = r + (__builtin_fabs(w) < 1e3 ? tt_fma_f64(-n, 1.9082149292705877e-10, w_error) : 0.0);
    uint64_t exponent = tt_bits_f64(t) + 2046, half_exponent = exponent >> 1;
    double power = tt_exp_reduced_f64(r) * tt_float_f64(half_exponent << 52) * tt_float_f64((exponent - half_exponent) << 52);
    return w == -1e3 ? 0.0 : w == 1e3 ? __builtin_inf() : power;
}

/* tt: tt_pow_f64; needs: tt_exponent_f64, tt_bits_f64, tt_float_f64, tt_fma_f64, tt_exp_sum_f64; long */
/* The logarithm is a sum of two doubles: s = f / (2 + f) with its error, 2 s + 2 s**3 / 3 in two parts each, the rest
   of 2 atanh(s) of degree 17, error 2**-50.4 of that rest. The result within 1.2 ulp. */
static inline double tt_pow_f64(double x, double y) {
    double size = __builtin_fabs(x);
    double scaled = size < 0x1p-1022 ? size * 0x1p52 : size;
    uint64_t bits = tt_bits_f64(scaled) - 0x3FE6A09E667F3BCDu;
    double e = tt_exponent_f64(bits) - (size < 0x1p-1022 ? 52.0 : 0.0);
    double f = tt_float_f64((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    double g = 2.0 + f, g_error = f - (g - 2.0);
    double inverse = 1.0 / g;
    double s = f * inverse;
    double s_error = tt_fma_f64(-s, g_error, __builtin_fma(-s, g, f)) * inverse;
    double z = s * s, z_error = tt_fma_f64(2.0 * s, s_error, __builtin_fma(s, s, -z));
    double cube = s * z, cube_error = tt_fma_f64(s_error, z, tt_fma_f64(s, z_error, __builtin_fma(s, z, -cube)));
    double third = cube * 0.6666666666666666;
    double third_error = tt_fma_f64(cube, 3.700743415417188e-17, __builtin_fma(cube, 0.6666666666666666, -third));
    third_error = tt_fma_f64(cube_error, 0.6666666666666666, third_error);
    double p = 0.12912785270662366;
    p = tt_fma_f64(p, z, 0.13286042728841035);
    p = tt_fma_f64(p, z, 0.15385571437023857);
    p = tt_fma_f64(p, z, 0.18181808311082223);
    p = tt_fma_f64(p, z, 0.22222222270517197);
    p = tt_fma_f64(p, z, 0.28571428571340823);
    p = tt_fma_f64(p, z, 0.40000000000000024);
    double rest = p * (cube * z);
    /* log(size) = e ln 2 + 2 s + third + rest, largest first */
    double high = e * 0.69314718036912382, a = tt_fma_f64(2.0, s, high);
    double a_error = __builtin_fabs(high) > __builtin_fabs(2.0 * s) ? tt_fma_f64(2.0, s, high - a) : tt_fma_f64(2.0, s, -a) + high;
    double b = a + third, b_error = (a - b) + third;
    double log_size = b;
    double log_error = b_error + (a_error + tt_fma_f64(e, 1.9082149292705877e-10, tt_fma_f64(2.0, s_error, third_error) + rest));
    double sum = log_size + log_error;
    log_error = (log_size - sum) + log_error;
    log_size = sum;
    log_size = size < __builtin_inf() ? log_size : size;
    log_size = size == 0.0 ? -__builtin_inf() : log_size;
    double w = y * log_size;
    double w_error = tt_fma_f64(y, log_error, __builtin_fma(y, log_size, -w));
    w = w > 1e3 ? 1e3 : w;
    w = w < -1e3 ? -1e3 : w;
    double power = tt_exp_sum_f64(w, w_error);
    power = (y == 0.0) | (x == 1.0) | ((size == 1.0) & (__builtin_fabs(y) == __builtin_inf())) ? 1.0 : power;
    double half = 0.5 * y;
    int whole = __builtin_rint(y) == y, odd = whole & (__builtin_rint(half) != half);
    power = (x < 0.0) & !whole & (size < __builtin_inf()) ? __builtin_nan("") : power;
    uint64_t sign = tt_bits_f64(x) & ((uint64_t)odd << 63);
    return tt_float_f64(tt_bits_f64(power) ^ sign);
}
