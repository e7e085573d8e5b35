int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const float *b = buffers[1];
    const float *c = buffers[2];
    float *e = buffers[3];
    float *f = buffers[4];
    float *d = buffers[5];
    float *j = (void *)((char *)buffers[5] + 16384);
    (void)host;

    /* loop over 64: reads 16.4 kB, writes 16.4 kB, 0 flop
     *     d:f32[64,64] = transpose[permutation=(1, 0)] a
     */
    for (int64_t i0 = 0; i0 < 64; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 64; i1++) {
            d[64 * i0 + i1] = a[i0 + 64 * i1];
        }
    }
    #pragma omp simd
    for (int64_t i0 = 0; i0 < 64; i0++) {
        e[i0] = c[i0];
    }

    /* repeat 1000 times: reads 273. kB, writes 257. kB, 8.45 Mflop, fusion saved 1.02 MB
     *     e:f32[64] f:f32[1000,64] = scan[_split_transpose=False length=1000 linear=(False, False, False) num_carry=1 num_consts=1 reverse=False unroll=1] d c b
     */
    float *h = e;
    for (int64_t iteration = 0; iteration < 1000; iteration++) {
        const float *b_slice = b + 64 * iteration;
        float *f_slice = f + 64 * iteration;
        /* j:f32[64] = dot_general[preferred_element_type=float32] d h */
        float j_i_row[64];
        #pragma omp simd
        for (int64_t lane = 0; lane < 64; lane++) {
            j_i_row[lane] = 0.0f;
        }
        for (int64_t i1 = 0; i1 < 64; i1++) {
            const float h_i = h[i1];
            #pragma omp simd
            for (int64_t lane = 0; lane < 64; lane++) {
                j_i_row[lane] = tt_fma_f32(d[64 * i1 + lane], h_i, j_i_row[lane]);
            }
        }
        #pragma omp simd
        for (int64_t lane = 0; lane < 64; lane++) {
            j[lane] = j_i_row[lane];
        }
        /* k:f32[64] = add j b_slice
         * l:f32[64] = tanh k
         */
        #pragma omp simd
        for (int64_t i0 = 0; i0 < 64; i0++) {
            const float k = j[i0] + b_slice[i0];
            const float l = tt_tanh_f32(k);
            h[i0] = l;
            f_slice[i0] = l;
        }
    }
    return TT_OK;
}
