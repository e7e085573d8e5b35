int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const uint16_t *a = buffers[0];
    uint16_t *e = buffers[1];
    (void)host;

    /* loop over 5000: reads 10.0 kB, writes 10.0 kB, 20.0 kflop, fusion saved 60.0 kB
     *     b:bf16[5000] = mul a 2.0
     *     c:bf16[5000] = add b 1.0
     *     d:bf16[5000] = max c a
     *     e:bf16[5000] = mul d a
     */
    for (int64_t i0_strip = 0; i0_strip < 39; i0_strip++) {
        float a_strip[128];
        float c_strip[128];
        float e_strip[128];
        tt_widen_bf16(a_strip, (a + (128 * i0_strip)), 128);
        #pragma omp simd
        for (int64_t i0 = 0; i0 < 128; i0++) {
            const float b = a_strip[i0] * 2.0f;
            c_strip[i0] = b + 1.0f;
        }
        tt_round_strip_bf16(c_strip, 128);
        #pragma omp simd
        for (int64_t i0 = 0; i0 < 128; i0++) {
            const float a_strip_i = a_strip[i0];
            const float d = tt_max_f32(c_strip[i0], a_strip_i);
            e_strip[i0] = d * a_strip_i;
        }
        tt_narrow_bf16((e + (128 * i0_strip)), e_strip, 128);
    }
    #pragma omp simd
    for (int64_t i0 = 4992; i0 < 5000; i0++) {
        const float a_i = tt_bf16_to_f32(a[i0]);
        const float b = a_i * 2.0f;
        const float c = tt_round_plain_bf16(b + 1.0f);
        const float d = tt_max_f32(c, a_i);
        e[i0] = tt_plain_to_bf16(d * a_i);
    }
    return TT_OK;
}
