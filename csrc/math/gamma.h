/* The logarithm of the gamma function and its derivatives. Computed in double precision, rounded once for floats. */

/* tt: tt_lgamma_f64; needs: tt_log_f64, tt_sin_turned_f64, tt_fma_f64; long */
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

/* tt: tt_lgamma_f32; needs: tt_lgamma_f64; long */
static inline float tt_lgamma_f32(float x) { return (float)tt_lgamma_f64(x); }

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

/* tt: tt_digamma_f32; needs: tt_digamma_f64; long */
static inline float tt_digamma_f32(float x) { return (float)tt_digamma_f64(x); }

/* tt: tt_pow_short_f64; needs: tt_log_f64, tt_exp_f64; long */
/* x**y with the digits that a float needs: as far as it is within a float's range, the error is 2**-45 of it. */
static inline double tt_pow_short_f64(double x, double y) {
    double size = __builtin_fabs(x), half = 0.5 * y;
    double power = size == 1.0 ? 1.0 : tt_exp_f64(y * tt_log_f64(size));
    double negative = __builtin_rint(half) == half ? power : -power;
    negative = __builtin_rint(y) == y ? negative : __builtin_nan("");
    return x < 0.0 ? negative : power;
}

/* tt: tt_zeta_by_f64; needs: tt_pow_f64, tt_pow_short_f64, tt_fma_f64 */
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
