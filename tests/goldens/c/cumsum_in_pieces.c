static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    void *const *work = ctx;
    const float *restrict a = work[0];
    float *restrict b_i_partials = work[1];
    for (int64_t chunk = begin; chunk < end; chunk++) {
        float b_i_partial = 0.0f;
        #pragma omp simd reduction(+: b_i_partial)
        for (int64_t i0 = 0; i0 < 2048; i0++) {
            b_i_partial += a[2048 * chunk + i0];
        }
        b_i_partials[chunk] = b_i_partial;
    }
}

static void tt_kernel_1(void *ctx, int64_t begin, int64_t end) {
    void *const *work = ctx;
    const float *restrict a = work[0];
    float *restrict b_i_partials = work[1];
    for (int64_t chunk_group = begin; chunk_group < end; chunk_group++) {
        float b_i_partial = 0.0f;
        float b_i_partial_row_1 = 0.0f;
        float b_i_partial_row_2 = 0.0f;
        float b_i_partial_row_3 = 0.0f;
        #pragma omp simd reduction(+: b_i_partial, b_i_partial_row_1, b_i_partial_row_2, b_i_partial_row_3)
        for (int64_t i0 = 0; i0 < 2048; i0++) {
            b_i_partial += a[i0 + 8192 * chunk_group];
            b_i_partial_row_1 += a[i0 + 8192 * chunk_group + 2048];
            b_i_partial_row_2 += a[i0 + 8192 * chunk_group + 4096];
            b_i_partial_row_3 += a[i0 + 8192 * chunk_group + 6144];
        }
        b_i_partials[4 * chunk_group] = b_i_partial;
        b_i_partials[4 * chunk_group + 1] = b_i_partial_row_1;
        b_i_partials[4 * chunk_group + 2] = b_i_partial_row_2;
        b_i_partials[4 * chunk_group + 3] = b_i_partial_row_3;
    }
}

static void tt_kernel_2(void *ctx, int64_t begin, int64_t end) {
    void *const *work = ctx;
    const float *restrict b_i_partials = work[0];
    const float *restrict a = work[1];
    float *restrict b = work[2];
    for (int64_t chunk = begin; chunk < end; chunk++) {
        float b_i = b_i_partials[chunk];
        #pragma omp simd reduction(inscan, +: b_i)
        for (int64_t i0 = 0; i0 < 2048; i0++) {
            b_i += a[2048 * chunk + i0];
            #pragma omp scan inclusive(b_i)
            b[2048 * chunk + i0] = b_i;
        }
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    float *b = buffers[1];
    float *b_i_partials = buffers[2];

    /* loop over 512 and 512 and 512: reads 4.20 MB, writes 4.20 MB, 2.10 Mflop
     *     b:f32[1048576] = cumsum[axis=0 reverse=False] a
     */
    #ifdef __AVX512F__
    {
        host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)b_i_partials}, 512, 32);
    }
    #else
    {
        host->parallel_for(tt_kernel_1, (void *[]){(void *)a, (void *)b_i_partials}, 128, 8);
    }
    #endif
    float b_i_so_far = 0.0f;
    for (int64_t chunk = 0; chunk < 512; chunk++) {
        const float b_i_partial = b_i_partials[chunk];
        b_i_partials[chunk] = b_i_so_far;
        b_i_so_far += b_i_partial;
    }
    host->parallel_for(tt_kernel_2, (void *[]){(void *)b_i_partials, (void *)a, (void *)b}, 512, 32);
    return TT_OK;
}
