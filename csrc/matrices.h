/* Small steps on matrices of any element type: LAPACK has its matrices column by column, we have ours row by row. */
#ifndef TT_MATRICES_H
#define TT_MATRICES_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "pool.h"
#include "sizes.h"

enum { SIDE = 16, ELEMENTS_PER_PIECE = 1 << 16 };

static inline int32_t is_double(int32_t type) { return type == TT_F64 || type == TT_C128; }
static inline int32_t is_complex(int32_t type) { return type >= TT_C64; }
static inline int64_t size_of_real(int32_t type) { return is_double(type) ? 8 : 4; }
static inline int64_t size_of(int32_t type) { return size_of_real(type) << is_complex(type); }

struct transposition {
    const char *in;
    char *out;
    int64_t rows, columns, size;
};

/* A square of at most SIDE x SIDE elements: it stays in the first-level cache. */
#define TRANSPOSE_SQUARE(element)                                                          \
    for (int64_t j = column; j < least(t->columns, column + SIDE); j++)                    \
        for (int64_t i = row; i < least(t->rows, row + SIDE); i++)                         \
            ((element *)t->out)[j * t->rows + i] = ((const element *)t->in)[i * t->columns + j]

typedef uint32_t __attribute__((may_alias)) one_word;
typedef uint64_t __attribute__((may_alias)) two_words;
typedef struct { uint64_t first, second; } __attribute__((may_alias)) four_words;

static void transpose_columns(void *ctx, int64_t begin, int64_t end) {
    const struct transposition *t = ctx;
    for (int64_t column = begin * SIDE; column < least(end * SIDE, t->columns); column += SIDE)
        for (int64_t row = 0; row < t->rows; row += SIDE) {
            if (t->size == 4) TRANSPOSE_SQUARE(one_word);
            else if (t->size == 8) TRANSPOSE_SQUARE(two_words);
            else TRANSPOSE_SQUARE(four_words);
        }
}

/* out[j, i] = in[i, j] */
static inline void transpose(int32_t type, const void *in, void *out, int64_t rows, int64_t columns) {
    struct transposition t = {in, out, rows, columns, size_of(type)};
    if (!rows || !columns) return;
    tt_parallel_for(transpose_columns, &t, ceil_div(columns, SIDE), ceil_div(ELEMENTS_PER_PIECE, SIDE * rows));
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
