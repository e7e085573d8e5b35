static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    /* call: reads 153. kB, writes 279. kB, 10.0 Mflop
     *     h:f32[1,66,66,16] = dot_general (transpose (reshape (windows (transpose c) 0.0))) b
     */
    void *const *work = ctx;
    const float *restrict c = work[0];
    const float *restrict b = work[1];
    float *restrict h = work[2];
    const struct tt_host *host = work[3];
    for (int64_t panel_block = begin; panel_block < end; panel_block++) {
        for (int64_t i0 = 0; i0 < 3; i0++) {
            host->sgemm_taps(66, 16, 24, 3, 544, (c + (544 * i0 + 1632 * panel_block)), 8, b, 16, 0.0f, (h + (1056 * i0 + 3168 * panel_block)), 16);
        }
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const float *b = buffers[1];
    float *h = buffers[2];
    float *c = buffers[3];

    /* loop over 68 and 66 and 68: reads 139. kB, writes 148. kB, 0 flop
     *     c:f32[1,68,68,8] = pad[padding_config=((0, 0, 0), (1, 1, 0), (1, 1, 0), (0, 0, 0))] a 0.0
     */
    for (int64_t i2 = 0; i2 < 68; i2++) {
        #pragma omp simd
        for (int64_t i3 = 0; i3 < 8; i3++) {
            c[8 * i2 + i3] = 0.0f;
        }
    }
    for (int64_t i1 = 1; i1 < 67; i1++) {
        #pragma omp simd
        for (int64_t i3 = 0; i3 < 8; i3++) {
            c[i3 + 544 * i1] = 0.0f;
        }
        for (int64_t i2 = 1; i2 < 67; i2++) {
            #pragma omp simd
            for (int64_t i3 = 0; i3 < 8; i3++) {
                c[i3 + 544 * i1 + 8 * i2] = a[i3 + 528 * i1 + 8 * i2 - 536];
            }
        }
        #pragma omp simd
        for (int64_t i3 = 0; i3 < 8; i3++) {
            c[i3 + 544 * i1 + 536] = 0.0f;
        }
    }
    for (int64_t i2 = 0; i2 < 68; i2++) {
        #pragma omp simd
        for (int64_t i3 = 0; i3 < 8; i3++) {
            c[8 * i2 + i3 + 36448] = 0.0f;
        }
    }

    host->parallel_for(tt_kernel_0, (void *[]){(void *)c, (void *)b, (void *)h, (void *)host}, 22, 3);
    return TT_OK;
}
