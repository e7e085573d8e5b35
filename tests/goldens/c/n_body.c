static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    /* loop over 16: reads 16.4 kB, writes 12.3 kB, 44.0 Mflop, fusion saved 126. MB
     *     e:f32[1024,1024,3] = sub (broadcast_in_dim a) (broadcast_in_dim a)
     *     f:f32[1024,1024,3] = mul e e
     *     h:f32[1024,1024] = add (reduce_sum f) 0.0010000000474974513
     *     i:f32[1024,1024] = sqrt h
     *     j:f32[1024,1024] = mul h i
     *     l:f32[1024,1024] = div (broadcast_in_dim b) j
     *     o:f32[1024,3] = reduce_sum[axes=(1,)] (mul e (broadcast_in_dim l))
     */
    void *const *work = ctx;
    const float *restrict a = work[0];
    const float *restrict b = work[1];
    float *restrict o = work[2];
    for (int64_t i0 = begin; i0 < end; i0++) {
        float p_row[64];
        float q_row[64];
        float r_row[64];
        #pragma omp simd
        for (int64_t lane = 0; lane < 64; lane++) {
            p_row[lane] = 0.0f;
            q_row[lane] = 0.0f;
            r_row[lane] = 0.0f;
        }
        for (int64_t i1 = 0; i1 < 1024; i1++) {
            const float a_i = a[3 * i1];
            const float b_i = b[i1];
            const float a_i_1 = a[3 * i1 + 2];
            const float a_i_2 = a[3 * i1 + 1];
            #pragma omp simd
            for (int64_t lane = 0; lane < 64; lane++) {
                const float e = a_i - a[3 * lane + 192 * i0];
                const float e_i = a_i_1 - a[3 * lane + 192 * i0 + 2];
                const float e_1 = a_i_2 - a[3 * lane + 192 * i0 + 1];
                const float f = e * e;
                const float h = tt_fma_f32(e_i, e_i, tt_fma_f32(e_1, e_1, f)) + 0.001f;
                const float i = tt_sqrt_f32(h);
                const float j = h * i;
                const float l = b_i / j;
                p_row[lane] = tt_fma_f32(e, l, p_row[lane]);
                q_row[lane] = tt_fma_f32(e_1, l, q_row[lane]);
                r_row[lane] = tt_fma_f32(e_i, l, r_row[lane]);
            }
        }
        #pragma omp simd
        for (int64_t lane = 0; lane < 64; lane++) {
            o[3 * lane + 192 * i0] = p_row[lane];
        }
        #pragma omp simd
        for (int64_t lane = 0; lane < 64; lane++) {
            o[3 * lane + 192 * i0 + 1] = q_row[lane];
        }
        #pragma omp simd
        for (int64_t lane = 0; lane < 64; lane++) {
            o[3 * lane + 192 * i0 + 2] = r_row[lane];
        }
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const float *b = buffers[1];
    float *o = buffers[2];

    host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)b, (void *)o}, 16, 1);
    return TT_OK;
}
