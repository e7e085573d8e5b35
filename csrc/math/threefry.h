/* Threefry-2x32 with 20 rounds, the counter-based random bits of JAX's default generator.

   Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). A key is two 32-bit words, stored as
   one uint64_t with the first word in its low half. */

/* tt: tt_threefry_round; needs:  */
static inline void tt_threefry_round(uint32_t *x0, uint32_t *x1, int left) {
    *x0 += *x1;
    *x1 = (*x1 << left | *x1 >> (32 - left)) ^ *x0;
}

/* tt: tt_threefry_rounds; needs: tt_threefry_round */
static inline void tt_threefry_rounds(uint32_t *x0, uint32_t *x1, int first, int second, int third, int fourth) {
    tt_threefry_round(x0, x1, first), tt_threefry_round(x0, x1, second);
    tt_threefry_round(x0, x1, third), tt_threefry_round(x0, x1, fourth);
}

/* tt: tt_threefry; needs: tt_threefry_rounds */
static inline void tt_threefry(uint64_t key, uint32_t *x0, uint32_t *x1) {
    const uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32), k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    uint32_t a = *x0 + k0, b = *x1 + k1;
    tt_threefry_rounds(&a, &b, 13, 15, 26, 6);
    a += k1, b += k2 + 1;
    tt_threefry_rounds(&a, &b, 17, 29, 16, 24);
    a += k2, b += k0 + 2;
    tt_threefry_rounds(&a, &b, 13, 15, 26, 6);
    a += k0, b += k1 + 3;
    tt_threefry_rounds(&a, &b, 17, 29, 16, 24);
    a += k1, b += k2 + 4;
    tt_threefry_rounds(&a, &b, 13, 15, 26, 6);
    *x0 = a + k2, *x1 = b + k0 + 5;
}

/* tt: tt_threefry_fold; needs: tt_threefry */
/* The key that `key` and a 64-bit number make: the hash of the number's two words, high first. */
static inline uint64_t tt_threefry_fold(uint64_t key, uint64_t data) {
    uint32_t x0 = (uint32_t)(data >> 32), x1 = (uint32_t)data;
    tt_threefry(key, &x0, &x1);
    return (uint64_t)x1 << 32 | x0;
}

/* tt: tt_threefry_rounds_of_two; needs: tt_threefry_round */
/* The rounds of two hashes alternate. Those of one wait for each other, and CPUs look hardly further than one hash ahead:
   alone each takes 1.5 of the time (vectors of 256 bits, Zen 3). */
static inline void tt_threefry_rounds_of_two(uint32_t *a0, uint32_t *a1, uint32_t *b0, uint32_t *b1, int first,
                                             int second, int third, int fourth) {
    tt_threefry_round(a0, a1, first), tt_threefry_round(b0, b1, first);
    tt_threefry_round(a0, a1, second), tt_threefry_round(b0, b1, second);
    tt_threefry_round(a0, a1, third), tt_threefry_round(b0, b1, third);
    tt_threefry_round(a0, a1, fourth), tt_threefry_round(b0, b1, fourth);
}

/* tt: tt_threefry_two; needs: tt_threefry_rounds_of_two */
static inline void tt_threefry_two(uint64_t key_a, uint64_t key_b, uint32_t *a0, uint32_t *a1, uint32_t *b0,
                                   uint32_t *b1) {
    const uint32_t k0 = (uint32_t)key_a, k1 = (uint32_t)(key_a >> 32), k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    const uint32_t l0 = (uint32_t)key_b, l1 = (uint32_t)(key_b >> 32), l2 = l0 ^ l1 ^ 0x1BD11BDAu;
    uint32_t a = *a0 + k0, b = *a1 + k1, c = *b0 + l0, d = *b1 + l1;
    tt_threefry_rounds_of_two(&a, &b, &c, &d, 13, 15, 26, 6);
    a += k1, b += k2 + 1, c += l1, d += l2 + 1;
    tt_threefry_rounds_of_two(&a, &b, &c, &d, 17, 29, 16, 24);
    a += k2, b += k0 + 2, c += l2, d += l0 + 2;
    tt_threefry_rounds_of_two(&a, &b, &c, &d, 13, 15, 26, 6);
    a += k0, b += k1 + 3, c += l0, d += l1 + 3;
    tt_threefry_rounds_of_two(&a, &b, &c, &d, 17, 29, 16, 24);
    a += k1, b += k2 + 4, c += l1, d += l2 + 4;
    tt_threefry_rounds_of_two(&a, &b, &c, &d, 13, 15, 26, 6);
    *a0 = a + k2, *a1 = b + k0 + 5, *b0 = c + l2, *b1 = d + l0 + 5;
}

/* tt: tt_threefry_words; needs: tt_threefry, tt_threefry_two */
/* Of n random words those of pairs [begin, end): the counters 0, 1, ... are hashed in pairs, the first half of them with
   the second; one may be left over. */
static inline void tt_threefry_words(uint64_t key, uint32_t *restrict out, int64_t n, int64_t begin, int64_t end) {
    const int64_t half = n / 2, odd = n % 2, other = half + odd, last = end < half ? end : half;
    const int64_t side = last > begin ? (last - begin) / 2 : 0, middle = begin + side;
    #pragma omp simd
    for (int64_t i = begin; i < middle; i++) { /* no two of the four stores meet: 2 * side <= half <= other */
        uint32_t a0 = (uint32_t)i, a1 = (uint32_t)(i + other), b0 = (uint32_t)(i + side);
        uint32_t b1 = (uint32_t)(i + side + other);
        tt_threefry_two(key, key, &a0, &a1, &b0, &b1);
        out[i] = a0, out[i + other] = a1, out[i + side] = b0, out[i + side + other] = b1;
    }
    for (int64_t i = middle + side; i < last; i++) {
        uint32_t x0 = (uint32_t)i, x1 = (uint32_t)(i + other);
        tt_threefry(key, &x0, &x1);
        out[i] = x0, out[i + other] = x1;
    }
    if (odd && end > half) {
        uint32_t x0 = (uint32_t)half, x1 = 0;
        tt_threefry(key, &x0, &x1);
        out[half] = x0;
    }
}

/* tt: tt_threefry_four; needs: tt_threefry_two */
/* Four words of each key, which are two keys: stored side by side, vectors are zipped, not scattered. */
static inline void tt_threefry_four(const uint64_t *restrict key, uint32_t *restrict out, int64_t keys) {
    #pragma omp simd
    for (int64_t k = 0; k < keys; k++) {
        uint32_t a0 = 0, a1 = 2, b0 = 1, b1 = 3;
        tt_threefry_two(key[k], key[k], &a0, &a1, &b0, &b1);
        out[4 * k] = a0, out[4 * k + 1] = b0, out[4 * k + 2] = a1, out[4 * k + 3] = b1;
    }
}

/* tt: tt_threefry_six; needs: tt_threefry, tt_threefry_two */
/* Six words of each key, which are three keys: stored as numbers of 64 bits, three of which compilers can zip. */
static inline void tt_threefry_six(const uint64_t *restrict key, uint64_t *restrict out, int64_t keys) {
    #pragma omp simd
    for (int64_t k = 0; k < keys; k++) {
        uint32_t a0 = 0, a1 = 3, b0 = 1, b1 = 4, c0 = 2, c1 = 5;
        tt_threefry_two(key[k], key[k], &a0, &a1, &b0, &b1), tt_threefry(key[k], &c0, &c1);
        out[3 * k] = (uint64_t)b0 << 32 | a0;
        out[3 * k + 1] = (uint64_t)a1 << 32 | c0;
        out[3 * k + 2] = (uint64_t)c1 << 32 | b1;
    }
}

/* tt: tt_threefry_column; needs: tt_threefry, tt_threefry_two */
/* For each key its hash of the counters c0 and c1, of which word c0 is kept, and word c1 where there is one. */
static inline void tt_threefry_column(const uint64_t *restrict key, uint32_t *restrict out, int64_t keys, int64_t n,
                                      int64_t c0, int64_t c1, int both) {
    const int64_t side = keys / 2;
    #pragma omp simd
    for (int64_t k = 0; k < side; k++) {
        uint32_t a0 = (uint32_t)c0, a1 = (uint32_t)c1, b0 = a0, b1 = a1;
        tt_threefry_two(key[k], key[k + side], &a0, &a1, &b0, &b1);
        out[k * n + c0] = a0, out[(k + side) * n + c0] = b0;
        if (both) out[k * n + c1] = a1, out[(k + side) * n + c1] = b1;
    }
    if (keys % 2) {
        uint32_t x0 = (uint32_t)c0, x1 = (uint32_t)c1;
        tt_threefry(key[keys - 1], &x0, &x1);
        out[(keys - 1) * n + c0] = x0;
        if (both) out[(keys - 1) * n + c1] = x1;
    }
}

/* tt: tt_random_words; needs: tt_threefry, tt_threefry_words, tt_threefry_four, tt_threefry_six, tt_threefry_column */
/* For each of `keys` keys, n words; of many keys vectors hash the same counters with one key each. Hashing is arithmetic:
   it takes all the bits of a vector that the CPU has, which gcc does not on every one (vector_width.py). */
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((noinline, target("prefer-vector-width=512")))
#endif
static void tt_random_words(const uint64_t *restrict key, uint32_t *restrict out, int64_t keys, int64_t n) {
    if (keys < n) {
        for (int64_t k = 0; k < keys; k++) tt_threefry_words(key[k], out + k * n, n, 0, n);
        return;
    }
    if (n == 4) {
        tt_threefry_four(key, out, keys);
        return;
    }
    if (n == 6 && (uintptr_t)out % 8 == 0) {
        tt_threefry_six(key, (uint64_t *)out, keys);
        return;
    }
    if (n == 1) {
        tt_threefry_column(key, out, keys, 1, 0, 0, 0);
        return;
    }
    const int64_t half = n / 2, odd = n % 2;
    for (int64_t i = 0; i < half; i++) tt_threefry_column(key, out, keys, n, i, i + half + odd, 1);
    if (!odd) return;
    #pragma omp simd
    for (int64_t k = 0; k < keys; k++) {
        uint32_t x0 = (uint32_t)half, x1 = 0;
        tt_threefry(key[k], &x0, &x1);
        out[k * n + half] = x0;
    }
}

/* tt: tt_random_piece; needs: tt_threefry_words */
/* Of n words of one key those of `pairs` pairs, the first of which has its first word at `piece`. */
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((noinline, target("prefer-vector-width=512")))
#endif
static void tt_random_piece(const uint64_t *restrict key, uint32_t *restrict out, const uint32_t *piece, int64_t n,
                            int64_t pairs) {
    tt_threefry_words(*key, out, n, piece - out, piece - out + pairs);
}

/* tt: tt_random_narrow; needs: tt_threefry */
/* For each key, n numbers of `bytes` 1 or 2: the bytes of words, low first. */
static inline void tt_random_narrow(const uint64_t *restrict key, uint8_t *restrict out, int64_t keys, int64_t n,
                                    int64_t bytes) {
    const int64_t size = n * bytes, words = (size + 3) / 4, half = words / 2, odd = words % 2;
    for (int64_t k = 0; k < keys; k++)
        for (int64_t i = 0; i < half + odd; i++) {
            uint32_t x[2] = {(uint32_t)i, i < half ? (uint32_t)(i + half + odd) : 0};
            tt_threefry(key[k], &x[0], &x[1]);
            for (int64_t j = 0; j < 8; j++) {
                const int64_t at = (j < 4 ? 4 * i : 4 * (i + half + odd)) + j % 4;
                if ((j < 4 || i < half) && at < size) out[k * size + at] = (uint8_t)(x[j / 4] >> 8 * (j % 4));
            }
        }
}

/* tt: tt_threefry_wide; needs: tt_threefry */
/* Of n 64-bit numbers those of [begin, end): of 2n words, word i is the high half of number i, word n + i the low half. */
static inline void tt_threefry_wide(uint64_t key, uint64_t *restrict out, int64_t n, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        uint32_t x0 = (uint32_t)i, x1 = (uint32_t)(i + n);
        tt_threefry(key, &x0, &x1);
        out[i] = (uint64_t)x0 << 32 | x1;
    }
}

/* tt: tt_random_wide; needs: tt_threefry_wide */
/* For each key, n 64-bit numbers. */
static inline void tt_random_wide(const uint64_t *restrict key, uint64_t *restrict out, int64_t keys, int64_t n) {
    for (int64_t k = 0; k < keys; k++) tt_threefry_wide(key[k], out + k * n, n, 0, n);
}

/* tt: tt_random_wide_piece; needs: tt_threefry_wide */
/* Of n 64-bit numbers of one key up to `count` from `piece` on. */
static inline void tt_random_wide_piece(const uint64_t *restrict key, uint64_t *restrict out, const uint64_t *piece,
                                        int64_t n, int64_t count) {
    const int64_t begin = piece - out;
    tt_threefry_wide(*key, out, n, begin, n - begin < count ? n : begin + count);
}
