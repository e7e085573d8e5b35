/* The elements of a strided array, a view that NumPy has made, in order: what a compiled program reads.

   Where neighbours in memory are not neighbours in the last axis, as in a transposed matrix, each cache line that is
   read holds elements of many rows. Such an array is copied in tiles: a tile is read along the axis whose elements are
   neighbours, held in the first level of the cache, and written along the last axis. */

#include "copies.h"
#include <string.h>

enum { MOST_AXES = 64, TILE = 32, WIDEST = 16, NEAR = 1 << 13 };

typedef struct {
    int ndim, near; /* near: the axis whose elements are neighbours in memory */
    const ptrdiff_t *dims, *strides;
    ptrdiff_t steps[MOST_AXES]; /* bytes between elements of the copy */
    size_t width;
} Copy;

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

/* Every other element, as the parts of complex numbers are: with a known stride there are vectors. */
IN_VECTORS static void copy_every_other(char *to, const char *from, ptrdiff_t n, size_t width) {
    if (width == 4)
        copy_row_of(to, from, n, 8, 4);
    else
        copy_row_of(to, from, n, 16, 8);
}

static void copy_row(char *to, const char *from, ptrdiff_t n, ptrdiff_t stride, size_t width) {
    if (stride == (ptrdiff_t)width)
        memcpy(to, from, (size_t)n * width);
    else if (stride == 0)
        fill_elements(to, (size_t)n * width, from, width);
    else if ((width == 4 || width == 8) && stride == 2 * (ptrdiff_t)width)
        copy_every_other(to, from, n, width);
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

static void copy_plane(const Copy *c, char *to, const char *from) {
    ptrdiff_t rows = c->dims[c->near], columns = c->dims[c->ndim - 1];
    for (ptrdiff_t i = 0; i < rows; i += TILE)
        for (ptrdiff_t k = 0; k < columns; k += TILE)
            copy_tile(c, to + i * c->steps[c->near] + k * c->steps[c->ndim - 1],
                      from + i * c->strides[c->near] + k * c->strides[c->ndim - 1], at_most(rows - i),
                      at_most(columns - k));
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

static ptrdiff_t distance(ptrdiff_t stride) { return stride < 0 ? -stride : stride; }

void copy_strided(char *to, const char *from, int ndim, const ptrdiff_t *dims, const ptrdiff_t *strides, size_t width) {
    Copy c = {.ndim = ndim, .near = ndim - 1, .dims = dims, .strides = strides, .width = width};
    ptrdiff_t step = (ptrdiff_t)width;
    int is_moving = 0;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        if (!dims[axis])
            return;
        c.steps[axis] = step;
        step *= dims[axis];
        is_moving |= dims[axis] > 1 && strides[axis];
    }
    if (!is_moving) {
        fill_elements(to, (size_t)step, from, width);
        return;
    }
    if (width <= WIDEST && dims[ndim - 1] > 1)
        for (int axis = 0; axis < ndim - 1; axis++)
            if (dims[axis] > 1 && strides[axis] && distance(strides[axis]) < distance(strides[c.near]))
                c.near = axis;
    copy_from_axis(&c, 0, to, from);
}
