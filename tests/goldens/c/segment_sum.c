int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const int32_t *b = buffers[1];
    float *h = buffers[2];
    (void)host;
    #pragma omp simd
    for (int64_t i0 = 0; i0 < 640; i0++) {
        h[i0] = 0.0f;
    }

    /* loop over 1000: reads 260. kB, writes 2.56 kB, 259. kflop
     *     d:bool[1000] = lt b 0
     *     e:i32[1000] = add b 10
     *     f:i32[1000] = select_n d b e
     *     h:f32[10,64] = scatter-add[indices_are_sorted=False unique_indices=False update_consts=()] (broadcast_in_dim 0.0) (broadcast_in_dim f) a
     */
    for (int64_t i0 = 0; i0 < 1000; i0++) {
        const int32_t b_i = b[i0];
        const uint8_t d = b_i < 0;
        const int32_t e = b_i + 10;
        const int32_t f = d ? e : b_i;
        const int64_t position = (int64_t)f;
        if (position >= 0 && position <= 9) {
            #pragma omp simd
            for (int64_t i1 = 0; i1 < 64; i1++) {
                h[i1 + 64 * position] += a[64 * i0 + i1];
            }
        }
    }
    return TT_OK;
}
