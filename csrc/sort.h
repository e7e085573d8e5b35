#ifndef TT_SORT_H
#define TT_SORT_H
#include <stdint.h>

/* struct tt_host's sorting; see tt_host.h. */
int32_t tt_sort(int32_t bytes, int32_t kind, int64_t outer, int64_t n, int64_t inner, const void *in, void *out);
int32_t tt_order(int32_t bytes, int32_t kind, int32_t again, int64_t outer, int64_t n, int64_t inner, const void *keys,
                 uint32_t *order);
int32_t tt_take(int32_t bytes, int64_t outer, int64_t n, int64_t inner, const void *in, const uint32_t *order,
                void *out);
/* The first k of each line, and where they are, unless these are NULL. Returns 0, and has done nothing, where lines are
   too long or too few to be sorted at once. */
int32_t tt_sort_first(int32_t bytes, int32_t kind, int64_t lines, int64_t n, int64_t k, const void *in, void *values,
                      int32_t *positions);
int32_t tt_sort_by(int32_t kind, int64_t n, const void *keys, const void *in, uint32_t *order, void *out);
int32_t tt_top_k(int32_t bytes, int32_t kind, int64_t lines, int64_t n, int64_t k, const void *in, void *values,
                 int32_t *positions);

#endif
