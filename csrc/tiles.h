/* Products of narrow matrices by tile registers (AMX): of float16 and bfloat16, added up as floats, and of int8, added up
   in 32 bits, which wrap.

   Both operands are packed first (tile_packing.h), but for rows that lie as they are wanted already. Of floats the
   instruction multiplies bfloat16. A float16 is the sum of two of these, exactly, so its product is four of theirs.

   Of floats the instruction takes subnormal numbers for zero and makes none. Before multiplying we look whether any can
   come up, or an infinity of float16, which is no such sum; then, and on other CPUs, has_multiplied_by_tiles does
   nothing. */
#ifndef TT_TILES_H
#define TT_TILES_H
#include <stdint.h>
#include "epilogue.h"
#include "pool.h"
#include "sizes.h"
#include "tile_packing.h"
#include "tt_runtime.h"

struct narrow_product {
    enum element type;
    int32_t trans_a, trans_b;
    int64_t m, n, k, lda, ldb;
    const void *a, *b;
    float *sums;       /* the result as it is added up, or */
    uint16_t *rounded; /* NULL, or as the operands are */
    int64_t ldc;
    struct epilogue then;
};

#ifdef KNOWS_TILES
enum {
    REACH = 128,     /* KiB of a group that are added up in one go: what a block reads of the first operand */
    TILE_STRIP = 1 << 19, /* and so many bytes of the second one stay in a core's second cache */
    BLOCK_ROWS = 4,
    LEAST_COLUMNS = 8,    /* groups of a block */
    BLOCK_WORK = 1 << 23, /* multiplications of a block: 10 us */
};

/* --- multiplying ------------------------------------------------------------------------------------------------- */

/* The first operand as packed, or as it lies: bytes from a row of a tile to the next, from one tile of a group to the
   other, to the next terms, from a group to the next. */
struct tiled_product {
    const struct narrow_product *of;
    const char *a, *b;
    int64_t row, second, next, group;
    int64_t pair, depth, block_rows, block_columns; /* pair: of a group that is packed; depth: in tiles */
};

#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t : : : "memory")
#define TILE_LOAD(t, from, step) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(from), "r"((int64_t)(step)) : "memory")
/* Of a line that is not read again soon: it leaves the first cache to others. With it bfloat16 512^3 takes 0.77. */
#define TILE_LOAD_ONCE(t, from, step) \
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #t : : "r"(from), "r"((int64_t)(step)) : "memory")
#define TILE_STORE(t, to, step) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(to), "r"((int64_t)(step)) : "memory")
#define TILE_DOT(kind, sums, a, b) __asm__ volatile(kind " %%tmm" #b ", %%tmm" #a ", %%tmm" #sums : : : "memory")
#define TILE_DOTS(kind)        \
    do {                       \
        TILE_DOT(kind, 0, 4, 6); \
        TILE_DOT(kind, 1, 4, 7); \
        TILE_DOT(kind, 2, 5, 6); \
        TILE_DOT(kind, 3, 5, 7); \
    } while (0)

static void begin_tiles(void) {
    struct { uint8_t palette, start_row, unused[14]; uint16_t bytes[16]; uint8_t rows[16]; } shape = {.palette = 1};
    for (int t = 0; t < 8; t++) shape.bytes[t] = 64, shape.rows[t] = 16;
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
}

static void end_tiles(void) { __asm__ volatile("tilerelease" : : : "memory"); }

static inline void load_first(const char *a, int64_t step, int64_t second) {
    TILE_LOAD(4, a, step);
    TILE_LOAD(5, a + second, step);
}

static inline void load_second(const char *b) {
    TILE_LOAD_ONCE(6, b, ROW);
    TILE_LOAD_ONCE(7, b + TILE_BYTES, ROW);
}

/* Tiles 0 to 3, 32 x 32 sums, += the products of a group each, of `depth` tiles' terms. */
static inline void add_products(const struct tiled_product *t, const char *a, const char *b, int64_t depth) {
    const int64_t row = t->row, second = t->second, next = t->next;
    const enum element type = t->of->type;
    if (type == BRAIN)
        for (int64_t d = 0; d < depth; d++, a += next, b += PAIR) {
            load_second(b);
            load_first(a, row, second);
            TILE_DOTS("tdpbf16ps");
        }
    else if (type == BYTE)
        for (int64_t d = 0; d < depth; d++, a += next, b += PAIR) {
            load_second(b);
            load_first(a, row, second);
            TILE_DOTS("tdpbssd");
        }
    else /* (high + low) * (high + low) */
        for (int64_t d = 0; d < depth; d++, a += 2 * PAIR, b += 2 * PAIR) {
            load_second(b);
            load_first(a + PAIR, ROW, TILE_BYTES);
            TILE_DOTS("tdpbf16ps");
            load_second(b + PAIR);
            TILE_DOTS("tdpbf16ps");
            load_first(a, ROW, TILE_BYTES);
            TILE_DOTS("tdpbf16ps");
            load_second(b);
            TILE_DOTS("tdpbf16ps");
        }
}

static inline void clear_sums(void) {
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
}

static inline void load_sums(const float *c, int64_t step) {
    TILE_LOAD(0, c, step);
    TILE_LOAD(1, c + 16, step);
    TILE_LOAD(2, c + 4 * step, step);
    TILE_LOAD(3, c + 4 * step + 16, step);
}

static inline void store_sums(float *c, int64_t step) {
    TILE_STORE(0, c, step);
    TILE_STORE(1, c + 16, step);
    TILE_STORE(2, c + 4 * step, step);
    TILE_STORE(3, c + 4 * step + 16, step);
}

/* 32 x 32 sums, where they go, and how many there are. */
struct rounding {
    float sums[GROUP * GROUP] __attribute__((aligned(64)));
    uint16_t *to;
    int64_t rows, columns;
};

/* They wait to be rounded until the next ones are on their way. */
struct waiting {
    struct rounding sums[2];
    int32_t turn;
};

WITH_ROUNDING static void round_sums(const struct narrow_product *p, struct rounding *w) {
    const __mmask32 there = (__mmask32)first_bits(w->columns);
    for (int64_t i = 0; i < w->rows; i++) {
        __m512 x = _mm512_load_ps(w->sums + i * GROUP), y = _mm512_load_ps(w->sums + i * GROUP + 16);
        __m512i both = p->type == BRAIN ? (__m512i)_mm512_cvtne2ps_pbh(y, x)
                                   : _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtps_ph(x, 0)), _mm512_cvtps_ph(y, 0), 1);
        _mm512_mask_storeu_epi16(w->to + i * p->ldc, there, both);
    }
    w->rows = 0;
}

/* Store the sums at (row, column) as floats; of the edge what there is. */
static inline void store_floats(const struct narrow_product *p, int64_t row, int64_t column, float *edge) {
    const int64_t rows = least(p->m - row, GROUP), columns = least(p->n - column, GROUP);
    float *c = p->sums + row * p->ldc + column;
    if (rows == GROUP && columns == GROUP) {
        store_sums(c, 4 * p->ldc);
        return;
    }
    store_sums(edge, 4 * GROUP);
    for (int64_t i = 0; i < rows; i++) memcpy(c + i * p->ldc, edge + i * GROUP, (size_t)columns * sizeof *c);
}

/* The sums so far. */
static inline void load_floats(const struct narrow_product *p, int64_t row, int64_t column, float *edge) {
    const int64_t rows = least(p->m - row, GROUP), columns = least(p->n - column, GROUP);
    const float *c = p->sums + row * p->ldc + column;
    if (rows == GROUP && columns == GROUP) {
        load_sums(c, 4 * p->ldc);
        return;
    }
    memset(edge, 0, GROUP * GROUP * sizeof *edge);
    for (int64_t i = 0; i < rows; i++) memcpy(edge + i * GROUP, c + i * p->ldc, (size_t)columns * sizeof *c);
    load_sums(edge, 4 * GROUP);
}

/* REACH in pairs of tiles. */
static int64_t reach_of(const struct narrow_product *p) { return p->type == HALF ? REACH / 4 : REACH / 2; }

/* Rows and columns of a block, and where their sums begin: of the second operand what the second cache holds. */
struct strip {
    int64_t row, last_row, column, last_column, d;
};

static void multiply_strip(const struct tiled_product *t, struct strip s, struct waiting *waiting) {
    const struct narrow_product *p = t->of;
    const int64_t depth = least(t->depth - s.d, reach_of(p));
    for (int64_t i = s.row; i < s.last_row; i += GROUP)
        for (int64_t j = s.column; j < s.last_column; j += GROUP) {
            struct rounding *w = waiting->sums + waiting->turn;
            const char *a = t->a + i / GROUP * t->group + s.d * t->next;
            const char *b = t->b + (j / GROUP * t->depth + s.d) * t->pair;
            if (s.d) load_floats(p, i, j, w->sums);
            else clear_sums();
            add_products(t, a, b, depth);
            if (!p->rounded) {
                store_floats(p, i, j, w->sums);
                continue;
            }
            store_sums(w->sums, 4 * GROUP);
            w->to = p->rounded + i * p->ldc + j, w->rows = least(p->m - i, GROUP), w->columns = p->n - j;
            waiting->turn = !waiting->turn;
            round_sums(p, waiting->sums + waiting->turn);
        }
}

static void multiply_blocks(void *ctx, int64_t begin, int64_t end) {
    const struct tiled_product *t = ctx;
    const struct narrow_product *p = t->of;
    const int64_t across = ceil_div(p->n, t->block_columns), reach = reach_of(p);
    const int64_t step = most(TILE_STRIP / (least(t->depth, reach) * t->pair), 1) * GROUP;
    struct waiting waiting;
    waiting.turn = waiting.sums[0].rows = waiting.sums[1].rows = 0;
    begin_tiles();
    for (int64_t index = begin; index < end; index++) {
        int64_t row = index / across * t->block_rows, column = index % across * t->block_columns;
        int64_t last_row = least(p->m, row + t->block_rows), last_column = least(p->n, column + t->block_columns);
        for (int64_t d = 0; d < t->depth; d += reach)
            for (int64_t j = column; j < last_column; j += step)
                multiply_strip(t, (struct strip){row, last_row, j, least(last_column, j + step), d}, &waiting);
        round_sums(p, waiting.sums + !waiting.turn);
        if (across == 1) run_epilogue(&p->then, row, last_row);
    }
    end_tiles();
}

/* Blocks are chunks of work for threads. What follows has whole rows, at once where there are enough of them. */
static void choose_tiled_block(struct tiled_product *t) {
    const struct narrow_product *p = t->of;
    int64_t down = ceil_div(p->m, GROUP), across = ceil_div(p->n, GROUP);
    double work = (double)p->m * (double)p->n * (double)p->k * (p->type == HALF ? 4 : 1);
    if (work >= 2.0 * BLOCK_WORK && !tt_inside_loop()) {
        double row_of_blocks = work / (double)down * BLOCK_ROWS;
        int64_t wanted = row_of_blocks > BLOCK_WORK ? (int64_t)(row_of_blocks / BLOCK_WORK) : 1;
        int64_t is_whole = p->then.body && down >= 4 * BLOCK_ROWS;
        down = least(down, BLOCK_ROWS);
        across = is_whole ? across : least(most(ceil_div(across, wanted), LEAST_COLUMNS), across);
    }
    t->block_rows = down * GROUP, t->block_columns = across * GROUP;
}

static void multiply_tiles(struct tiled_product *t) {
    const struct narrow_product *p = t->of;
    choose_tiled_block(t);
    int64_t across = ceil_div(p->n, t->block_columns);
    tt_parallel_for(multiply_blocks, t, ceil_div(p->m, t->block_rows) * across, 1);
    if (across > 1 && p->then.body)
        tt_parallel_for(run_epilogue_of_rows, (void *)&p->then, p->m, ceil_div(LEAST_ELEMENTS, p->n));
}

/* Are the sums so long that they are added up in parts, as floats? */
static int32_t has_long_sums(const struct narrow_product *p) { return ceil_div(p->k, ROW / 2) > reach_of(p); }

/* Four products for each of float16 do not pay where most rows or columns of groups are empty. */
static int32_t has_full_groups(const struct narrow_product *p) {
    double padded = (double)(ceil_div(p->m, GROUP) * GROUP) * (double)(ceil_div(p->n, GROUP) * GROUP);
    return p->type != HALF || padded <= 2.0 * (double)p->m * (double)p->n;
}

/* Computes the product, or returns 0: there are no such registers, no memory, or numbers that they do not suit. */
WITH_TILES static int32_t has_multiplied_by_tiles(const struct narrow_product *p) {
    if (p->k < 1 || !tt_has_tiles() || !has_full_groups(p)) return 0;
    const int64_t bytes = bytes_of(p->type), terms = terms_of(p->type), depth = ceil_div(p->k, terms);
    const int64_t pair = pair_of(p->type), group = depth * pair;
    const int32_t stays = p->type != HALF && !p->trans_a && p->m % GROUP == 0 && p->k % terms == 0;
    const int64_t size_a = stays ? 0 : ceil_div(p->m, GROUP) * group, size = size_a + ceil_div(p->n, GROUP) * group;
    char *packed = (char *)tt_alloc((size_t)size);
    if (!packed) return 0;
    struct packing a = {.type = p->type, .from = p->a, .step = p->lda * bytes, .size = p->m, .k = p->k,
                        .runs_along_sums = !p->trans_a, .is_first = 1, .to = stays ? NULL : packed, .least = 0xFFFF};
    struct packing b = {.type = p->type, .from = p->b, .step = p->ldb * bytes, .size = p->n, .k = p->k,
                        .runs_along_sums = p->trans_b != 0, .to = packed + size_a, .least = 0xFFFF};
    struct tiled_product t = {.of = p, .a = a.to, .b = b.to, .row = ROW, .second = TILE_BYTES, .next = pair, .group = group,
                              .pair = pair, .depth = depth};
    if (stays) t.a = a.from, t.row = a.step, t.second = 16 * a.step, t.next = ROW, t.group = GROUP * a.step;
    pack(&a);
    pack(&b);
    int32_t suits = suits_tiles(&a, &b);
    if (suits) multiply_tiles(&t);
    tt_free((uintptr_t)packed, (size_t)size);
    return suits;
}
#else
static int32_t has_multiplied_by_tiles(const struct narrow_product *p) {
    (void)p;
    return 0;
}

static int32_t has_long_sums(const struct narrow_product *p) {
    (void)p;
    return 0;
}
#endif

#endif
