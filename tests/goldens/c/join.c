int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const float *b = buffers[1];
    float *q = buffers[2];
    (void)host;

    /* scalars: reads 0 B, writes 0 B, 0 flop, fusion saved 64 B
     *     e:f32[] = squeeze[dimensions=(0, 1)] (slice (broadcast_in_dim 0.0))
     *     h:f32[] = squeeze[dimensions=(0, 1)] (slice (broadcast_in_dim 0.0))
     *     k:f32[] = squeeze[dimensions=(0, 1)] (slice (broadcast_in_dim 0.0))
     *     n:f32[] = squeeze[dimensions=(0, 1)] (slice (broadcast_in_dim 0.0))
     */
    const float e = 0.0f;
    const float h = 0.0f;
    const float k = 0.0f;
    const float n = 0.0f;

    /* loop over 3 and 50 and 3 and 20: reads 26.8 kB, writes 30.4 kB, 0 flop, fusion saved 186. kB
     *     q:f32[76,100] = concatenate[dimension=0] (pad (pad (pad (pad a e) h) k) n) (transpose b)
     */
    for (int64_t i0 = 0; i0 < 3; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 3; i1++) {
            q[100 * i0 + i1] = k;
        }
        #pragma omp simd
        for (int64_t i1 = 3; i1 < 97; i1++) {
            q[100 * i0 + i1] = e;
        }
        #pragma omp simd
        for (int64_t i1 = 97; i1 < 100; i1++) {
            q[100 * i0 + i1] = n;
        }
    }
    for (int64_t i0 = 3; i0 < 53; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 3; i1++) {
            q[100 * i0 + i1] = k;
        }
        #pragma omp simd
        for (int64_t i1 = 3; i1 < 97; i1++) {
            q[100 * i0 + i1] = a[94 * i0 + i1 - 285];
        }
        #pragma omp simd
        for (int64_t i1 = 97; i1 < 100; i1++) {
            q[100 * i0 + i1] = n;
        }
    }
    for (int64_t i0 = 53; i0 < 56; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 3; i1++) {
            q[100 * i0 + i1] = k;
        }
        #pragma omp simd
        for (int64_t i1 = 3; i1 < 97; i1++) {
            q[100 * i0 + i1] = h;
        }
        #pragma omp simd
        for (int64_t i1 = 97; i1 < 100; i1++) {
            q[100 * i0 + i1] = n;
        }
    }
    for (int64_t i0 = 56; i0 < 76; i0++) {
        #pragma omp simd
        for (int64_t i1 = 0; i1 < 100; i1++) {
            q[i1 + 100 * i0] = b[20 * i1 + i0 - 56];
        }
    }
    return TT_OK;
}
