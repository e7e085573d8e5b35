/* Matrices of small elements are turned in registers, a square at a time: a vector of each of its rows is
   woven with that half of them away, as often as halves are left, and then they are its columns. Loops that hold
   vectors are unrolled by request: else gcc's -O2 leaves them in memory (3 times as long). */

/* tt: tt_turn_8; needs:  */
/* to[i * to_row + j] = from[j * from_row + i], for all rows j and columns i. */
static inline void tt_turn_8(void *to_place, int64_t to_row, const void *from_place, int64_t from_row, int64_t rows,
                              int64_t columns) {
    uint8_t *restrict to = to_place;
    const uint8_t *restrict from = from_place;
    int64_t done = 0, across = 0;
#if defined(__clang__) || __GNUC__ >= 12
    enum { SIDE = 16 };
    typedef uint8_t line __attribute__((vector_size(16)));
    typedef uint8_t any_line __attribute__((vector_size(16), may_alias, aligned(1)));
    done = rows / SIDE * SIDE, across = columns / SIDE * SIDE;
    for (int64_t j = 0; j < done; j += SIDE)
        for (int64_t i = 0; i < across; i += SIDE) {
            line x[SIDE], woven[SIDE];
            #pragma GCC unroll 16
            for (int k = 0; k < SIDE; k++)
                x[k] = *(const any_line *)(from + (j + k) * from_row + i);
            #pragma GCC unroll 4
            for (int halves = 1; halves < SIDE; halves *= 2) {
                #pragma GCC unroll 16
                for (int k = 0; k < SIDE / 2; k++) {
                    woven[2 * k] = __builtin_shufflevector(x[k], x[k + SIDE / 2],
                                            0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
                    woven[2 * k + 1] = __builtin_shufflevector(x[k], x[k + SIDE / 2],
                                            8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
                }
                #pragma GCC unroll 16
                for (int k = 0; k < SIDE; k++)
                    x[k] = woven[k];
            }
            #pragma GCC unroll 16
            for (int k = 0; k < SIDE; k++)
                *(any_line *)(to + (i + k) * to_row + j) = x[k];
        }
#endif
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = j < done ? across : 0; i < columns; i++)
            to[i * to_row + j] = from[j * from_row + i];
}

/* tt: tt_turn_16; needs:  */
/* to[i * to_row + j] = from[j * from_row + i], for all rows j and columns i. */
static inline void tt_turn_16(void *to_place, int64_t to_row, const void *from_place, int64_t from_row, int64_t rows,
                              int64_t columns) {
    uint16_t *restrict to = to_place;
    const uint16_t *restrict from = from_place;
    int64_t done = 0, across = 0;
#if defined(__clang__) || __GNUC__ >= 12
    enum { SIDE = 8 };
    typedef uint16_t line __attribute__((vector_size(16)));
    typedef uint16_t any_line __attribute__((vector_size(16), may_alias, aligned(1)));
    done = rows / SIDE * SIDE, across = columns / SIDE * SIDE;
    for (int64_t j = 0; j < done; j += SIDE)
        for (int64_t i = 0; i < across; i += SIDE) {
            line x[SIDE], woven[SIDE];
            #pragma GCC unroll 16
            for (int k = 0; k < SIDE; k++)
                x[k] = *(const any_line *)(from + (j + k) * from_row + i);
            #pragma GCC unroll 4
            for (int halves = 1; halves < SIDE; halves *= 2) {
                #pragma GCC unroll 16
                for (int k = 0; k < SIDE / 2; k++) {
                    woven[2 * k] = __builtin_shufflevector(x[k], x[k + SIDE / 2], 0, 8, 1, 9, 2, 10, 3, 11);
                    woven[2 * k + 1] = __builtin_shufflevector(x[k], x[k + SIDE / 2], 4, 12, 5, 13, 6, 14, 7, 15);
                }
                #pragma GCC unroll 16
                for (int k = 0; k < SIDE; k++)
                    x[k] = woven[k];
            }
            #pragma GCC unroll 16
            for (int k = 0; k < SIDE; k++)
                *(any_line *)(to + (i + k) * to_row + j) = x[k];
        }
#endif
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = j < done ? across : 0; i < columns; i++)
            to[i * to_row + j] = from[j * from_row + i];
}

/* tt: tt_turn_32; needs:  */
/* to[i * to_row + j] = from[j * from_row + i], for all rows j and columns i. */
static inline void tt_turn_32(void *to_place, int64_t to_row, const void *from_place, int64_t from_row, int64_t rows,
                              int64_t columns) {
    uint32_t *restrict to = to_place;
    const uint32_t *restrict from = from_place;
    int64_t done = 0, across = 0;
#if defined(__clang__) || __GNUC__ >= 12
    enum { SIDE = 4 };
    typedef uint32_t line __attribute__((vector_size(16)));
    typedef uint32_t any_line __attribute__((vector_size(16), may_alias, aligned(1)));
    done = rows / SIDE * SIDE, across = columns / SIDE * SIDE;
    for (int64_t j = 0; j < done; j += SIDE)
        for (int64_t i = 0; i < across; i += SIDE) {
            line x[SIDE], woven[SIDE];
            #pragma GCC unroll 16
            for (int k = 0; k < SIDE; k++)
                x[k] = *(const any_line *)(from + (j + k) * from_row + i);
            #pragma GCC unroll 4
            for (int halves = 1; halves < SIDE; halves *= 2) {
                #pragma GCC unroll 16
                for (int k = 0; k < SIDE / 2; k++) {
                    woven[2 * k] = __builtin_shufflevector(x[k], x[k + SIDE / 2], 0, 4, 1, 5);
                    woven[2 * k + 1] = __builtin_shufflevector(x[k], x[k + SIDE / 2], 2, 6, 3, 7);
                }
                #pragma GCC unroll 16
                for (int k = 0; k < SIDE; k++)
                    x[k] = woven[k];
            }
            #pragma GCC unroll 16
            for (int k = 0; k < SIDE; k++)
                *(any_line *)(to + (i + k) * to_row + j) = x[k];
        }
#endif
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = j < done ? across : 0; i < columns; i++)
            to[i * to_row + j] = from[j * from_row + i];
}
