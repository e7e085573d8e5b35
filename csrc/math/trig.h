/* Sine, cosine and tangent of floats of any size.

   |x| is counted in half turns (quarter turns for the tangent): |x| / pi = k + h with a whole k and |h| <= 1/2. Of a
   large x the product with 1 / pi needs bits of 1 / pi far behind the point, and none of those that only make even
   numbers of half turns. So 1 / pi is kept in five windows: for |x| = m 2**(21 w) with m < 2**44 the window w is
   2**(21 w) / pi modulo 2, as the sum of two doubles, and h is right to its last bits (the idea is M. Payne and
   R. Hanek's, "Radian Reduction for Trigonometric Functions", 1983). Coefficients: minimax, by Sollya. */

/* tt: tt_angle_f32; needs:  */
/* What is left of an angle, in radians, when whole half turns (or quarter turns) are taken away; `rest` is rounded. */
struct tt_angle_f32 {
    double exact;
    float rest;
    uint32_t turns;
};

/* tt: tt_half_turns_f32; needs: tt_angle_f32, tt_bits_f64, tt_fma_f64 */
/* |x| = (turns + shift) pi + rest. */
static inline struct tt_angle_f32 tt_half_turns_f32(float x, double shift) {
    float size = __builtin_fabsf(x);
    double scale = 0x1p-84;
    scale = size < 0x1p107f ? 0x1p-63 : scale;
    scale = size < 0x1p86f ? 0x1p-42 : scale;
    scale = size < 0x1p65f ? 0x1p-21 : scale;
    scale = size < 0x1p44f ? 1.0 : scale;
    double high = 0x1.7d1f534ddc0dbp-1;
    high = size < 0x1p107f ? 0x1.fc2757d1f534dp-2 : high;
    high = size < 0x1p86f ? 0x1.1054a7f09d5f4p-1 : high;
    high = size < 0x1p65f ? 0x1.b727220a94fe1p-3 : high;
    high = size < 0x1p44f ? 0x1.45f306dc9c882p-2 : high;
    double low = 0x1.8a5664f10e410p-55;
    low = size < 0x1p107f ? 0x1.b81b6c52b3279p-55 : low;
    low = size < 0x1p86f ? 0x1.f534ddc0db629p-55 : low;
    low = size < 0x1p65f ? 0x1.d5f47d4d37703p-58 : low;
    low = size < 0x1p44f ? 0x1.4a7f09d5f47d5p-55 : low;
    double m = (double)size * scale;
    double t = shift == 0.0 ? tt_fma_f64(m, high, 6755399441055744.0)
                            : tt_fma_f64(m, high, -shift) + 6755399441055744.0;
    double k = (t - 6755399441055744.0) + shift;
    double h = tt_fma_f64(m, low, __builtin_fma(m, high, -k));
    double rest = h * 3.141592653589793;
    return (struct tt_angle_f32){rest, (float)rest, (uint32_t)tt_bits_f64(t)};
}

/* tt: tt_quarter_turns_f32; needs: tt_angle_f32, tt_bits_f64, tt_fma_f64 */
/* |x| = turns pi / 2 + rest. */
static inline struct tt_angle_f32 tt_quarter_turns_f32(float x) {
    float size = __builtin_fabsf(x);
    double scale = 0x1p-84;
    scale = size < 0x1p107f ? 0x1p-63 : scale;
    scale = size < 0x1p86f ? 0x1p-42 : scale;
    scale = size < 0x1p65f ? 0x1p-21 : scale;
    scale = size < 0x1p44f ? 1.0 : scale;
    double high = 0x1.7d1f534ddc0dbp+0;
    high = size < 0x1p107f ? 0x1.fc2757d1f534dp-1 : high;
    high = size < 0x1p86f ? 0x1.1054a7f09d5f4p+0 : high;
    high = size < 0x1p65f ? 0x1.b727220a94fe1p-2 : high;
    high = size < 0x1p44f ? 0x1.45f306dc9c882p-1 : high;
    double low = 0x1.8a5664f10e410p-54;
    low = size < 0x1p107f ? 0x1.b81b6c52b3279p-54 : low;
    low = size < 0x1p86f ? 0x1.f534ddc0db629p-54 : low;
    low = size < 0x1p65f ? 0x1.d5f47d4d37703p-57 : low;
    low = size < 0x1p44f ? 0x1.4a7f09d5f47d5p-54 : low;
    double m = (double)size * scale;
    double t = tt_fma_f64(m, high, 6755399441055744.0);
    double k = t - 6755399441055744.0;
    double h = tt_fma_f64(m, low, __builtin_fma(m, high, -k));
    double rest = h * 1.5707963267948966;
    return (struct tt_angle_f32){rest, (float)rest, (uint32_t)tt_bits_f64(t)};
}

/* tt: tt_sin_rest_f32; needs: tt_fma_f32 */
/* The sine of an angle between -pi / 2 and pi / 2, a little more included. Degree 9, error 2**-27.0. */
static inline float tt_sin_rest_f32(float r) {
    float z = r * r;
    float p = 2.5997817e-6f;
    p = tt_fma_f32(p, z, -0.00019806954f);
    p = tt_fma_f32(p, z, 0.008333031f);
    p = tt_fma_f32(p, z, -0.16666658f);
    return __builtin_fmaf(p, r * z, r);
}

/* tt: tt_sin_wide_f32; needs: tt_angle_f32, tt_bits_f32, tt_float_f32, tt_half_turns_f32, tt_sin_rest_f32; long */
/* sin(x), or cos(x) when `shift` is 1/2: cos((k + 1/2) pi + r) = -sin(k pi + r). */
static inline float tt_sin_wide_f32(float x, float shift) {
    struct tt_angle_f32 angle = tt_half_turns_f32(x, shift);
    uint32_t sign = shift == 0.0f ? tt_bits_f32(x) & 0x80000000u : 0x80000000u;
    return tt_float_f32(tt_bits_f32(tt_sin_rest_f32(angle.rest)) ^ sign ^ angle.turns << 31);
}

/* tt: tt_sin_near_f32; needs: tt_bits_f32, tt_float_f32, tt_sin_rest_f32, tt_fma_f32; long */
/* The same for |x| < 2**17, where pi in three floats is enough: each fused multiply-add is exact, or rounds its small
   result. */
static inline float tt_sin_near_f32(float x, float shift) {
    float size = __builtin_fabsf(x);
    float t = shift == 0.0f ? tt_fma_f32(size, 0.318309873f, 12582912.0f)
                            : tt_fma_f32(size, 0.318309873f, -shift) + 12582912.0f;
    float k = (t - 12582912.0f) + shift;
    float r = __builtin_fmaf(k, -0x1.921fb6p+1f, size);
    r = __builtin_fmaf(k, 0x1.777a5cp-24f, r);
    r = __builtin_fmaf(k, 0x1.ee59dap-49f, r);
    uint32_t sign = shift == 0.0f ? tt_bits_f32(x) & 0x80000000u : 0x80000000u;
    return tt_float_f32(tt_bits_f32(tt_sin_rest_f32(r)) ^ sign ^ tt_bits_f32(t) << 31);
}

/* tt: tt_tan_wide_f32; needs: tt_angle_f32, tt_bits_f32, tt_float_f32, tt_quarter_turns_f32, tt_fma_f32; long */
/* tan(k pi / 2 + r) is tan(r), or -1 / tan(r) for odd k. Degree 15, error 2**-29.3. */
static inline float tt_tan_wide_f32(float x) {
    struct tt_angle_f32 angle = tt_quarter_turns_f32(x);
    float r = angle.rest;
    float z = r * r;
    float p = 0.0044484907f;
    p = tt_fma_f32(p, z, -5.603306e-5f);
    p = tt_fma_f32(p, z, 0.010950327f);
    p = tt_fma_f32(p, z, 0.021237906f);
    p = tt_fma_f32(p, z, 0.05406859f);
    p = tt_fma_f32(p, z, 0.13332585f);
    p = tt_fma_f32(p, z, 0.33333352f);
    double tangent = angle.exact + (double)(p * (r * z));
    float y = (float)(angle.turns & 1 ? -1.0 / tangent : tangent);
    return tt_float_f32(tt_bits_f32(y) ^ (tt_bits_f32(x) & 0x80000000u));
}

/* tt: tt_tan_near_f32; needs: tt_bits_f32, tt_float_f32, tt_fma_f32; long */
/* The same for |x| < 2**17, in floats: what is left of x, and its tangent, are each a float and what it lacks. */
static inline float tt_tan_near_f32(float x) {
    float size = __builtin_fabsf(x);
    float t = tt_fma_f32(size, 0.636619747f, 12582912.0f);
    float k = t - 12582912.0f;
    float first = __builtin_fmaf(k, -0x1.921fb6p+0f, size);
    float second = k * 0x1.777a5cp-25f, sum = first + second, part = sum - first;
    float lack = __builtin_fmaf(k, 0x1.ee59dap-50f, __builtin_fmaf(k, 0x1.777a5cp-25f, -second));
    lack = lack + ((first - (sum - part)) + (second - part));
    float r = sum + lack;
    lack = (sum - r) + lack;
    float z = r * r;
    float p = 0.0044484907f;
    p = tt_fma_f32(p, z, -5.603306e-5f);
    p = tt_fma_f32(p, z, 0.010950327f);
    p = tt_fma_f32(p, z, 0.021237906f);
    p = tt_fma_f32(p, z, 0.05406859f);
    p = tt_fma_f32(p, z, 0.13332585f);
    p = tt_fma_f32(p, z, 0.33333352f);
    float rest = tt_fma_f32(p, r * z, tt_fma_f32(lack, z, lack));
    float y = r + rest;
    rest = (r - y) + rest;
    float inverse = -1.0f / y;
    float off = tt_fma_f32(inverse, rest, __builtin_fmaf(inverse, y, 1.0f));
    y = tt_bits_f32(t) & 1 ? tt_fma_f32(inverse, off, inverse) : y;
    return tt_float_f32(tt_bits_f32(y) ^ (tt_bits_f32(x) & 0x80000000u));
}

/* tt: tt_trig_wide_f32; needs: tt_sin_wide_f32, tt_tan_wide_f32; long */
/* tt_sin_wide_f32(x, shift), or tan(x) when `shift` is 2. */
static inline float tt_trig_wide_f32(float x, float shift) {
    return shift == 2.0f ? tt_tan_wide_f32(x) : tt_sin_wide_f32(x, shift);
}

/* tt: tt_trig_mended_f32; needs: tt_trig_wide_f32; long */
/* y, computed for |x| < 2**17, where that holds, elsewhere tt_trig_wide_f32(x, shift).

   The wide function is hardly ever needed, but a loop with a branch in it is not vectorised. So the branch stands
   behind a call: the compiler vectorises a call if the function has variants on 4, 8 and 16 floats, under the names of
   the x86 vector ABI, and these here branch once for all of their elements. */
#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && !defined(__clang__)
__attribute__((const, simd("notinbranch"), visibility("hidden")))
float tt_trig_mended_f32(float y, float x, float shift);

#ifndef TT_LINKED_MATH /* tt_trig_mended_f32: a program that is linked to them declares them alone */
/* One by one, in a function of its own: with vectors it would be four times as fast, and most of what there is to
   compile in a program with a sine. */
static __attribute__((noinline, cold)) void tt_trig_mend_f32(float *y, const float *x, const float *shift, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(__builtin_fabsf(x[i]) < 0x1p17f)) y[i] = tt_trig_wide_f32(x[i], shift[i]);
}

float tt_trig_mended_1(float y, float x, float shift) __asm__("tt_trig_mended_f32");
__attribute__((visibility("hidden"))) float tt_trig_mended_1(float y, float x, float shift) {
    if (!(__builtin_fabsf(x) < 0x1p17f)) tt_trig_mend_f32(&y, &x, &shift, 1);
    return y;
}

typedef float tt_f32x4 __attribute__((vector_size(16)));
typedef int32_t tt_i32x4 __attribute__((vector_size(16)));
union tt_far_4 { tt_i32x4 lanes; uint64_t words[2]; };

tt_f32x4 tt_trig_mended_4(tt_f32x4 y, tt_f32x4 x, tt_f32x4 shift) __asm__("_ZGVbN4vvv_tt_trig_mended_f32");
__attribute__((visibility("hidden"))) tt_f32x4 tt_trig_mended_4(tt_f32x4 y, tt_f32x4 x, tt_f32x4 shift) {
    union tt_far_4 far = {((tt_i32x4)x & 0x7FFFFFFF) >= 0x48000000}; /* the bits of 2**17 */
    if (__builtin_expect((far.words[0] | far.words[1]) != 0, 0))
        tt_trig_mend_f32((float *)&y, (const float *)&x, (const float *)&shift, 4);
    return y;
}

typedef float tt_f32x8 __attribute__((vector_size(32)));
typedef int32_t tt_i32x8 __attribute__((vector_size(32)));
union tt_far_8 { tt_i32x8 lanes; uint64_t words[4]; };

tt_f32x8 tt_trig_mended_8(tt_f32x8 y, tt_f32x8 x, tt_f32x8 shift) __asm__("_ZGVdN8vvv_tt_trig_mended_f32");
__attribute__((visibility("hidden"))) tt_f32x8 tt_trig_mended_8(tt_f32x8 y, tt_f32x8 x, tt_f32x8 shift) {
    union tt_far_8 far = {((tt_i32x8)x & 0x7FFFFFFF) >= 0x48000000};
    if (__builtin_expect((far.words[0] | far.words[1] | far.words[2] | far.words[3]) != 0, 0))
        tt_trig_mend_f32((float *)&y, (const float *)&x, (const float *)&shift, 8);
    return y;
}
/* A function that is linked has variants for wider vectors than this CPU's: they call this one, and never run. */
#if defined(__AVX512F__) || defined(TT_LINKED_MATH)
#ifdef __AVX512F__
#define TT_FOR_16
#else
#define TT_FOR_16 __attribute__((target("avx512f")))
#endif
typedef float tt_f32x16 __attribute__((vector_size(64)));
typedef int32_t tt_i32x16 __attribute__((vector_size(64)));
typedef int8_t tt_i8x16 __attribute__((vector_size(16)));
union tt_far_16 { tt_i8x16 lanes; uint64_t words[2]; };

TT_FOR_16 tt_f32x16 tt_trig_mended_16(tt_f32x16 y, tt_f32x16 x, tt_f32x16 shift)
    __asm__("_ZGVeN16vvv_tt_trig_mended_f32");
__attribute__((visibility("hidden"))) TT_FOR_16
tt_f32x16 tt_trig_mended_16(tt_f32x16 y, tt_f32x16 x, tt_f32x16 shift) {
    union tt_far_16 far = {__builtin_convertvector(((tt_i32x16)x & 0x7FFFFFFF) >= 0x48000000, tt_i8x16)};
    if (__builtin_expect((far.words[0] | far.words[1]) != 0, 0))
        tt_trig_mend_f32((float *)&y, (const float *)&x, (const float *)&shift, 16);
    return y;
}
#endif
#endif
#else
static inline float tt_trig_mended_f32(float y, float x, float shift) {
    (void)y;
    return tt_trig_wide_f32(x, shift);
}
#endif

/* tt: tt_sin_f32; needs: tt_trig_mended_f32, tt_sin_near_f32; long */
/* The result within 2 ulp. */
static inline float tt_sin_f32(float x) { return tt_trig_mended_f32(tt_sin_near_f32(x, 0.0f), x, 0.0f); }

/* tt: tt_cos_f32; needs: tt_trig_mended_f32, tt_sin_near_f32; long */
/* The result within 2 ulp. */
static inline float tt_cos_f32(float x) { return tt_trig_mended_f32(tt_sin_near_f32(x, 0.5f), x, 0.5f); }

/* tt: tt_tan_f32; needs: tt_trig_mended_f32, tt_tan_near_f32; long */
/* The result within 2 ulp. */
static inline float tt_tan_f32(float x) { return tt_trig_mended_f32(tt_tan_near_f32(x), x, 2.0f); }
