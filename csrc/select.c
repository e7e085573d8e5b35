/* What stands at places [first, first + count) of sorted lines of n elements; the lines are not sorted.

   Bounds of the wanted elements are chosen from a sorted sample; one look at a line counts what is below them and puts
   together what is between, and only that is sorted (R. Floyd, R. Rivest, "Expected time bounds for selection", 1975).
   Where the wanted ones turn out to be elsewhere, all are sorted. Equal elements are all between the bounds or none of
   them, in their order, so the result is that of stable sorting. Parts of a long line are looked at side by side. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* loops over keys are made of vectors */
#endif

#include <stdint.h>
#include <string.h>
#include "tt_host.h"
#include "pool.h"
#include "select.h"
#include "sizes.h"
#include "sort.h"
#include "sort_keys.h"
#include "tt_runtime.h"

enum {
    STRIP = 512,           /* elements whose keys are made at once */
    SHORT = 512,           /* up to so many elements are sorted */
    MOST_SAMPLED = 1 << 13,
    PORTION = 8,           /* of so many elements one is in the sample */
    DEVIATIONS = 4,        /* of a place in the sample, of which its square root is twice one at most */
    PARTS_OF_LINE = 16,    /* at most */
    SMALLEST_PART = 1 << 15,
};

struct selecting {
    struct order order;
    int64_t n, first, count, part; /* part: elements */
    const char *in;
    char *out;
    _Atomic int32_t status;
};

/* A look at one line: what each part has below `low`, and between that and `low` + `range`. */
struct look {
    const struct selecting *s;
    const char *line;
    char *between; /* what a part has found, from its own beginning on */
    uint64_t low, range;
    int64_t below[PARTS_OF_LINE], found[PARTS_OF_LINE];
};

#define GATHER(TYPE, KEYS)                                                                                        \
    for (int64_t k = 0; k < n; k++) {                                                                             \
        ((TYPE *)between)[found] = ((const TYPE *)line)[i + k];                                                \
        found += KEYS[k] - low <= range;                                                                          \
    }

static void look_at_words(struct look *l, int64_t part, int64_t begin, int64_t end) {
    uint32_t keys[STRIP], low = (uint32_t)l->low, range = (uint32_t)l->range;
    int32_t bytes = l->s->order.bytes;
    const char *line = l->line;
    char *between = l->between + begin * bytes;
    int64_t below = 0, found = 0;
    for (int64_t i = begin; i < end; i += STRIP) {
        int64_t n = least(STRIP, end - i);
        uint32_t fewer = 0;
        word_keys(line, i, n, l->s->order, keys);
        for (int64_t k = 0; k < n; k++) fewer += keys[k] < low;
        below += fewer;
        if (bytes == 4) GATHER(uint32_t, keys)
        else if (bytes == 2) GATHER(uint16_t, keys)
        else GATHER(uint8_t, keys)
    }
    l->below[part] = below;
    l->found[part] = found;
}

static void look_at_long(struct look *l, int64_t part, int64_t begin, int64_t end) {
    uint64_t keys[STRIP], low = l->low, range = l->range;
    const uint64_t *line = (const uint64_t *)l->line;
    char *between = l->between + begin * (int64_t)sizeof *line;
    int64_t below = 0, found = 0;
    for (int64_t i = begin; i < end; i += STRIP) {
        int64_t n = least(STRIP, end - i);
        u64_keys(line + i, n, l->s->order, keys);
        for (int64_t k = 0; k < n; k++) below += keys[k] < low;
        GATHER(uint64_t, keys)
    }
    l->below[part] = below;
    l->found[part] = found;
}

static void look_at_parts(void *ctx, int64_t begin, int64_t end) {
    struct look *l = ctx;
    for (int64_t part = begin; part < end; part++) {
        int64_t from = part * l->s->part, to = least(l->s->n, from + l->s->part);
        if (l->s->order.bytes < 8) look_at_words(l, part, from, to);
        else look_at_long(l, part, from, to);
    }
}

static int32_t sort_all(const struct selecting *s, const void *in, int64_t n, void *sorted) {
    return tt_sort(s->order.bytes, s->order.kind, 1, n, 1, in, sorted);
}

/* Chooses the bounds by a sorted sample of elements at equal distances; `scratch` has room for it, twice. */
static int32_t choose_range(struct look *l, char *scratch) {
    const struct selecting *s = l->s;
    int32_t bytes = s->order.bytes;
    int64_t many = least(MOST_SAMPLED, s->n / PORTION), margin = 1;
    char *sorted = scratch + many * bytes;
    for (int64_t k = 0; k < many; k++) put_bits(scratch, k, bytes, bits_at(l->line, s->n * k / many, bytes));
    int32_t status = sort_all(s, scratch, many, sorted);
    while (4 * margin * margin < DEVIATIONS * DEVIATIONS * many) margin++;
    int64_t from = s->first * many / s->n - margin, to = (s->first + s->count) * many / s->n + margin;
    uint64_t high = to < many ? key_of(bits_at(sorted, to, bytes), s->order) : ~0ull;
    l->low = from > 0 ? key_of(bits_at(sorted, from, bytes), s->order) : 0;
    l->range = high - l->low;
    return status;
}

/* Puts what the parts have found together; how many there are, and how many are below them. */
static int64_t join_parts(struct look *l, int64_t parts, int64_t *below) {
    int64_t bytes = l->s->order.bytes, found = 0;
    *below = 0;
    for (int64_t part = 0; part < parts; part++) {
        memmove(l->between + found * bytes, l->between + part * l->s->part * bytes, (size_t)(l->found[part] * bytes));
        found += l->found[part];
        *below += l->below[part];
    }
    return found;
}

static int32_t select_in_line(const struct selecting *s, const char *line, char *out, char *scratch) {
    int64_t bytes = s->order.bytes, parts = ceil_div(s->n, s->part), below = 0, found = s->n;
    char *sorted = scratch + s->n * bytes;
    const char *between = line;
    if (s->n > SHORT) {
        struct look l = {.s = s, .line = line, .between = scratch};
        int32_t status = choose_range(&l, scratch);
        if (status) return status;
        tt_parallel_for(look_at_parts, &l, parts, 1);
        int64_t least_below, some = join_parts(&l, parts, &least_below);
        if (least_below <= s->first && s->first + s->count <= least_below + some)
            below = least_below, found = some, between = scratch;
    }
    int32_t status = sort_all(s, between, found, sorted);
    memcpy(out, sorted + (s->first - below) * bytes, (size_t)(s->count * bytes));
    return status;
}

static void select_in_lines(void *ctx, int64_t begin, int64_t end) {
    struct selecting *s = ctx;
    int64_t bytes = s->order.bytes;
    size_t size = (size_t)(2 * s->n * bytes);
    char *scratch = (char *)tt_alloc(size);
    int32_t status = scratch ? TT_OK : TT_NO_MEMORY;
    for (int64_t line = begin; line < end && status == TT_OK; line++)
        status = select_in_line(s, s->in + line * s->n * bytes, s->out + line * s->count * bytes, scratch);
    if (scratch) tt_free((uintptr_t)scratch, size);
    if (status) s->status = status;
}

int32_t tt_select(int32_t bytes, int32_t kind, int64_t lines, int64_t n, int64_t first, int64_t count, const void *in,
                  void *out) {
    int64_t parts = most(1, least(PARTS_OF_LINE, n / SMALLEST_PART));
    struct selecting s = {order_of(bytes, kind), n, first, count, n ? ceil_div(n, parts) : 1, in, out, TT_OK};
    if (lines * count > 0) tt_parallel_for(select_in_lines, &s, lines, ceil_div(SMALLEST_PART, n));
    return s.status;
}
