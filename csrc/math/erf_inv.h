/* The inverse of the error function in float32, rounded after the same steps as in JAX 0.4.35: normal samples hang on
   it, and are JAX's to the last bit. Hence every product that JAX's compiler fuses with a sum is written as fma. */

/* tt: tt_erf_inv_f32; needs: tt_log1p_f32; long */
/* x p(w), where w = -log(1 - x**2) makes the function nearly a polynomial: in w up to 5, in its root beyond (M. Giles,
   "Approximating the erfinv function", 2012, with his coefficients). 1 - x**2 loses digits where x is near 1: the result
   is within 65 ulp there, and within 8 up to 0.99. */
static inline float tt_erf_inv_f32(float x) {
    float w = -tt_log1p_f32(-x * x);
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
