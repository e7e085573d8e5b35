/* Stable sorting along the middle axis of arrays [outer, n, inner], row-major; a line is what lies at one outer and one
   inner position. Lines are shared out to the threads, and so are the parts of a long line (radix.inc).

   Keys are unsigned integers that compare as the elements do. Values alone are sorted as keys of which each belongs to
   one value, without positions; of values with others, the keys are sorted together with positions, which are applied
   afterwards. Keys are distributed by digits (radix.inc), or sorted by a quicksort with vectors (quicksort.inc). */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* loops over keys are made of vectors */
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define WITH_WIDE __attribute__((target("avx512f")))
#endif
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include "tt_host.h"
#include "pool.h"
#include "sizes.h"
#include "sort.h"
#include "sort_keys.h"
#include "tt_runtime.h"
#include "vectors.h"

enum {
    FEW = 40,           /* up to so many items are sorted by insertion */
    SOME = 512, MANY = 4096, /* from so many on digits are wider */
    SPARE_BITS = 8, FEWER_SPARE = 4, /* so many more than log2(n) bits nearly decide; below a first digit fewer do */
    NARROWER = 4, /* bits fewer than the keys have, in which it is worth it to sort their distances */
    WIDEST = 11, FAR = 1 << 21, /* bits of a digit, whose lines stay in the second-level cache; bytes that do not */
    FIRST = 8, AHEAD = 128, /* of more than that: bits of the first digit, bytes that are asked for ahead */
    PARTS = 16, LEAST_PART = 1 << 15, /* of a line: at most so many, of at least so many items */
    PLACES = 1 << 16,   /* counts: PARTS << WIDEST for the parts of a line, or one of each value of two bytes */
    TILE = 16,          /* lines next to each other that are read together */
    PIECE = 1 << 15,    /* elements that a thread takes at once: at least */
    JOINED = 512,       /* keys that are made before positions are put below them */
    MOST_RANGES = 16, SAMPLED = 256, /* of keys, which are sorted side by side; items for each, to choose its bounds */
    IN_A_NETWORK = 2048, MERGED = 8192, /* bytes that networks sort in a quicksort of AVX-512; four such pieces */
    LOOKED_AT = 64,     /* items that tell how many digits there are */
    BLOCK_OF_ZEROS = 64, /* elements that are asked together whether one is a zero */
    UNASKED = 4,        /* elements that are put at once where elements are counted */
    GATHERED = 1024, GATHERED_BEYOND = 16, /* items of which those of a range are put together at once; of a vector behind */
};

/* NumPy's function that sorts n items in place; the last argument is not read. */
typedef int (*quicksort_function)(void *items, intptr_t n, void *array);

struct pair {
    uint64_t key;
    uint64_t position;
};

static int32_t can_be_wide, gathers_wide; /* has the CPU vectors that put chosen items side by side, and are they used? */
/* NumPy's for values of a type, where these are sorted as what they are; else NULL. */
static quicksort_function u32_signed_quicksort, u32_float_quicksort, u64_signed_quicksort, u64_float_quicksort;
static int32_t prefers_signed; /* AVX2 alone takes 1.3 times as long for unsigned items of eight bytes */

static int32_t ceil_of(int32_t a, int32_t b) { return (a + b - 1) / b; }

/* Counts of the digits of each part become the places where the part's items of each digit begin. */
static void accumulate(int64_t *counts, int64_t parts, int32_t digits) {
    int64_t start = 0;
    for (int32_t digit = 0; digit < digits; digit++)
        for (int64_t part = 0; part < parts; part++) {
            int64_t many = counts[part * digits + digit];
            counts[part * digits + digit] = start;
            start += many;
        }
}

/* Copies the elements to `out`, those that are NaN behind the others; how many others there are. */
static int64_t copy_nan_last(const void *in, void *out, int64_t n, struct order o) {
    int64_t nans = 0, place = 0;
    if (o.kind & TT_FLOAT)
        for (int64_t i = 0; i < n; i++) nans += (bits_at(in, i, o.bytes) & ~o.sign) > o.infinity;
    if (!nans) {
        memcpy(out, in, (size_t)(n * o.bytes));
        return n;
    }
    for (int64_t i = 0, last = n - nans; i < n; i++) {
        uint64_t bits = bits_at(in, i, o.bytes);
        put_bits(out, (bits & ~o.sign) > o.infinity ? last++ : place++, o.bytes, bits);
    }
    return place;
}

/* How many ranges of n items are sorted side by side. */
static int64_t ranges_of(int64_t n) {
    return tt_inside_loop() || tt_threads() == 1 ? 1 : least(least(MOST_RANGES, tt_threads()), n / LEAST_PART);
}

/* -0 and 0 are equal and keep their order, but have been sorted as different keys, or without regard to their signs. In a
   block with zeros there is no branch for each: what stands behind them is overwritten, and put back. */
static void restore_zeros(const void *in, void *out, int64_t n, int64_t sorted, struct order o, int32_t were_keys) {
    int64_t first = 0, end = sorted;
    while (first < end) { /* the first that is not below -0 */
        int64_t middle = first + (end - first) / 2;
        if (bits_at(out, middle, o.bytes) > o.sign) first = middle + 1;
        else end = middle;
    }
    if (first == sorted || (were_keys && bits_at(out, first, o.bytes) != o.sign)) return;
    for (end = first; end < sorted && !(bits_at(out, end, o.bytes) & ~o.sign);) end++;
    const uint64_t behind = end < n ? bits_at(out, end, o.bytes) : 0;
    for (int64_t i = 0; i < n && first < end; i += BLOCK_OF_ZEROS) {
        const int64_t many = least(BLOCK_OF_ZEROS, n - i);
        if (!has_zero(in, i, many, o)) continue;
        for (int64_t k = i; k < i + many && first < n; k++) {
            const uint64_t bits = bits_at(in, k, o.bytes);
            put_bits(out, first, o.bytes, bits);
            first += !(bits & ~o.sign);
        }
    }
    if (end < n) put_bits(out, end, o.bytes, behind);
}

#if defined(__x86_64__)
#define CALL_IN_VECTORS(name, ...) (tt_vector_level() >= 3 ? name##_narrow(__VA_ARGS__) : name(__VA_ARGS__))
#else
#define CALL_IN_VECTORS(name, ...) name(__VA_ARGS__)
#endif
#define IN_VECTORS(...) CALL_IN_VECTORS(__VA_ARGS__)

#define NAME(suffix) u32_##suffix
#define ITEM uint32_t
#define WIDE(name) _mm512_##name##_epi32
#define WIDE_AT_MOST _mm512_cmple_epu32_mask
#define KEY(item) (item)
#define WORD ITEM
#include "radix.inc"
#include "quicksort.inc"
#include "sort_values.inc"
#undef NAME
#undef ITEM
#undef WIDE
#undef WIDE_AT_MOST
#define NAME(suffix) u64_##suffix
#define ITEM uint64_t
#define WIDE(name) _mm512_##name##_epi64
#define WIDE_AT_MOST _mm512_cmple_epu64_mask
#include "radix.inc"
#include "quicksort.inc"
#include "sort_values.inc"
#undef NAME
#undef ITEM
#undef WIDE
#undef WIDE_AT_MOST
#undef KEY
#undef WORD
#define NAME(suffix) pair_##suffix
#define ITEM struct pair
#define KEY(item) ((item).key)
#define WORD uint64_t
#include "radix.inc"
#undef NAME
#undef ITEM
#undef KEY
#undef WORD

#if defined(__x86_64__)
/* Stores of chosen elements, of which AVX-512's quicksorts are made, take Zen 4 more than a hundred cycles each. */
static int32_t compresses_slowly(void) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx) return 0;
    return __get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 15) + (a >> 20 & 255) == 0x19;
}
#endif

/* NumPy's quicksorts have vectors of AVX-512 and AVX2 (x86-simd-sort); those without are slower than radix.inc, and so is
   AVX2's for many long items. Zen 4 uses them for what networks sort, and merges that. AVX2's sorts keys of four bytes in
   0.8 to 0.95 of the time of values that are no keys. */
void tt_set_quicksorts(const uintptr_t *quicksorts) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    int32_t is_wide = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    int32_t is_slow = is_wide && compresses_slowly();
    int32_t is_narrow = !is_wide && __builtin_cpu_supports("avx2"), is_fast = is_wide && !is_slow;
    can_be_wide = gathers_wide = is_wide;
    u32_most_quick = is_slow ? IN_A_NETWORK / 4 : is_wide || is_narrow ? INT64_MAX : 0;
    u64_most_quick = is_slow ? IN_A_NETWORK / 8 : is_wide ? INT64_MAX : is_narrow ? MANY : 0;
    u32_most_merged = is_slow ? MERGED / 4 : 0, u64_most_merged = is_slow ? MERGED / 8 : 0;
    u32_most_whole = u32_most_quick, u64_most_whole = is_slow ? u64_most_quick : u32_most_quick;
    u32_signed_quicksort = is_fast ? (quicksort_function)quicksorts[2] : NULL;
    u32_float_quicksort = is_fast ? (quicksort_function)quicksorts[4] : NULL;
    u64_signed_quicksort = is_fast || is_narrow ? (quicksort_function)quicksorts[3] : NULL;
    u64_float_quicksort = is_fast || is_narrow ? (quicksort_function)quicksorts[5] : NULL;
    prefers_signed = is_narrow && quicksorts[3];
#endif
    u32_quicksort = (quicksort_function)quicksorts[0], u64_quicksort = (quicksort_function)quicksorts[1];
}

int32_t tt_sort_set_wide(int32_t yes) {
    int32_t before = gathers_wide;
    gathers_wide = yes && can_be_wide;
    return before;
}

void tt_sort_set_lengths(int64_t quick, int64_t merged, int64_t whole) {
    u32_most_quick = quick / 4, u64_most_quick = quick / 8;
    u32_most_merged = merged / 4, u64_most_merged = merged / 8;
    u32_most_whole = whole / 4, u64_most_whole = whole / 8;
}

/* --- values alone -------------------------------------------------------------------------------------------------- */

/* Elements of few bits are counted. Most bits may belong to none of them or to a few: so many are put without asking. */
#define SORT_BY_COUNTING(ITEM)                                                                                     \
    static void ITEM##_sort_by_counting(ITEM *x, int64_t n, int64_t *counts, struct order o) {                     \
        const int64_t many = 2 * (int64_t)o.sign;                                                                  \
        const struct turn t = turn_of(o);                                                                          \
        memset(counts, 0, (size_t)many * sizeof *counts);                                                          \
        for (int64_t i = 0; i < n; i++) counts[x[i]]++;                                                            \
        int64_t key = 0, k = 0;                                                                                    \
        for (; k + UNASKED <= n; key++) {                                                                          \
            const uint64_t bits = turned_back((uint64_t)key, o.sign, t);                                           \
            const int64_t end = k + counts[bits];                                                                  \
            for (int64_t i = 0; i < UNASKED; i++) x[k + i] = (ITEM)bits;                                           \
            for (k += UNASKED; k < end; k++) x[k] = (ITEM)bits;                                                    \
            k = end;                                                                                               \
        }                                                                                                          \
        for (; k < n; key++) {                                                                                     \
            const uint64_t bits = turned_back((uint64_t)key, o.sign, t);                                           \
            for (const int64_t end = k + counts[bits]; k < end; k++) x[k] = (ITEM)bits;                            \
        }                                                                                                          \
    }
SORT_BY_COUNTING(uint8_t)
SORT_BY_COUNTING(uint16_t)

/* Two bytes are sorted as four, whose upper ones are never looked at: they are the same everywhere. */
static void sort_widened(void *x, uint32_t *items, int64_t *counts, int64_t n, struct order o) {
    const struct turn t = turn_of(o);
    for (int64_t i = 0; i < n; i++) items[i] = (uint32_t)turned(bits_at(x, i, o.bytes), o.sign, t);
    items = u32_sort_whole(items, items + n, counts, n, 0);
    for (int64_t i = 0; i < n; i++) put_bits(x, i, o.bytes, turned_back(items[i], o.sign, t));
}

static void sort_line(const void *in, void *out, int64_t n, struct order o, void *other, int64_t *counts) {
    if (o.bytes == 4) return u32_values(in, out, other, counts, n, o);
    if (o.bytes == 8) return u64_values(in, out, other, counts, n, o);
    const int64_t sorted = copy_nan_last(in, out, n, o);
    if (sorted < (o.bytes == 1 ? 4 * FEW : 5 * MANY)) sort_widened(out, other, counts, sorted, o);
    else if (o.bytes == 2) uint16_t_sort_by_counting(out, sorted, counts, o);
    else uint8_t_sort_by_counting(out, sorted, counts, o);
    if (o.kind & TT_FLOAT && !(o.kind & TT_ZEROS_BY_SIGN)) restore_zeros(in, out, n, sorted, o, 1);
}

/* --- arrays: lines and tiles of them -------------------------------------------------------------------------------- */

struct sorting {
    struct order order;
    int64_t n, inner, tiles; /* tiles: in one outer position */
    const char *in;
    char *out;
    uint32_t *positions;
    int32_t is_refined; /* are there positions, by keys that matter less? */
    int64_t scratch;    /* bytes of a line's items, twice */
    _Atomic int32_t status;
};

#include "sort_lines.inc"
#include "short_lines.inc"

static void sort_tiles(void *ctx, int64_t begin, int64_t end) {
    struct sorting *s = ctx;
    int32_t bytes = s->order.bytes;
    size_t counts = PLACES * sizeof(int64_t), tile = (size_t)(TILE * s->n * bytes) * (s->inner > 1);
    size_t size = counts + (size_t)s->scratch + 2 * tile;
    char *block = (char *)tt_alloc(size);
    if (!block) {
        atomic_store(&s->status, TT_NO_MEMORY);
        return;
    }
    char *other = block + counts, *lines = other + s->scratch, *sorted = lines + tile;
    for (int64_t k = begin; k < end; k++) {
        int64_t column = k % s->tiles * TILE, at = (k / s->tiles * s->n * s->inner + column) * bytes;
        if (s->inner == 1) {
            sort_line(s->in + at, s->out + at, s->n, s->order, other, (int64_t *)block);
            continue;
        }
        int64_t width = least(TILE, s->inner - column);
        gather_lines(s->in + at, lines, s->n, s->inner, width, bytes);
        for (int64_t line = 0, step = s->n * bytes; line < width; line++)
            sort_line(lines + line * step, sorted + line * step, s->n, s->order, other, (int64_t *)block);
        scatter_lines(sorted, s->out + at, s->n, s->inner, width, bytes);
    }
    tt_free((uintptr_t)block, size);
}

int32_t tt_sort(int32_t bytes, int32_t kind, int64_t outer, int64_t n, int64_t inner, const void *in, void *out) {
    int64_t tiles = ceil_div(inner, TILE);
    struct sorting s = {order_of(bytes, kind), n, inner, tiles, in, out, .scratch = 2 * n * most(bytes, 4)};
    if (outer * n * inner == 0) return TT_OK;
    if (are_short(s.order, outer, n, inner, 0)) return sort_short(s.order, outer, n, inner, n, in, out, NULL);
    tt_parallel_for(sort_tiles, &s, outer * tiles, ceil_div(PIECE, n * least(inner, TILE)));
    return s.status;
}

/* --- positions ------------------------------------------------------------------------------------------------------ */

/* The keys of short elements lie in one number with their positions. */
struct short_order {
    struct order order;
    const void *in;
    uint32_t *positions;
    int32_t is_refined;
    uint64_t *items;
};

#include "buckets.inc"

static void join_keys(void *ctx, int64_t begin, int64_t end) {
    const struct short_order *s = ctx;
    uint64_t *items = s->items;
    uint32_t keys[JOINED];
    for (int64_t i = begin; i < end && !s->is_refined; i += JOINED) {
        int64_t n = least(JOINED, end - i);
        word_keys(s->in, i, n, s->order, keys);
        for (int64_t k = 0; k < n; k++) items[i + k] = (uint64_t)keys[k] << 32 | (uint32_t)(i + k);
    }
    for (int64_t i = begin; i < end && s->is_refined; i++) {
        uint32_t position = s->positions[i];
        items[i] = key_of(bits_at(s->in, position, s->order.bytes), s->order) << 32 | position;
    }
}

static void read_positions(void *ctx, int64_t begin, int64_t end) {
    const struct short_order *s = ctx;
    for (int64_t i = begin; i < end; i++) s->positions[i] = (uint32_t)s->items[i];
}

static void order_short(const void *in, uint32_t *positions, int32_t is_refined, int64_t n, struct order o,
                        uint64_t *items, int64_t *counts) {
    struct short_order s = {o, in, positions, is_refined, items};
    if (o.bytes == 4 && !is_refined && order_in_buckets(in, NULL, positions, n, o, items, counts)) return;
    tt_parallel_for(join_keys, &s, n, PIECE);
    s.items = is_refined ? u64_sort(items, items + n, counts, n, 32, SPARE_BITS)
                         : u64_sort_whole(items, items + n, counts, n, 32);
    tt_parallel_for(read_positions, &s, n, PIECE);
}

#include "long_keys.inc"

static void order_tiles(void *ctx, int64_t begin, int64_t end) {
    struct sorting *s = ctx;
    struct order o = s->order;
    size_t counts = PLACES * sizeof(int64_t), tile = (size_t)(TILE * s->n * o.bytes) * (s->inner > 1);
    size_t size = counts + (size_t)s->scratch + tile;
    char *block = (char *)tt_alloc(size);
    if (!block) {
        atomic_store(&s->status, TT_NO_MEMORY);
        return;
    }
    char *items = block + counts, *lines = items + s->scratch;
    for (int64_t k = begin; k < end; k++) {
        int64_t column = k % s->tiles * TILE, first = k / s->tiles * s->inner + column;
        int64_t width = least(TILE, s->inner - column);
        const char *in = s->in + (k / s->tiles * s->n * s->inner + column) * o.bytes;
        if (s->inner > 1) gather_lines(in, lines, s->n, s->inner, width, o.bytes);
        for (int64_t line = 0; line < width; line++) {
            const char *keys = s->inner > 1 ? lines + line * s->n * o.bytes : in;
            uint32_t *positions = s->positions + (first + line) * s->n;
            if (o.bytes < 8) order_short(keys, positions, s->is_refined, s->n, o, (void *)items, (int64_t *)block);
            else order_long(keys, positions, s->is_refined, s->n, o, (void *)items, (int64_t *)block);
        }
    }
    tt_free((uintptr_t)block, size);
}

int32_t tt_order(int32_t bytes, int32_t kind, int32_t again, int64_t outer, int64_t n, int64_t inner, const void *keys,
                 uint32_t *order) {
    int64_t tiles = ceil_div(inner, TILE), item = bytes < 8 ? sizeof(uint64_t) : sizeof(struct pair);
    struct sorting s = {order_of(bytes, kind), n, inner, tiles, keys, NULL, order, again, 2 * n * item, 0};
    if (outer * n * inner == 0) return TT_OK;
    if (!again && are_short(s.order, outer, n, inner, 1)) return sort_short(s.order, outer, n, inner, n, keys, NULL, order);
    if (n > UINT32_MAX) return TT_NO_MEMORY; /* positions have 32 bits, and the items would take 32 GiB */
    tt_parallel_for(order_tiles, &s, outer * tiles, ceil_div(PIECE, n * least(inner, TILE)));
    return s.status;
}

#include "taking.inc"

int32_t tt_sort_by(int32_t kind, int64_t n, const void *keys, const void *in, uint32_t *order, void *out) {
    if (are_bucketed(n)) {
        size_t counts = PLACES * sizeof(int64_t), size = counts + 2 * (size_t)n * sizeof(uint64_t);
        char *block = (char *)tt_alloc(size);
        if (!block) return TT_NO_MEMORY;
        int32_t is_done = order_in_buckets(keys, in, out, n, order_of(4, kind), (uint64_t *)(block + counts),
                                           (int64_t *)block);
        tt_free((uintptr_t)block, size);
        if (is_done) return TT_OK;
    }
    int32_t status = tt_order(4, kind, 0, 1, n, 1, keys, order);
    return status ? status : tt_take(4, 1, n, 1, in, order, out);
}
