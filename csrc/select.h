#ifndef TT_SELECT_H
#define TT_SELECT_H
#include <stdint.h>

/* struct tt_host's selection; see tt_host.h. */
int32_t tt_select(int32_t bytes, int32_t kind, int64_t lines, int64_t n, int64_t first, int64_t count, const void *in,
                  void *out);

#endif
