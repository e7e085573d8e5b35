/* The inverse of the error function in float32, rounded after the same steps as in JAX 0.4.35: normal samples hang on
   it, and are JAX's to the last bit. Hence every product that JAX's compiler fuses with a sum is written as fma. */

/* tt: tt_erf_inv_log_f32; needs: tt_bits_f32, tt_float_f32 */
/* log(1 + u) for -1 < u <= 0, by the polynomials of Cephes (S. Moshier, logf.c and log1p.c). The result within 1.5 ulp. */
static inline float tt_erf_inv_log_f32(float u) {
    float one_u = 1.0f + u;
    uint32_t bits = tt_bits_f32(one_u > 0x1p-126f ? one_u : 0x1p-126f);
    float m = tt_float_f32((bits & 0x007FFFFFu) | 0x3F000000u);
    float e = (float)((int32_t)(bits >> 23) - 126) - (m < 0.70710677f ? 1.0f : 0.0f);
    float f = (m - 1.0f) + (m < 0.70710677f ? m : 0.0f);
    float f2 = f * f, f3 = f2 * f;
    float p = __builtin_fmaf(f, 0.070376836f, -0.1151461f);
    float q = __builtin_fmaf(f, -0.12420141f, 0.14249323f);
    float r = __builtin_fmaf(f, 0.20000714f, -0.24999994f);
    p = __builtin_fmaf(p, f, 0.116769984f);
    q = __builtin_fmaf(q, f, -0.16668057f);
    r = __builtin_fmaf(r, f, 0.3333333f);
    p = __builtin_fmaf(__builtin_fmaf(p, f3, q), f3, r);
    p = __builtin_fmaf(p, f3, -0.00021219444f * e);
    float far = __builtin_fmaf(0.6933594f, e, __builtin_fmaf(-0.5f, f2, f) + p);

    float u2 = u * u;
    float n = __builtin_fmaf(4.527e-5f, u, 0.49854103f);
    n = __builtin_fmaf(n, u, 6.5787325f);
    n = __builtin_fmaf(n, u, 29.911919f);
    n = __builtin_fmaf(n, u, 60.949669f);
    n = __builtin_fmaf(n, u, 57.112965f);
    n = __builtin_fmaf(n, u, 20.0395535f);
    float d = u + 15.062909f;
    d = __builtin_fmaf(d, u, 83.04757f);
    d = __builtin_fmaf(d, u, 221.7624f);
    d = __builtin_fmaf(d, u, 309.09872f);
    d = __builtin_fmaf(d, u, 216.42789f);
    d = __builtin_fmaf(d, u, 60.118660f);
    float near = u + __builtin_fmaf(u * u2, n / d, -0.5f * u2);
    return u > -0.41421357f ? near : far;
}

/* tt: tt_erf_inv_f32; needs: tt_erf_inv_log_f32 */
/* x p(w), where w = -log(1 - x**2) makes the function nearly a polynomial: in w up to 5, in its root beyond (M. Giles,
   "Approximating the erfinv function", 2012, with his coefficients). */
static inline float tt_erf_inv_f32(float x) {
    float w = -tt_erf_inv_log_f32(-x * x);
    float u = w - 2.5f;
    float p = 2.8102264e-8f;
    p = __builtin_fmaf(p, u, 3.4327394e-7f);
    p = __builtin_fmaf(p, u, -3.5233877e-6f);
    p = __builtin_fmaf(p, u, -4.3915065e-6f);
    p = __builtin_fmaf(p, u, 0.00021858087f);
    p = __builtin_fmaf(p, u, -0.001253725f);
    p = __builtin_fmaf(p, u, -0.0041776816f);
    p = __builtin_fmaf(p, u, 0.24664073f);
    p = __builtin_fmaf(p, u, 1.5014094f);
    float v = __builtin_sqrtf(w) - 3.0f;
    float q = -0.00020021426f;
    q = __builtin_fmaf(q, v, 0.00010095056f);
    q = __builtin_fmaf(q, v, 0.0013493432f);
    q = __builtin_fmaf(q, v, -0.0036734284f);
    q = __builtin_fmaf(q, v, 0.0057395077f);
    q = __builtin_fmaf(q, v, -0.0076224613f);
    q = __builtin_fmaf(q, v, 0.0094388705f);
    q = __builtin_fmaf(q, v, 1.0016741f);
    q = __builtin_fmaf(q, v, 2.8329768f);
    float y = (w < 5.0f ? p : q) * x;
    y = __builtin_fabsf(x) == 1.0f ? x * __builtin_inff() : y;
    return __builtin_fabsf(x) <= 1.0f ? y : __builtin_nanf("");
}
