/* The k largest of each line of n elements. For a small k, every element is held against the last of the k best so far;
   else all are sorted. Parts of a long line are looked through side by side; of equals the first comes first, however lines are cut. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* loops over keys are made of vectors */
#endif

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
    put_bits(values, line * c->k + k, c->order.bytes, bits);
    positions[line * c->k + k] = (int32_t)position;
}

static void merge_parts(const struct choice *c, int64_t line, void *values, int32_t *positions) {
    struct candidate *best = c->best + line * c->parts * c->k;
    for (int64_t i = c->k; i < c->parts * c->k; i++)
        if (best[i].position != UINT64_MAX) insert_best(best, c->k, c->k, best[i]);
    for (int64_t i = 0; i < c->k; i++) put_result(c, line, i, (int64_t)best[i].position, values, positions);
}

static int32_t choose_by_order(const struct choice *c, int64_t lines, void *values, int32_t *positions) {
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
