/* Tile registers (AMX), 16 rows of 64 bytes: may they be used, and matrices packed as their instructions want them, and
   those for vectors of bfloat16 (dot_vectors.h).

   32 rows of the first operand of a product, or columns of the second, make a group; of each group 64 bytes of each one's
   terms are two tiles, one after the other. A float16 becomes two bfloat16, of which it is the sum. */
#ifndef TT_TILE_PACKING_H
#define TT_TILE_PACKING_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "pool.h"
#include "sizes.h"
#include "tt_runtime.h"
#include "vectors.h"

enum element { HALF, BRAIN, BYTE }; /* float16, bfloat16, int8 */

/* For tests: 1 as if the CPU had no such registers, but vectors worth using, 2 as if it had neither. */
static _Atomic int32_t tiles_hidden;

#if defined(__x86_64__) && defined(__linux__) && (__GNUC__ >= 11 || __clang_major__ >= 12)
#define KNOWS_TILES /* does the compiler? */
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WITH_TILES __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define WITH_DOTS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define TILE_WORDS static inline __attribute__((always_inline, target("avx512f,avx512bw,avx512vl,avx512dq")))

enum {
    GROUP = 32,
    ROW = 64, /* bytes of a tile's row */
    TILE_BYTES = 16 * ROW,
    PAIR = 2 * TILE_BYTES,        /* two of them: a group's */
    LEAST_PACKED = 1 << 16, /* bytes */
};

static int32_t ask_for_tiles(void) {
    enum { TILE_DATA = 18, ASK = 0x1023 }; /* XFEATURE_XTILEDATA, ARCH_REQ_XCOMP_PERM */
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d >> 22 & 13) != 13) return 0; /* AMX: BF16, TILE, INT8 */
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a >> 5 & 1)) return 0; /* AVX512-BF16 */
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512dq")) return 0;
    return syscall(SYS_arch_prctl, (long)ASK, (long)TILE_DATA) == 0;
}

/* May this process use the registers? It has to ask, once; an old kernel refuses, and any where a stack for signals is
   too small. Threads and forked processes have what their process was given. */
int32_t tt_has_tiles(void) {
    static _Atomic int32_t found = -1;
    int32_t has = atomic_load_explicit(&found, memory_order_relaxed);
    if (has < 0) {
        has = ask_for_tiles();
        atomic_store_explicit(&found, has, memory_order_relaxed);
    }
    return has && !atomic_load_explicit(&tiles_hidden, memory_order_relaxed);
}

/* --- packing ----------------------------------------------------------------------------------------------------- */

struct packing {
    enum element type;
    const char *from;
    int64_t step, size, k;             /* step: in bytes */
    int32_t runs_along_sums, is_first; /* are neighbours in memory terms of one sum? */
    char *to;                          /* NULL: it stays where it is */
    _Atomic uint32_t least, largest;   /* twice the bits of the absolute values; least: of those that are not 0, minus 1 */
};

/* How groups of a first operand lie, packed or where they were: bytes from a row of a tile to the next, from one tile of a
   group to the other, to the next terms, from a group to the next. */
struct group_steps {
    int64_t row, second, next, group;
};

/* What of a group's 32 rows and columns there is, and how many terms its sums have. */
struct extent {
    int64_t rows, columns, terms;
};

/* Bytes of an element, and how many are in a tile's row. */
ALWAYS_INLINE int64_t bytes_of(enum element type) { return type == BYTE ? 1 : 2; }
ALWAYS_INLINE int64_t terms_of(enum element type) { return ROW / bytes_of(type); }

/* Bytes of a group's two tiles, of each of the parts that its elements have. */
ALWAYS_INLINE int64_t pair_of(enum element type) { return type == HALF ? 2 * PAIR : PAIR; }

TILE_WORDS uint64_t first_bits(int64_t count) { return count >= 64 ? ~0ull : count <= 0 ? 0 : (1ull << count) - 1; }

/* w[j][i] = w[i][j] */
TILE_WORDS void transpose_words(__m512i *w) {
    __m512i x[16];
    for (int i = 0; i < 16; i += 2) {
        x[i] = _mm512_unpacklo_epi32(w[i], w[i + 1]);
        x[i + 1] = _mm512_unpackhi_epi32(w[i], w[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 2; j++) {
            w[i + 2 * j] = _mm512_unpacklo_epi64(x[i + j], x[i + j + 2]);
            w[i + 2 * j + 1] = _mm512_unpackhi_epi64(x[i + j], x[i + j + 2]);
        }
    for (int j = 0; j < 4; j++) {
        x[j] = _mm512_shuffle_i32x4(w[j], w[j + 4], 0x88);
        x[j + 4] = _mm512_shuffle_i32x4(w[j], w[j + 4], 0xdd);
        x[j + 8] = _mm512_shuffle_i32x4(w[j + 8], w[j + 12], 0x88);
        x[j + 12] = _mm512_shuffle_i32x4(w[j + 8], w[j + 12], 0xdd);
    }
    for (int j = 0; j < 8; j++) {
        w[j] = _mm512_shuffle_i32x4(x[j], x[j + 8], 0x88);
        w[j + 8] = _mm512_shuffle_i32x4(x[j], x[j + 8], 0xdd);
    }
}

/* 64 bytes of row (or column) `place`, from term `term` on; zeros where there are none. */
TILE_WORDS __m512i row_of(enum element type, const struct packing *p, int64_t place, int64_t term) {
    uint64_t there = place < p->size ? first_bits((p->k - term) * bytes_of(type)) : 0;
    return _mm512_maskz_loadu_epi8(there, p->from + place * p->step + term * bytes_of(type));
}

/* Of 32 rows (or columns) from `first` on two bytes of terms each, `term` and, if they are bytes, the next. */
TILE_WORDS __m512i words_of(enum element type, const struct packing *p, int64_t first, int64_t term) {
    __mmask32 there = (__mmask32)first_bits(p->size - first);
    const char *row = p->from + term * p->step + first * bytes_of(type);
    if (type != BYTE) return _mm512_maskz_loadu_epi16(term < p->k ? there : 0, row);
    __m256i even = _mm256_maskz_loadu_epi8(term < p->k ? there : 0, row);
    __m256i odd = _mm256_maskz_loadu_epi8(term + 1 < p->k ? there : 0, row + p->step);
    return _mm512_or_si512(_mm512_cvtepu8_epi16(even), _mm512_slli_epi16(_mm512_cvtepu8_epi16(odd), 8));
}

/* The same of four bytes of terms each: of 16 rows (or columns), and of the next. */
TILE_WORDS void pairs_of(enum element type, const struct packing *p, int64_t first, int64_t term, __m512i *low,
                         __m512i *high) {
    static const uint16_t lower[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                       8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i which = _mm512_loadu_si512(lower), others = _mm512_add_epi16(which, _mm512_set1_epi16(16));
    __m512i even = words_of(type, p, first, term), odd = words_of(type, p, first, term + 2 / bytes_of(type));
    *low = _mm512_permutex2var_epi16(even, which, odd);
    *high = _mm512_permutex2var_epi16(even, others, odd);
}

/* 32 float16 as two bfloat16 each: what is in 8 bits, and the rest. */
TILE_WORDS void split_halves(__m512i w, __m512i *high, __m512i *low) {
    static const uint16_t upper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                       33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i cut = _mm512_set1_epi32((int)0xFFFF0000), which = _mm512_loadu_si512(upper);
    __m512 x = _mm512_cvtph_ps(_mm512_castsi512_si256(w)), y = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(w, 1));
    __m512i x_high = _mm512_and_si512(_mm512_castps_si512(x), cut);
    __m512i y_high = _mm512_and_si512(_mm512_castps_si512(y), cut);
    __m512i x_low = _mm512_castps_si512(_mm512_sub_ps(x, _mm512_castsi512_ps(x_high)));
    __m512i y_low = _mm512_castps_si512(_mm512_sub_ps(y, _mm512_castsi512_ps(y_high)));
    *high = _mm512_permutex2var_epi16(x_high, which, y_high);
    *low = _mm512_permutex2var_epi16(x_low, which, y_low);
}

struct extremes {
    __m512i least, largest;
};

/* Takes in 64 bytes; of each type what suits_tiles asks for. */
TILE_WORDS void look_at(enum element type, __m512i w, struct extremes *seen) {
    __m512i size = _mm512_add_epi16(w, w); /* twice the bits of the absolute value */
    if (type == BRAIN) seen->least = _mm512_min_epu16(seen->least, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
    else if (type == HALF) seen->largest = _mm512_max_epu16(seen->largest, size);
}

WITH_TILES static void note_extremes(struct packing *p, const struct extremes *seen) {
    uint16_t few[32], many[32];
    uint32_t least_bits = 0xFFFF, most_bits = 0;
    _mm512_storeu_si512(few, seen->least);
    _mm512_storeu_si512(many, seen->largest);
    for (int i = 0; i < 32; i++) {
        least_bits = few[i] < least_bits ? few[i] : least_bits;
        most_bits = many[i] > most_bits ? many[i] : most_bits;
    }
    uint32_t before = atomic_load(&p->least);
    while (least_bits < before && !atomic_compare_exchange_weak(&p->least, &before, least_bits)) {}
    before = atomic_load(&p->largest);
    while (most_bits > before && !atomic_compare_exchange_weak(&p->largest, &before, most_bits)) {}
}

TILE_WORDS void put_row(enum element type, char *tile, int row, __m512i w, struct extremes *seen) {
    look_at(type, w, seen);
    if (type != HALF) {
        _mm512_store_si512(tile + row * ROW, w);
    } else {
        __m512i high, low;
        split_halves(w, &high, &low);
        _mm512_store_si512(tile + row * ROW, high);
        _mm512_store_si512(tile + PAIR + row * ROW, low);
    }
}

/* The tiles of the group that begins with row (or column) `first`, from `term` on. Those of a first operand have a row for
   each of its rows, those of a second one a row for each four bytes of terms. */
TILE_WORDS void pack_pair(enum element type, const struct packing *p, int64_t first, int64_t term, char *to,
                          struct extremes *seen) {
    const int64_t four = 4 / bytes_of(type);
    __m512i w[2][16];
    if (p->runs_along_sums == p->is_first) {
        for (int i = 0; i < 16; i++) {
            __m512i low, high;
            if (p->is_first) low = row_of(type, p, first + i, term), high = row_of(type, p, first + 16 + i, term);
            else pairs_of(type, p, first, term + i * four, &low, &high);
            put_row(type, to, i, low, seen);
            put_row(type, to + TILE_BYTES, i, high, seen);
        }
        return;
    }
    for (int i = 0; i < 16; i++) {
        if (p->is_first) pairs_of(type, p, first, term + i * four, &w[0][i], &w[1][i]);
        else w[0][i] = row_of(type, p, first + i, term), w[1][i] = row_of(type, p, first + 16 + i, term);
    }
    for (int half = 0; half < 2; half++) {
        transpose_words(w[half]);
        for (int i = 0; i < 16; i++) put_row(type, to + half * TILE_BYTES, i, w[half][i], seen);
    }
}

/* Rows in memory are read from end to end. */
TILE_WORDS void pack_groups_of(enum element type, struct packing *p, int64_t begin, int64_t end) {
    const int64_t terms = terms_of(type), size = ceil_div(p->k, terms) * pair_of(type);
    struct extremes seen = {_mm512_set1_epi16(-1), _mm512_setzero_si512()};
    for (int64_t term = 0; term < p->k; term += terms)
        for (int64_t group = begin; group < end; group++)
            pack_pair(type, p, group * GROUP, term, p->to + group * size + term / terms * pair_of(type), &seen);
    note_extremes(p, &seen);
}

WITH_TILES static void pack_groups(void *ctx, int64_t begin, int64_t end) {
    struct packing *p = ctx;
    if (p->type == HALF) pack_groups_of(HALF, p, begin, end);
    else if (p->type == BRAIN) pack_groups_of(BRAIN, p, begin, end);
    else pack_groups_of(BYTE, p, begin, end);
}

/* Of rows of bfloat16 that stay where they are. */
WITH_TILES static void look_at_groups(void *ctx, int64_t begin, int64_t end) {
    struct packing *p = ctx;
    struct extremes seen = {_mm512_set1_epi16(-1), _mm512_setzero_si512()};
    for (int64_t row = begin * GROUP; row < end * GROUP; row++)
        for (int64_t term = 0; term < p->k; term += ROW / 2)
            look_at(BRAIN, _mm512_loadu_si512(p->from + row * p->step + 2 * term), &seen);
    note_extremes(p, &seen);
}

static void pack(struct packing *p) {
    if (p->type == BYTE && !p->to) return;
    tt_parallel_for(p->to ? pack_groups : look_at_groups, p, ceil_div(p->size, GROUP),
                    ceil_div(LEAST_PACKED, GROUP * p->k));
}

/* Is no operand, product or sum subnormal or, of float16, infinite or NaN? A product of bfloat16 has 14 bits after its
   first one, so sums are multiples of the last bit that the smallest product can have. */
static int32_t suits_tiles(const struct packing *a, const struct packing *b) {
    if (a->type == BYTE) return 1;
    if (a->type == HALF) return a->largest < 2 * 0x7C00 && b->largest < 2 * 0x7C00;
    int32_t exponent_a = (int32_t)(a->least + 1) >> 8, exponent_b = (int32_t)(b->least + 1) >> 8;
    return exponent_a > 0 && exponent_b > 0 && exponent_a + exponent_b >= 2 * 127 - 126 + 14;
}
#else
int32_t tt_has_tiles(void) { return 0; }
#endif

#endif
