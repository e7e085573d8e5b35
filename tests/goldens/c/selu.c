static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    /* loop over 1000000: reads 4.00 MB, writes 4.00 MB, 6.00 Mflop, fusion saved 26.0 MB
     *     b:bool[1000000] = gt a 0.0
     *     c:f32[1000000] = exp a
     *     d:f32[1000000] = fms 1.6699999570846558 c 1.6699999570846558
     *     e:f32[1000000] = select_n b d a
     *     f:f32[1000000] = mul 1.0499999523162842 e
     */
    void *const *work = ctx;
    const float *restrict a = work[0];
    float *restrict f = work[1];
    #pragma omp simd
    for (int64_t i0 = begin; i0 < end; i0++) {
        const float a_i = a[i0];
        const uint8_t b = a_i > 0.0f;
        const float c = tt_exp_f32(a_i);
        const float d = tt_fma_f32(1.67f, c, -1.67f);
        const float e = b ? a_i : d;
        f[i0] = 1.05f * e;
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    float *f = buffers[1];

    host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)f}, 1000000, 31296);
    return TT_OK;
}
