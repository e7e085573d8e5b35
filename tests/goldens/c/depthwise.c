static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    void *const *work = ctx;
    const float *restrict a = work[0];
    const float *restrict b = work[1];
    float *restrict ca = work[2];
    for (int64_t i1 = begin + 1; i1 < end + 1; i1++) {
        #pragma omp simd
        for (int64_t i3 = 0; i3 < 32; i3++) {
            const float k = 0.0f * b[i3];
            const float p = a[i3 + 2112 * i1 - 2112] * b[i3 + 32];
            const float q = k + p;
            const float v = tt_fma_f32(a[i3 + 2112 * i1 - 2080], b[i3 + 64], q);
            const float ba = tt_fma_f32(0.0f, b[i3 + 96], v);
            const float bf = tt_fma_f32(a[i3 + 2112 * i1], b[i3 + 128], ba);
            const float bk = tt_fma_f32(a[i3 + 2112 * i1 + 32], b[i3 + 160], bf);
            const float bp = tt_fma_f32(0.0f, b[i3 + 192], bk);
            const float bu = tt_fma_f32(a[i3 + 2112 * i1 + 2112], b[i3 + 224], bp);
            ca[i3 + 2112 * i1] = tt_fma_f32(a[i3 + 2112 * i1 + 2144], b[i3 + 256], bu);
        }
        for (int64_t i2_block = 0; i2_block < 8; i2_block++) {
            for (int64_t i3_tile = 0; i3_tile < 2; i3_tile++) {
                float b_kept[16];
                float b_kept_1[16];
                float b_kept_2[16];
                float b_kept_3[16];
                float b_kept_4[16];
                float b_kept_5[16];
                float b_kept_6[16];
                float b_kept_7[16];
                float b_kept_8[16];
                #pragma omp simd
                for (int64_t i3 = 0; i3 < 16; i3++) {
                    b_kept[i3] = b[16 * i3_tile + i3 + 32];
                    b_kept_1[i3] = b[16 * i3_tile + i3];
                    b_kept_2[i3] = b[16 * i3_tile + i3 + 64];
                    b_kept_3[i3] = b[16 * i3_tile + i3 + 96];
                    b_kept_4[i3] = b[16 * i3_tile + i3 + 128];
                    b_kept_5[i3] = b[16 * i3_tile + i3 + 160];
                    b_kept_6[i3] = b[16 * i3_tile + i3 + 192];
                    b_kept_7[i3] = b[16 * i3_tile + i3 + 224];
                    b_kept_8[i3] = b[16 * i3_tile + i3 + 256];
                }
                const int64_t stop = 8 * i2_block + 9;
                for (int64_t i2 = 8 * i2_block + 1; i2 < 8 * i2_block + 9; i2++) {
                    #pragma omp simd
                    for (int64_t i3 = 0; i3 < 16; i3++) {
                        const float k = a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3 - 2144] * b_kept_1[i3];
                        const float p = a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3 - 2112] * b_kept[i3];
                        const float q = k + p;
                        const float v = tt_fma_f32(a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3 - 2080], b_kept_2[i3], q);
                        const float ba = tt_fma_f32(a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3 - 32], b_kept_3[i3], v);
                        const float bf = tt_fma_f32(a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3], b_kept_4[i3], ba);
                        const float bk = tt_fma_f32(a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3 + 32], b_kept_5[i3], bf);
                        const float bp = tt_fma_f32(a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3 + 2080], b_kept_6[i3], bk);
                        const float bu = tt_fma_f32(a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3 + 2112], b_kept_7[i3], bp);
                        ca[2112 * i1 + 32 * i2 + 16 * i3_tile + i3] = tt_fma_f32(a[2112 * i1 + 32 * i2 + 16 * i3_tile + i3 + 2144], b_kept_8[i3], bu);
                    }
                }
            }
        }
        #pragma omp simd
        for (int64_t i3 = 0; i3 < 32; i3++) {
            const float k = a[i3 + 2112 * i1 - 64] * b[i3];
            const float p = a[i3 + 2112 * i1 - 32] * b[i3 + 32];
            const float q = k + p;
            const float v = tt_fma_f32(0.0f, b[i3 + 64], q);
            const float ba = tt_fma_f32(a[i3 + 2112 * i1 + 2048], b[i3 + 96], v);
            const float bf = tt_fma_f32(a[i3 + 2112 * i1 + 2080], b[i3 + 128], ba);
            const float bk = tt_fma_f32(0.0f, b[i3 + 160], bf);
            const float bp = tt_fma_f32(a[i3 + 2112 * i1 + 4160], b[i3 + 192], bk);
            const float bu = tt_fma_f32(a[i3 + 2112 * i1 + 4192], b[i3 + 224], bp);
            ca[i3 + 2112 * i1 + 2080] = tt_fma_f32(0.0f, b[i3 + 256], bu);
        }
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const float *b = buffers[1];
    float *ca = buffers[2];

    /* loop over 66 and 64 and 66: reads 559. kB, writes 558. kB, 18.0 Mflop, fusion saved 33.6 MB
     *     k:f32[1,32,66,66] = mul (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b)))))
     *     p:f32[1,32,66,66] = mul (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b)))))
     *     q:f32[1,32,66,66] = add k p
     *     v:f32[1,32,66,66] = fma (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b))))) q
     *     ba:f32[1,32,66,66] = fma (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b))))) v
     *     bf:f32[1,32,66,66] = fma (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b))))) ba
     *     bk:f32[1,32,66,66] = fma (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b))))) bf
     *     bp:f32[1,32,66,66] = fma (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b))))) bk
     *     bu:f32[1,32,66,66] = fma (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b))))) bp
     *     ca:f32[1,66,66,32] = transpose[permutation=(0, 2, 3, 1)] (fma (slice (transpose (pad a 0.0))) (broadcast_in_dim (reshape (slice (reshape (transpose b))))) bu)
     */
    for (int64_t i2 = 0; i2 < 66; i2++) {
        const int64_t index = i2 < 65;
        const int64_t index_i = i2 >= 1;
        #pragma omp simd
        for (int64_t i3 = 0; i3 < 32; i3++) {
            const float k = 0.0f * b[i3];
            const float p = 0.0f * b[i3 + 32];
            const float q = k + p;
            const float v = tt_fma_f32(0.0f, b[i3 + 64], q);
            const float ba = tt_fma_f32(index_i ? a[32 * i2 + i3 - 32] : 0.0f, b[i3 + 96], v);
            const float bf = tt_fma_f32(a[32 * i2 + i3], b[i3 + 128], ba);
            const float bk = tt_fma_f32(index ? a[32 * i2 + i3 + 32] : 0.0f, b[i3 + 160], bf);
            const float bp = tt_fma_f32(index_i ? a[32 * i2 + i3 + 2080] : 0.0f, b[i3 + 192], bk);
            const float bu = tt_fma_f32(a[32 * i2 + i3 + 2112], b[i3 + 224], bp);
            ca[32 * i2 + i3] = tt_fma_f32(index ? a[32 * i2 + i3 + 2144] : 0.0f, b[i3 + 256], bu);
        }
    }
    host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)b, (void *)ca}, 64, 8);
    for (int64_t i2 = 0; i2 < 66; i2++) {
        const int64_t index = i2 < 65;
        const int64_t index_i = i2 >= 1;
        #pragma omp simd
        for (int64_t i3 = 0; i3 < 32; i3++) {
            const float k = (index_i ? a[32 * i2 + i3 + 135136] : 0.0f) * b[i3];
            const float p = a[32 * i2 + i3 + 135168] * b[i3 + 32];
            const float q = k + p;
            const float v = tt_fma_f32(index ? a[32 * i2 + i3 + 135200] : 0.0f, b[i3 + 64], q);
            const float ba = tt_fma_f32(index_i ? a[32 * i2 + i3 + 137248] : 0.0f, b[i3 + 96], v);
            const float bf = tt_fma_f32(a[32 * i2 + i3 + 137280], b[i3 + 128], ba);
            const float bk = tt_fma_f32(index ? a[32 * i2 + i3 + 137312] : 0.0f, b[i3 + 160], bf);
            const float bp = tt_fma_f32(0.0f, b[i3 + 192], bk);
            const float bu = tt_fma_f32(0.0f, b[i3 + 224], bp);
            ca[32 * i2 + i3 + 137280] = tt_fma_f32(0.0f, b[i3 + 256], bu);
        }
    }
    return TT_OK;
}
