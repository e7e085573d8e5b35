/* Which elements of lines of n are among the m others that belong to the line: these go into a table where each element is
   looked up, in a time that grows with n + m and not with n * m. Elements of one and two bytes have a table of all values.
   Keys are bits of elements, where equal ones have the same: -0 is 0; NaN, which equals nothing, is in no table. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* loops over keys are made of vectors */
#endif

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include "tt_host.h"
#include "members.h"
#include "pool.h"
#include "sizes.h"
#include "sort_keys.h"
#include "tt_runtime.h"

enum {
    ASKED_FOR = 64,      /* elements whose places are computed, and asked for, before the first is looked at */
    SLOTS = 4,           /* keys of a bucket */
    LOOKED_UP = 1 << 13, /* elements that a thread takes at once: at least */
};

struct members {
    struct order order;
    int32_t bytes; /* of a key */
    int64_t n, m;
    const char *x, *y;
    uint8_t *out;
    _Atomic int32_t status;
};

/* A key equal to the mark, which shows that a slot is not taken, is not in the slots. */
struct key_table {
    void *slots;
    uint64_t mask; /* buckets - 1 */
    int32_t shift, has_mark;
};

struct wide {
    uint64_t low, high;
};

static inline uint64_t mixed_bits(uint64_t x) {
    x *= 0x9e3779b97f4a7c15ull;
    return (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
}

/* The bits of an element, or of a part of one; all ones for NaN. */
static inline uint32_t key_of_word(uint32_t bits, uint32_t infinity, int32_t is_float) {
    uint32_t size = bits & 0x7fffffffu;
    return !is_float ? bits : size > infinity ? ~0u : size ? bits : 0;
}

static inline uint64_t key_of_long(uint64_t bits, uint64_t infinity, int32_t is_float) {
    uint64_t size = bits & ~(1ull << 63);
    return !is_float ? bits : size > infinity ? ~0ull : size ? bits : 0;
}

static void w32_keys(const void *in, int64_t first, int64_t n, struct order o, uint32_t *keys) {
    const uint32_t *x = (const uint32_t *)in + first;
    for (int64_t i = 0; i < n; i++) keys[i] = key_of_word(x[i], (uint32_t)o.infinity, o.kind & TT_FLOAT);
}

/* Numbers of 64 bits, or the two parts of one. */
static void w64_keys(const void *in, int64_t first, int64_t n, struct order o, uint64_t *keys) {
    const uint64_t *x = (const uint64_t *)in + first;
    if (o.bytes == 8) {
        for (int64_t i = 0; i < n; i++) keys[i] = key_of_long(x[i], o.infinity, o.kind & TT_FLOAT);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t low = key_of_word((uint32_t)x[i], (uint32_t)o.infinity, 1);
        uint64_t high = key_of_word((uint32_t)(x[i] >> 32), (uint32_t)o.infinity, 1);
        keys[i] = (uint32_t)~low && (uint32_t)~high ? low | high << 32 : ~0ull;
    }
}

static void w128_keys(const void *in, int64_t first, int64_t n, struct order o, struct wide *keys) {
    const struct wide *x = (const struct wide *)in + first;
    for (int64_t i = 0; i < n; i++) {
        uint64_t low = key_of_long(x[i].low, o.infinity, 1), high = key_of_long(x[i].high, o.infinity, 1);
        keys[i] = ~low && ~high ? (struct wide){low, high} : (struct wide){~0ull, ~0ull};
    }
}

static const uint32_t w32_mark = ~0u;
static const uint64_t w64_mark = ~0ull;
static const struct wide w128_mark = {~0ull, ~0ull};
static inline int32_t w32_same(uint32_t a, uint32_t b) { return a == b; }
static inline int32_t w64_same(uint64_t a, uint64_t b) { return a == b; }
static inline int32_t w128_same(struct wide a, struct wide b) { return !((a.low ^ b.low) | (a.high ^ b.high)); }
static inline uint64_t w32_hash(uint32_t key) { return key * 0x9e3779b97f4a7c15ull; }
static inline uint64_t w64_hash(uint64_t key) { return mixed_bits(key); }
static inline uint64_t w128_hash(struct wide key) { return mixed_bits(mixed_bits(key.low) + key.high); }

#define NAME(suffix) w32_##suffix
#define KEY uint32_t
#include "members.inc"
#undef NAME
#undef KEY
#define NAME(suffix) w64_##suffix
#define KEY uint64_t
#include "members.inc"
#undef NAME
#undef KEY
#define NAME(suffix) w128_##suffix
#define KEY struct wide
#include "members.inc"
#undef NAME
#undef KEY

/* --- a table of all values ------------------------------------------------------------------------------------------- */

/* Says of the values of a line, and of the other zero, that they are in the table or that they are not. */
static void say_of_values(uint8_t *values, const struct members *s, const void *y, uint8_t yes) {
    int32_t is_float = s->order.kind & TT_FLOAT;
    uint64_t sign = s->order.sign, infinity = is_float ? s->order.infinity : sign;
    int64_t m = s->m;
    if (s->bytes == 1)
        for (int64_t i = 0; i < m; i++) values[((const uint8_t *)y)[i]] = yes;
    else
        for (int64_t i = 0; i < m; i++) {
            uint64_t bits = ((const uint16_t *)y)[i];
            values[bits] = yes & ((bits & ~sign) <= infinity);
        }
    if (is_float) values[0] = values[sign] = yes & (values[0] | values[sign]);
}

static void look_values_up(const uint8_t *values, const struct members *s, const void *x, int64_t begin, int64_t end,
                           uint8_t *out) {
    if (s->bytes == 1)
        for (int64_t i = begin; i < end; i++) out[i] = values[((const uint8_t *)x)[i]];
    else
        for (int64_t i = begin; i < end; i++) out[i] = values[((const uint16_t *)x)[i]];
}

/* --- lines ----------------------------------------------------------------------------------------------------------- */

struct looking {
    const struct members *s;
    struct key_table table;
    const void *x;
    uint8_t *out;
};

static void look_up_in_parts(void *ctx, int64_t begin, int64_t end) {
    const struct looking *l = ctx;
    switch (l->s->bytes) {
    case 4: w32_look_up(&l->table, l->s, l->x, begin, end, l->out); break;
    case 8: w64_look_up(&l->table, l->s, l->x, begin, end, l->out); break;
    case 16: w128_look_up(&l->table, l->s, l->x, begin, end, l->out); break;
    default: look_values_up(l->table.slots, l->s, l->x, begin, end, l->out);
    }
}

static void fill_table(struct looking *l, const void *y) {
    switch (l->s->bytes) {
    case 4: w32_fill(&l->table, l->s, y); break;
    case 8: w64_fill(&l->table, l->s, y); break;
    case 16: w128_fill(&l->table, l->s, y); break;
    default: say_of_values(l->table.slots, l->s, y, 1);
    }
}

static void look_at_lines(void *ctx, int64_t begin, int64_t end) {
    struct members *s = ctx;
    struct looking l = {.s = s, .table = {.shift = 63, .mask = 1}};
    while (2 * (int64_t)(l.table.mask + 1) < s->m) l.table.mask = 2 * l.table.mask + 1, l.table.shift--;
    size_t size = s->bytes < 4 ? 1ull << 8 * s->bytes : (l.table.mask + 1) * SLOTS * (size_t)s->bytes;
    if (!(l.table.slots = (void *)tt_alloc(size))) {
        atomic_store(&s->status, TT_NO_MEMORY);
        return;
    }
    if (s->bytes < 4) memset(l.table.slots, 0, size);
    for (int64_t line = begin; line < end; line++) {
        const char *y = s->y + line * s->m * s->bytes;
        l.x = s->x + line * s->n * s->bytes, l.out = s->out + line * s->n;
        fill_table(&l, y);
        tt_parallel_for(look_up_in_parts, &l, s->n, LOOKED_UP);
        if (s->bytes < 4 && line + 1 < end) say_of_values(l.table.slots, s, y, 0);
    }
    tt_free((uintptr_t)l.table.slots, size);
}

int32_t tt_is_member(int32_t bytes, int32_t kind, int32_t parts, int64_t lines, int64_t n, int64_t m, const void *x,
                     const void *y, uint8_t *out) {
    struct members s = {order_of(bytes, kind), bytes * parts, n, m, x, y, out, TT_OK};
    if (lines * n > 0) tt_parallel_for(look_at_lines, &s, lines, ceil_div(LOOKED_UP, n + m));
    return s.status;
}
