#ifndef TT_POOL_H
#define TT_POOL_H
#include <stdint.h>
#include "tt_runtime.h"

/* struct tt_host's parallel_for; see tt_host.h. */
void tt_parallel_for(void (*body)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t n, int64_t grain);

/* Is this thread in one of several chunks of a loop? Then further loops run here: there is no use in cutting them. The
   answer depends on the program, not on the number of threads. */
int32_t tt_inside_loop(void);

#endif
