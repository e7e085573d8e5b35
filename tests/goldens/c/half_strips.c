int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const uint16_t *a = buffers[0];
    uint16_t *e = buffers[1];
    (void)host;

    /* loop over 5000: reads 10.0 kB, writes 10.0 kB, 20.0 kflop, fusion saved 60.0 kB
     *     b:f16[5000] = mul a 2.0
     *     c:f16[5000] = add b 1.0
     *     d:f16[5000] = max c a
     *     e:f16[5000] = mul d a
     */
    for (int64_t i0_strip = 0; i0_strip < 5; i0_strip++) {
        #ifdef __AVX512FP16__
        {
            #pragma omp simd
            for (int64_t i0 = 0; i0 < 992; i0++) {
                const _Float16 a_i = ((_Float16 *)a)[992 * i0_strip + i0];
                const _Float16 b = a_i * ((_Float16)2.0f);
                const _Float16 c = b + ((_Float16)1.0f);
                const _Float16 d = tt_max_f16(c, a_i);
                ((_Float16 *)e)[992 * i0_strip + i0] = d * a_i;
            }
        }
        #else
        {
            for (int64_t i0_block = 0; i0_block < 15; i0_block++) {
                float a_strip[64];
                float b_strip[64];
                float c_strip[64];
                tt_widen_f16(a_strip, (a + (992 * i0_strip + 64 * i0_block)), 64);
                #pragma omp simd
                for (int64_t i0 = 0; i0 < 64; i0++) {
                    b_strip[i0] = a_strip[i0] * 2.0f;
                }
                #pragma omp simd
                for (int64_t i0 = 0; i0 < 64; i0++) {
                    c_strip[i0] = b_strip[i0] + 1.0f;
                }
                tt_round_strip_f16(c_strip, 64);
                #pragma omp simd
                for (int64_t i0 = 0; i0 < 64; i0++) {
                    const float a_strip_i = a_strip[i0];
                    const float d = tt_max_f32(c_strip[i0], a_strip_i);
                    b_strip[i0] = d * a_strip_i;
                }
                tt_narrow_f16((e + (992 * i0_strip + 64 * i0_block)), b_strip, 64);
            }
            float a_strip_1[32];
            float b_strip_1[32];
            float c_strip_1[32];
            tt_widen_f16(a_strip_1, (a + (992 * i0_strip + 960)), 32);
            #pragma omp simd
            for (int64_t i0 = 0; i0 < 32; i0++) {
                b_strip_1[i0] = a_strip_1[i0] * 2.0f;
            }
            #pragma omp simd
            for (int64_t i0 = 0; i0 < 32; i0++) {
                c_strip_1[i0] = b_strip_1[i0] + 1.0f;
            }
            tt_round_strip_f16(c_strip_1, 32);
            #pragma omp simd
            for (int64_t i0 = 0; i0 < 32; i0++) {
                const float a_strip_1_i = a_strip_1[i0];
                const float d = tt_max_f32(c_strip_1[i0], a_strip_1_i);
                b_strip_1[i0] = d * a_strip_1_i;
            }
            tt_narrow_f16((e + (992 * i0_strip + 960)), b_strip_1, 32);
        }
        #endif
    }
    #pragma omp simd
    for (int64_t i0 = 4960; i0 < 5000; i0++) {
        const float a_i = tt_f16_to_f32(a[i0]);
        const float b = tt_round_f16(a_i * 2.0f);
        const float c = tt_round_f16(b + 1.0f);
        const float d = tt_max_f32(c, a_i);
        e[i0] = tt_f32_to_f16(d * a_i);
    }
    return TT_OK;
}
