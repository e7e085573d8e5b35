/* Products and sums in one rounding, over arrays: NumPy has no such function. */

#include "tt_runtime.h"

void tt_fma_array_f32(int64_t size, const float *a, const float *b, const float *c, float *out) {
    for (int64_t i = 0; i < size; i++) out[i] = __builtin_fmaf(a[i], b[i], c[i]);
}

void tt_fma_array_f64(int64_t size, const double *a, const double *b, const double *c, double *out) {
    for (int64_t i = 0; i < size; i++) out[i] = __builtin_fma(a[i], b[i], c[i]);
}
