/* Groups of a product of bfloat16 by vectors (AVX512-BF16): an instruction adds two products to each of 16 sums, twice as
   many as one for floats. It takes subnormal numbers for zero, as tile registers do (tiles.h). */
#ifndef TT_DOT_VECTORS_H
#define TT_DOT_VECTORS_H
#include <stdatomic.h>
#include <stdint.h>
#include "tile_packing.h"
#ifdef KNOWS_TILES

#if defined(__clang__)
#define ALL_ROWS _Pragma("unroll")
#else
#define ALL_ROWS _Pragma("GCC unroll 8")
#endif

enum { ROWS_AT_ONCE = 8 }; /* their sums, two vectors a row, stay in registers */

WITH_DOTS static inline __m512bh terms_of_row(const char *from) {
    int32_t two;
    memcpy(&two, from, sizeof two);
    return (__m512bh)_mm512_set1_epi32(two);
}

/* The sums of ROWS_AT_ONCE rows of `vectors` vectors each; `step`: of `sums`, in bytes. */
WITH_DOTS static inline __attribute__((always_inline)) void add_rows(int vectors, const struct group_steps *by,
                                                                     const char *a, const char *b, int64_t terms,
                                                                     char *sums, int64_t step, int32_t goes_on) {
    const int64_t row = by->row;
    __m512 all[ROWS_AT_ONCE][2];
    ALL_ROWS
    for (int r = 0; r < ROWS_AT_ONCE; r++)
        for (int v = 0; v < vectors; v++) all[r][v] = goes_on ? _mm512_loadu_ps(sums + r * step + v * ROW) : _mm512_setzero_ps();
    for (; terms > 0; terms -= ROW / 2, a += by->next, b += PAIR) {
        const int64_t pairs = least((terms + 1) / 2, 16);
        for (int64_t i = 0; i < pairs; i++) {
            __m512bh columns[2];
            for (int v = 0; v < vectors; v++) columns[v] = (__m512bh)_mm512_load_si512(b + v * TILE_BYTES + i * ROW);
            ALL_ROWS
            for (int r = 0; r < ROWS_AT_ONCE; r++) {
                const __m512bh two = terms_of_row(a + r * row + i * 4);
                for (int v = 0; v < vectors; v++) all[r][v] = _mm512_dpbf16_ps(all[r][v], two, columns[v]);
            }
        }
    }
    ALL_ROWS
    for (int r = 0; r < ROWS_AT_ONCE; r++)
        for (int v = 0; v < vectors; v++) _mm512_storeu_ps(sums + r * step + v * ROW, all[r][v]);
}

/* What add_by_registers does, of bfloat16, without what is empty. */
WITH_DOTS static void add_by_vectors(enum element type, const struct group_steps *by, const char *a, const char *b,
                                     struct extent size, float *sums, int64_t step, int32_t goes_on) {
    (void)type;
    for (int64_t r = 0; r < size.rows; r += ROWS_AT_ONCE) {
        const char *first = a + r / 16 * by->second + r % 16 * by->row;
        if (size.columns > 16) add_rows(2, by, first, b, size.terms, (char *)sums + r * step, step, goes_on);
        else add_rows(1, by, first, b, size.terms, (char *)sums + r * step, step, goes_on);
    }
}

/* Has the CPU these instructions, and are they worth it? Intel's take two cycles each: a product of 512^3 takes 1.9 times as
   long with them as with floats (Sapphire Rapids without tile registers), on AMD's Zen 4 and 5 half as long. */
static int32_t has_dot_vectors(void) {
    enum { NONE, SLOW, FAST };
    static _Atomic int32_t found = -1;
    int32_t has = atomic_load_explicit(&found, memory_order_relaxed);
    if (has < 0) {
        unsigned a, b, c, d;
        has = vector_level() >= 4 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1 ? FAST : NONE;
        if (has && __builtin_cpu_is("intel")) has = SLOW;
        atomic_store_explicit(&found, has, memory_order_relaxed);
    }
    int32_t hidden = atomic_load_explicit(&tiles_hidden, memory_order_relaxed);
    return hidden == 1 ? has != NONE : !hidden && has == FAST;
}
#endif
#endif
