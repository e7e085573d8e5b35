static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    /* loop over 4096: reads 67.1 MB, writes 16.4 kB, 52.2 Mflop
     *     b:i32[4096] = argmax[axes=(1,) index_dtype=int32] a
     */
    void *const *work = ctx;
    const float *restrict a = work[0];
    int32_t *restrict b = work[1];
    for (int64_t i0 = begin; i0 < end; i0++) {
        if (i0 < 4095) {
            for (int64_t a_line = 0; a_line < 256; a_line++) {
                __builtin_prefetch((a + (4096 * i0 + 16 * a_line + 4096)));
            }
        }
        float c_max = -__builtin_inff();
        int32_t c_nan = 0;
        float c_max_strips[32];
        for (int64_t i1_strip = 0; i1_strip < 32; i1_strip++) {
            float c_max_strip = -__builtin_inff();
            int32_t c_nan_strip = 0;
            #pragma omp simd reduction(max: c_max_strip) reduction(|: c_nan_strip)
            for (int64_t i1 = 0; i1 < 128; i1++) {
                const float a_i = a[4096 * i0 + 128 * i1_strip + i1];
                c_max_strip = a_i > c_max_strip ? a_i : c_max_strip;
                c_nan_strip |= a_i != a_i;
            }
            c_max_strips[i1_strip] = c_nan_strip ? __builtin_nanf("") : c_max_strip;
        }
        #pragma omp simd reduction(max: c_max) reduction(|: c_nan)
        for (int64_t i1_strip = 0; i1_strip < 32; i1_strip++) {
            const float c_max_strips_i = c_max_strips[i1_strip];
            c_max = c_max_strips_i > c_max ? c_max_strips_i : c_max;
            c_nan |= c_max_strips_i != c_max_strips_i;
        }
        const float c = c_nan ? __builtin_nanf("") : c_max;
        int32_t b_i = 2147483647;
        int32_t b_i_strip = 32;
        #pragma omp simd reduction(min: b_i_strip)
        for (int32_t i1_strip_count = 0; i1_strip_count < 32; i1_strip_count++) {
            const int64_t i1_strip = i1_strip_count;
            const float c_max_strips_i = c_max_strips[i1_strip];
            const int32_t value = (c_max_strips_i == c) || (c_max_strips_i != c_max_strips_i) ? ((int32_t)i1_strip) : 32;
            b_i_strip = b_i_strip > value ? value : b_i_strip;
        }
        const int64_t index = (int64_t)tt_min_i32(tt_max_i32(b_i_strip, 0), 31);
        #pragma omp simd reduction(min: b_i)
        for (int32_t i1_count = 0; i1_count < 128; i1_count++) {
            const int64_t i1 = i1_count;
            const float a_i = a[4096 * i0 + i1 + 128 * index];
            const int32_t value = (a_i == c) || (a_i != a_i) ? ((int32_t)(i1 + 128 * index)) : 2147483647;
            b_i = b_i > value ? value : b_i;
        }
        b[i0] = b_i;
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    int32_t *b = buffers[1];

    host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)b}, 4096, 64);
    return TT_OK;
}
