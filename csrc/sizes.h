#ifndef TT_SIZES_H
#define TT_SIZES_H
#include <stdint.h>

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a - 1) / b + 1; }
static inline int64_t round_up(int64_t x, int64_t unit) { return ceil_div(x, unit) * unit; }

#endif
