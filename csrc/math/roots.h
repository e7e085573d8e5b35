/* Roots, remainders and neighbours of floats. */

/* tt: tt_sqrt_f32; needs:  */
static inline float tt_sqrt_f32(float x) { return __builtin_sqrtf(x); }

/* tt: tt_sqrt_f64; needs:  */
static inline double tt_sqrt_f64(double x) { return __builtin_sqrt(x); }

/* tt: tt_cbrt_f64; needs: tt_bits_f64, tt_float_f64, tt_fma_f64; long, chooses */
/* A third of the exponent, from the upper half of the bits, is right to 5 bits; each Halley step triples them. The last
   step is Newton's, with the error of the cube from fused multiply-adds. The result within 1 ulp. */
static inline double tt_cbrt_f64(double x) {
    double size = __builtin_fabs(x);
    double scale = size < 0x1p-900 ? 0x1p300 : size > 0x1p900 ? 0x1p-300 : 1.0;
    double unscale = size < 0x1p-900 ? 0x1p-100 : size > 0x1p900 ? 0x1p100 : 1.0;
    double a = size * scale;
    uint32_t upper = (uint32_t)(tt_bits_f64(a) >> 32) / 3 + 715094163u;
    double t = tt_float_f64((uint64_t)upper << 32);
    for (int step = 0; step < 2; step++) {
        double cube = t * t * t;
        t = t * ((a + a + cube) / (a + cube + cube));
    }
    double square = t * t;
    double square_error = __builtin_fma(t, t, -square);
    double error = tt_fma_f64(square_error, t, __builtin_fma(square, t, -a));
    t = (t - error / (3.0 * square)) * unscale;
    return (size == 0.0) | !(size < __builtin_inf()) ? x : __builtin_copysign(t, x);
}

/* tt: tt_cbrt_f32; needs: tt_bits_f32, tt_float_f32, tt_fma_f32; long */
/* Floats find y = 1 / cbrt(x), which takes no division: with h = 1 - x y**3, the rest of the series is y (1 + h / 3 +
   2 h**2 / 9 + 14 h**3 / 81 + ...), four terms of it, then two. From t = x y**2 one step of Newton's method leads to the
   root; it wants x - t**3 exactly, which takes fused products, or doubles. Rounded once: within 0.51 ulp. */
static inline float tt_cbrt_f32(float x) {
    float size = __builtin_fabsf(x);
    float a = size < 0x1p-90f ? size * 0x1p60f : size; /* so that what is left over is no subnormal number */
    float y = tt_float_f32(0x54A21D2Au - (uint32_t)(int32_t)((float)(int32_t)tt_bits_f32(a) * 0.33333334f));
    float h = tt_fma_f32(-a * y, y * y, 1.0f);
    float series = tt_fma_f32(h, tt_fma_f32(h, 0.17283951f, 0.22222222f), 0.33333334f);
    y = tt_fma_f32(y * h, series, y);
    h = tt_fma_f32(-a * y, y * y, 1.0f);
    y = tt_fma_f32(y * h, 0.33333334f, y);
    float inverse_square = y * y, t = a * inverse_square;
#if defined __FP_FAST_FMAF || defined __FMA__
    float square = t * t, rest = __builtin_fmaf(-square, t, a);
    rest = __builtin_fmaf(-__builtin_fmaf(t, t, -square), t, rest);
#else
    float rest = (float)(a - (double)t * t * t);
#endif
    t = tt_fma_f32(rest, inverse_square * 0.33333334f, t);
    t = size < 0x1p-90f ? t * 0x1p-20f : t;
    return (size == 0.0f) | !(size < __builtin_inff()) ? x : __builtin_copysignf(t, x);
}

/* tt: tt_rem_step; needs:  */
/* Takes the multiple of size * scale from r that leaves the least: as r is less than 2**28 times as large, its number has
   at most 28 bits, the product 52, and what is left as few as a float has. Nothing is rounded. */
static inline double tt_rem_step(double r, double size, double inverse, double scale) {
    double number = r * (inverse / scale) + 0x1.8p52 - 0x1.8p52; /* to a whole number: one beside the nearest will do */
    return r - number * (size * scale);
}

/* tt: tt_rem_f32; needs: tt_rem_step, tt_bits_f32; long */
/* The remainder has the sign of x and is exact: a long division, 28 bits of the quotient at a time, which has vectors.
   A power of two in the program's text divides exactly. */
static inline float tt_rem_f32(float x, float y) {
    if (__builtin_constant_p(y) && y >= 1.0f && y <= 0x1p64f && !(tt_bits_f32(y) & 0x007FFFFFu))
        return __builtin_copysignf(x - __builtin_truncf(x * (1.0f / y)) * y, x);
    double size = __builtin_fabsf(y), inverse = 1.0 / size, r = __builtin_fabsf(x);
    r = tt_rem_step(r, size, inverse, 0x1p252);
    r = tt_rem_step(r, size, inverse, 0x1p224);
    r = tt_rem_step(r, size, inverse, 0x1p196);
    r = tt_rem_step(r, size, inverse, 0x1p168);
    r = tt_rem_step(r, size, inverse, 0x1p140);
    r = tt_rem_step(r, size, inverse, 0x1p112);
    r = tt_rem_step(r, size, inverse, 0x1p84);
    r = tt_rem_step(r, size, inverse, 0x1p56);
    r = tt_rem_step(r, size, inverse, 0x1p28);
    r = tt_rem_step(r, size, inverse, 1.0);
    r = r < 0.0 ? r + size : r;
    return (size == __builtin_inf()) & (__builtin_fabsf(x) < __builtin_inff()) ? x : __builtin_copysignf((float)r, x);
}

/* tt: tt_rem_f64; needs: tt_bits_f64 */
/* The same of doubles takes a wider type: the C library's. Up to 2**52 the quotient's whole part is at hand, or is one too
   many, and what it leaves is exact. */
static inline double tt_rem_f64(double x, double y) {
    if (__builtin_constant_p(y) && y >= 1.0 && y <= 0x1p64 && !(tt_bits_f64(y) & 0x000FFFFFFFFFFFFFu))
        return __builtin_copysign(x - __builtin_trunc(x * (1.0 / y)) * y, x);
#if defined __FP_FAST_FMA || defined __FMA__
    double size = __builtin_fabs(y), over = __builtin_fabs(x);
    if (over < size * 0x1p52 && size < __builtin_inf()) {
        double r = __builtin_fma(-__builtin_trunc(over / size), size, over);
        return __builtin_copysign(r < 0.0 ? r + size : r, x);
    }
#endif
    return __builtin_fmod(x, y);
}

/* tt: tt_nextafter_f32; needs: tt_bits_f32, tt_float_f32; chooses */
/* Floats of one sign are ordered as their bits; from zero the way leads to the smallest float of the sign of y. */
static inline float tt_nextafter_f32(float x, float y) {
    uint32_t bits = tt_bits_f32(x);
    uint32_t away = (x < y) == (x > 0.0f);
    uint32_t next = x == 0.0f ? (tt_bits_f32(y) & 0x80000000u) | 1 : away ? bits + 1 : bits - 1;
    float result = x == y ? y : tt_float_f32(next);
    return (x != x) | (y != y) ? x + y : result;
}

/* tt: tt_nextafter_f64; needs: tt_bits_f64, tt_float_f64; chooses */
static inline double tt_nextafter_f64(double x, double y) {
    uint64_t bits = tt_bits_f64(x);
    uint64_t away = (x < y) == (x > 0.0);
    uint64_t next = x == 0.0 ? (tt_bits_f64(y) & 0x8000000000000000u) | 1 : away ? bits + 1 : bits - 1;
    double result = x == y ? y : tt_float_f64(next);
    return (x != x) | (y != y) ? x + y : result;
}
