int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const uint16_t *a = buffers[0];
    const uint16_t *b = buffers[1];
    uint16_t *f = buffers[2];
    (void)host;

    /* loop over 64: reads 25.6 kB, writes 128 B, 12.8 kflop, fusion saved 77.3 kB
     *     d:f32[64,100] = convert_element_type[new_dtype=float32 weak_type=False] (mul a b)
     *     e:f32[64] = reduce_sum[axes=(1,)] d
     *     f:f16[64] = convert_element_type[new_dtype=float16 weak_type=False] e
     */
    for (int64_t i0 = 0; i0 < 64; i0++) {
        float e = 0.0f;
        float a_strip[100];
        float b_strip[100];
        float c_strip[100];
        tt_widen_f16(a_strip, (a + (100 * i0)), 100);
        tt_widen_f16(b_strip, (b + (100 * i0)), 100);
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 100; i1++) {
            c_strip[i1] = a_strip[i1] * b_strip[i1];
        }
        tt_round_strip_f16(c_strip, 100);
        #pragma omp simd reduction(+: e)
        for (int64_t i1 = 0; i1 < 100; i1++) {
            const float d = c_strip[i1];
            e += d;
        }
        f[i0] = tt_f32_to_f16(e);
    }
    return TT_OK;
}
