#ifndef TT_FFT_H
#define TT_FFT_H
#include <stdint.h>

/* struct tt_host's transforms; see tt_host.h. */
int32_t tt_fft(int32_t bytes, int32_t kind, int64_t lines, int64_t a, int64_t b, int64_t c, const void *in, void *out);

#endif
