/* The bits of XLA's operation RngBitGenerator: blocks of counters, hashed by Philox-4x32 or Threefry-2x32.

   Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). A state is four words: two of the key,
   then the counter of the first block, low word first. The state after it counts the blocks that were used. */

/* tt: tt_philox; needs:  */
/* The four words of one block, 10 rounds; the key's words are the high ones of the counter too. */
static inline void tt_philox(uint64_t key, uint64_t counter, uint64_t high, uint32_t *x) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t a = (uint32_t)counter, b = (uint32_t)(counter >> 32), c = (uint32_t)high, d = (uint32_t)(high >> 32);
    for (int i = 0; i < 10; i++) {
        const uint64_t p = 0xD2511F53ull * a, q = 0xCD9E8D57ull * c;
        a = (uint32_t)(q >> 32) ^ b ^ k0, b = (uint32_t)q;
        c = (uint32_t)(p >> 32) ^ d ^ k1, d = (uint32_t)p;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    x[0] = a, x[1] = b, x[2] = c, x[3] = d;
}

/* tt: tt_rng_state; needs:  */
/* The key and the counter of a state; the state after `blocks` blocks. */
static inline void tt_rng_state(const void *restrict state, void *restrict next, int64_t blocks, uint64_t *at) {
    __builtin_memcpy(at, state, 16);
    const uint64_t after[2] = {at[0], at[1] + (uint64_t)blocks};
    __builtin_memcpy(next, after, 16);
}

/* tt: tt_philox_bits; needs: tt_philox tt_rng_state; chooses */
/* n numbers of `bytes` 1, 2, 4 or 8: each is what fits of a word, or two words, low first. */
static inline void tt_philox_bits(const void *restrict state, void *restrict next, uint8_t *restrict out, int64_t n,
                                  int64_t bytes) {
    const int64_t each = bytes == 8 ? 2 : 4, blocks = (n + each - 1) / each, width = bytes == 8 ? 8 : 4;
    uint64_t at[2];
    tt_rng_state(state, next, blocks, at);
    for (int64_t i = 0; i < blocks; i++) {
        const uint64_t counter = at[1] + (uint64_t)i;
        uint32_t x[4];
        tt_philox(at[0], counter, at[0] + (counter < at[1]), x);
        for (int64_t k = 0; k < each && each * i + k < n; k++)
            __builtin_memcpy(out + (each * i + k) * bytes, (const uint8_t *)x + k * width, (size_t)bytes);
    }
}

/* tt: tt_threefry_bits; needs: tt_threefry tt_rng_state */
/* An array of `outer`, `size`, `inner`, of which block number (o, h, i) fills the places 2h and 2h + 1 of `size`; numbers
   of 8 bytes are a block each. */
static inline void tt_threefry_bits(const void *restrict state, void *restrict next, uint8_t *restrict out,
                                    int64_t outer, int64_t size, int64_t inner, int64_t bytes) {
    const int64_t half = bytes == 8 ? size : (size + 1) / 2, blocks = outer * half * inner;
    uint64_t at[2];
    tt_rng_state(state, next, blocks, at);
    for (int64_t i = 0; i < blocks; i++) {
        const uint64_t counter = at[1] + (uint64_t)i;
        uint32_t x[2] = {(uint32_t)counter, (uint32_t)(counter >> 32)};
        tt_threefry(at[0], &x[0], &x[1]);
        if (bytes == 8) {
            __builtin_memcpy(out + 8 * i, x, 8);
            continue;
        }
        const int64_t o = i / (half * inner), h = i / inner % half, k = i % inner;
        for (int64_t j = 0; j < 2 && 2 * h + j < size; j++)
            __builtin_memcpy(out + ((o * size + 2 * h + j) * inner + k) * bytes, &x[j], (size_t)bytes);
    }
}
