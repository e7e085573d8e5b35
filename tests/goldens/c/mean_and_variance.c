static void tt_kernel_0(void *ctx, int64_t begin, int64_t end) {
    void *const *work = ctx;
    const float *restrict a = work[0];
    float *restrict h_centre_parts = work[1];
    float *restrict b_parts = work[2];
    float *restrict h_moment_parts = work[3];
    float *restrict h_moment_1_parts = work[4];
    for (int64_t i0_piece = begin; i0_piece < end; i0_piece++) {
        if (i0_piece < 8191) {
            for (int64_t a_line = 0; a_line < 128; a_line++) {
                __builtin_prefetch((a + (2048 * i0_piece + 16 * a_line + 2048)));
            }
        }
        float b_near = 0.0f;
        #pragma omp simd reduction(+: b_near)
        for (int64_t i0_sample = 0; i0_sample < 128; i0_sample++) {
            b_near += a[2048 * i0_piece + i0_sample];
        }
        const float c_i = (b_near * 131072.0f) / 16777216.0f;
        const float h_centre = (c_i - c_i) == 0 ? c_i : 0;
        h_centre_parts[i0_piece] = h_centre;
        float b = 0.0f;
        float h_moment = 0.0f;
        float h_moment_1 = 0.0f;
        #pragma omp simd reduction(+: b, h_moment, h_moment_1)
        for (int64_t i0 = 0; i0 < 2048; i0++) {
            const float a_i = a[i0 + 2048 * i0_piece];
            b += a_i;
            const float value = a_i - h_centre;
            h_moment = tt_fma_f32(value, value, h_moment);
            h_moment_1 += value;
        }
        b_parts[i0_piece] = b;
        h_moment_parts[i0_piece] = h_moment;
        h_moment_1_parts[i0_piece] = h_moment_1;
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const float *a = buffers[0];
    float *out = buffers[1];
    float *out_1 = buffers[2];
    float *h_centre_parts = buffers[3];
    float *b_parts = (void *)((char *)buffers[3] + 32768);
    float *h_moment_parts = (void *)((char *)buffers[3] + 65536);
    float *h_moment_1_parts = (void *)((char *)buffers[3] + 98304);

    /* loop over 8192 and 4 and 4: reads 67.2 MB, writes 131. kB, 102. Mflop, fusion saved 268. MB
     *     b:f32[] = reduce_sum[axes=(0, 1)] a
     *     h:f32[] = reduce_sum[axes=(0, 1)] (integer_pow (sub a (div (broadcast_in_dim b) 16777216.0)))
     */
    host->parallel_for(tt_kernel_0, (void *[]){(void *)a, (void *)h_centre_parts, (void *)b_parts, (void *)h_moment_parts, (void *)h_moment_1_parts}, 8192, 128);
    float b = 0.0f;
    for (int64_t i0_piece_block = 0; i0_piece_block < 4; i0_piece_block++) {
        float b_part = 0.0f;
        #pragma omp simd reduction(+: b_part)
        for (int64_t i0_piece = 0; i0_piece < 2048; i0_piece++) {
            b_part += b_parts[2048 * i0_piece_block + i0_piece];
        }
        b += b_part;
    }
    float h = 0.0f;
    const float c_i = b / 16777216.0f;
    for (int64_t i0_piece_block = 0; i0_piece_block < 4; i0_piece_block++) {
        float h_part = 0.0f;
        #pragma omp simd reduction(+: h_part)
        for (int64_t i0_piece = 0; i0_piece < 2048; i0_piece++) {
            const float h_moment_parts_i = h_moment_parts[2048 * i0_piece_block + i0_piece];
            const float value = c_i - h_centre_parts[2048 * i0_piece_block + i0_piece];
            const float h_moment_1_parts_i = h_moment_1_parts[2048 * i0_piece_block + i0_piece];
            h_part += (h_moment_parts_i - h_moment_parts_i) == 0 ? (h_moment_parts_i + (value * (((-2.0f) * h_moment_1_parts_i) + (value * 2048.0f)))) : (h_moment_parts_i + (0 * h_moment_1_parts_i));
        }
        h += h_part;
    }

    /* scalars: reads 0 B, writes 8 B, 2 flop
     *     c:f32[] = div b 16777216.0
     *     i:f32[] = div h 16777216.0
     */
    const float c = c_i;
    out[0] = c;
    const float i = h / 16777216.0f;
    out_1[0] = i;
    return TT_OK;
}
