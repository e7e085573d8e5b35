/* The k largest of each line of n elements. Short lines are sorted (short_lines.inc). Of others, for a small k, every
   element is held against the last of the k best so far; else they are found by a bound, and sorted, unless nobody asks
   for their order. Parts of a long line are looked through side by side; of equals the first comes first, however lines
   are cut. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* loops over keys are made of vectors */
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "tt_host.h"
#include "lanes.h"
#include "pool.h"
#include "sizes.h"
#include "sort.h"
#include "sort_keys.h"
#include "tt_runtime.h"
#include "vectors.h"

enum {
    BLOCK = 64,              /* elements that are passed over at once */
    MOST_PARTS = 16,         /* of a line */
    ELEMENTS_OF_PART = 1 << 15,
    MOST_INSERTED = 32,      /* the largest k that is small */
};

struct candidate {
    uint64_t key, position;
};

/* Inserts what is among the `k` best: of `found` candidates in `best`; how many there are then. */
static int64_t insert_best(struct candidate *best, int64_t found, int64_t k, struct candidate item) {
    if (found == k && item.key >= best[k - 1].key) return k;
    int64_t place = found < k ? found++ : k - 1;
    for (; place > 0 && best[place - 1].key > item.key; place--) best[place] = best[place - 1];
    best[place] = item;
    return found;
}

/* Keys of up to BLOCK elements; the smallest of them. */
static uint64_t keys_of(const void *in, int64_t first, int64_t n, struct order o, uint64_t *keys) {
    uint64_t smallest = ~0ull;
    if (o.bytes == 8) {
        u64_keys((const uint64_t *)in + first, n, o, keys);
        for (int64_t i = 0; i < n; i++) smallest = keys[i] < smallest ? keys[i] : smallest;
        return smallest;
    }
    uint32_t words[BLOCK], lowest = ~0u;
    word_keys(in, first, n, o, words);
    for (int64_t i = 0; i < n; i++) lowest = words[i] < lowest ? words[i] : lowest;
    for (int64_t i = 0; i < n; i++) keys[i] = words[i];
    return lowest;
}

struct choice {
    struct order order;
    int64_t n, k, parts, part; /* parts of a line, and elements of a part */
    const char *in;
    struct candidate *best; /* of each part: k, or as many as there are elements */
};

/* Most elements are behind the k best so far, and blocks of such are passed over. */
static void choose_in_parts(void *ctx, int64_t begin, int64_t end) {
    const struct choice *c = ctx;
    uint64_t keys[BLOCK];
    for (int64_t at = begin; at < end; at++) {
        const char *line = c->in + at / c->parts * c->n * c->order.bytes;
        struct candidate *best = c->best + at * c->k;
        int64_t found = 0, last = least(c->n, (at % c->parts + 1) * c->part);
        for (int64_t i = at % c->parts * c->part; i < last; i += BLOCK) {
            int64_t n = least(BLOCK, last - i);
            if (keys_of(line, i, n, c->order, keys) >= best[c->k - 1].key && found == c->k) continue;
            for (int64_t j = 0; j < n; j++)
                found = insert_best(best, found, c->k, (struct candidate){keys[j], (uint64_t)(i + j)});
        }
        for (; found < c->k; found++) best[found] = (struct candidate){~0ull, UINT64_MAX};
    }
}

/* Result k of a line is its element at `position`. */
static void put_result(const struct choice *c, int64_t line, int64_t k, int64_t position, void *values,
                       int32_t *positions) {
    uint64_t bits = bits_at(c->in, line * c->n + position, c->order.bytes);
    if (values) put_bits(values, line * c->k + k, c->order.bytes, bits);
    if (positions) positions[line * c->k + k] = (int32_t)position;
}

static void merge_parts(const struct choice *c, int64_t line, void *values, int32_t *positions) {
    struct candidate *best = c->best + line * c->parts * c->k;
    for (int64_t i = c->k; i < c->parts * c->k; i++)
        if (best[i].position != UINT64_MAX) insert_best(best, c->k, c->k, best[i]);
    for (int64_t i = 0; i < c->k; i++) put_result(c, line, i, (int64_t)best[i].position, values, positions);
}

/* --- many of the elements: sorted, of long lines those alone that are below a bound ------------------------------- */

enum {
    LONG_LINE = 4096, /* of so many elements not all are sorted: choosing takes less time than it saves */
    TESTED = 2048,    /* of its elements, which tell a bound */
    MARGIN = 90,      /* four standard deviations of a place among them */
    LEAST_TESTED = 128, FOR_EACH_TESTED = 32, /* where nobody asks for their order: of so many elements one, at least */
    SORTED_AT_ONCE = 256,  /* so many elements are sorted to find one of them */
    TAKEN_AT_ONCE = 2048,  /* elements of which some are taken at once */
};

/* One call. Values, or positions, that nobody reads are NULL. */
struct many {
    int32_t bytes, unordered;
    struct turn turn;
    int64_t n, k;
    const char *in;
    char *values;
    int32_t *positions;
    _Atomic int32_t status;
};

/* Of the smallest keys of a line, `count` or all, where they are unless it is NULL; then sorted, or their order. */
struct chosen {
    char *few, *sorted;
    uint32_t *places, *order;
    int64_t count;
};

/* Keys from `low` to `low` + `range`; how many are among them, and how many below. */
struct span {
    uint64_t low, range;
};
struct taken {
    int64_t kept, lower;
};

#if defined(__x86_64__)
static const uint32_t first_places[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#endif

#define NAME(suffix) u32_##suffix
#define ITEM uint32_t
#define WIDE_KIND(name) name##_u32_wide
#define NARROW_KIND(name) name##_u32_narrow
#define WIDE(name) _mm512_##name##_epi32
#define WIDE_AT_MOST _mm512_cmple_epu32_mask
#define PLACES __m512i
#define PLACE(name) _mm512_##name##_epi32
#include "choosing.inc"
#include "unordered.inc"
#undef NAME
#undef ITEM
#undef WIDE_KIND
#undef NARROW_KIND
#undef WIDE
#undef WIDE_AT_MOST
#undef PLACES
#undef PLACE
#define NAME(suffix) u64_##suffix
#define ITEM uint64_t
#define WIDE_KIND(name) name##_u64_wide
#define NARROW_KIND(name) name##_u64_narrow
#define WIDE(name) _mm512_##name##_epi64
#define WIDE_AT_MOST _mm512_cmple_epu64_mask
#define PLACES __m256i
#define PLACE(name) _mm256_##name##_epi32
#include "choosing.inc"
#include "unordered.inc"
#undef NAME
#undef ITEM
#undef WIDE_KIND
#undef NARROW_KIND
#undef WIDE
#undef WIDE_AT_MOST
#undef PLACES
#undef PLACE

static int32_t choose_line(const struct many *t, int64_t line, struct chosen c) {
    if (t->unordered) return (t->bytes == 4 ? u32_put_unordered : u64_put_unordered)(t, line, c);
    if (t->bytes == 4) return (t->positions ? u32_put_positions : u32_put_values)(t, line, c);
    return (t->positions ? u64_put_positions : u64_put_values)(t, line, c);
}

static void choose_many(void *ctx, int64_t begin, int64_t end) {
    struct many *t = ctx;
    size_t keys = (size_t)(t->n * t->bytes), places = (size_t)t->n * sizeof(uint32_t), size = 2 * keys + 2 * places;
    char *block = (char *)tt_alloc(size);
    int32_t status = block ? TT_OK : TT_NO_MEMORY;
    for (int64_t line = begin; line < end && status == TT_OK; line++) {
        uint32_t *at = (uint32_t *)(block + 2 * keys);
        status = choose_line(t, line, (struct chosen){block, block + keys, at, at + t->n, 0});
    }
    if (status != TT_OK) atomic_store(&t->status, status);
    if (block) tt_free((uintptr_t)block, size);
}

static int32_t choose_in_words(const struct choice *c, int64_t lines, char *values, int32_t *positions) {
    struct many t = {.bytes = c->order.bytes, .unordered = c->order.kind & TT_UNORDERED, .turn = turn_of(c->order),
                     .n = c->n, .k = c->k, .in = c->in, .values = values, .positions = positions};
    tt_parallel_for(choose_many, &t, lines, ceil_div(ELEMENTS_OF_PART, c->n));
    return t.status;
}

static void widen(const void *from, int32_t bytes, int64_t n, uint32_t *to) {
    if (bytes == 2)
        for (int64_t i = 0; i < n; i++) to[i] = (uint32_t)((const uint16_t *)from)[i] << 16;
    else
        for (int64_t i = 0; i < n; i++) to[i] = (uint32_t)((const uint8_t *)from)[i] << 24;
}

static void narrow(const uint32_t *from, int64_t n, void *to, int32_t bytes) {
    if (bytes == 2)
        for (int64_t i = 0; i < n; i++) ((uint16_t *)to)[i] = (uint16_t)(from[i] >> 16);
    else
        for (int64_t i = 0; i < n; i++) ((uint8_t *)to)[i] = (uint8_t)(from[i] >> 24);
}

/* Elements of one and two bytes compare as the highest bytes of words. */
static int32_t choose_by_order(const struct choice *c, int64_t lines, char *values, int32_t *positions) {
    if (c->order.bytes >= 4) return choose_in_words(c, lines, values, positions);
    int64_t all = lines * c->n, chosen = values ? lines * c->k : 0;
    size_t size = (size_t)(all + chosen) * sizeof(uint32_t);
    uint32_t *words = (uint32_t *)tt_alloc(size);
    if (!words) return TT_NO_MEMORY;
    widen(c->in, c->order.bytes, all, words);
    struct choice wide = *c;
    wide.order = order_of(4, c->order.kind);
    wide.in = (const char *)words;
    int32_t status = choose_in_words(&wide, lines, values ? (char *)(words + all) : NULL, positions);
    narrow(words + all, chosen, values, c->order.bytes);
    tt_free((uintptr_t)words, size);
    return status;
}

int32_t tt_top_k(int32_t bytes, int32_t kind, int64_t lines, int64_t n, int64_t k, const void *in, void *values,
                 int32_t *positions) {
    int64_t parts = most(1, least(MOST_PARTS, n / ELEMENTS_OF_PART));
    struct choice c = {order_of(bytes, kind | TT_TOTAL | TT_DESCENDING), n, k, parts, ceil_div(n, parts), in, NULL};
    if (lines * n * k == 0) return TT_OK;
    if (!(kind & TT_UNORDERED) && tt_sort_first(bytes, c.order.kind, lines, n, k, in, values, positions)) return TT_OK;
    if (k > MOST_INSERTED || kind & TT_UNORDERED) return choose_by_order(&c, lines, values, positions);
    size_t size = (size_t)(lines * parts * k) * sizeof(struct candidate);
    if (!(c.best = (struct candidate *)tt_alloc(size))) return TT_NO_MEMORY;
    tt_parallel_for(choose_in_parts, &c, lines * parts, ceil_div(ELEMENTS_OF_PART, c.part));
    for (int64_t line = 0; line < lines; line++) merge_parts(&c, line, values, positions);
    tt_free((uintptr_t)c.best, size);
    return TT_OK;
}
