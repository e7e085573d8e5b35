#ifndef TT_MEMBERS_H
#define TT_MEMBERS_H
#include <stdint.h>

/* struct tt_host's is_member; see tt_host.h. */
int32_t tt_is_member(int32_t bytes, int32_t kind, int32_t parts, int64_t lines, int64_t n, int64_t m, const void *x,
                     const void *y, uint8_t *out);

#endif
