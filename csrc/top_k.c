/* The k largest of each line of n elements. For a small k, every element is held against the last of the k best so far;
   else they are found by a bound, and sorted. Parts of a long line are looked through side by side; of equals the first comes first, however lines are cut. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* loops over keys are made of vectors */
#endif

#include <stdatomic.h>
#include <stdint.h>
#include "tt_host.h"
#include "pool.h"
#include "sizes.h"
#include "sort.h"
#include "sort_keys.h"
#include "tt_runtime.h"

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
    if (o.bytes == 4) {
        uint32_t narrow[BLOCK], lowest = ~0u, sign = (uint32_t)o.sign;
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits = ((const uint32_t *)in)[first + i];
            if (o.kind & TT_FLOAT) bits = bits & sign ? ~bits : bits | sign;
            else bits ^= o.kind & TT_SIGNED ? sign : 0;
            narrow[i] = ~bits;
        }
        for (int64_t i = 0; i < n; i++) lowest = narrow[i] < lowest ? narrow[i] : lowest;
        smallest = lowest;
        for (int64_t i = 0; i < n; i++) keys[i] = narrow[i];
        return smallest;
    }
    for (int64_t i = 0; i < n; i++) keys[i] = key_of(bits_at(in, first + i, o.bytes), o);
    for (int64_t i = 0; i < n; i++) smallest = keys[i] < smallest ? keys[i] : smallest;
    return smallest;
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

/* --- many of the elements: sorted, of long lines those alone that are below a bound ---------------------------------- */

enum {
    LONG_LINE = 4096, /* of so many elements not all are sorted: choosing takes less time than it saves */
    TESTED = 1024,    /* of its elements, which tell a bound */
    MARGIN = 64,      /* four standard deviations of a place among them */
};

/* One call. Values, or positions, that nobody reads are NULL. */
struct many {
    struct order order; /* descending: the smallest keys are wanted */
    int64_t n, k;
    const char *in;
    char *values;
    int32_t *positions;
    _Atomic int32_t status;
};

/* A line's keys, and of the smallest of them, `count` or all, where they are; each of the size of an element. */
struct chosen {
    char *keys, *few, *sorted;
    uint32_t *places, *order;
    int64_t count;
};

#define CHOOSE(NAME, ITEM)                                                                                        \
    /* At most about k keys are above it. */                                                                      \
    static ITEM NAME##_bound(const ITEM *keys, int64_t n, int64_t k) {                                            \
        ITEM sample[TESTED], sorted[TESTED];                                                                      \
        int64_t rank = k * TESTED / n + MARGIN;                                                                   \
        if (n < LONG_LINE || rank >= TESTED) return (ITEM)~(ITEM)0;                                               \
        for (int64_t i = 0; i < TESTED; i++) sample[i] = keys[n / TESTED * i];                                    \
        return tt_sort(sizeof(ITEM), 0, 1, TESTED, 1, sample, sorted) ? (ITEM)~(ITEM)0 : sorted[rank];            \
    }                                                                                                             \
                                                                                                                  \
    static void NAME##_choose(const struct many *t, int64_t line, struct chosen *c) {                             \
        const ITEM *in = (const ITEM *)t->in + line * t->n, sign = (ITEM)t->order.sign;                           \
        ITEM *keys = (ITEM *)c->keys, *few = (ITEM *)c->few, flip = ~(t->order.kind & TT_SIGNED ? sign : 0);      \
        if (t->order.kind & TT_FLOAT)                                                                             \
            for (int64_t i = 0; i < t->n; i++)                                                                    \
                keys[i] = ~(in[i] ^ ((0 - (in[i] >> (8 * sizeof(ITEM) - 1))) | sign));                            \
        else                                                                                                      \
            for (int64_t i = 0; i < t->n; i++) keys[i] = in[i] ^ flip;                                            \
        ITEM bound = NAME##_bound(keys, t->n, t->k);                                                              \
        c->count = 0;                                                                                             \
        if (bound != (ITEM)~(ITEM)0)                                                                              \
            for (int64_t i = 0; i < t->n; i++) {                                                                  \
                few[c->count] = keys[i];                                                                          \
                c->places[c->count] = (uint32_t)i;                                                                \
                c->count += keys[i] <= bound;                                                                     \
            }                                                                                                     \
        if (c->count >= t->k) return;                                                                             \
        c->few = c->keys, c->places = NULL, c->count = t->n;                                                      \
    }                                                                                                             \
                                                                                                                  \
    static void NAME##_values(const struct many *t, int64_t line, const struct chosen *c) {                       \
        const ITEM *keys = (const ITEM *)c->sorted, sign = (ITEM)t->order.sign;                                   \
        ITEM *values = (ITEM *)t->values + line * t->k, flip = ~(t->order.kind & TT_SIGNED ? sign : 0);           \
        if (t->order.kind & TT_FLOAT)                                                                             \
            for (int64_t i = 0; i < t->k; i++) {                                                                  \
                ITEM key = ~keys[i];                                                                              \
                values[i] = key ^ (((key >> (8 * sizeof(ITEM) - 1)) - 1) | sign);                                 \
            }                                                                                                     \
        else                                                                                                      \
            for (int64_t i = 0; i < t->k; i++) values[i] = keys[i] ^ flip;                                        \
    }
CHOOSE(chosen32, uint32_t)
CHOOSE(chosen64, uint64_t)

/* Positions are those of the order of keys; values are keys in order, turned back, where nobody asks for positions. */
static int32_t sort_chosen(const struct many *t, int64_t line, struct chosen c) {
    int32_t bytes = t->order.bytes, status;
    (bytes == 4 ? chosen32_choose : chosen64_choose)(t, line, &c);
    if (!t->positions) {
        status = tt_sort(bytes, 0, 1, c.count, 1, c.few, c.sorted);
        (bytes == 4 ? chosen32_values : chosen64_values)(t, line, &c);
        return status;
    }
    status = tt_order(bytes, 0, 0, 1, c.count, 1, c.few, c.order);
    for (int64_t i = 0; i < t->k && status == TT_OK; i++) {
        uint32_t place = c.places ? c.places[c.order[i]] : c.order[i];
        t->positions[line * t->k + i] = (int32_t)place;
        if (t->values) put_bits(t->values, line * t->k + i, bytes, bits_at(t->in, line * t->n + place, bytes));
    }
    return status;
}

static void choose_many(void *ctx, int64_t begin, int64_t end) {
    struct many *t = ctx;
    size_t keys = (size_t)(t->n * t->order.bytes), places = (size_t)t->n * sizeof(uint32_t), size = 3 * keys + 2 * places;
    char *block = (char *)tt_alloc(size);
    int32_t status = block ? TT_OK : TT_NO_MEMORY;
    for (int64_t line = begin; line < end && status == TT_OK; line++) {
        uint32_t *at = (uint32_t *)(block + 3 * keys);
        status = sort_chosen(t, line, (struct chosen){block, block + keys, block + 2 * keys, at, at + t->n, 0});
    }
    if (status != TT_OK) atomic_store(&t->status, status);
    if (block) tt_free((uintptr_t)block, size);
}

static int32_t choose_by_order(const struct choice *c, int64_t lines, char *values, int32_t *positions) {
    if (c->order.bytes >= 4) {
        struct many t = {c->order, c->n, c->k, c->in, values, positions, TT_OK};
        tt_parallel_for(choose_many, &t, lines, ceil_div(ELEMENTS_OF_PART, c->n));
        return t.status;
    }
    size_t size = (size_t)(lines * c->n) * sizeof(uint32_t);
    uint32_t *order = (uint32_t *)tt_alloc(size);
    if (!order) return TT_NO_MEMORY;
    int32_t status = tt_order(c->order.bytes, c->order.kind, 0, lines, c->n, 1, c->in, order);
    for (int64_t i = 0; i < lines * c->k && status == TT_OK; i++)
        put_result(c, i / c->k, i % c->k, order[i / c->k * c->n + i % c->k], values, positions);
    tt_free((uintptr_t)order, size);
    return status;
}

int32_t tt_top_k(int32_t bytes, int32_t kind, int64_t lines, int64_t n, int64_t k, const void *in, void *values,
                 int32_t *positions) {
    int64_t parts = most(1, least(MOST_PARTS, n / ELEMENTS_OF_PART));
    struct choice c = {order_of(bytes, kind | TT_TOTAL | TT_DESCENDING), n, k, parts, ceil_div(n, parts), in, NULL};
    if (lines * n * k == 0) return TT_OK;
    if (k > MOST_INSERTED) return choose_by_order(&c, lines, values, positions);
    size_t size = (size_t)(lines * parts * k) * sizeof(struct candidate);
    if (!(c.best = (struct candidate *)tt_alloc(size))) return TT_NO_MEMORY;
    tt_parallel_for(choose_in_parts, &c, lines * parts, ceil_div(ELEMENTS_OF_PART, c.part));
    for (int64_t line = 0; line < lines; line++) merge_parts(&c, line, values, positions);
    tt_free((uintptr_t)c.best, size);
    return TT_OK;
}
