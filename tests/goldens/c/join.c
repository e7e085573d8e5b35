int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const float *b = buffers[1];
    float *h = buffers[2];
    (void)host;

    /* loop over 3 and 50 and 3 and 20: reads 26.8 kB, writes 30.4 kB, 0 flop, fusion saved 186. kB
     *     h:f32[76,100] = concatenate[dimension=0] (pad (pad (pad (pad a 0.0) 0.0) 0.0) 0.0) (transpose b)
     */
    for (int64_t i0 = 0; i0 < 3; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 100; i1++) {
            h[i1 + 100 * i0] = 0.0f;
        }
    }
    for (int64_t i0 = 3; i0 < 53; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 3; i1++) {
            h[100 * i0 + i1] = 0.0f;
        }
        #pragma omp simd
        for (int64_t i1 = 3; i1 < 97; i1++) {
            h[100 * i0 + i1] = a[94 * i0 + i1 - 285];
        }
        #pragma omp simd
        for (int64_t i1 = 97; i1 < 100; i1++) {
            h[100 * i0 + i1] = 0.0f;
        }
    }
    for (int64_t i0 = 53; i0 < 56; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 100; i1++) {
            h[i1 + 100 * i0] = 0.0f;
        }
    }
    for (int64_t i0 = 56; i0 < 76; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 100; i1++) {
            h[i1 + 100 * i0] = b[20 * i1 + i0 - 56];
        }
    }
    return TT_OK;
}
