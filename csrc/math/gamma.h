/* The logarithm of the gamma function and its derivatives. Computed in double precision, rounded once for floats, for
   which fewer digits are computed. There even and odd powers of a polynomial are summed apart, and nothing that takes
   long waits for another: a CPU looks some hundreds of instructions ahead, which is one vector of elements here. */

/* tt: tt_lgamma_f64; needs: tt_log_f64, tt_sin_turned_f64, tt_fma_f64; long, chooses */
/* From 8 on Stirling's series; between 1.5 and 2.5 a polynomial, d q(d) with d = x - 2, so that the zeros at 1 and 2
   are exact; elsewhere above 1/2 the recurrence log gamma(x + 1) = log gamma(x) + log x leads there; below 1/2 the
   reflection gamma(x) gamma(1 - x) = pi / sin(pi x). Within 4 ulp above 1/2; an absolute 1e-15 near the zeros below. */
static inline double tt_lgamma_f64(double x) {
    double a = x < 0.5 ? 1.0 - x : x;
    double y = a, product = 1.0;
#pragma GCC unroll 6
    for (int step = 0; step < 6; step++) {
        int above = y >= 2.5;
        y = above ? y - 1.0 : y;
        product = above ? product * y : product;
    }
    int below = y < 1.5;
    double d = y - (below ? 1.0 : 2.0);
    double p = 6.379047507619774e-08;
    p = tt_fma_f64(p, d, -1.3412819758517287e-07);
    p = tt_fma_f64(p, d, 2.0304806751615227e-07);
    p = tt_fma_f64(p, d, -4.303558760359961e-07);
    p = tt_fma_f64(p, d, 9.578663334114758e-07);
    p = tt_fma_f64(p, d, -2.0449201467015115e-06);
    p = tt_fma_f64(p, d, 4.374374916915131e-06);
    p = tt_fma_f64(p, d, -9.438458716242811e-06);
    p = tt_fma_f64(p, d, 2.050726741605779e-05);
    p = tt_fma_f64(p, d, -4.4926351103833334e-05);
    p = tt_fma_f64(p, d, 9.945750909889392e-05);
    p = tt_fma_f64(p, d, -0.00022315475074520367);
    p = tt_fma_f64(p, d, 0.0005096695248853096);
    p = tt_fma_f64(p, d, -0.0011927539120010226);
    p = tt_fma_f64(p, d, 0.002890510330738737);
    p = tt_fma_f64(p, d, -0.0073855510286681535);
    p = tt_fma_f64(p, d, 0.02058080842778457);
    p = tt_fma_f64(p, d, -0.06735230105319814);
    p = tt_fma_f64(p, d, 0.3224670334241132);
    p = tt_fma_f64(p, d, 0.42278433509846713);
    double inverse = 1.0 / a, z = inverse * inverse;
    double q = -0.029550653594771242;
    q = tt_fma_f64(q, z, 0.00641025641025641);
    q = tt_fma_f64(q, z, -0.0019175269175269176);
    q = tt_fma_f64(q, z, 0.0008417508417508417);
    q = tt_fma_f64(q, z, -0.0005952380952380953);
    q = tt_fma_f64(q, z, 0.0007936507936507937);
    q = tt_fma_f64(q, z, -0.002777777777777778);
    q = tt_fma_f64(q, z, 0.08333333333333333);
    double log_term = tt_log_f64(a >= 8.0 ? a : below ? y : product);
    double small = tt_fma_f64(d, p, below ? -log_term : log_term);
    double large = tt_fma_f64(a - 0.5, log_term - 1.0, tt_fma_f64(q, inverse, 0.41893853320467274));
    double value = a >= 8.0 ? large : small;
    value = a < __builtin_inf() ? value : __builtin_inf();
    double fraction = x - __builtin_rint(x);
    uint64_t steep = __builtin_fabs(fraction) > 0.25;
    double rest = (__builtin_fabs(fraction) - (steep ? 0.5 : 0.0)) * 3.141592653589793;
    double sine = tt_sin_turned_f64(rest, steep); /* of pi |fraction| */
    double reflected = 1.1447298858494002 - tt_log_f64(sine) - value;
    value = x < 0.5 ? reflected : value;
    value = x < -0x1p52 ? __builtin_inf() : value; /* an integer, or -inf */
    return x == x ? value : x;
}

/* tt: tt_log_short_f64; needs: tt_exponent_f64, tt_bits_f64, tt_float_f64, tt_fma_f64; long */
/* log(x) for normal x > 0, as tt_log_f64, with the rounding of log 2 and of each part left in: within 2**-51. */
static inline double tt_log_short_f64(double x) {
    uint64_t bits = tt_bits_f64(x) - 0x3FE6A09E667F3BCDu;
    double e = tt_exponent_f64(bits);
    double f = tt_float_f64((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    double s = f / (2.0 + f), z = s * s, square = z * z;
    double p = tt_fma_f64(0.16819822951239155, z, 0.18123647209647767);
    double q = tt_fma_f64(0.22223371378552423, z, 0.2857141713635602);
    double r = tt_fma_f64(0.40000000052221857, z, 0.6666666666658733);
    p = tt_fma_f64(tt_fma_f64(p, square, q), square, r);
    return tt_fma_f64(s, tt_fma_f64(p, z, 2.0), e * 0.6931471805599453);
}

/* tt: tt_lgamma_above_f64; needs: tt_log_short_f64, tt_fma_f64; long */
/* log gamma(a) for a >= 1/2. From 5/2 on b log b - b + log(2 pi) / 2 + q(1 / b**2) / b with b = a - 1/2 (error
   2**-46.7), below it d p(d) with d = a - 2, or a - 1 and the logarithm of a (2**-39.4). */
static inline double tt_lgamma_above_f64(double a) {
    int large = a >= 2.5, below = a < 1.5;
    double b = large ? a - 0.5 : a, inverse = 1.0 / b, z = inverse * inverse, zz = z * z;
    double log_term = tt_log_short_f64(b);
    double q1 = tt_fma_f64(0.006730845413323643, z, -0.010546062785772942);
    double q2 = tt_fma_f64(0.007845006147574713, z, -0.003932490540345315);
    double q3 = tt_fma_f64(0.0016982098515116659, z, -0.0008266600166623234);
    double q4 = tt_fma_f64(0.0005900594394609074, z, -0.0007688374024504866);
    double q = tt_fma_f64(0.0024305554323577933, z, -0.04166666666628473);
    q = tt_fma_f64(tt_fma_f64(tt_fma_f64(tt_fma_f64(q1, zz, q2), zz, q3), zz, q4), zz, q);
    double far = tt_fma_f64(b, log_term - 1.0, tt_fma_f64(q, inverse, 0.9189385332046728));
    double d = below ? a - 1.0 : a - 2.0, dd = d * d;
    double p1 = tt_fma_f64(2.4833273903387744e-05, d, -5.2797348537060205e-05);
    double p2 = tt_fma_f64(9.793070760130984e-05, d, -0.00022086350529246639);
    double p3 = tt_fma_f64(0.0005099256243149438, d, -0.0011930560846890076);
    double p4 = tt_fma_f64(0.0028904893578215957, d, -0.007385533138471375);
    double p5 = tt_fma_f64(0.020580809172448908, d, -0.06735230143923693);
    double p = tt_fma_f64(0.32246703341642124, d, 0.4227843350998141);
    p1 = tt_fma_f64(tt_fma_f64(p1, dd, p2), dd, p3);
    p = tt_fma_f64(tt_fma_f64(tt_fma_f64(p1, dd, p4), dd, p5), dd, p);
    double near = tt_fma_f64(d, p, below ? -log_term : 0.0);
    return large ? far : near;
}

/* tt: tt_lgamma_f32; needs: tt_lgamma_above_f64, tt_log_short_f64, tt_fma_f64; long */
/* Within 0.51 ulp, but for an absolute 1e-14 near the zeros below 1/2. */
static inline float tt_lgamma_f32(float x) {
    int reflects = x < 0.5f;
    double value = tt_lgamma_above_f64(reflects ? 1.0 - x : x);
    double f = x - __builtin_rintf(x), v = f * f, vv = v * v;
    double s1 = tt_fma_f64(-2.1133801443867396e-05, v, 0.00046598716815069677);
    double s2 = tt_fma_f64(-0.007370364378905986, v, 0.08214587882523941);
    double s3 = tt_fma_f64(-0.5992645288260054, v, 2.5501640398619);
    double s = tt_fma_f64(-5.167712780049786, v, 3.1415926535897927); /* sin(pi f) / f, error 2**-51.3 */
    s = tt_fma_f64(tt_fma_f64(tt_fma_f64(s1, vv, s2), vv, s3), vv, s);
    double reflected = 1.1447298858494002 - tt_log_short_f64(__builtin_fabs(f) * s) - value;
    float y = (float)(reflects ? reflected : value);
    uint32_t endless = (__builtin_fabsf(x) == __builtin_inff()) | ((x <= 0.0f) & (f == 0.0));
    y = endless ? __builtin_inff() : y;
    return x == x ? y : x;
}

/* tt: tt_digamma_f64; needs: tt_log_f64, tt_sin_turned_f64, tt_fma_f64; long */
/* psi(x) = psi(x + 8) - sum of 1 / (x + k), the sum as one fraction; then the asymptotic series; below 1/2 the
   reflection psi(x) = psi(1 - x) - pi / tan(pi x). NaN at 0 and the negative integers. Near its zeros the error is an
   absolute 1e-15. */
static inline double tt_digamma_f64(double x) {
    double a = x < 0.5 ? 1.0 - x : x;
    double over = 0.0, under = 1.0, y = a < 8.0 ? a : 1.0;
#pragma GCC unroll 8
    for (int step = 0; step < 8; step++) {
        over = tt_fma_f64(over, y, under);
        under = under * y;
        y = y + 1.0;
    }
    double shifted = a < 8.0 ? a + 8.0 : a;
    double inverse = 1.0 / shifted, z = inverse * inverse;
    double p = -0.4432598039215686;
    p = tt_fma_f64(p, z, 0.08333333333333333);
    p = tt_fma_f64(p, z, -0.021092796092796094);
    p = tt_fma_f64(p, z, 0.007575757575757576);
    p = tt_fma_f64(p, z, -0.004166666666666667);
    p = tt_fma_f64(p, z, 0.003968253968253968);
    p = tt_fma_f64(p, z, -0.008333333333333333);
    p = tt_fma_f64(p, z, 0.08333333333333333);
    double value = tt_fma_f64(-p, z, tt_fma_f64(-0.5, inverse, tt_log_f64(shifted))) - (a < 8.0 ? over / under : 0.0);
    double fraction = x - __builtin_rint(x);
    uint64_t steep = __builtin_fabs(fraction) > 0.25;
    double rest = (__builtin_fabs(fraction) - (steep ? 0.5 : 0.0)) * 3.141592653589793;
    double slope = 3.141592653589793 * tt_sin_turned_f64(rest, steep + 1) / tt_sin_turned_f64(rest, steep);
    value = x < 0.5 ? value - __builtin_copysign(slope, fraction) : value;
    return (x <= 0.0) & (fraction == 0.0) ? __builtin_nan("") : value;
}

/* tt: tt_digamma_f32; needs: tt_log_short_f64, tt_fma_f64; long */
/* psi(x) = log b + p(1 / b**2) / b**2 - sum of 1 / (x + k), k < 6, with b = x + 11/2 (error 2**-53.4); below 1/2 less
   pi / tan(pi x) = 1 / f - f q(f**2) (error 2**-45.3). Within 0.51 ulp, but for an absolute 3e-14 near the zeros below
   1/2. */
static inline float tt_digamma_f32(float x) {
    int reflects = x < 0.5f;
    double a = reflects ? 1.0 - x : x;
    double u = a * (a + 5.0), w = tt_fma_f64(u, u + 10.0, 24.0), under = u * w; /* a (a + 1) ... (a + 5) */
    double over = tt_fma_f64(2.0, a, 5.0) * tt_fma_f64(u, tt_fma_f64(3.0, u, 20.0), 24.0);
    double b = a + 5.5, square = b * b;
    double inverse = 1.0 / (square * under), z = inverse * under, zz = z * z;
    double p1 = tt_fma_f64(-0.015000749080482222, z, 0.00735388617580334);
    double p2 = tt_fma_f64(-0.004130478177083834, z, 0.0038442131490671913);
    double p = tt_fma_f64(-0.007291666528814175, z, 0.0416666666664735);
    p = tt_fma_f64(tt_fma_f64(p1, zz, p2), zz, p);
    double value = tt_fma_f64(p, z, tt_log_short_f64(b)) - inverse * square * over;
    float fraction = x - __builtin_rintf(x);
    double f = fraction, v = f * f, vv = v * v, v4 = vv * vv;
    double q1 = tt_fma_f64(11.437398669580505, v, -6.536103621456448);
    double q2 = tt_fma_f64(5.897823728319447, v, 0.9188098217804213);
    double q3 = tt_fma_f64(2.19528306091069, v, 1.9765927395359646);
    double q4 = tt_fma_f64(2.002380572038401, v, 2.001890732005403);
    double q5 = tt_fma_f64(2.0081578706839576, v, 2.0346860673595057);
    double q = tt_fma_f64(2.16464646789216, v, 3.2898681336952986);
    q1 = tt_fma_f64(q1, vv, q2), q3 = tt_fma_f64(q3, vv, q4), q = tt_fma_f64(q5, vv, q);
    q = tt_fma_f64(tt_fma_f64(q1, v4, q3), v4, q);
    double cotangent = tt_fma_f64(-q, f, 1.0 / f);
    float y = (float)(reflects ? value - cotangent : value);
    y = x < __builtin_inff() ? y : x;
    return (x <= 0.0f) & (fraction == 0.0f) ? __builtin_nanf("") : y;
}

/* tt: tt_pow_short_f64; needs: tt_log_short_f64, tt_exp_f64; long */
/* x**y with the digits that a float needs: as far as it is within a float's range, the error is 2**-45 of it. */
static inline double tt_pow_short_f64(double x, double y) {
    double size = __builtin_fabs(x), half = 0.5 * y, log = tt_log_short_f64(size);
    log = size < __builtin_inf() ? log : size;
    log = size == 0.0 ? -__builtin_inf() : log;
    double power = size == 1.0 ? 1.0 : tt_exp_f64(y * log);
    double negative = __builtin_rint(half) == half ? power : -power;
    negative = __builtin_rint(y) == y ? negative : __builtin_nan("");
    return x < 0.0 ? negative : power;
}

/* tt: tt_zeta_by_f64; needs: tt_pow_f64, tt_pow_short_f64, tt_fma_f64; chooses */
/* Hurwitz's zeta function, the sum of (q + k)**-x: ten terms, then the Euler-Maclaurin series for the rest. */
static inline double tt_zeta_by_f64(double x, double q, int is_short) {
    static const double bernoulli[] = { /* B(2 k) / (2 k)! */
        0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07,
        2.08767569878681e-08, -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
        8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19,
    };
    double sum = 0.0, a = q;
#pragma GCC unroll 10
    for (int k = 0; k < 10; k++) {
        sum += is_short ? tt_pow_short_f64(a, -x) : tt_pow_f64(a, -x);
        a += 1.0;
    }
    double power = is_short ? tt_pow_short_f64(a, -x) : tt_pow_f64(a, -x);
    sum += tt_fma_f64(0.5, power, a * power / (x - 1.0));
    double factor = x * power / a, square = 1.0 / (a * a), rising = x;
#pragma GCC unroll 12
    for (int k = 0; k < 12; k++) {
        sum = tt_fma_f64(bernoulli[k], factor, sum);
        factor *= (rising + 1.0) * (rising + 2.0) * square;
        rising = rising + 2.0;
    }
    /* A pole of odd order has no limit, and infinity is not even. */
    uint64_t even = (__builtin_rint(0.5 * x) == 0.5 * x) & (x < __builtin_inf());
    double pole = (__builtin_rint(q) == q) & even ? __builtin_inf() : __builtin_nan("");
    sum = q <= 0.0 ? (__builtin_rint(x) == x) & (__builtin_rint(q) != q) ? sum : pole : sum;
    sum = x == 1.0 ? __builtin_inf() : sum;
    return x < 1.0 ? __builtin_nan("") : sum;
}

/* tt: tt_zeta_f64; needs: tt_zeta_by_f64; long */
static inline double tt_zeta_f64(double x, double q) { return tt_zeta_by_f64(x, q, 0); }

/* tt: tt_zeta_f32; needs: tt_zeta_by_f64; long */
static inline float tt_zeta_f32(float x, float q) { return (float)tt_zeta_by_f64(x, q, 1); }

/* tt: tt_polygamma_by_f64; needs: tt_digamma_f64, tt_exp_f64, tt_lgamma_f64, tt_zeta_by_f64 */
/* The n-th derivative of digamma: (-1)**(n + 1) n! zeta(n + 1, x). NaN unless n is 0, 1, 2, ... */
static inline double tt_polygamma_by_f64(double n, double x, int is_short) {
    double half = 0.5 * n;
    double size = tt_exp_f64(tt_lgamma_f64(n + 1.0)) * tt_zeta_by_f64(n + 1.0, x, is_short);
    double value = __builtin_rint(half) == half ? -size : size;
    value = n == 0.0 ? tt_digamma_f64(x) : value;
    return (n < 0.0) | (__builtin_rint(n) != n) ? __builtin_nan("") : value;
}

/* tt: tt_polygamma_f64; needs: tt_polygamma_by_f64; long */
static inline double tt_polygamma_f64(double n, double x) { return tt_polygamma_by_f64(n, x, 0); }

/* tt: tt_polygamma_f32; needs: tt_polygamma_by_f64; long */
static inline float tt_polygamma_f32(float n, float x) { return (float)tt_polygamma_by_f64(n, x, 1); }
