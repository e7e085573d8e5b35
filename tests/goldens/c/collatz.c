int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const int32_t *a = buffers[0];
    int32_t *out = buffers[1];
    (void)host;
    int32_t f = a[0];
    int32_t g = 0;

    /* repeat while: reads 0 B, writes 0 B, 8 flop
     *     f:i32[] g:i32[] = while[body_nconsts=0 cond_nconsts=0] a 0
     */
    for (;;) {
        /* e:bool[] = gt f 1 */
        const uint8_t e = f > 1;
        if (!e) break;
        /* h:i32[] = and f 1
         * i:bool[] = eq h 0
         * j:i32[] = shift_right_arithmetic f 1
         * k:i32[] = mul 3 f
         * l:i32[] = add k 1
         * m:i32[] = select_n i l j
         * n:i32[] = add g 1
         */
        const int32_t j = tt_sar_i32(f, 1, 32);
        const int32_t h = f & 1;
        const uint8_t i = h == 0;
        const int32_t k = 3 * f;
        const int32_t l = k + 1;
        const int32_t m = i ? j : l;
        const int32_t n = g + 1;
        f = m;
        g = n;
    }
    const int32_t o = g;
    out[0] = o;
    return TT_OK;
}
