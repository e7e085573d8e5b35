/* Arc sine, arc cosine, arc tangent. Coefficients: minimax, by Sollya's fpminimax. */

/* tt: tt_asin_core_f32; needs: tt_fma_f32 */
/* (asin(s) - s) / s**3 for 0 <= s <= 1/2, z = s**2. Degree 11 of asin, error 2**-27.6. */
static inline float tt_asin_core_f32(float z) {
    float p = 0.042165037f;
    p = tt_fma_f32(p, z, 0.024181534f);
    p = tt_fma_f32(p, z, 0.045469638f);
    p = tt_fma_f32(p, z, 0.07495307f);
    p = tt_fma_f32(p, z, 0.16666752f);
    return p;
}

/* tt: tt_asin_f32; needs: tt_asin_core_f32, tt_fma_f32; long */
/* Above 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)), where 1 - x is exact. The result within 1.5 ulp. */
static inline float tt_asin_f32(float x) {
    float size = __builtin_fabsf(x);
    float z = size > 0.5f ? tt_fma_f32(-0.5f, size, 0.5f) : size * size;
    float s = size > 0.5f ? __builtin_sqrtf(z) : size;
    float tail = tt_asin_core_f32(z) * (s * z);
    float high = tt_fma_f32(-2.0f, s, 1.57079637f);
    float low = tt_fma_f32(-2.0f, s, 1.57079637f - high); /* what the subtraction lost */
    float y = size > 0.5f ? high - (tt_fma_f32(2.0f, tail, 4.37113883e-8f) - low) : s + tail;
    return __builtin_copysignf(y, x);
}

/* tt: tt_acos_f32; needs: tt_asin_core_f32, tt_fma_f32; long */
/* pi/2 - asin(x) in the middle, 2 asin(sqrt((1 - x) / 2)) above 1/2, its complement to pi below. Within 1.5 ulp. */
static inline float tt_acos_f32(float x) {
    float size = __builtin_fabsf(x);
    float z = size > 0.5f ? tt_fma_f32(-0.5f, size, 0.5f) : size * size;
    float s = size > 0.5f ? __builtin_sqrtf(z) : size;
    float angle = tt_fma_f32(tt_asin_core_f32(z), s * z, s);
    float middle = 1.57079637f - (__builtin_copysignf(angle, x) + 4.37113883e-8f);
    float end = x > 0.0f ? angle + angle : 3.14159274f - (angle + angle + 8.74227766e-8f);
    return size > 0.5f ? end : middle;
}

/* tt: tt_atan_core_f32; needs: tt_fma_f32 */
/* atan(q) for 0 <= q <= 1. Degree 19, error 2**-28.5. */
static inline float tt_atan_core_f32(float q) {
    float z = q * q;
    float p = -0.001791502f;
    p = tt_fma_f32(p, z, 0.010904537f);
    p = tt_fma_f32(p, z, -0.031157766f);
    p = tt_fma_f32(p, z, 0.0579358f);
    p = tt_fma_f32(p, z, -0.08402056f);
    p = tt_fma_f32(p, z, 0.109516546f);
    p = tt_fma_f32(p, z, -0.14264126f);
    p = tt_fma_f32(p, z, 0.19998536f);
    p = tt_fma_f32(p, z, -0.333333f);
    return tt_fma_f32(p, q * z, q);
}

/* tt: tt_atan_f32; needs: tt_atan_core_f32; long */
/* Above 1: atan(x) = pi/2 - atan(1 / x). The result within 1.5 ulp. */
static inline float tt_atan_f32(float x) {
    float size = __builtin_fabsf(x);
    float angle = tt_atan_core_f32(size > 1.0f ? 1.0f / size : size);
    float y = size > 1.0f ? 1.57079637f - (angle + 4.37113883e-8f) : angle;
    return __builtin_copysignf(y, x);
}

/* tt: tt_atan2_f32; needs: tt_atan_core_f32; long, chooses */
/* The angle of the point (x, y): the arc tangent of the smaller coordinate by the larger, put into its octant.
   Equal infinities count as equal, two zeros as 0 / 1. The result within 2 ulp. */
static inline float tt_atan2_f32(float y, float x) {
    float width = __builtin_fabsf(x), height = __builtin_fabsf(y);
    float least = height < width ? height : width, most = height < width ? width : height;
    float angle = tt_atan_core_f32(least / most);
    angle = least == most ? (most == 0.0f ? 0.0f : 0.785398163f) : angle;
    int steep = height > width, left = __builtin_copysignf(1.0f, x) < 0.0f;
    float base = steep ? 1.57079637f : left ? 3.14159274f : 0.0f;
    float base_error = steep ? 4.37113883e-8f : left ? 8.74227766e-8f : 0.0f;
    angle = base + ((steep != left ? -angle : angle) - base_error);
    return (x != x) | (y != y) ? x + y : __builtin_copysignf(angle, y);
}

/* tt: tt_asin_core_f64; needs: tt_fma_f64; long */
/* Degree 27, error 2**-59.9. */
static inline double tt_asin_core_f64(double z) {
    double p = 0.03264714308743945;
    p = tt_fma_f64(p, z, -0.021027172579616248);
    p = tt_fma_f64(p, z, 0.021726180471198574);
    p = tt_fma_f64(p, z, 0.0036992080121916663);
    p = tt_fma_f64(p, z, 0.010782015819906045);
    p = tt_fma_f64(p, z, 0.011398625814254644);
    p = tt_fma_f64(p, z, 0.013980851700077703);
    p = tt_fma_f64(p, z, 0.017351609783380524);
    p = tt_fma_f64(p, z, 0.022372215087561365);
    p = tt_fma_f64(p, z, 0.030381942705297083);
    p = tt_fma_f64(p, z, 0.04464285717463486);
    p = tt_fma_f64(p, z, 0.07499999999970819);
    p = tt_fma_f64(p, z, 0.1666666666666676);
    return p;
}

/* tt: tt_asin_f64; needs: tt_asin_core_f64, tt_fma_f64; long */
/* The result within 2 ulp. */
static inline double tt_asin_f64(double x) {
    double size = __builtin_fabs(x);
    double z = size > 0.5 ? tt_fma_f64(-0.5, size, 0.5) : size * size;
    double s = size > 0.5 ? __builtin_sqrt(z) : size;
    double tail = tt_asin_core_f64(z) * (s * z);
    double high = tt_fma_f64(-2.0, s, 1.5707963267948966);
    double low = tt_fma_f64(-2.0, s, 1.5707963267948966 - high); /* what the subtraction lost */
    double y = size > 0.5 ? high - (tt_fma_f64(2.0, tail, -6.123233995736766e-17) - low) : s + tail;
    return __builtin_copysign(y, x);
}

/* tt: tt_acos_f64; needs: tt_asin_core_f64, tt_fma_f64; long */
/* The result within 2 ulp. */
static inline double tt_acos_f64(double x) {
    double size = __builtin_fabs(x);
    double z = size > 0.5 ? tt_fma_f64(-0.5, size, 0.5) : size * size;
    double s = size > 0.5 ? __builtin_sqrt(z) : size;
    double angle = tt_fma_f64(tt_asin_core_f64(z), s * z, s);
    double middle = 1.5707963267948966 - (__builtin_copysign(angle, x) - 6.123233995736766e-17);
    double end = x > 0.0 ? angle + angle : 3.141592653589793 - (angle + angle - 1.2246467991473532e-16);
    return size > 0.5 ? end : middle;
}

/* tt: tt_atan_ratio_f64; needs: tt_fma_f64; long, chooses */
/* atan(over / under) for 0 <= over <= under. Above tan(pi/8): pi/4 - atan((under - over) / (under + over)).
   Degree 25, error 2**-63.8. */
static inline double tt_atan_ratio_f64(double over, double under) {
    int steep = over > under * 0.41421356237309503;
    double q = (steep ? over - under : over) / (steep ? under + over : under);
    double z = q * q;
    double p = 0.015134463822901434;
    p = tt_fma_f64(p, z, -0.033409811880617694);
    p = tt_fma_f64(p, z, 0.04500527048377769);
    p = tt_fma_f64(p, z, -0.052175894425456615);
    p = tt_fma_f64(p, z, 0.05876881775916817);
    p = tt_fma_f64(p, z, -0.06666210771917493);
    p = tt_fma_f64(p, z, 0.07692281532113708);
    p = tt_fma_f64(p, z, -0.09090908081986845);
    p = tt_fma_f64(p, z, 0.11111111086131813);
    p = tt_fma_f64(p, z, -0.14285714285347945);
    p = tt_fma_f64(p, z, 0.1999999999999726);
    p = tt_fma_f64(p, z, -0.33333333333333326);
    return (steep ? 0.7853981633974483 : 0.0) + (tt_fma_f64(p, q * z, steep ? 3.061616997868383e-17 : 0.0) + q);
}

/* tt: tt_atan_f64; needs: tt_atan_ratio_f64; long */
/* The result within 2 ulp. */
static inline double tt_atan_f64(double x) {
    double size = __builtin_fabs(x);
    double angle = tt_atan_ratio_f64(size > 1.0 ? 1.0 / size : size, 1.0);
    double y = size > 1.0 ? 1.5707963267948966 - (angle - 6.123233995736766e-17) : angle;
    return __builtin_copysign(y, x);
}

/* tt: tt_atan2_f64; needs: tt_atan_ratio_f64; long, chooses */
/* The result within 2 ulp. */
static inline double tt_atan2_f64(double y, double x) {
    double width = __builtin_fabs(x), height = __builtin_fabs(y);
    double least = height < width ? height : width, most = height < width ? width : height;
    double scale = most > 0x1p1000 ? 0x1p-100 : most < 0x1p-900 ? 0x1p100 : 1.0; /* for sums in range */
    double angle = tt_atan_ratio_f64(least * scale, most * scale);
    angle = least == most ? (most == 0.0 ? 0.0 : 0.7853981633974483) : angle;
    int steep = height > width, left = __builtin_copysign(1.0, x) < 0.0;
    double base = steep ? 1.5707963267948966 : left ? 3.141592653589793 : 0.0;
    double base_error = steep ? -6.123233995736766e-17 : left ? -1.2246467991473532e-16 : 0.0;
    angle = base + ((steep != left ? -angle : angle) - base_error);
    return (x != x) | (y != y) ? x + y : __builtin_copysign(angle, y);
}
