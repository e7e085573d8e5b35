int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    float *b = buffers[1];
    (void)host;

    /* loop over 8: reads 32.0 kB, writes 32.0 kB, 8.00 kflop
     *     b:f32[8,1000] = cumsum[axis=1 reverse=False] a
     */
    for (int64_t i0 = 0; i0 < 8; i0++) {
        float b_i = 0.0f;
        #pragma omp simd reduction(inscan, +: b_i)
        for (int64_t i1 = 0; i1 < 1000; i1++) {
            b_i += a[1000 * i0 + i1];
            #pragma omp scan inclusive(b_i)
            b[1000 * i0 + i1] = b_i;
        }
    }
    return TT_OK;
}
