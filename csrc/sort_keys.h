#ifndef TT_SORT_KEYS_H
#define TT_SORT_KEYS_H
#include <stdint.h>

/* How elements compare, as unsigned integers that compare alike. */

/* Keys that compare as floats do in total order, -0 before 0: `sign` has the highest bit alone. */
static inline uint64_t key_of_float(uint64_t bits, uint64_t sign) { return bits & sign ? ~bits : bits | sign; }
static inline uint64_t float_of_key(uint64_t key, uint64_t sign) { return key & sign ? key & ~sign : ~key; }

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
    uint64_t all = o.sign | (o.sign - 1);
    if (o.kind & TT_FLOAT) {
        if (!(o.kind & TT_TOTAL)) bits = (bits & ~o.sign) > o.infinity ? all & ~o.sign : bits == o.sign ? 0 : bits;
        bits = key_of_float(bits, o.sign) & all;
    } else if (o.kind & TT_SIGNED) {
        bits ^= o.sign;
    }
    return o.kind & TT_DESCENDING ? ~bits & all : bits;
}

#endif
