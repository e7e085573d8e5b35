/* Small steps on matrices of any element type: LAPACK has its matrices column by column, we have ours row by row. */
#ifndef TT_MATRICES_H
#define TT_MATRICES_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "pool.h"
#include "sizes.h"

enum { SIDE = 16, ELEMENTS_PER_PIECE = 1 << 16, BYTES_PER_PIECE = 1 << 18 };

static inline int32_t is_double(int32_t type) { return type == TT_F64 || type == TT_C128; }
static inline int32_t is_complex(int32_t type) { return type >= TT_C64; }
static inline int64_t size_of_real(int32_t type) { return is_double(type) ? 8 : 4; }
static inline int64_t size_of(int32_t type) { return size_of_real(type) << is_complex(type); }

/* A step: elements from one row to the next. */
struct transposition {
    const char *in;
    char *out;
    int64_t in_step, out_step, rows, columns, size;
};

typedef uint32_t __attribute__((may_alias)) one_word;
typedef uint64_t __attribute__((may_alias)) two_words;
typedef struct { uint64_t first, second; } __attribute__((may_alias)) four_words;
typedef uint32_t __attribute__((vector_size(16), may_alias, aligned(4))) words;
typedef uint64_t __attribute__((vector_size(16), may_alias, aligned(8))) pairs;

static inline void transpose_4x4(const one_word *in, int64_t in_step, one_word *out, int64_t out_step) {
    words a = *(const words *)in, b = *(const words *)(in + in_step), c = *(const words *)(in + 2 * in_step),
          d = *(const words *)(in + 3 * in_step);
    words ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    *(words *)out = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(words *)(out + out_step) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    ab = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(words *)(out + 2 * out_step) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(words *)(out + 3 * out_step) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

static inline void transpose_2x2(const two_words *in, int64_t in_step, two_words *out, int64_t out_step) {
    pairs a = *(const pairs *)in, b = *(const pairs *)(in + in_step);
    *(pairs *)out = __builtin_shufflevector(a, b, 0, 2);
    *(pairs *)(out + out_step) = __builtin_shufflevector(a, b, 1, 3);
}

static inline void transpose_1x1(const four_words *in, int64_t in_step, four_words *out, int64_t out_step) {
    (void)in_step, (void)out_step;
    *out = *in;
}

/* A square of SIDE x SIDE elements, in tiles, or what there is of it: it stays in the first-level cache. */
#define TRANSPOSE_SQUARE(element, tile, side)                                                                     \
    do {                                                                                                          \
        const element *in = (const element *)t->in + row * in_step + column;                                      \
        element *out = (element *)t->out + column * out_step + row;                                               \
        if (rows == SIDE && columns == SIDE) {                                                                    \
            for (int64_t j = 0; j < SIDE; j += side)                                                              \
                for (int64_t i = 0; i < SIDE; i += side)                                                          \
                    tile(in + i * in_step + j, in_step, out + j * out_step + i, out_step);                        \
        } else {                                                                                                  \
            for (int64_t j = 0; j < columns; j++)                                                                 \
                for (int64_t i = 0; i < rows; i++) out[j * out_step + i] = in[i * in_step + j];                   \
        }                                                                                                         \
    } while (0)

static void transpose_columns(void *ctx, int64_t begin, int64_t end) {
    const struct transposition *t = ctx;
    const int64_t in_step = t->in_step, out_step = t->out_step;
    for (int64_t column = begin * SIDE; column < least(end * SIDE, t->columns); column += SIDE)
        for (int64_t row = 0; row < t->rows; row += SIDE) {
            const int64_t rows = least(t->rows - row, SIDE), columns = least(t->columns - column, SIDE);
            if (t->size == 4) TRANSPOSE_SQUARE(one_word, transpose_4x4, 4);
            else if (t->size == 8) TRANSPOSE_SQUARE(two_words, transpose_2x2, 2);
            else TRANSPOSE_SQUARE(four_words, transpose_1x1, 1);
        }
}

/* out[j, i] = in[i, j] */
static inline void transpose_to(int32_t type, const void *in, int64_t in_step, void *out, int64_t out_step, int64_t rows,
                                int64_t columns) {
    struct transposition t = {in, out, in_step, out_step, rows, columns, size_of(type)};
    if (!rows || !columns) return;
    tt_parallel_for(transpose_columns, &t, ceil_div(columns, SIDE), ceil_div(ELEMENTS_PER_PIECE, SIDE * rows));
}

static inline void transpose(int32_t type, const void *in, void *out, int64_t rows, int64_t columns) {
    transpose_to(type, in, columns, out, rows, rows, columns);
}

/* The same for a part of a matrix, on this thread. */
static inline void transpose_part(int32_t type, const void *in, int64_t in_step, void *out, int64_t out_step,
                                  int64_t rows, int64_t columns) {
    struct transposition t = {in, out, in_step, out_step, rows, columns, size_of(type)};
    transpose_columns(&t, 0, ceil_div(columns, SIDE));
}

struct copy {
    char *out;
    const char *in;
    int64_t bytes;
};

static void copy_pieces(void *ctx, int64_t begin, int64_t end) {
    const struct copy *c = ctx;
    int64_t first = begin * BYTES_PER_PIECE, last = least(end * BYTES_PER_PIECE, c->bytes);
    memcpy(c->out + first, c->in + first, (size_t)(last - first));
}

static inline void copy_matrix(void *out, const void *in, int64_t bytes) {
    struct copy c = {out, in, bytes};
    if (bytes) tt_parallel_for(copy_pieces, &c, ceil_div(bytes, BYTES_PER_PIECE), 1);
}

static inline double real_at(int32_t type, const void *x, int64_t k) {
    return is_double(type) ? ((const double *)x)[k] : (double)((const float *)x)[k];
}

static inline void set_real(int32_t type, void *x, int64_t k, double value) {
    if (is_double(type)) ((double *)x)[k] = value;
    else ((float *)x)[k] = (float)value;
}

/* Both parts of complex numbers, as in JAX. */
static inline void fill_with_nan(int32_t type, void *x, int64_t elements) {
    for (int64_t k = 0; k < elements << is_complex(type); k++) set_real(type, x, k, NAN);
}

static inline void fill_with_identity(int32_t type, void *x, int64_t n) {
    memset(x, 0, (size_t)(n * n * size_of(type)));
    for (int64_t k = 0; k < n; k++) set_real(type, x, (k * n + k) << is_complex(type), 1);
}

static inline int32_t all_finite(int32_t type, const void *x, int64_t elements) {
    for (int64_t k = 0; k < elements << is_complex(type); k++)
        if (!isfinite(real_at(type, x, k))) return 0;
    return 1;
}

static inline void conjugate(int32_t type, void *x, int64_t elements) {
    for (int64_t k = 0; k < elements; k++) set_real(type, x, 2 * k + 1, -real_at(type, x, 2 * k + 1));
}

#endif
