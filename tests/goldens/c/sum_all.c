static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    void *const *work = ctx;
    const float *restrict a = work[0];
    float *restrict b_partials = work[1];
    for (int64_t i0_chunk = begin; i0_chunk < end; i0_chunk++) {
        float b = 0.0f;
        for (int64_t i0_block = 0; i0_block < 8; i0_block++) {
            if ((2048 * i0_chunk + 256 * i0_block + 2304) <= 16777216) {
                for (int64_t a_line = 0; a_line < 16; a_line++) {
                    __builtin_prefetch((a + (2048 * i0_chunk + 256 * i0_block + 16 * a_line + 2048)));
                }
            }
            float b_partial = 0.0f;
            #pragma omp simd reduction(+: b_partial)
            for (int64_t i0 = 0; i0 < 256; i0++) {
                b_partial += a[i0 + 2048 * i0_chunk + 256 * i0_block];
            }
            b += b_partial;
        }
        b_partials[i0_chunk] = b;
    }
}

static void tt_kernel_1(void *ctx, int64_t begin, int64_t end) {
    void *const *work = ctx;
    const float *restrict a = work[0];
    float *restrict b_partials = work[1];
    for (int64_t i0_chunk_group = begin; i0_chunk_group < end; i0_chunk_group++) {
        float b = 0.0f;
        float b_row_1 = 0.0f;
        float b_row_2 = 0.0f;
        float b_row_3 = 0.0f;
        for (int64_t i0_block = 0; i0_block < 8; i0_block++) {
            float b_partial = 0.0f;
            float b_partial_row_1 = 0.0f;
            float b_partial_row_2 = 0.0f;
            float b_partial_row_3 = 0.0f;
            #pragma omp simd reduction(+: b_partial, b_partial_row_1, b_partial_row_2, b_partial_row_3)
            for (int64_t i0 = 0; i0 < 256; i0++) {
                b_partial += a[i0 + 256 * i0_block + 8192 * i0_chunk_group];
                b_partial_row_1 += a[i0 + 256 * i0_block + 8192 * i0_chunk_group + 2048];
                b_partial_row_2 += a[i0 + 256 * i0_block + 8192 * i0_chunk_group + 4096];
                b_partial_row_3 += a[i0 + 256 * i0_block + 8192 * i0_chunk_group + 6144];
            }
            b += b_partial;
            b_row_1 += b_partial_row_1;
            b_row_2 += b_partial_row_2;
            b_row_3 += b_partial_row_3;
        }
        b_partials[4 * i0_chunk_group] = b;
        b_partials[4 * i0_chunk_group + 1] = b_row_1;
        b_partials[4 * i0_chunk_group + 2] = b_row_2;
        b_partials[4 * i0_chunk_group + 3] = b_row_3;
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    float *out = buffers[1];
    float *b_partials = buffers[2];

    /* loop over 8192 and 32: reads 67.1 MB, writes 32.8 kB, 16.9 Mflop
     *     b:f32[] = reduce_sum[axes=(0, 1)] a
     */
    #ifdef __AVX512F__
    {
        host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)b_partials}, 8192, 128);
    }
    #else
    {
        host->parallel_for(tt_kernel_1, (void *[]){(void *)a, (void *)b_partials}, 2048, 32);
    }
    #endif
    float b = 0.0f;
    for (int64_t i0_chunk_block = 0; i0_chunk_block < 32; i0_chunk_block++) {
        float b_partial = 0.0f;
        #pragma omp simd reduction(+: b_partial)
        for (int64_t i0_chunk = 0; i0_chunk < 256; i0_chunk++) {
            b_partial += b_partials[256 * i0_chunk_block + i0_chunk];
        }
        b += b_partial;
    }
    out[0] = b;
    return TT_OK;
}
