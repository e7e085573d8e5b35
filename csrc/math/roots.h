/* Roots, remainders and neighbours of floats. */

/* tt: tt_sqrt_f32; needs:  */
static inline float tt_sqrt_f32(float x) { return __builtin_sqrtf(x); }

/* tt: tt_sqrt_f64; needs:  */
static inline double tt_sqrt_f64(double x) { return __builtin_sqrt(x); }

/* tt: tt_cbrt_f64; needs: tt_bits_f64, tt_float_f64, tt_fma_f64; long */
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

/* tt: tt_cbrt_f32; needs: tt_bits_f32, tt_float_f32; long */
/* The same in double precision, rounded once: within 0.51 ulp. */
static inline float tt_cbrt_f32(float x) {
    float size = __builtin_fabsf(x);
    float scaled = size < 0x1p-126f ? size * 0x1p24f : size;
    uint32_t guess = tt_bits_f32(scaled) / 3 + (size < 0x1p-126f ? 642849266u : 709958130u);
    double t = tt_float_f32(guess), a = size;
    for (int step = 0; step < 2; step++) {
        double cube = t * t * t;
        t = t * ((a + a + cube) / (a + cube + cube));
    }
    return (size == 0.0f) | !(size < __builtin_inff()) ? x : __builtin_copysignf((float)t, x);
}

/* tt: tt_rem_step; needs:  */
/* Takes the multiple of size * scale from r that leaves the least: as r is less than 2**28 times as large, its number has
   at most 28 bits, the product 52, and what is left as few as a float has. Nothing is rounded. */
static inline double tt_rem_step(double r, double size, double inverse, double scale) {
    double number = r * (inverse / scale) + 0x1.8p52 - 0x1.8p52; /* to a whole number: one beside the nearest will do */
    return r - number * (size * scale);
}

/* tt: tt_rem_f32; needs: tt_rem_step; long */
/* The remainder has the sign of x and is exact: a long division, 28 bits of the quotient at a time, which has vectors. */
static inline float tt_rem_f32(float x, float y) {
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

/* tt: tt_rem_f64; needs:  */
/* The same of doubles takes a wider type: the C library's. */
static inline double tt_rem_f64(double x, double y) { return __builtin_fmod(x, y); }

/* tt: tt_nextafter_f32; needs: tt_bits_f32, tt_float_f32 */
/* Floats of one sign are ordered as their bits; from zero the way leads to the smallest float of the sign of y. */
static inline float tt_nextafter_f32(float x, float y) {
    uint32_t bits = tt_bits_f32(x);
    uint32_t away = (x < y) == (x > 0.0f);
    uint32_t next = x == 0.0f ? (tt_bits_f32(y) & 0x80000000u) | 1 : away ? bits + 1 : bits - 1;
    float result = x == y ? y : tt_float_f32(next);
    return (x != x) | (y != y) ? x + y : result;
}

/* tt: tt_nextafter_f64; needs: tt_bits_f64, tt_float_f64 */
static inline double tt_nextafter_f64(double x, double y) {
    uint64_t bits = tt_bits_f64(x);
    uint64_t away = (x < y) == (x > 0.0);
    uint64_t next = x == 0.0 ? (tt_bits_f64(y) & 0x8000000000000000u) | 1 : away ? bits + 1 : bits - 1;
    double result = x == y ? y : tt_float_f64(next);
    return (x != x) | (y != y) ? x + y : result;
}
