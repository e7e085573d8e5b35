int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const float *b = buffers[1];
    float *r = buffers[2];
    (void)host;

    /* scalars: reads 0 B, writes 0 B, 4 flop, fusion saved 96 B
     *     c:i32[2,2] = broadcast_in_dim[broadcast_dimensions=() shape=(2, 2)] 0
     *     d:f32[2,2] = convert_element_type[new_dtype=float32 weak_type=False] c
     *     e:f32[1,1] = slice[limit_indices=(1, 1) start_indices=(0, 0) strides=None] d
     *     f:f32[] = squeeze[dimensions=(0, 1)] e
     *     h:f32[1,1] = slice[limit_indices=(1, 2) start_indices=(0, 1) strides=None] d
     *     i:f32[] = squeeze[dimensions=(0, 1)] h
     *     k:f32[1,1] = slice[limit_indices=(2, 1) start_indices=(1, 0) strides=None] d
     *     l:f32[] = squeeze[dimensions=(0, 1)] k
     *     n:f32[1,1] = slice[limit_indices=(2, 2) start_indices=(1, 1) strides=None] d
     *     o:f32[] = squeeze[dimensions=(0, 1)] n
     */
    const float f = (float)0;
    const float i = f;
    const float l = i;
    const float o = l;

    /* loop over 3 and 50 and 3 and 20: reads 26.8 kB, writes 30.4 kB, 0 flop, fusion saved 186. kB
     *     g:f32[53,94] = pad[padding_config=((3, 0, 0), (0, 0, 0))] a f
     *     j:f32[56,94] = pad[padding_config=((0, 3, 0), (0, 0, 0))] g i
     *     m:f32[56,97] = pad[padding_config=((0, 0, 0), (3, 0, 0))] j l
     *     p:f32[56,100] = pad[padding_config=((0, 0, 0), (0, 3, 0))] m o
     *     q:f32[20,100] = transpose[permutation=(1, 0)] b
     *     r:f32[76,100] = concatenate[dimension=0] p q
     */
    for (int64_t i0 = 0; i0 < 3; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 3; i1++) {
            r[100 * i0 + i1] = l;
        }
        #pragma omp simd
        for (int64_t i1 = 3; i1 < 97; i1++) {
            r[100 * i0 + i1] = f;
        }
        #pragma omp simd
        for (int64_t i1 = 97; i1 < 100; i1++) {
            r[100 * i0 + i1] = o;
        }
    }
    for (int64_t i0 = 3; i0 < 53; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 3; i1++) {
            r[100 * i0 + i1] = l;
        }
        #pragma omp simd
        for (int64_t i1 = 3; i1 < 97; i1++) {
            r[100 * i0 + i1] = a[94 * i0 + i1 - 285];
        }
        #pragma omp simd
        for (int64_t i1 = 97; i1 < 100; i1++) {
            r[100 * i0 + i1] = o;
        }
    }
    for (int64_t i0 = 53; i0 < 56; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 3; i1++) {
            r[100 * i0 + i1] = l;
        }
        #pragma omp simd
        for (int64_t i1 = 3; i1 < 97; i1++) {
            r[100 * i0 + i1] = i;
        }
        #pragma omp simd
        for (int64_t i1 = 97; i1 < 100; i1++) {
            r[100 * i0 + i1] = o;
        }
    }
    for (int64_t i0 = 56; i0 < 76; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 100; i1++) {
            r[i1 + 100 * i0] = b[20 * i1 + i0 - 56];
        }
    }
    return TT_OK;
}
