int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const int32_t *b = buffers[1];
    float *h = buffers[2];
    (void)host;

    /* loop over 100: reads 256. kB, writes 25.6 kB, 25.6 kflop, fusion saved 53.8 kB
     *     c:bool[100] = lt b 0
     *     d:i32[100] = add b 1000
     *     e:i32[100] = select_n c b d
     *     h:f32[100,64] = mul (gather a (broadcast_in_dim e)) 2.0
     */
    for (int64_t i0 = 0; i0 < 100; i0++) {
        const int32_t b_i = b[i0];
        const uint8_t c = b_i < 0;
        const int32_t d = b_i + 1000;
        const int32_t e = c ? d : b_i;
        const int64_t index = (int64_t)tt_min_i32(tt_max_i32(e, 0), 999);
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 64; i1++) {
            h[64 * i0 + i1] = a[i1 + 64 * index] * 2.0f;
        }
    }
    return TT_OK;
}
