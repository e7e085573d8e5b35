/* Hyperbolic functions and their inverses. Coefficients of polynomials: minimax, by Sollya's fpminimax. */

/* tt: tt_tanh_f32; needs: ; long */
/* x P(x**2) / Q(x**2) of degrees 9 and 8, error 0.3 ulp up to 8.66 (least squares, reweighted until the extremes were
   level, then a search among neighbouring floats for what rounding adds); beyond, the result rounds to 1. All
   coefficients are positive, so nothing cancels. The result within 5 ulp, which takes fused steps. */
static inline float tt_tanh_f32(float x) {
    float size = __builtin_fabsf(x);
    float z = x * x;
    float p = 1.4309761e-8f;
    p = __builtin_fmaf(p, z, 2.1281538e-5f);
    p = __builtin_fmaf(p, z, 0.0035359708f);
    p = __builtin_fmaf(p, z, 0.13414899f);
    p = __builtin_fmaf(p, z, 1.0f);
    float q = 8.161931e-7f;
    q = __builtin_fmaf(q, z, 0.0003351983f);
    q = __builtin_fmaf(q, z, 0.026030207f);
    q = __builtin_fmaf(q, z, 0.4674822f);
    q = __builtin_fmaf(q, z, 1.0f);
    float y = size > 8.66f ? 1.0f : size * p / q;
    return __builtin_copysignf(y > 1.0f ? 1.0f : y, x);
}

/* tt: tt_tanh_f64; needs: tt_bits_f64, tt_float_f64, tt_fma_f64; long */
/* With t = exp(2 |x|) - 1: t / (t + 2). exp(2 r) - 1 is tt_expm1_f64's polynomial, in pairs of terms: by one term after
   the other a processor waits for most of them. From 22 on the quotient rounds to 1. The result within 3 ulp. */
static inline double tt_tanh_f64(double x) {
    double size = __builtin_fabs(x);
    size = size > 22.0 ? 22.0 : size;
    double t = tt_fma_f64(size, 2.8853900817779268, 6755399441055744.0);
    double n = t - 6755399441055744.0;
    double r = tt_fma_f64(-n, 0.34657359018456191, size);
    r = tt_fma_f64(-n, 9.5410746475635290e-11, r);
    double z = r * r, w = z * z;
    double a = tt_fma_f64(1.3333333333333333, r, 2.0);
    double b = tt_fma_f64(0.2666666666666952, r, 0.666666666666667);
    double c = tt_fma_f64(0.02539682539299216, r, 0.08888888888878936);
    double d = tt_fma_f64(0.0014109349781317774, r, 0.006349206361344869);
    double e = tt_fma_f64(5.1300064340049984e-05, r, 0.00028218626101826833);
    double f = tt_fma_f64(1.388063987780758e-06, r, 8.569520915162419e-06);
    b = tt_fma_f64(c, z, b);
    d = tt_fma_f64(f, w, tt_fma_f64(e, z, d));
    a = tt_fma_f64(tt_fma_f64(d, w, b), z, a);
    double p = tt_fma_f64(a, z, r + r);
    double s = tt_float_f64((tt_bits_f64(t) + 1023) << 52);
    double y = tt_fma_f64(s, p, s - 1.0);
    return __builtin_copysign(y / (y + 2.0), x);
}

/* tt: tt_sinh_f32; needs: tt_exp_times_f32, tt_fma_f32; long */
/* With h = exp(|x|) / 2, which overflows only where the result does: h - 1 / (4 h); below 1 a polynomial of degree 9,
   error 2**-31.4. The result within 2 ulp. */
static inline float tt_sinh_f32(float x) {
    float size = __builtin_fabsf(x);
    float z = size * size;
    float p = 2.789984e-6f;
    p = tt_fma_f32(p, z, 0.00019841666f);
    p = tt_fma_f32(p, z, 0.008333315f);
    p = tt_fma_f32(p, z, 0.16666667f);
    float h = tt_exp_times_f32(size, -1);
    float y = size < 1.0f ? tt_fma_f32(p, size * z, size) : h - 0.25f / h;
    return __builtin_copysignf(y, x);
}

/* tt: tt_cosh_f32; needs: tt_exp_times_f32; long */
/* h + 1 / (4 h). The result within 2 ulp. */
static inline float tt_cosh_f32(float x) {
    float h = tt_exp_times_f32(__builtin_fabsf(x), -1);
    return h + 0.25f / h;
}

/* tt: tt_sinh_f64; needs: tt_exp_times_f64, tt_fma_f64; long */
/* Below 1 a polynomial of degree 17, error 2**-62.6. The result within 2 ulp. */
static inline double tt_sinh_f64(double x) {
    double size = __builtin_fabs(x);
    double z = size * size;
    double p = 4.448995073979093e-15;
    p = tt_fma_f64(p, z, 7.580157504091657e-13);
    p = tt_fma_f64(p, z, 1.6060174315015305e-10);
    p = tt_fma_f64(p, z, 2.5052098350165263e-08);
    p = tt_fma_f64(p, z, 2.755731927390287e-06);
    p = tt_fma_f64(p, z, 0.00019841269841133232);
    p = tt_fma_f64(p, z, 0.008333333333333519);
    p = tt_fma_f64(p, z, 0.16666666666666666);
    double h = tt_exp_times_f64(size, -1);
    double y = size < 1.0 ? tt_fma_f64(p, size * z, size) : h - 0.25 / h;
    return __builtin_copysign(y, x);
}

/* tt: tt_cosh_f64; needs: tt_exp_times_f64; long */
static inline double tt_cosh_f64(double x) {
    double h = tt_exp_times_f64(__builtin_fabs(x), -1);
    return h + 0.25 / h;
}

/* tt: tt_asinh_f64; needs: tt_log1p_f64; long */
/* sign(x) log1p(|x| + x**2 / (1 + sqrt(1 + x**2))); log(2 |x|) where the square would overflow. Within 2 ulp. */
static inline double tt_asinh_f64(double x) {
    double size = __builtin_fabs(x);
    double z = size * size;
    double y = tt_log1p_f64(size > 1e150 ? size : size + z / (1.0 + __builtin_sqrt(1.0 + z)));
    return __builtin_copysign(size > 1e150 ? y + 0.6931471805599453 : y, x);
}

/* tt: tt_acosh_f64; needs: tt_log1p_f64, tt_fma_f64; long */
/* With t = x - 1, which is exact near 1: log1p(t + sqrt(2 t + t**2)); log(2 x) for large x. Within 2 ulp. */
static inline double tt_acosh_f64(double x) {
    double t = x - 1.0;
    double y = tt_log1p_f64(x > 1e150 ? x : t + __builtin_sqrt(tt_fma_f64(t, t, t + t)));
    y = x > 1e150 ? y + 0.6931471805599453 : y;
    return x < 1.0 ? __builtin_nan("") : y;
}

/* tt: tt_atanh_f64; needs: tt_log1p_f64; long */
/* log1p(2 |x| / (1 - |x|)) / 2. Within 2 ulp. */
static inline double tt_atanh_f64(double x) {
    double size = __builtin_fabs(x);
    return __builtin_copysign(0.5 * tt_log1p_f64((size + size) / (1.0 - size)), x);
}

/* tt: tt_log1p_short_f64; needs: tt_exponent_f64, tt_bits_f64, tt_float_f64, tt_fma_f64; long */
/* log(1 + t) for 0 <= t < infinity with the digits that a float needs: f p(f) for 1 + f between 2/3 and 4/3, of degree
   12, error 2**-33.2 (Remez's algorithm). Unlike tt_log1p_f64 it divides nothing: of doubles a division takes as long
   as ten multiplications. */
static inline double tt_log1p_short_f64(double t) {
    uint64_t bits = tt_bits_f64(1.0 + t) - 0x3FE5555555555555u;
    double e = tt_exponent_f64(bits);
    double scale = tt_float_f64(0x3FF0000000000000u - (bits & 0xFFF0000000000000u));
    double f = tt_fma_f64(t, scale, scale - 1.0);
    double p = -0.11493415451436025;
    p = tt_fma_f64(p, f, 0.12204895196651833);
    p = tt_fma_f64(p, f, -0.09534234290347302);
    p = tt_fma_f64(p, f, 0.10697080103599631);
    p = tt_fma_f64(p, f, -0.1253183624154563);
    p = tt_fma_f64(p, f, 0.14310316896483866);
    p = tt_fma_f64(p, f, -0.16665624748506871);
    p = tt_fma_f64(p, f, 0.199993472007754);
    p = tt_fma_f64(p, f, -0.2500001447421916);
    p = tt_fma_f64(p, f, 0.3333333962947533);
    p = tt_fma_f64(p, f, -0.4999999994303617);
    p = tt_fma_f64(p, f, 0.9999999999019451);
    return tt_fma_f64(p, f, e * 0.6931471805599453);
}

/* tt: tt_asinh_f32; needs: tt_log1p_short_f64, tt_fma_f64; long */
/* The inverses are computed in double precision and rounded once: within 0.51 ulp. The square of a float is no infinity
   of doubles. A root or quotient of doubles takes less than one of floats with a step of Newton's method: on a Zen 3
   acosh then took 1.5 times as long.

   log(|x| + sqrt(1 + x**2)), below 2**-16, where the root is too near 1, |x|. */
static inline float tt_asinh_f32(float x) {
    float size = __builtin_fabsf(x);
    double d = size;
    float y = (float)tt_log1p_short_f64(d + (__builtin_sqrt(tt_fma_f64(d, d, 1.0)) - 1.0));
    return __builtin_copysignf(size >= 0x1p-16f && size < __builtin_inff() ? y : size, x);
}

/* tt: tt_acosh_f32; needs: tt_log1p_short_f64, tt_fma_f64; long */
/* log(x + sqrt(x**2 - 1)). */
static inline float tt_acosh_f32(float x) {
    double d = x;
    float y = (float)tt_log1p_short_f64((d - 1.0) + __builtin_sqrt(tt_fma_f64(d, d, -1.0)));
    float rounded = x < __builtin_inff() ? y : x;
    return x < 1.0f ? __builtin_nanf("") : rounded;
}

/* tt: tt_atanh_f32; needs: tt_log1p_short_f64; long */
/* log1p(2 |x| / (1 - |x|)) / 2. */
static inline float tt_atanh_f32(float x) {
    float size = __builtin_fabsf(x);
    double d = size;
    float y = (float)(0.5 * tt_log1p_short_f64((d + d) / (1.0 - d)));
    float outside = size == 1.0f ? __builtin_inff() : __builtin_nanf("");
    return __builtin_copysignf(size < 1.0f ? y : outside, x);
}
