static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    void *const *work = ctx;
    const float *restrict a = work[0];
    float *restrict b_i_partials = work[1];
    for (int64_t i1_chunk = begin; i1_chunk < end; i1_chunk++) {
        _Alignas(64) float b_i_row[4096];
        #pragma omp simd
        for (int64_t lane = 0; lane < 4096; lane++) {
            b_i_row[lane] = 0.0f;
        }
        for (int64_t i1 = 0; i1 < 64; i1++) {
            #pragma omp simd
            for (int64_t lane = 0; lane < 4096; lane++) {
                b_i_row[lane] += (a[1048576 * i1_chunk + lane + 16384 * i1] + a[1048576 * i1_chunk + lane + 16384 * i1 + 4096]) + (a[1048576 * i1_chunk + lane + 16384 * i1 + 8192] + a[1048576 * i1_chunk + lane + 16384 * i1 + 12288]);
            }
        }
        #pragma omp simd
        for (int64_t lane = 0; lane < 4096; lane++) {
            b_i_partials[4096 * i1_chunk + lane] = b_i_row[lane];
        }
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    float *b = buffers[1];
    float *b_i_partials = buffers[2];

    /* loop over 16 and 8: reads 67.4 MB, writes 279. kB, 16.8 Mflop
     *     b:f32[4096] = reduce_sum[axes=(0,)] a
     */
    host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)b_i_partials}, 16, 1);
    for (int64_t i0 = 0; i0 < 8; i0++) {
        float b_i_row[512];
        #pragma omp simd
        for (int64_t lane = 0; lane < 512; lane++) {
            b_i_row[lane] = 0.0f;
        }
        for (int64_t i1_chunk = 0; i1_chunk < 4; i1_chunk++) {
            #pragma omp simd
            for (int64_t lane = 0; lane < 512; lane++) {
                b_i_row[lane] += (b_i_partials[lane + 512 * i0 + 16384 * i1_chunk] + b_i_partials[lane + 512 * i0 + 16384 * i1_chunk + 4096]) + (b_i_partials[lane + 512 * i0 + 16384 * i1_chunk + 8192] + b_i_partials[lane + 512 * i0 + 16384 * i1_chunk + 12288]);
            }
        }
        #pragma omp simd
        for (int64_t lane = 0; lane < 512; lane++) {
            b[lane + 512 * i0] = b_i_row[lane];
        }
    }
    return TT_OK;
}
