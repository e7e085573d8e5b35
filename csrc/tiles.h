/* Products of narrow matrices by tiles: of float16 and bfloat16, added up as floats, and of int8, added up in 32 bits, which
   wrap. Tiles are multiplied by registers for them (AMX, tile_registers.h); those of bfloat16, where the CPU has none, by
   vectors (AVX512-BF16, dot_vectors.h).

   Both operands are packed first (tile_packing.h), but for rows that lie as they are wanted already. Of floats the
   instructions multiply bfloat16. A float16 is the sum of two of these, exactly, so its product is four of theirs.

   Of floats the instructions take subnormal numbers for zero and make none. Before multiplying we look whether any can
   come up, or an infinity of float16, which is no such sum; then, and on other CPUs, has_multiplied_by_tiles does
   nothing. */
#ifndef TT_TILES_H
#define TT_TILES_H
#include <stdint.h>
#include "epilogue.h"
#include "pool.h"
#include "sizes.h"
#include "dot_vectors.h"
#include "tile_packing.h"
#include "tile_registers.h"
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
    BLOCK_WORK = 1 << 23, /* multiplications of a block: 10 us of tile registers, 70 of vectors */
};

/* --- multiplying ------------------------------------------------------------------------------------------------- */

/* Groups of both operands; `pair`: of a group that is packed; `depth`: in tiles. */
struct tiled_product {
    const struct narrow_product *of;
    const char *a, *b;
    struct group_steps by;
    int64_t pair, depth, block_rows, block_columns;
    int32_t has_registers;
};

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

WITH_DOTS static void round_sums(const struct narrow_product *p, struct rounding *w) {
    const __mmask32 there = (__mmask32)first_bits(w->columns);
    for (int64_t i = 0; i < w->rows; i++) {
        __m512 x = _mm512_load_ps(w->sums + i * GROUP), y = _mm512_load_ps(w->sums + i * GROUP + 16);
        __m512i both = p->type == BRAIN ? (__m512i)_mm512_cvtne2ps_pbh(y, x)
                                   : _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtps_ph(x, 0)), _mm512_cvtps_ph(y, 0), 1);
        _mm512_mask_storeu_epi16(w->to + i * p->ldc, there, both);
    }
    w->rows = 0;
}

/* The sums of a group that are not the whole of it, at (row, column) of the result: from there, and to there. */
static inline void load_edge(const struct narrow_product *p, int64_t row, int64_t column, float *edge) {
    const int64_t rows = least(p->m - row, GROUP), columns = least(p->n - column, GROUP);
    const float *c = p->sums + row * p->ldc + column;
    memset(edge, 0, GROUP * GROUP * sizeof *edge);
    for (int64_t i = 0; i < rows; i++) memcpy(edge + i * GROUP, c + i * p->ldc, (size_t)columns * sizeof *c);
}

static inline void store_edge(const struct narrow_product *p, int64_t row, int64_t column, const float *edge) {
    const int64_t rows = least(p->m - row, GROUP), columns = least(p->n - column, GROUP);
    float *c = p->sums + row * p->ldc + column;
    for (int64_t i = 0; i < rows; i++) memcpy(c + i * p->ldc, edge + i * GROUP, (size_t)columns * sizeof *c);
}

/* REACH in pairs of tiles. */
static int64_t reach_of(const struct narrow_product *p) { return p->type == HALF ? REACH / 4 : REACH / 2; }

/* Rows and columns of a block, and where their sums begin: of the second operand what the second cache holds. */
struct strip {
    int64_t row, last_row, column, last_column, d;
};

static void multiply_strip(const struct tiled_product *t, struct strip s, struct waiting *waiting) {
    const struct narrow_product *p = t->of;
    const int64_t terms = least(p->k - s.d * terms_of(p->type), reach_of(p) * terms_of(p->type));
    for (int64_t i = s.row; i < s.last_row; i += GROUP)
        for (int64_t j = s.column; j < s.last_column; j += GROUP) {
            struct rounding *w = waiting->sums + waiting->turn;
            const char *a = t->a + i / GROUP * t->by.group + s.d * t->by.next;
            const char *b = t->b + (j / GROUP * t->depth + s.d) * t->pair;
            const struct extent size = {least(p->m - i, GROUP), least(p->n - j, GROUP), terms};
            const int32_t is_edge = !p->rounded && (size.rows < GROUP || size.columns < GROUP);
            const int32_t is_there = !p->rounded && !is_edge; /* do the sums stay where they are added up? */
            float *sums = is_there ? p->sums + i * p->ldc + j : w->sums;
            const int64_t step = (int64_t)sizeof *sums * (is_there ? p->ldc : GROUP);
            if (is_edge && s.d) load_edge(p, i, j, sums);
            (t->has_registers ? add_by_registers : add_by_vectors)(p->type, &t->by, a, b, size, sums, step, s.d > 0);
            if (is_edge) store_edge(p, i, j, sums);
            if (!p->rounded) continue;
            w->to = p->rounded + i * p->ldc + j, w->rows = size.rows, w->columns = size.columns;
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
    if (t->has_registers) begin_tiles();
    for (int64_t index = begin; index < end; index++) {
        int64_t row = index / across * t->block_rows, column = index % across * t->block_columns;
        int64_t last_row = least(p->m, row + t->block_rows), last_column = least(p->n, column + t->block_columns);
        for (int64_t d = 0; d < t->depth; d += reach)
            for (int64_t j = column; j < last_column; j += step)
                multiply_strip(t, (struct strip){row, last_row, j, least(last_column, j + step), d}, &waiting);
        round_sums(p, waiting.sums + !waiting.turn);
        if (across == 1) run_epilogue(&p->then, row, last_row);
    }
    if (t->has_registers) end_tiles();
}

/* Blocks are chunks of work for threads. What follows has whole rows, at once where there are enough of them. */
static void choose_tiled_block(struct tiled_product *t) {
    const struct narrow_product *p = t->of;
    const int64_t least_columns = t->has_registers ? 8 : 4; /* groups */
    int64_t down = ceil_div(p->m, GROUP), across = ceil_div(p->n, GROUP);
    double work = (double)p->m * (double)p->n * (double)p->k * (p->type == HALF ? 4 : 1);
    if (work >= 2.0 * BLOCK_WORK && !tt_inside_loop()) {
        double row_of_blocks = work / (double)down * BLOCK_ROWS;
        int64_t wanted = row_of_blocks > BLOCK_WORK ? (int64_t)(row_of_blocks / BLOCK_WORK) : 1;
        int64_t is_whole = p->then.body && down >= 4 * BLOCK_ROWS;
        down = least(down, BLOCK_ROWS);
        across = is_whole ? across : least(most(ceil_div(across, wanted), least_columns), across);
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
    return padded <= 2.0 * (double)p->m * (double)p->n;
}

/* To pack an operand that vectors read a few times takes longer than they save, unless it stays in the second cache. */
static int32_t is_read_often(const struct narrow_product *p) {
    return least(p->m, p->n) >= GROUP || bytes_of(p->type) * p->k * (p->m + p->n) <= TILE_STRIP;
}

/* By which way, if by any? */
static int32_t has_way(const struct narrow_product *p, int32_t has_registers) {
    if (has_registers) return p->type != HALF || has_full_groups(p);
    return p->type == BRAIN && has_dot_vectors() && is_read_often(p);
}

/* Computes the product, or returns 0: the CPU has neither, there is no memory, or there are numbers that do not suit. */
WITH_TILES static int32_t has_multiplied_by_tiles(const struct narrow_product *p) {
    const int32_t has_registers = tt_has_tiles();
    if (p->k < 1 || !has_way(p, has_registers)) return 0;
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
    struct tiled_product t = {.of = p, .a = a.to, .b = b.to, .by = {ROW, TILE_BYTES, pair, group}, .pair = pair,
                              .depth = depth, .has_registers = has_registers};
    if (stays) t.a = a.from, t.by = (struct group_steps){a.step, 16 * a.step, ROW, GROUP * a.step};
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
