#ifndef TT_POOL_H
#define TT_POOL_H
#include <stdint.h>
#include "tt_runtime.h"

/* struct tt_host's parallel_for; see tt_host.h. */
void tt_parallel_for(void (*body)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t n, int64_t grain);

#endif
