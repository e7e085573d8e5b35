/* Sine, cosine and tangent of doubles of any size.

   |x| = k pi/2 + r. Up to 2**28, k pi/2 is subtracted in three parts by fused multiply-adds, of which the first is
   exact. Beyond, |x| = M 2**e with a whole M, and the window of 2/pi that decides |x| 2/pi modulo 4 is cut out of a
   table of its bits: 192 bits from the position that e gives. Their product with M, in fixed point, has k in its two
   highest bits (M. Payne, R. Hanek, "Radian Reduction for Trigonometric Functions", 1983). As for floats, a function
   is computed for |x| < 2**28, and mended where that does not hold. */

/* tt: tt_two_over_pi; needs:  */
/* The bits of 2/pi behind the point, after 64 zeros. */
static const uint32_t tt_two_over_pi[] = {
    0u, 0u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u,
    0xFE5163ABu, 0xDEBBC561u, 0xB7246E3Au, 0x424DD2E0u, 0x06492EEAu, 0x09D1921Cu, 0xFE1DEB1Cu, 0xB129A73Eu,
    0xE88235F5u, 0x2EBB4484u, 0xE99C7026u, 0xB45F7E41u, 0x3991D639u, 0x835339F4u, 0x9C845F8Bu, 0xBDF9283Bu,
    0x1FF897FFu, 0xDE05980Fu, 0xEF2F118Bu, 0x5A0A6D1Fu, 0x6D367ECFu, 0x27CB09B7u, 0x4F463F66u, 0x9E5FEA2Du,
    0x7527BAC7u, 0xEBE5F17Bu, 0x3D0739F7u, 0x8A5292EAu, 0x6BFB5FB1u, 0x1F8D5D08u, 0x56033046u, 0xFC7B6BABu,
    0xF0CFBC20u, 0x9AF4361Du, 0xA9E39161u,
};

/* tt: tt_angle_f64; needs:  */
/* What is left of an angle, in radians, when whole quarter turns are taken away: rest + error. */
struct tt_angle_f64 {
    double rest, error;
    uint64_t turns;
};

/* tt: tt_far_turns_f64; needs: tt_angle_f64, tt_bits_f64, tt_two_over_pi, tt_fma_f64 */
/* For x >= 2**28. In the products below L and H are the halves of M, w0 to w5 the words of the window, high first. */
static inline struct tt_angle_f64 tt_far_turns_f64(double x) {
    uint64_t bits = tt_bits_f64(x);
    uint64_t position = (bits >> 52 & 0x7FF) - 1013;
    position = position < 1035 ? position : 0;
    uint64_t word = position >> 5, shift = position & 31;
    uint64_t w0 = ((uint64_t)tt_two_over_pi[word + 0] << 32 | tt_two_over_pi[word + 1]) << shift >> 32;
    uint64_t w1 = ((uint64_t)tt_two_over_pi[word + 1] << 32 | tt_two_over_pi[word + 2]) << shift >> 32;
    uint64_t w2 = ((uint64_t)tt_two_over_pi[word + 2] << 32 | tt_two_over_pi[word + 3]) << shift >> 32;
    uint64_t w3 = ((uint64_t)tt_two_over_pi[word + 3] << 32 | tt_two_over_pi[word + 4]) << shift >> 32;
    uint64_t w4 = ((uint64_t)tt_two_over_pi[word + 4] << 32 | tt_two_over_pi[word + 5]) << shift >> 32;
    uint64_t w5 = ((uint64_t)tt_two_over_pi[word + 5] << 32 | tt_two_over_pi[word + 6]) << shift >> 32;
    uint64_t L = bits & 0xFFFFFFFFu, H = (bits >> 32 & 0x000FFFFFu) | 0x00100000u, low_word = 0xFFFFFFFFu;
    uint64_t s4 = L * w4 + (L * w5 >> 32) + (H * w5 & low_word);
    uint64_t s3 = (s4 >> 32) + (L * w3 & low_word) + (H * w4 & low_word) + (H * w5 >> 32);
    uint64_t s2 = (s3 >> 32) + (L * w2 & low_word) + (L * w3 >> 32) + (H * w3 & low_word) + (H * w4 >> 32);
    uint64_t s1 = (s2 >> 32) + (L * w1 & low_word) + (L * w2 >> 32) + (H * w2 & low_word) + (H * w3 >> 32);
    uint64_t s0 = (s1 >> 32) + L * w0 + (L * w1 >> 32) + H * w1 + (H * w2 >> 32);
    uint64_t high = s0 << 32 | (s1 & low_word);
    uint64_t low = s2 << 32 | (s3 & low_word);
    uint64_t turns = (high + 0x2000000000000000u) >> 62;
    int64_t fraction = (int64_t)(high - (turns << 62));
    double h = (double)fraction;
    double h_error = tt_fma_f64((double)(int64_t)(low >> 1), 0x1p-63, (double)(fraction - (int64_t)h));
    double rest = h * 0x1.921fb54442d18p-62;
    double error = tt_fma_f64(h, 0x1.1a62633145c07p-116, h_error * 0x1.921fb54442d18p-62);
    error = __builtin_fma(h, 0x1.921fb54442d18p-62, -rest) + error;
    double sum = rest + error;
    return (struct tt_angle_f64){sum, error - (sum - rest), turns};
}

/* tt: tt_near_turns_f64; needs: tt_angle_f64, tt_bits_f64, tt_fma_f64 */
/* |x| = turns pi / 2 + rest, for |x| < 2**28. */
static inline struct tt_angle_f64 tt_near_turns_f64(double x) {
    double size = __builtin_fabs(x);
    double t = tt_fma_f64(size, 0.6366197723675814, 6755399441055744.0);
    double k = t - 6755399441055744.0;
    double first = __builtin_fma(-k, 0x1.921fb54442d18p+0, size);
    double rest = __builtin_fma(-k, 0x1.1a62633145c07p-54, first);
    double error = tt_fma_f64(k, 0x1.f1976b7ed8fbcp-110, __builtin_fma(-k, 0x1.1a62633145c07p-54, first - rest));
    double sum = rest + error;
    return (struct tt_angle_f64){sum, error - (sum - rest), tt_bits_f64(t)};
}

/* tt: tt_quarter_turns_f64; needs: tt_angle_f64, tt_near_turns_f64, tt_far_turns_f64; chooses */
/* |x| = turns pi / 2 + rest; NaN for an infinite x. */
static inline struct tt_angle_f64 tt_quarter_turns_f64(double x) {
    double size = __builtin_fabs(x);
    struct tt_angle_f64 near = tt_near_turns_f64(size), far = tt_far_turns_f64(size);
    return (struct tt_angle_f64){
        (size < 0x1p28 ? near.rest : far.rest) + (size - size),
        size < 0x1p28 ? near.error : far.error,
        size < 0x1p28 ? near.turns : far.turns,
    };
}

/* tt: tt_sin_turned_f64; needs: tt_bits_f64, tt_float_f64, tt_fma_f64 */
/* sin(turns pi / 2 + rest). Sine of degree 13, error 2**-57.9; cosine of degree 14, error 2**-63.9. */
static inline double tt_sin_turned_f64(double r, uint64_t turns) {
    double z = r * r;
    double p = 1.58959436374344e-10;
    p = tt_fma_f64(p, z, -2.505074232064192e-08);
    p = tt_fma_f64(p, z, 2.755731358226442e-06);
    p = tt_fma_f64(p, z, -0.0001984126982945851);
    p = tt_fma_f64(p, z, 0.008333333333321919);
    p = tt_fma_f64(p, z, -0.1666666666666663);
    double sine = tt_fma_f64(p, r * z, r);
    double q = -1.1358748095206086e-11;
    q = tt_fma_f64(q, z, 2.087570540410226e-09);
    q = tt_fma_f64(q, z, -2.7557314217299276e-07);
    q = tt_fma_f64(q, z, 2.480158728900347e-05);
    q = tt_fma_f64(q, z, -0.0013888888888873344);
    q = tt_fma_f64(q, z, 0.041666666666666595);
    double half = 0.5 * z;
    double one = 1.0 - half;
    double cosine = one + tt_fma_f64(q, z * z, (1.0 - one) - half);
    double y = turns & 1 ? cosine : sine;
    return tt_float_f64(tt_bits_f64(y) ^ turns >> 1 << 63);
}

/* tt: tt_tan_turned_f64; needs: tt_angle_f64, tt_fma_f64; chooses */
/* tan(turns pi / 2 + rest): sin / cos, each as a sum of two doubles, so that only the last step rounds. */
static inline double tt_tan_turned_f64(struct tt_angle_f64 angle) {
    double r = angle.rest;
    double z = r * r;
    double p = 1.58959436374344e-10;
    p = tt_fma_f64(p, z, -2.505074232064192e-08);
    p = tt_fma_f64(p, z, 2.755731358226442e-06);
    p = tt_fma_f64(p, z, -0.0001984126982945851);
    p = tt_fma_f64(p, z, 0.008333333333321919);
    p = tt_fma_f64(p, z, -0.1666666666666663);
    double sine_tail = tt_fma_f64(p, r * z, angle.error);
    double sine = r + sine_tail;
    sine_tail = sine_tail - (sine - r);
    double q = -1.1358748095206086e-11;
    q = tt_fma_f64(q, z, 2.087570540410226e-09);
    q = tt_fma_f64(q, z, -2.7557314217299276e-07);
    q = tt_fma_f64(q, z, 2.480158728900347e-05);
    q = tt_fma_f64(q, z, -0.0013888888888873344);
    q = tt_fma_f64(q, z, 0.041666666666666595);
    double half = 0.5 * z;
    double one = 1.0 - half;
    double cosine_tail = ((1.0 - one) - half) + tt_fma_f64(q, z * z, -tt_fma_f64(__builtin_fma(r, r, -z), 0.5, r * angle.error));
    double cosine = one + cosine_tail;
    cosine_tail = cosine_tail - (cosine - one);
    uint64_t odd = angle.turns & 1;
    double over = odd ? -cosine : sine, over_tail = odd ? -cosine_tail : sine_tail;
    double under = odd ? sine : cosine, under_tail = odd ? sine_tail : cosine_tail;
    double inverse = 1.0 / under;
    double quotient = over * inverse;
    return tt_fma_f64(__builtin_fma(-quotient, under, over) + tt_fma_f64(-quotient, under_tail, over_tail), inverse, quotient);
}

/* tt: tt_trig_turned_f64; needs: tt_angle_f64, tt_bits_f64, tt_float_f64, tt_sin_turned_f64, tt_tan_turned_f64 */
/* The sine of x for `which` 0, its cosine for 1, its tangent for 2; |x| is the angle. */
static inline double tt_trig_turned_f64(double x, struct tt_angle_f64 angle, double which) {
    if (which == 1.0) return tt_sin_turned_f64(angle.rest, angle.turns + 1);
    double y = which == 0.0 ? tt_sin_turned_f64(angle.rest, angle.turns) : tt_tan_turned_f64(angle);
    return tt_float_f64(tt_bits_f64(y) ^ (tt_bits_f64(x) & 0x8000000000000000u));
}

/* tt: tt_trig_wide_f64; needs: tt_quarter_turns_f64, tt_trig_turned_f64; long */
static inline double tt_trig_wide_f64(double x, double which) {
    return tt_trig_turned_f64(x, tt_quarter_turns_f64(x), which);
}

/* tt: tt_trig_near_f64; needs: tt_near_turns_f64, tt_trig_turned_f64; long */
/* The same for |x| < 2**28. */
static inline double tt_trig_near_f64(double x, double which) {
    return tt_trig_turned_f64(x, tt_near_turns_f64(x), which);
}

/* tt: tt_trig_mended_f64; needs: tt_trig_wide_f64; long */
/* y, computed for |x| < 2**28, where that holds, elsewhere tt_trig_wide_f64(x, which); why: see tt_trig_mended_f32. */
#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && !defined(__clang__)
__attribute__((const, simd("notinbranch"), visibility("hidden")))
double tt_trig_mended_f64(double y, double x, double which);

#ifndef TT_LINKED_MATH /* tt_trig_mended_f64: a program that is linked to them declares them alone */
static __attribute__((noinline, cold)) void tt_trig_mend_f64(double *y, const double *x, const double *which,
                                                             int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(__builtin_fabs(x[i]) < 0x1p28)) y[i] = tt_trig_wide_f64(x[i], which[i]);
}

double tt_trig_mended_f64_1(double y, double x, double which) __asm__("tt_trig_mended_f64");
__attribute__((visibility("hidden"))) double tt_trig_mended_f64_1(double y, double x, double which) {
    if (!(__builtin_fabs(x) < 0x1p28)) tt_trig_mend_f64(&y, &x, &which, 1);
    return y;
}

typedef double tt_f64x2 __attribute__((vector_size(16)));
typedef int64_t tt_i64x2 __attribute__((vector_size(16)));

tt_f64x2 tt_trig_mended_f64_2(tt_f64x2 y, tt_f64x2 x, tt_f64x2 which) __asm__("_ZGVbN2vvv_tt_trig_mended_f64");
__attribute__((visibility("hidden"))) tt_f64x2 tt_trig_mended_f64_2(tt_f64x2 y, tt_f64x2 x, tt_f64x2 which) {
    tt_i64x2 far = ((tt_i64x2)x & 0x7FFFFFFFFFFFFFFF) >= 0x41B0000000000000; /* the bits of 2**28 */
    if (__builtin_expect((far[0] | far[1]) != 0, 0))
        tt_trig_mend_f64((double *)&y, (const double *)&x, (const double *)&which, 2);
    return y;
}

typedef double tt_f64x4 __attribute__((vector_size(32)));
typedef int64_t tt_i64x4 __attribute__((vector_size(32)));

tt_f64x4 tt_trig_mended_f64_4(tt_f64x4 y, tt_f64x4 x, tt_f64x4 which) __asm__("_ZGVdN4vvv_tt_trig_mended_f64");
__attribute__((visibility("hidden"))) tt_f64x4 tt_trig_mended_f64_4(tt_f64x4 y, tt_f64x4 x, tt_f64x4 which) {
    tt_i64x4 far = ((tt_i64x4)x & 0x7FFFFFFFFFFFFFFF) >= 0x41B0000000000000;
    if (__builtin_expect((far[0] | far[1] | far[2] | far[3]) != 0, 0))
        tt_trig_mend_f64((double *)&y, (const double *)&x, (const double *)&which, 4);
    return y;
}
#if defined(__AVX512F__) || defined(TT_LINKED_MATH) /* why: see tt_trig_mended_f32 */
#ifdef __AVX512F__
#define TT_FOR_8
#else
#define TT_FOR_8 __attribute__((target("avx512f")))
#endif
typedef double tt_f64x8 __attribute__((vector_size(64)));
typedef int64_t tt_i64x8 __attribute__((vector_size(64)));
typedef int8_t tt_i8x8 __attribute__((vector_size(8)));
union tt_far_f64_8 { tt_i8x8 lanes; uint64_t word; };

TT_FOR_8 tt_f64x8 tt_trig_mended_f64_8(tt_f64x8 y, tt_f64x8 x, tt_f64x8 which)
    __asm__("_ZGVeN8vvv_tt_trig_mended_f64");
__attribute__((visibility("hidden"))) TT_FOR_8
tt_f64x8 tt_trig_mended_f64_8(tt_f64x8 y, tt_f64x8 x, tt_f64x8 which) {
    union tt_far_f64_8 far = {__builtin_convertvector(((tt_i64x8)x & 0x7FFFFFFFFFFFFFFF) >= 0x41B0000000000000, tt_i8x8)};
    if (__builtin_expect(far.word != 0, 0))
        tt_trig_mend_f64((double *)&y, (const double *)&x, (const double *)&which, 8);
    return y;
}
#endif
#endif
#else
static inline double tt_trig_mended_f64(double y, double x, double which) {
    (void)y;
    return tt_trig_wide_f64(x, which);
}
#endif

/* tt: tt_sin_f64; needs: tt_trig_mended_f64, tt_trig_near_f64; long */
/* The result within 1 ulp. */
static inline double tt_sin_f64(double x) { return tt_trig_mended_f64(tt_trig_near_f64(x, 0.0), x, 0.0); }

/* tt: tt_cos_f64; needs: tt_trig_mended_f64, tt_trig_near_f64; long */
/* The result within 1 ulp. */
static inline double tt_cos_f64(double x) { return tt_trig_mended_f64(tt_trig_near_f64(x, 1.0), x, 1.0); }

/* tt: tt_tan_f64; needs: tt_trig_mended_f64, tt_trig_near_f64; long */
/* The result within 1 ulp. */
static inline double tt_tan_f64(double x) { return tt_trig_mended_f64(tt_trig_near_f64(x, 2.0), x, 2.0); }
