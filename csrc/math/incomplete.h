/* Incomplete gamma and beta functions: series and continued fractions, as many terms as an element needs, so these
   loops are not vectorised. In double precision, rounded once for floats; within 1e-13 of the value. */

/* tt: tt_gamma_parts_f64; needs:  */
/* P(a, x) or Q(a, x), and dP/da, both over the weight x**a exp(-x) / gamma(a). */
struct tt_gamma_parts_f64 {
    double value, slope;
};

/* tt: tt_gamma_series_f64; needs: tt_digamma_f64, tt_gamma_parts_f64, tt_fma_f64 */
/* With S the sum of x**n / ((a + 1) ... (a + n)): P = x**a exp(-x) S / gamma(a + 1) (DLMF 8.7.1); until a term is at most
   `small` of the sum. */
static inline struct tt_gamma_parts_f64 tt_gamma_series_f64(double a, double x, double log_x, double small) {
    double term = 1.0, slope = 0.0, sum = 1.0, sum_slope = 0.0;
    int done = 0;
    for (int n = 1; n < 2000 && !done; n++) {
        double inverse = 1.0 / (a + n), factor = x * inverse;
        slope = tt_fma_f64(-term, inverse, slope) * factor;
        term *= factor;
        sum += term;
        sum_slope += slope;
        done = !(term > small * sum || __builtin_fabs(slope) > small * __builtin_fabs(sum_slope));
    }
    double change = tt_fma_f64(sum, log_x - tt_digamma_f64(a + 1.0), sum_slope);
    return (struct tt_gamma_parts_f64){sum / a, change / a};
}

/* tt: tt_gamma_fraction_f64; needs: tt_digamma_f64, tt_gamma_parts_f64, tt_fma_f64 */
/* Q = x**a exp(-x) F / gamma(a) with a continued fraction F (DLMF 8.9.2) by Lentz's method, until a factor is 1 but for
   `small`; the logarithmic derivative of F with respect to a is carried along. Divisions take as long as the rest: there
   are two in a turn. */
static inline struct tt_gamma_parts_f64 tt_gamma_fraction_f64(double a, double x, double log_x, double small) {
    double b = x + 1.0 - a, c_inverse = 1e-300, c_slope = 0.0, d = 1.0 / b, d_slope = d * d;
    double value = d, log_slope = d, factor = 0.0, change = 1.0;
    for (int n = 1; n < 2000; n++) {
        double numerator = -n * (n - a);
        b += 2.0;
        double under = tt_fma_f64(numerator, d, b);
        double inverse = 1.0 / under;
        d_slope = -(tt_fma_f64(n, d, numerator * d_slope) - 1.0) * (inverse * inverse);
        d = inverse;
        c_slope = tt_fma_f64(tt_fma_f64(-numerator, c_slope * c_inverse, n), c_inverse, -1.0);
        double c = tt_fma_f64(numerator, c_inverse, b);
        c_inverse = 1.0 / c;
        factor = c * d;
        value *= factor;
        change = tt_fma_f64(c_slope, c_inverse, d_slope * under);
        log_slope += change;
        if (__builtin_fabs(factor - 1.0) < small && __builtin_fabs(change) < small * __builtin_fabs(log_slope)) break;
    }
    return (struct tt_gamma_parts_f64){value, -value * (log_x - tt_digamma_f64(a) + log_slope)};
}

/* tt: tt_gamma_slope_f64; needs: tt_gamma_fraction_f64, tt_gamma_series_f64; long */
/* dP/da over the weight, for a > 0 and 0 < x < infinity. */
static inline double tt_gamma_slope_f64(double a, double x, double log_x, double small) {
    if (x <= 1.0 || x <= a) return tt_gamma_series_f64(a, x, log_x, small).slope;
    return tt_gamma_fraction_f64(a, x, log_x, small).slope;
}

/* tt: tt_gamma_low_f64; needs:  */
/* P by the same series, without dP/da, until a term is less than `small` of the sum. */
static inline double tt_gamma_low_f64(double a, double x, double weight, double small) {
    double term = 1.0, sum = 1.0;
    for (int n = 1; n < 2000 && term > small * sum; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return weight * sum / a;
}

/* tt: tt_gamma_high_f64; needs: tt_gamma_fraction_f64, tt_fma_f64; long */
/* Q by the same fraction, as the quotient of two recurrences (DLMF 3.10.1), until four terms change it by less than
   `small`: a quotient takes longer than four terms. For x < 1e50 nothing overflows. */
static inline double tt_gamma_high_f64(double a, double x, double weight, double small) {
    if (x >= 1e50) return weight * tt_gamma_fraction_f64(a, x, 0.0, small).value;
    double b = x + 1.0 - a, over = 1.0, last_over = 0.0, under = b, last_under = 1.0, value = 1.0 / b, change = 1.0;
    for (double n = 1.0; n < 2000.0 && change > small; n += 4.0) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            double numerator = -(n + k) * (n + k - a);
            b += 2.0;
            double next_over = tt_fma_f64(b, over, numerator * last_over);
            double next_under = tt_fma_f64(b, under, numerator * last_under);
            last_over = over, last_under = under;
            over = next_over, under = next_under;
        }
        double scale = __builtin_fabs(under) > 1e90 ? 1e-90 : 1.0;
        over *= scale, last_over *= scale;
        under *= scale, last_under *= scale;
        double next = over / under;
        change = __builtin_fabs(next - value) / __builtin_fabs(next);
        value = next;
    }
    return weight * value;
}

/* tt: tt_gamma_weight_f64; needs: tt_exp_f64, tt_lgamma_f64, tt_lgamma_above_f64, tt_log_f64, tt_log_short_f64,
   tt_fma_f64 */
/* x**a exp(-x) / gamma(a); `is_short`: of floats, with the digits that these need. */
static inline double tt_gamma_weight_f64(double a, double x, int is_short) {
    if (!is_short) return tt_exp_f64(tt_fma_f64(a, tt_log_f64(x), -x) - tt_lgamma_f64(a));
    double log_gamma = a < 0.5 ? tt_lgamma_above_f64(a + 1.0) - tt_log_short_f64(a) : tt_lgamma_above_f64(a);
    return tt_exp_f64(tt_fma_f64(a, tt_log_short_f64(x), -x) - log_gamma);
}

/* tt: tt_gamma_is_short_f64; needs:  */
/* Is Q(a, x) a sum of few terms, none of which is too small? For a > 0. */
static inline int tt_gamma_is_short_f64(double a, double x) {
    return a <= 24.0 && (double)(int)a == a && x < 700.0;
}

/* tt: tt_gamma_short_f64; needs: tt_exp_f64; long */
/* Q(a, x) for a = 1, 2, 3, ...: exp(-x) by the first a terms of the series of exp(x) (DLMF 8.4.10). */
static inline double tt_gamma_short_f64(double a, double x) {
    double term = 1.0, sum = 1.0;
    for (double n = 1.0; n < a; n += 1.0) {
        term *= x / n;
        sum += term;
    }
    return tt_exp_f64(-x) * sum;
}

/* tt: tt_gamma_p_f64; needs: tt_gamma_high_f64, tt_gamma_is_short_f64, tt_gamma_low_f64, tt_gamma_short_f64,
   tt_gamma_weight_f64; long, chooses */
/* P(a, x) for all a and x; then Q. */
static inline double tt_gamma_p_f64(double a, double x, double small) {
    if (a > 0.0 && x > 0.0 && x < __builtin_inf()) {
        if (x > 1.0 && x > a && tt_gamma_is_short_f64(a, x)) return 1.0 - tt_gamma_short_f64(a, x);
        double weight = tt_gamma_weight_f64(a, x, small > 1e-15);
        if (x <= 1.0 || x <= a) return tt_gamma_low_f64(a, x, weight, small);
        return 1.0 - tt_gamma_high_f64(a, x, weight, small);
    }
    return a > 0.0 && x == 0.0 ? 0.0 : a > 0.0 && x > 0.0 ? 1.0 : __builtin_nan("");
}

/* tt: tt_gamma_q_f64; needs: tt_gamma_high_f64, tt_gamma_is_short_f64, tt_gamma_low_f64, tt_gamma_short_f64,
   tt_gamma_weight_f64; long */
static inline double tt_gamma_q_f64(double a, double x, double small) {
    if (a > 0.0 && x > 0.0 && x < __builtin_inf()) {
        if (tt_gamma_is_short_f64(a, x)) return tt_gamma_short_f64(a, x);
        double weight = tt_gamma_weight_f64(a, x, small > 1e-15);
        if (x <= 1.0 || x <= a) return 1.0 - tt_gamma_low_f64(a, x, weight, small);
        return tt_gamma_high_f64(a, x, weight, small);
    }
    if (a != a || x != x) return a + x;
    return a > 0.0 && x > 0.0 ? 0.0 : 1.0;
}

/* tt: tt_igamma_f64; needs: tt_gamma_p_f64; long */
static inline double tt_igamma_f64(double a, double x) { return tt_gamma_p_f64(a, x, 1e-17); }

/* tt: tt_igammac_f64; needs: tt_gamma_q_f64; long */
static inline double tt_igammac_f64(double a, double x) { return tt_gamma_q_f64(a, x, 1e-17); }

/* tt: tt_gamma_grad_f64; needs: tt_exp_f64, tt_gamma_slope_f64, tt_lgamma_f64, tt_log_f64, tt_fma_f64; long */
/* dP/da, which near a = 0 is the same for all a. */
static inline double tt_gamma_grad_f64(double a, double x, double small) {
    if (!(a > 0.0 && x > 0.0 && x < __builtin_inf())) return a > 0.0 && x >= 0.0 ? 0.0 : __builtin_nan("");
    a = a < 1e-300 ? 1e-300 : a;
    double log_x = tt_log_f64(x);
    return tt_exp_f64(tt_fma_f64(a, log_x, -x) - tt_lgamma_f64(a)) * tt_gamma_slope_f64(a, x, log_x, small);
}

/* tt: tt_gamma_sample_grad_f64; needs: tt_gamma_slope_f64, tt_log_f64; long */
/* -dP/da by the density dP/dx, which is the weight over x: how a sample x moves with a. */
static inline double tt_gamma_sample_grad_f64(double a, double x, double small) {
    if (!(a > 0.0 && x > 0.0 && x < __builtin_inf())) return x == 0.0 ? 0.0 : __builtin_nan("");
    return -x * tt_gamma_slope_f64(a, x, tt_log_f64(x), small);
}

/* tt: tt_igamma_grad_a_f64; needs: tt_gamma_grad_f64; long */
static inline double tt_igamma_grad_a_f64(double a, double x) { return tt_gamma_grad_f64(a, x, 1e-16); }

/* tt: tt_random_gamma_grad_f64; needs: tt_gamma_sample_grad_f64; long */
static inline double tt_random_gamma_grad_f64(double a, double x) { return tt_gamma_sample_grad_f64(a, x, 1e-16); }

/* tt: tt_igamma_f32; needs: tt_gamma_p_f64; long */
static inline float tt_igamma_f32(float a, float x) { return (float)tt_gamma_p_f64(a, x, 1e-11); }

/* tt: tt_igammac_f32; needs: tt_gamma_q_f64; long */
static inline float tt_igammac_f32(float a, float x) { return (float)tt_gamma_q_f64(a, x, 1e-11); }

/* tt: tt_igamma_grad_a_f32; needs: tt_gamma_grad_f64; long */
static inline float tt_igamma_grad_a_f32(float a, float x) { return (float)tt_gamma_grad_f64(a, x, 1e-11); }

/* tt: tt_random_gamma_grad_f32; needs: tt_gamma_sample_grad_f64; long */
static inline float tt_random_gamma_grad_f32(float a, float x) { return (float)tt_gamma_sample_grad_f64(a, x, 1e-11); }

/* tt: tt_betainc_f64; needs: tt_exp_f64, tt_lgamma_f64, tt_log1p_f64, tt_log_f64, tt_fma_f64; long, chooses */
/* The continued fraction of DLMF 8.17.22 by Lentz's method, which converges fast for small x; for large x
   I(a, b, x) = 1 - I(b, a, 1 - x). */
static inline double tt_betainc_f64(double a, double b, double x) {
    if (!(a > 0.0 && b > 0.0 && a < __builtin_inf() && b < __builtin_inf() && x > 0.0 && x < 1.0))
        return a > 0.0 && b > 0.0 && x == 0.0 ? 0.0 : a > 0.0 && b > 0.0 && x == 1.0 ? 1.0 : __builtin_nan("");
    int fast = x < (a + 1.0) / (a + b + 2.0);
    double p = fast ? a : b, q = fast ? b : a, t = fast ? x : 1.0 - x;
    double c = 1.0, d = 1.0 / (1.0 - (p + q) * t / (p + 1.0)), value = d;
    for (int m = 1; m < 600; m++) {
        double even = m * (q - m) * t / ((p + 2 * m - 1.0) * (p + 2 * m));
        d = 1.0 / tt_fma_f64(even, d, 1.0);
        c = 1.0 + even / c;
        value *= c * d;
        double odd = -(p + m) * (p + q + m) * t / ((p + 2 * m) * (p + 2 * m + 1.0));
        d = 1.0 / tt_fma_f64(odd, d, 1.0);
        c = 1.0 + odd / c;
        value *= c * d;
        if (__builtin_fabs(tt_fma_f64(c, d, -1.0)) < 1e-16) break;
    }
    double log_beta = tt_lgamma_f64(p) + tt_lgamma_f64(q) - tt_lgamma_f64(p + q);
    double log_weight = tt_fma_f64(p, tt_log_f64(t), q * tt_log1p_f64(-t)) - log_beta;
    value = tt_exp_f64(log_weight) * value / p;
    return fast ? value : 1.0 - value;
}

/* tt: tt_betainc_f32; needs: tt_betainc_f64; long */
static inline float tt_betainc_f32(float a, float b, float x) { return (float)tt_betainc_f64(a, b, x); }
