/* Groups of a product by tile registers (AMX): 32 x 32 sums are four of the eight registers. */
#ifndef TT_TILE_REGISTERS_H
#define TT_TILE_REGISTERS_H
#include <stdint.h>
#include "tile_packing.h"
#ifdef KNOWS_TILES

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

/* Tiles 0 to 3 += the products of a group each, of `depth` tiles' terms. */
static inline void add_products(enum element type, const struct group_steps *by, const char *a, const char *b,
                                int64_t depth) {
    const int64_t row = by->row, second = by->second, next = by->next;
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

/* A group's sums, in rows that are `step` bytes apart, are the products of its terms, or += them. */
static void add_by_registers(enum element type, const struct group_steps *by, const char *a, const char *b,
                             struct extent size, float *sums, int64_t step, int32_t goes_on) {
    if (goes_on) load_sums(sums, step);
    else clear_sums();
    add_products(type, by, a, b, ceil_div(size.terms, terms_of(type)));
    store_sums(sums, step);
}

#endif
#endif
