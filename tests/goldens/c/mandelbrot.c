static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    /* loop over 4000: reads 2.05 MB, writes 1.02 MB, 538. Mflop, fusion saved 3.12 GB
     *     _:f32[512,500] _:f32[512,500] e:i32[512,500] = scan[_split_transpose=False length=100 linear=(False, False, False, False, False) num_carry=3 num_consts=2 reverse=False unroll=1] a b (broadcast_in_dim 0.0) (broadcast_in_dim 0.0) (broadcast_in_dim 0)
     *     k:f32[512,500] = mul h_before h_before
     *     l:f32[512,500] = mul i_before i_before
     *     m:f32[512,500] = add k l
     *     n:bool[512,500] = lt m 4.0
     *     o:f32[512,500] = sub k l
     *     p:f32[512,500] = add o a
     *     q:f32[512,500] = mul 2.0 h_before
     *     r:f32[512,500] = mul q i_before
     *     s:f32[512,500] = add r b
     *     h_row:f32[512,500] = select_n n h_before p
     *     i_row:f32[512,500] = select_n n i_before s
     *     v:i32[512,500] = convert_element_type[new_dtype=int32 weak_type=False] n
     *     j_row:i32[512,500] = add j_row v
     */
    void *const *work = ctx;
    const float *restrict a = work[0];
    const float *restrict b = work[1];
    int32_t *restrict e = work[2];
    for (int64_t block = begin; block < end; block++) {
        float h_row[64];
        float i_row[64];
        int32_t j_row[64];
        #pragma omp simd
        for (int64_t lane = 0; lane < 64; lane++) {
            h_row[lane] = 0.0f;
            i_row[lane] = 0.0f;
            j_row[lane] = 0;
        }
        for (int64_t iteration = 0; iteration < 100; iteration++) {
            #pragma omp simd
            for (int64_t lane = 0; lane < 64; lane++) {
                const float h_before = h_row[lane];
                const float i_before = i_row[lane];
                const float k = h_before * h_before;
                const float l = i_before * i_before;
                const float o = k - l;
                const float p = o + a[lane + 64 * block];
                const float m = k + l;
                const uint8_t n = m < 4.0f;
                h_row[lane] = n ? p : h_before;
                const float q = 2.0f * h_before;
                const float r = q * i_before;
                const float s = r + b[lane + 64 * block];
                i_row[lane] = n ? s : i_before;
                const int32_t v = (int32_t)n;
                j_row[lane] = j_row[lane] + v;
            }
        }
        #pragma omp simd
        for (int64_t lane = 0; lane < 64; lane++) {
            e[lane + 64 * block] = j_row[lane];
        }
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    const float *b = buffers[1];
    int32_t *e = buffers[2];

    host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)b, (void *)e}, 4000, 63);
    return TT_OK;
}
