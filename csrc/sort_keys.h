#ifndef TT_SORT_KEYS_H
#define TT_SORT_KEYS_H
#include <stdint.h>

/* How elements compare, as unsigned integers that compare alike. */

/* How elements compare. The bits of infinity: what lies above them is NaN. */
struct order {
    int32_t bytes, kind;
    uint64_t sign, infinity;
};

static struct order order_of(int32_t bytes, int32_t kind) {
    static const uint64_t infinities[] = {[1] = 0x7f800000, [2] = 0x7ff0000000000000};
    struct order o = {bytes, kind, 1ull << (8 * bytes - 1), 0};
    int32_t is_brain = kind & TT_BRAIN;
    if (kind & TT_FLOAT) o.infinity = bytes == 2 ? (is_brain ? 0x7f80 : 0x7c00) : infinities[bytes / 4];
    return o;
}

/* How bits become a key: where the sign is set those of `below` are turned, and everywhere those of `flip`. Of floats
   that is the total order, -0 before 0. A descending order is its own inverse. */
struct turn {
    uint64_t below, flip;
};

static inline struct turn turn_of(struct order o) {
    uint64_t below = o.sign - 1, all = o.sign | below, signed_too = o.kind & (TT_FLOAT | TT_SIGNED) ? o.sign : 0;
    return (struct turn){o.kind & TT_FLOAT ? below : 0, signed_too ^ (o.kind & TT_DESCENDING ? all : 0)};
}

/* Of elements of any width: u8_turned and the like are for loops. */
static inline uint64_t turned(uint64_t bits, uint64_t sign, struct turn t) {
    return bits ^ (bits & sign ? t.below : 0) ^ t.flip;
}

static inline uint64_t turned_back(uint64_t key, uint64_t sign, struct turn t) {
    uint64_t bits = key ^ t.flip;
    return bits ^ (bits & sign ? t.below : 0);
}

static inline uint64_t bits_at(const void *x, int64_t i, int32_t bytes) {
    switch (bytes) {
    case 1: return ((const uint8_t *)x)[i];
    case 2: return ((const uint16_t *)x)[i];
    case 4: return ((const uint32_t *)x)[i];
    default: return ((const uint64_t *)x)[i];
    }
}

static inline void put_bits(void *x, int64_t i, int32_t bytes, uint64_t bits) {
    switch (bytes) {
    case 1: ((uint8_t *)x)[i] = (uint8_t)bits; break;
    case 2: ((uint16_t *)x)[i] = (uint16_t)bits; break;
    case 4: ((uint32_t *)x)[i] = (uint32_t)bits; break;
    default: ((uint64_t *)x)[i] = bits;
    }
}

/* The key of an element, where equal ones have one key: unless the order is total, NaN comes last and -0 equals 0. */
static inline uint64_t key_of(uint64_t bits, struct order o) {
    if (o.kind & TT_FLOAT && !(o.kind & TT_TOTAL))
        bits = (bits & ~o.sign) > o.infinity ? o.sign - 1 : bits == o.sign ? 0 : bits;
    return turned(bits, o.sign, turn_of(o));
}

#define NAME(suffix) u8_##suffix
#define ITEM uint8_t
#define KEY uint32_t
#include "sort_keys.inc"
#undef NAME
#undef ITEM
#define NAME(suffix) u16_##suffix
#define ITEM uint16_t
#include "sort_keys.inc"
#undef NAME
#undef ITEM
#define NAME(suffix) u32_##suffix
#define ITEM uint32_t
#include "sort_keys.inc"
#undef NAME
#undef ITEM
#undef KEY
#define NAME(suffix) u64_##suffix
#define ITEM uint64_t
#define KEY uint64_t
#include "sort_keys.inc"
#undef NAME
#undef ITEM
#undef KEY

/* The keys of n elements of up to four bytes from place `first` on. */
static inline void word_keys(const void *in, int64_t first, int64_t n, struct order o, uint32_t *keys) {
    switch (o.bytes) {
    case 1: u8_keys((const uint8_t *)in + first, n, o, keys); break;
    case 2: u16_keys((const uint16_t *)in + first, n, o, keys); break;
    default: u32_keys((const uint32_t *)in + first, n, o, keys);
    }
}

/* Is one of n floats from place `first` on a zero? */
static inline int32_t has_zero(const void *in, int64_t first, int64_t n, struct order o) {
    switch (o.bytes) {
    case 2: return u16_has_zero((const uint16_t *)in + first, n, (uint16_t)o.sign);
    case 4: return u32_has_zero((const uint32_t *)in + first, n, (uint32_t)o.sign);
    default: return u64_has_zero((const uint64_t *)in + first, n, o.sign);
    }
}

#endif
