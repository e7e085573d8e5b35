int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    float *b = buffers[1];
    float *m = buffers[2];
    (void)host;
    int32_t c = 1;
    #pragma omp simd
    for (int64_t i0 = 0; i0 < 5000; i0++) {
        b[i0] = a[i0];
    }

    /* repeat 99 times: reads 20.2 kB, writes 20.2 kB, 5.74 kflop, fusion saved 79.2 kB
     *     c:i32[] b:f32[100,50] = scan[_split_transpose=False length=99 linear=(False, False) num_carry=2 num_consts=0 reverse=False unroll=1] 1 a
     */
    float *d = b;
    for (int64_t iteration = 0; iteration < 99; iteration++) {
        /* e:i32[] = add c 1
         * f:i32[] = sub c 1
         * g:bool[] = lt f 0
         * i:i32[] = add (convert_element_type f) 100
         * j:i32[] = select_n g f i
         */
        const int32_t e = c + 1;
        const int32_t f = c - 1;
        const int32_t i = f + 100;
        const uint8_t g = f < 0;
        const int32_t j = g ? i : f;
        /* m:f32[50] = sin (squeeze (dynamic_slice d j 0)) */
        const int64_t index = (int64_t)tt_min_i32(tt_max_i32(j, 0), 99);
        #pragma omp simd
        for (int64_t i0 = 0; i0 < 50; i0++) {
            m[i0] = tt_sin_f32(d[i0 + 50 * index]);
        }
        /* n:bool[] = lt c 0
         * o:i32[] = add c 100
         * q:i32[] = convert_element_type[new_dtype=int32 weak_type=False] (select_n n c o)
         */
        const int32_t o = c + 100;
        const uint8_t n = c < 0;
        const int32_t q = n ? o : c;
        /* d:f32[100,50] = scatter[indices_are_sorted=True unique_indices=True update_consts=() update_jaxpr=None] d (broadcast_in_dim q) m */
        const int64_t position = (int64_t)q;
        if (position >= 0 && position <= 99) {
            #pragma omp simd
            for (int64_t i0 = 0; i0 < 50; i0++) {
                d[i0 + 50 * position] = m[i0];
            }
        }
        c = e;
    }
    return TT_OK;
}
