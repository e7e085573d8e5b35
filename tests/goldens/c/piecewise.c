int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    float *e = buffers[1];
    (void)host;

    /* loop over 100: reads 400 B, writes 0 B, 100 flop
     *     b:f32[] = reduce_sum[axes=(0,)] a
     */
    float b = 0.0f;
    #pragma omp simd reduction(+: b)
    for (int64_t i0 = 0; i0 < 100; i0++) {
        b += a[i0];
    }

    /* scalars: reads 0 B, writes 0 B, 2 flop
     *     c:bool[] = gt b 0.0
     *     d:i32[] = convert_element_type[new_dtype=int32 weak_type=False] c
     */
    const uint8_t c = b > 0.0f;
    const int32_t d = (int32_t)c;

    /* one of 2: reads 400 B, writes 400 B, 100 flop, fusion saved 1.60 kB
     *     e:f32[100] = cond d a
     */
    if (d >= 1) {
        /* e:f32[100] = mul a 2.0 */
        #pragma omp simd
        for (int64_t i0 = 0; i0 < 100; i0++) {
            e[i0] = a[i0] * 2.0f;
        }
    }
    else {
        /* g_i:f32[100] = cumsum[axis=0 reverse=False] a */
        float g_i = 0.0f;
        #pragma omp simd reduction(inscan, +: g_i)
        for (int64_t i0 = 0; i0 < 100; i0++) {
            g_i += a[i0];
            #pragma omp scan inclusive(g_i)
            e[i0] = g_i;
        }
    }
    return TT_OK;
}
