int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const int32_t *a = buffers[0];
    int32_t *out = buffers[1];
    (void)host;
    int32_t f = a[0];
    int32_t g = 0;

    /* repeat while: reads 0 B, writes 0 B, 52 flop
     *     _:i32[] b:i32[] = while[body_nconsts=0 cond_nconsts=0] a 0
     */
    for (;;) {
        /* e:bool[] = gt c 1 */
        const uint8_t e = f > 1;
        if (!e) break;
        /* h:i32[] = rem f 2
         * i:bool[] = ne h 0
         * j:bool[] = lt h 0
         * k:bool[] = ne j False
         * l:bool[] = and k i
         * m:i32[] = add h 2
         * n:i32[] = select_n l h m
         * o:bool[] = eq n 0
         * p:i32[] = div f 2
         * q:i32[] = sign f
         * r:bool[] = ne q 1
         * s:bool[] = and r i
         */
        const int32_t h = tt_rem_i32(f, 2);
        const uint8_t j = h < 0;
        const uint8_t k = j != 0;
        const uint8_t i = h != 0;
        const uint8_t l = k & i;
        const int32_t m = h + 2;
        const int32_t n = l ? m : h;
        const uint8_t o = n == 0;
        const int32_t p = tt_div_i32(f, 2);
        const int32_t q = (f > 0) - (f < 0);
        const uint8_t r = q != 1;
        const uint8_t s = r & i;
        /* t:i32[] = sub p 1
         * u:i32[] = select_n s p t
         * v:i32[] = mul 3 f
         * w:i32[] = add v 1
         * x:i32[] = select_n o w u
         * y:i32[] = add g 1
         */
        const int32_t t = p - 1;
        const int32_t u = s ? t : p;
        const int32_t v = 3 * f;
        const int32_t w = v + 1;
        const int32_t x = o ? u : w;
        const int32_t y = g + 1;
        f = x;
        g = y;
    }
    const int32_t z = g;
    out[0] = z;
    return TT_OK;
}
