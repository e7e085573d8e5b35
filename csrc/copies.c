/* The elements of a strided array, a view that NumPy has made, in order: what a compiled program reads.

   Where neighbours in memory are not neighbours in the last axis, as in a transposed matrix, each cache line that is
   read holds elements of many rows. Such an array is copied a block of its cache lines at a time: squares of it are
   turned in registers (math/turned.h), or tiles in the first level of the cache where the elements do not fill the
   lines. Threads take pieces of a large array. */

#include "copies.h"
#include "installed.h"
#include "math/turned.h"
#include <string.h>

enum { MOST_AXES = 64, TILE = 32, WIDEST = 16, NEAR = 1 << 13 };
enum { BLOCK = 512, PAGE = 4096 };    /* elements across which rows are turned at a time; fewer where rows are whole
                                         pages apart: few of these stay in a cache at once (0.7 of the time) */
enum { SHARED = 1 << 19, PIECES = 8 }; /* bytes from which threads share a copy; into how many pieces it is cut at most */
enum { UNIT = 2 * TILE };             /* neighbours that stay in one piece */

typedef struct {
    int ndim, near; /* near: the axis whose elements are neighbours in memory */
    ptrdiff_t dims[MOST_AXES], strides[MOST_AXES];
    ptrdiff_t steps[MOST_AXES]; /* bytes between elements of the copy */
    size_t width;
} Copy;

typedef struct {
    const Copy *whole;
    char *to;
    const char *from;
    int axis; /* the one that is cut */
} Pieces;

static ptrdiff_t distance(ptrdiff_t stride) { return stride < 0 ? -stride : stride; }

/* Functions whose names end in `_of` are written out at each call, where `width` is a constant. */

void fill_elements(char *to, size_t nbytes, const char *element, size_t width) {
    size_t done = width < nbytes ? width : nbytes, more = done;
    memcpy(to, element, done);
    for (; done < nbytes; done += more) { /* what is there already, as far as it stays in the first cache */
        more = done < NEAR ? done : more;
        more = more < nbytes - done ? more : nbytes - done;
        memcpy(to + done, to, more);
    }
}

/* --- along the last axis --------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void copy_row_of(char *to, const char *from, ptrdiff_t n, ptrdiff_t stride,
                                                              size_t width) {
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(to + i * (ptrdiff_t)width, from + i * stride, width);
}

#if defined(__GNUC__) && !defined(__clang__)
#define IN_VECTORS __attribute__((optimize("O3")))
#else
#define IN_VECTORS
#endif

static void copy_bytes_backwards(char *to, const char *from, ptrdiff_t n) {
    ptrdiff_t i = 0;
    for (uint64_t word; i + 8 <= n; i += 8) {
        memcpy(&word, from - i - 7, 8);
        word = __builtin_bswap64(word);
        memcpy(to + i, &word, 8);
    }
    for (; i < n; i++)
        to[i] = from[-i];
}

/* With a known stride there are vectors: every other element, as the parts of complex numbers are, and backwards. */
#define COPY_ROWS(NAME, TIMES)                                                                                       \
    IN_VECTORS static void NAME(char *to, const char *from, ptrdiff_t n, size_t width) {                             \
        if (width == 4)                                                                                              \
            copy_row_of(to, from, n, 4 * TIMES, 4);                                                                  \
        else if (width == 8)                                                                                         \
            copy_row_of(to, from, n, 8 * TIMES, 8);                                                                  \
        else if (width == 2)                                                                                         \
            copy_row_of(to, from, n, 2 * TIMES, 2);                                                                  \
        else                                                                                                         \
            copy_row_of(to, from, n, 1 * TIMES, 1);                                                                  \
    }
COPY_ROWS(copy_every_other, 2)
COPY_ROWS(copy_backwards, -1)

static void copy_row(char *to, const char *from, ptrdiff_t n, ptrdiff_t stride, size_t width) {
    int has_vectors = width == 1 || width == 2 || width == 4 || width == 8;
    if (stride == (ptrdiff_t)width)
        memcpy(to, from, (size_t)n * width);
    else if (stride == 0)
        fill_elements(to, (size_t)n * width, from, width);
    else if (has_vectors && stride == 2 * (ptrdiff_t)width)
        copy_every_other(to, from, n, width);
    else if (stride == -1 && width == 1)
        copy_bytes_backwards(to, from, n);
    else if (has_vectors && stride == -(ptrdiff_t)width)
        copy_backwards(to, from, n, width);
    else if (width == 4)
        copy_row_of(to, from, n, stride, 4);
    else if (width == 8)
        copy_row_of(to, from, n, stride, 8);
    else if (width == 2)
        copy_row_of(to, from, n, stride, 2);
    else if (width == 1)
        copy_row_of(to, from, n, stride, 1);
    else
        copy_row_of(to, from, n, stride, width);
}

/* --- in tiles -------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void copy_tile_of(const Copy *c, char *to, const char *from, ptrdiff_t rows,
                                                               ptrdiff_t columns, size_t width) {
    char held[TILE * TILE * WIDEST];
    ptrdiff_t row = c->strides[c->near], column = c->strides[c->ndim - 1];
    for (ptrdiff_t k = 0; k < columns; k++)
        for (ptrdiff_t i = 0; i < rows; i++)
            memcpy(held + ((size_t)(i * TILE) + (size_t)k) * width, from + i * row + k * column, width);
    for (ptrdiff_t i = 0; i < rows; i++)
        memcpy(to + i * c->steps[c->near], held + (size_t)(i * TILE) * width, (size_t)columns * width);
}

static void copy_tile(const Copy *c, char *to, const char *from, ptrdiff_t rows, ptrdiff_t columns) {
    if (c->width == 4)
        copy_tile_of(c, to, from, rows, columns, 4);
    else if (c->width == 8)
        copy_tile_of(c, to, from, rows, columns, 8);
    else if (c->width == 2)
        copy_tile_of(c, to, from, rows, columns, 2);
    else if (c->width == 1)
        copy_tile_of(c, to, from, rows, columns, 1);
    else
        copy_tile_of(c, to, from, rows, columns, c->width);
}

static inline ptrdiff_t at_most(ptrdiff_t n) { return n < TILE ? n : TILE; }

static void copy_in_tiles(const Copy *c, char *to, const char *from) {
    ptrdiff_t rows = c->dims[c->near], columns = c->dims[c->ndim - 1];
    for (ptrdiff_t i = 0; i < rows; i += TILE)
        for (ptrdiff_t k = 0; k < columns; k += TILE)
            copy_tile(c, to + i * c->steps[c->near] + k * c->steps[c->ndim - 1],
                      from + i * c->strides[c->near] + k * c->strides[c->ndim - 1], at_most(rows - i),
                      at_most(columns - k));
}

/* --- in registers ---------------------------------------------------------------------------------------------- */

typedef void (*turn)(void *to, int64_t to_row, const void *from, int64_t from_row, int64_t rows, int64_t columns);

static turn turn_of_width(size_t width) {
    return width == 4 ? tt_turn_32 : width == 8 ? tt_turn_64 : width == 2 ? tt_turn_16 : width == 1 ? tt_turn_8
         : width == 16 ? tt_turn_128 : NULL;
}

/* Bytes of two to four rows, as the colours of pictures are, are separated and woven in vectors where lanes of bytes
   can be exchanged (0.08 and 0.2 of the time). Both say whether they did it. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define EXCHANGES __attribute__((optimize("O3"), target("ssse3")))
#define EXCHANGED(N)                                                                                                 \
    EXCHANGES static void separate_##N(char *restrict to, ptrdiff_t to_row, const char *restrict from,               \
                                       ptrdiff_t n) {                                                                \
        for (ptrdiff_t i = 0; i < n; i++)                                                                            \
            for (ptrdiff_t k = 0; k < N; k++)                                                                        \
                to[k * to_row + i] = from[N * i + k];                                                                \
    }                                                                                                                \
    EXCHANGES static void weave_##N(char *restrict to, const char *restrict from, ptrdiff_t from_row,                \
                                    ptrdiff_t n) {                                                                   \
        for (ptrdiff_t i = 0; i < n; i++)                                                                            \
            for (ptrdiff_t k = 0; k < N; k++)                                                                        \
                to[N * i + k] = from[k * from_row + i];                                                              \
    }
EXCHANGED(2)
EXCHANGED(3)
EXCHANGED(4)

static int separate_bytes(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t rows, ptrdiff_t n) {
    if (rows > 4 || to_row < n || !__builtin_cpu_supports("ssse3"))
        return 0;
    (rows == 2 ? separate_2 : rows == 3 ? separate_3 : separate_4)(to, to_row, from, n);
    return 1;
}

static int weave_bytes(char *to, const char *from, ptrdiff_t from_row, ptrdiff_t rows, ptrdiff_t n) {
    if (rows > 4 || from_row < n || !__builtin_cpu_supports("ssse3"))
        return 0;
    (rows == 2 ? weave_2 : rows == 3 ? weave_3 : weave_4)(to, from, from_row, n);
    return 1;
}
#else
#define separate_bytes(to, to_row, from, rows, n) 0
#define weave_bytes(to, from, from_row, rows, n) 0
#endif

/* Do the elements fill their cache lines, and lie where their type may? */
static int is_filled(const Copy *c, const char *from) {
    size_t alignment = c->width < 8 ? c->width : 8;
    return distance(c->strides[c->near]) == (ptrdiff_t)c->width && (uintptr_t)from % alignment == 0
        && c->strides[c->ndim - 1] % (ptrdiff_t)c->width == 0;
}

static void copy_plane(const Copy *c, char *to, const char *from) {
    turn turned = turn_of_width(c->width);
    ptrdiff_t width = (ptrdiff_t)c->width, near = c->dims[c->near], last = c->dims[c->ndim - 1];
    ptrdiff_t to_row = c->steps[c->near] / width, from_row = c->strides[c->ndim - 1] / width;
    if (!turned || !is_filled(c, from)) {
        copy_in_tiles(c, to, from);
        return;
    }
    if (c->strides[c->near] < 0) { /* from its other end, to the last row first */
        from -= (near - 1) * width;
        to += (near - 1) * to_row * width;
        to_row = -to_row;
    }
    if (width == 1 && from_row == near && separate_bytes(to, to_row, from, near, last))
        return;
    if (width == 1 && to_row == last && weave_bytes(to, from, from_row, last, near))
        return;
    int is_far = c->width >= 4 && (to_row * width % PAGE == 0 || from_row * width % PAGE == 0);
    ptrdiff_t across = is_far ? TILE : BLOCK, along = is_far ? TILE : last;
    for (ptrdiff_t i = 0; i < near; i += across)
        for (ptrdiff_t k = 0; k < last; k += along)
            turned(to + (i * to_row + k) * width, to_row, from + (i + k * from_row) * width, from_row,
                   last - k < along ? last - k : along, near - i < across ? near - i : across);
}

/* --- all axes -------------------------------------------------------------------------------------------------- */

static void copy_from_axis(const Copy *c, int axis, char *to, const char *from) {
    if (axis == c->near && axis < c->ndim - 1)
        axis++;
    if (axis < c->ndim - 1) {
        for (ptrdiff_t i = 0; i < c->dims[axis]; i++)
            copy_from_axis(c, axis + 1, to + i * c->steps[axis], from + i * c->strides[axis]);
    } else if (c->near == axis)
        copy_row(to, from, c->dims[axis], c->strides[axis], c->width);
    else
        copy_plane(c, to, from);
}

static void copy_pieces(void *ctx, int64_t begin, int64_t end) {
    const Pieces *p = ctx;
    Copy part = *p->whole;
    ptrdiff_t first = begin * UNIT, last = end * UNIT, all = part.dims[p->axis];
    part.dims[p->axis] = (last < all ? last : all) - first;
    copy_from_axis(&part, 0, p->to + first * part.steps[p->axis], p->from + first * part.strides[p->axis]);
}

/* Cuts the longest axis: whether threads take the pieces makes no difference to what is copied where. */
static void copy_shared(const Copy *c, char *to, const char *from) {
    Pieces pieces = {c, to, from, 0};
    for (int axis = 1; axis < c->ndim; axis++)
        if (c->dims[axis] > c->dims[pieces.axis])
            pieces.axis = axis;
    int64_t units = (c->dims[pieces.axis] + UNIT - 1) / UNIT;
    parallel_for(copy_pieces, &pieces, units, (units + PIECES - 1) / PIECES);
}

/* Axes that have one element are none, and two whose elements lie one after the other are one. */
static Copy copy_of(int ndim, const ptrdiff_t *dims, const ptrdiff_t *strides, size_t width) {
    Copy c = {.width = width};
    for (int axis = 0; axis < ndim; axis++) {
        int last = c.ndim - 1;
        if (dims[axis] == 1)
            continue;
        if (c.ndim && c.strides[last] == dims[axis] * strides[axis]) {
            c.dims[last] *= dims[axis];
            c.strides[last] = strides[axis];
        } else {
            c.dims[c.ndim] = dims[axis];
            c.strides[c.ndim++] = strides[axis];
        }
    }
    ptrdiff_t step = (ptrdiff_t)width;
    for (int axis = c.ndim - 1; axis >= 0; step *= c.dims[axis--])
        c.steps[axis] = step;
    c.near = c.ndim - 1;
    if (width <= WIDEST)
        for (int axis = 0; axis < c.ndim - 1; axis++)
            if (c.strides[axis] && distance(c.strides[axis]) < distance(c.strides[c.near]))
                c.near = axis;
    return c;
}

void copy_strided(char *to, const char *from, int ndim, const ptrdiff_t *dims, const ptrdiff_t *strides, size_t width) {
    for (int axis = 0; axis < ndim; axis++)
        if (!dims[axis])
            return;
    const Copy c = copy_of(ndim, dims, strides, width);
    ptrdiff_t size = c.ndim ? c.steps[0] * c.dims[0] : (ptrdiff_t)width;
    if (!c.ndim || (c.ndim == 1 && !c.strides[0]))
        fill_elements(to, (size_t)size, from, width);
    else if (size >= SHARED)
        copy_shared(&c, to, from);
    else
        copy_from_axis(&c, 0, to, from);
}
