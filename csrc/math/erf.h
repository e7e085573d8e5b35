/* The error function, its complement and its inverse (in float32: erf_inv.h). */

/* tt: tt_erf_f32; needs: tt_fma_f32; long */
/* Below 0.93: x p(x**2) of degree 11, error 2**-24.2. Above: 1 - q(x)**4, where q, of degree 8, is the fourth root of
   erfc, so smooth that no exponential is needed; error 2**-26.2 of the result. Both fitted by least squares, reweighted
   until the extremes were level. The result within 2.5 ulp. */
static inline float tt_erf_f32(float x) {
    float size = __builtin_fabsf(x);
    size = size > 3.95f ? 3.95f : size;
    float z = size * size;
    float p = -0.00054722215f;
    p = tt_fma_f32(p, z, 0.0048827077f);
    p = tt_fma_f32(p, z, -0.026684629f);
    p = tt_fma_f32(p, z, 0.112793475f);
    p = tt_fma_f32(p, z, -0.37612236f);
    p = tt_fma_f32(p, z, 1.1283791f);
    float q = -2.9285467e-5f;
    q = tt_fma_f32(q, size, 0.00028889027f);
    q = tt_fma_f32(q, size, 2.7631217e-5f);
    q = tt_fma_f32(q, size, -0.009937625f);
    q = tt_fma_f32(q, size, 0.037367653f);
    q = tt_fma_f32(q, size, -0.008261435f);
    q = tt_fma_f32(q, size, -0.10139066f);
    q = tt_fma_f32(q, size, -0.2896556f);
    q = tt_fma_f32(q, size, 1.0013599f);
    float square = q * q;
    float y = size < 0.93f ? size * p : tt_fma_f32(-square, square, 1.0f);
    return __builtin_copysignf(y, x);
}

/* tt: tt_erfc_core_f64; needs: tt_exp_f64, tt_fma_f64; long */
/* erfc(x) for x >= 1/2: exp(-x**2) times a function that varies little, p / (1 + 2 x) with a polynomial of degree 22 in
   t = (x - 3.75) / (x + 3.75) (M. Shepherd, J. Laframboise, "Chebyshev approximation of (1 + 2 x) exp(x**2) erfc(x)",
   1981; coefficients interpolated anew). exp(-x**2) is corrected by what x * x lost. */
static inline double tt_erfc_core_f64(double x) {
    double t = (x - 3.75) / (x + 3.75);
    double p = -4.028036508259656e-09;
    p = tt_fma_f64(p, t, -2.8028859177859655e-09);
    p = tt_fma_f64(p, t, 3.7606440724413335e-08);
    p = tt_fma_f64(p, t, 2.2100295914139183e-08);
    p = tt_fma_f64(p, t, -2.5853405357522125e-07);
    p = tt_fma_f64(p, t, -5.649859590697155e-08);
    p = tt_fma_f64(p, t, 1.7521740004667243e-06);
    p = tt_fma_f64(p, t, -9.737506395495064e-07);
    p = tt_fma_f64(p, t, -1.1444655169569653e-05);
    p = tt_fma_f64(p, t, 2.2384213323874097e-05);
    p = tt_fma_f64(p, t, 5.164933118631379e-05);
    p = tt_fma_f64(p, t, -0.0002901540454261811);
    p = tt_fma_f64(p, t, 0.00029371360343281134);
    p = tt_fma_f64(p, t, 0.0017556258417442436);
    p = tt_fma_f64(p, t, -0.009746579548051745);
    p = tt_fma_f64(p, t, 0.028362277420713854);
    p = tt_fma_f64(p, t, -0.05869339859055405);
    p = tt_fma_f64(p, t, 0.09230432116023654);
    p = tt_fma_f64(p, t, -0.10880393014170603);
    p = tt_fma_f64(p, t, 0.08227673849015019);
    p = tt_fma_f64(p, t, 0.0035854154854636543);
    p = tt_fma_f64(p, t, -0.14024059858554702);
    p = tt_fma_f64(p, t, 1.2375126308378275);
    double square = x * x;
    double e = tt_exp_f64(-square);
    e = tt_fma_f64(-e, __builtin_fma(x, x, -square), e);
    return x > 27.3 ? 0.0 : e * p / tt_fma_f64(2.0, x, 1.0);
}

/* tt: tt_erf_core_f64; needs: tt_fma_f64; long */
/* erf(x) / x for |x| <= 1/2: a polynomial of degree 18, error 2**-56.0. */
static inline double tt_erf_core_f64(double x) {
    double z = x * x;
    double p = -1.0804265056430129e-07;
    p = tt_fma_f64(p, z, 1.589970746834753e-06);
    p = tt_fma_f64(p, z, -1.489846682908343e-05);
    p = tt_fma_f64(p, z, 0.00012054587690032821);
    p = tt_fma_f64(p, z, -0.0008548314687940591);
    p = tt_fma_f64(p, z, 0.005223977501011035);
    p = tt_fma_f64(p, z, -0.02686617063772042);
    p = tt_fma_f64(p, z, 0.11283791670931134);
    p = tt_fma_f64(p, z, -0.376126389031834);
    p = tt_fma_f64(p, z, 1.1283791670955126);
    return p;
}

/* tt: tt_erf_f64; needs: tt_erf_core_f64, tt_erfc_core_f64; long */
/* Above 1/2: 1 - erfc(x). The result within 3 ulp. */
static inline double tt_erf_f64(double x) {
    double size = __builtin_fabs(x);
    double near = size * tt_erf_core_f64(size), far = 1.0 - tt_erfc_core_f64(size);
    return __builtin_copysign(size < 0.5 ? near : far, x);
}

/* tt: tt_erfc_f64; needs: tt_erf_core_f64, tt_erfc_core_f64, tt_fma_f64; long */
/* The result within 5 ulp. */
static inline double tt_erfc_f64(double x) {
    double size = __builtin_fabs(x);
    double near = tt_fma_f64(-x, tt_erf_core_f64(x), 1.0), tail = tt_erfc_core_f64(size);
    double far = x < 0.0 ? 2.0 - tail : tail;
    return size < 0.5 ? near : far;
}

/* tt: tt_erfc_f32; needs: tt_bits_f64, tt_float_f64, tt_fma_f32, tt_fma_f64; long */
/* In double precision, rounded once, with the digits that a float needs: exp(-x**2) p with a polynomial of degree 12 in
   t = (x - 3) / (x + 3) = 1 - 6 / (x + 3), error 2**-34.8, of which floats sum the highest terms, that are small, and
   2**r of degree 7, error 2**-34.5 (Remez's algorithm). The steps stand in the order in which their operands are there:
   a processor looks ahead for one vector or two. NaN passes the bound of |x|. Within 0.51 ulp. */
static inline float tt_erfc_f32(float x) {
    float size = __builtin_fabsf(x);
    size = 10.1f < size ? 10.1f : size;
    float quotient = 1.0f / (size + 3.0f), rough = tt_fma_f32(-6.0f, quotient, 1.0f), square = rough * rough;
    float p1 = tt_fma_f32(-6.6826397e-06f, rough, -9.514223e-06f);
    float p2 = tt_fma_f32(6.397492e-05f, rough, 4.324383e-05f), p3 = tt_fma_f32(-0.00059731107f, rough, 0.0007083276f);
    double p = tt_fma_f32(tt_fma_f32(p1, square, p2), square, p3), d = size;
    double t = (d - 3.0) / (d + 3.0);
    double dd = d * d, n = tt_fma_f64(dd, -1.4426950408889634, 6755399441055744.0);
    double r = tt_fma_f64(dd, -1.4426950408889634, 6755399441055744.0 - n);
    double q = 1.520191546430175e-05;
    q = tt_fma_f64(q, r, 0.00015469291160373486);
    q = tt_fma_f64(q, r, 0.0013333922599533124);
    q = tt_fma_f64(q, r, 0.00961802725408054);
    q = tt_fma_f64(q, r, 0.0555041035339032);
    q = tt_fma_f64(q, r, 0.24022651198146372);
    q = tt_fma_f64(q, r, 0.6931471807284642);
    q = tt_fma_f64(q, r, 1.0);
    double power = tt_float_f64(tt_bits_f64(q) + (tt_bits_f64(n) << 52));
    p = tt_fma_f64(p, t, 0.004269219954190844);
    p = tt_fma_f64(p, t, -0.024392583375118286);
    p = tt_fma_f64(p, t, 0.0716658282698481);
    p = tt_fma_f64(p, t, -0.15011593108661941);
    p = tt_fma_f64(p, t, 0.24560380197789203);
    p = tt_fma_f64(p, t, -0.3262335601449854);
    p = tt_fma_f64(p, t, 0.17900115118076732);
    double from = x < 0.0f ? 2.0f : 0.0f;
    return (float)__builtin_fabs(from - power * p);
}

/* tt: tt_erfc_short_f32; needs: tt_exp_f32, tt_fma_f32; long, chooses */
/* For float16 and bfloat16, whose squares are floats: exp(-x**2) p / (3 + x) in single precision, with a polynomial of
   degree 7 in t = (x - 3) / (x + 3), error 2**-22.9. Rounded to either it is the nearest for all numbers but two. */
static inline float tt_erfc_short_f32(float x) {
    float size = __builtin_fabsf(x), d = size < 10.1f ? size : 10.1f, sum = d + 3.0f;
    float t = (d - 3.0f) / sum;
    float p = 0.0029317907f;
    p = tt_fma_f32(p, t, -0.0016294646f);
    p = tt_fma_f32(p, t, -0.02684044f);
    p = tt_fma_f32(p, t, 0.11963848f);
    p = tt_fma_f32(p, t, -0.31046185f);
    p = tt_fma_f32(p, t, 0.5902184f);
    p = tt_fma_f32(p, t, -0.8833946f);
    p = tt_fma_f32(p, t, 1.074007f);
    float tail = tt_exp_f32(-d * d) * (p / sum);
    return x == x ? (x < 0.0f ? 2.0f - tail : tail) : x;
}

/* tt: tt_erf_inv_f64; needs: tt_erf_core_f64, tt_erfc_core_f64, tt_exp_f64, tt_log_f64, tt_fma_f64; long */
/* Giles's form (see erf_inv.h), then one step of Halley's method on erf, or on erfc for |x| > 1/2. The result within 5 ulp. */
static inline double tt_erf_inv_f64(double x) {
    double size = __builtin_fabs(x);
    double w = -tt_log_f64((1.0 - size) * (1.0 + size));
    double u = w - 2.5;
    double p = -8.791017447804877e-09;
    p = tt_fma_f64(p, u, 2.3232617708472287e-08);
    p = tt_fma_f64(p, u, 4.66170121470041e-07);
    p = tt_fma_f64(p, u, -3.462704437491009e-06);
    p = tt_fma_f64(p, u, -4.963345348846054e-06);
    p = tt_fma_f64(p, u, 0.0002183444382384619);
    p = tt_fma_f64(p, u, -0.0012527418827141383);
    p = tt_fma_f64(p, u, -0.004177386779757115);
    p = tt_fma_f64(p, u, 0.24664028615542768);
    p = tt_fma_f64(p, u, 1.5014093592824074);
    double v = __builtin_sqrt(w) - 4.0;
    double q = -1.9431873589908917e-06;
    q = tt_fma_f64(q, v, -5.399832957819823e-07);
    q = tt_fma_f64(q, v, 3.723275487058833e-05);
    q = tt_fma_f64(q, v, -7.296269075891704e-05);
    q = tt_fma_f64(q, v, 2.3542787327943326e-05);
    q = tt_fma_f64(q, v, -4.9281363983777354e-05);
    q = tt_fma_f64(q, v, 0.00034887380070260744);
    q = tt_fma_f64(q, v, -0.00091374120659269);
    q = tt_fma_f64(q, v, 0.0012495423292278095);
    q = tt_fma_f64(q, v, 1.0095011675753012);
    q = tt_fma_f64(q, v, 3.8397845088915514);
    double guess = size * (w < 5.0 ? p : q);
    double near = tt_fma_f64(guess, tt_erf_core_f64(guess), -size), far = (1.0 - size) - tt_erfc_core_f64(guess);
    double excess = size > 0.5 ? far : near;
    double step = excess * 0.8862269254527579 * tt_exp_f64(guess * guess);
    double y = guess - step / tt_fma_f64(guess, step, 1.0);
    y = size == 1.0 ? __builtin_inf() : y;
    return __builtin_copysign(y, x);
}
