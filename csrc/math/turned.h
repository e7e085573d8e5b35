/* Matrices of small elements are turned in registers, a square at a time: a vector of each of its rows is
   woven with that half of them away, as often as halves are left, and then they are its columns. Vectors of more than
   16 bytes take longer for elements of one and two: lanes of 16 bytes have to be exchanged. */

/* tt: tt_turn; needs:  */
/* tt_turn_BITS sets to[i * to_row + j] = from[j * from_row + i], for all rows j and columns i. SIDE elements are a vector,
   and FIRST and SECOND the lanes of two of them that are woven. Loops that hold vectors are unrolled by request: else
   gcc's -O2 leaves them in memory (3 times as long). */
#define TT_LANES(...) __VA_ARGS__
#if defined(__clang__) || __GNUC__ >= 12
#define TT_TURN_SQUARES(T, SIDE, FIRST, SECOND) \
    typedef T line __attribute__((vector_size(SIDE * sizeof(T)))); \
    typedef T any_line __attribute__((vector_size(SIDE * sizeof(T)), may_alias, aligned(1))); \
    done = rows / SIDE * SIDE, across = columns / SIDE * SIDE; \
    for (int64_t j = 0; j < done; j += SIDE) \
        for (int64_t i = 0; i < across; i += SIDE) { \
            line x[SIDE], woven[SIDE]; \
            _Pragma("GCC unroll 16") for (int k = 0; k < SIDE; k++) \
                x[k] = *(const any_line *)(from + (j + k) * from_row + i); \
            _Pragma("GCC unroll 4") for (int halves = 1; halves < SIDE; halves *= 2) { \
                _Pragma("GCC unroll 16") for (int k = 0; k < SIDE / 2; k++) { \
                    woven[2 * k] = __builtin_shufflevector(x[k], x[k + SIDE / 2], TT_LANES FIRST); \
                    woven[2 * k + 1] = __builtin_shufflevector(x[k], x[k + SIDE / 2], TT_LANES SECOND); \
                } \
                _Pragma("GCC unroll 16") for (int k = 0; k < SIDE; k++) \
                    x[k] = woven[k]; \
            } \
            _Pragma("GCC unroll 16") for (int k = 0; k < SIDE; k++) \
                *(any_line *)(to + (i + k) * to_row + j) = x[k]; \
        }
#else
#define TT_TURN_SQUARES(T, SIDE, FIRST, SECOND)
#endif
#define TT_TURN(BITS, SIDE, FIRST, SECOND) \
    static inline void tt_turn_##BITS(void *to_place, int64_t to_row, const void *from_place, int64_t from_row, \
                                      int64_t rows, int64_t columns) { \
        uint##BITS##_t *restrict to = to_place; \
        const uint##BITS##_t *restrict from = from_place; \
        int64_t done = 0, across = 0; \
        TT_TURN_SQUARES(uint##BITS##_t, SIDE, FIRST, SECOND) \
        for (int64_t j = 0; j < rows; j++) \
            for (int64_t i = j < done ? across : 0; i < columns; i++) \
                to[i * to_row + j] = from[j * from_row + i]; \
    }

/* tt: tt_turn_8; needs: tt_turn */
TT_TURN(8, 16, (0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
        (8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))

/* tt: tt_turn_16; needs: tt_turn */
TT_TURN(16, 8, (0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))

/* tt: tt_turn_32; needs: tt_turn */
#ifdef __AVX2__
TT_TURN(32, 8, (0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))
#else
TT_TURN(32, 4, (0, 4, 1, 5), (2, 6, 3, 7))
#endif

/* tt: tt_turn_64; needs: tt_turn */
#ifdef __AVX2__
TT_TURN(64, 4, (0, 4, 1, 5), (2, 6, 3, 7))
#else
TT_TURN(64, 2, (0, 2), (1, 3))
#endif

/* tt: tt_turn_128; needs:  */
/* The same of elements that are vectors themselves: a cache line of four is filled at once. */
static inline void tt_turn_128(void *to_place, int64_t to_row, const void *from_place, int64_t from_row, int64_t rows,
                               int64_t columns) {
    enum { SIDE = 4 };
    typedef struct { uint64_t parts[2]; } pair;
    pair *restrict to = to_place;
    const pair *restrict from = from_place;
    int64_t done = rows / SIDE * SIDE;
    for (int64_t j = 0; j < done; j += SIDE)
        for (int64_t i = 0; i < columns; i++)
            for (int64_t k = 0; k < SIDE; k++)
                to[i * to_row + j + k] = from[(j + k) * from_row + i];
    for (int64_t j = done; j < rows; j++)
        for (int64_t i = 0; i < columns; i++)
            to[i * to_row + j] = from[j * from_row + i];
}

/* tt: tt_pick; needs:  */
/* tt_pick_BITS sets to[i] = from[i * stride] for n elements, stride from 5 to 7: vectors of what lies side by side, of which
   one instruction picks the lanes that are asked for. A vector is BYTES of UNIT, the lanes that it exchanges. */
#if defined(__GNUC__) && !defined(__clang__)
#define TT_PICK_LANES(UNIT, BYTES, STRIDE) \
    enum { LANES = BYTES / sizeof(UNIT) }; \
    typedef UNIT lanes __attribute__((vector_size(BYTES))); \
    typedef UNIT any_lanes __attribute__((vector_size(BYTES), may_alias, aligned(1))); \
    lanes first; \
    _Pragma("GCC unroll 32") for (int64_t j = 0; j < LANES; j++) \
        first[j] = (UNIT)(j * STRIDE); \
    for (; (done + LANES) * STRIDE <= (n - 1) * STRIDE + 1; done += LANES) { \
        lanes picked = {0}; \
        _Pragma("GCC unroll 8") for (int64_t k = 0; k < STRIDE; k++) { \
            lanes place = first - (UNIT)(k * LANES), all = *(const any_lanes *)(from + done * STRIDE + k * LANES); \
            picked |= __builtin_shuffle(all, place) & (lanes)(place < LANES); \
        } \
        *(any_lanes *)(to + done) = picked; \
    }
#else
#define TT_PICK_LANES(UNIT, BYTES, STRIDE)
#endif

/* tt: tt_pick_8; needs: tt_pick */
static inline void tt_pick_8(void *to_place, const void *from_place, int64_t stride, int64_t n) {
    uint8_t *restrict to = to_place;
    const uint8_t *restrict from = from_place;
    int64_t done = 0;
#ifdef __AVX512VBMI__
    TT_PICK_LANES(uint8_t, 32, stride)
#elif defined(__SSSE3__) || defined(__aarch64__)
    TT_PICK_LANES(uint8_t, 16, stride)
#endif
    for (; done < n; done++)
        to[done] = from[done * stride];
}

/* tt: tt_pick_16; needs: tt_pick */
static inline void tt_pick_16(void *to_place, const void *from_place, int64_t stride, int64_t n) {
    uint16_t *restrict to = to_place;
    const uint16_t *restrict from = from_place;
    int64_t done = 0;
#ifdef __AVX512BW__
    TT_PICK_LANES(uint16_t, 32, stride)
#elif defined(__SSSE3__) || defined(__aarch64__)
    TT_PICK_LANES(uint16_t, 16, stride)
#endif
    for (; done < n; done++)
        to[done] = from[done * stride];
}

/* tt: tt_turn_rows_32; needs: tt_turn_32 */
/* The same as tt_turn_32, for rows of 4 to 31 elements: four of each of eight rows are turned at once, and the last four
   of a row lie over others where it has no multiple of four. The halves of a vector come from memory, which no exchange
   of lanes has to wait for. */
static inline void tt_turn_rows_32(void *to_place, int64_t to_row, const void *from_place, int64_t from_row,
                                   int64_t rows, int64_t columns) {
    int64_t done = 0;
#if defined(__AVX__) && (defined(__clang__) || __GNUC__ >= 12)
    typedef float half __attribute__((vector_size(16)));
    typedef float any_half __attribute__((vector_size(16), may_alias, aligned(4)));
    typedef float line __attribute__((vector_size(32)));
    typedef float any_line __attribute__((vector_size(32), may_alias, aligned(4)));
    float *restrict to = to_place;
    const float *restrict from = from_place;
    for (; done + 8 <= rows; done += 8)
        for (int64_t i = 0; i < columns; i += 4) {
            int64_t column = i + 4 <= columns ? i : columns - 4;
            const float *at = from + done * from_row + column;
            float *there = to + column * to_row + done;
            line x[4];
            _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++)
                x[k] = __builtin_ia32_vinsertf128_ps256(
                    __builtin_shufflevector(*(const any_half *)(at + k * from_row), (half){0}, 0, 1, 2, 3, -1, -1, -1, -1),
                    *(const any_half *)(at + (k + 4) * from_row), 1);
            line a = __builtin_shufflevector(x[0], x[1], 0, 8, 1, 9, 4, 12, 5, 13);
            line b = __builtin_shufflevector(x[0], x[1], 2, 10, 3, 11, 6, 14, 7, 15);
            line c = __builtin_shufflevector(x[2], x[3], 0, 8, 1, 9, 4, 12, 5, 13);
            line d = __builtin_shufflevector(x[2], x[3], 2, 10, 3, 11, 6, 14, 7, 15);
            *(any_line *)there = __builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13);
            *(any_line *)(there + to_row) = __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15);
            *(any_line *)(there + 2 * to_row) = __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13);
            *(any_line *)(there + 3 * to_row) = __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15);
        }
#endif
    tt_turn_32((uint32_t *)to_place + done, to_row, (const uint32_t *)from_place + done * from_row, from_row, rows - done,
               columns);
}
