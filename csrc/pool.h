#ifndef TT_POOL_H
#define TT_POOL_H
#include <stdint.h>
#include "tt_runtime.h"

/* Is this thread in one of several chunks of a loop? Then further loops run here: there is no use in cutting them. The
   answer depends on the program, not on the number of threads. */
int32_t tt_inside_loop(void);

#endif
