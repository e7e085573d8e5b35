/* What is done with rows of a product of matrices that are complete. */
#ifndef TT_EPILOGUE_H
#define TT_EPILOGUE_H
#include <stdint.h>

enum { LEAST_ELEMENTS = 16384 };

typedef void (*loop_body)(void *ctx, int64_t begin, int64_t end);

struct epilogue {
    loop_body body;
    void *ctx;
    int64_t step; /* iterations of `body` per row */
};

static inline void run_epilogue(const struct epilogue *then, int64_t begin, int64_t end) {
    if (then->body) then->body(then->ctx, then->step * begin, then->step * end);
}

static inline void run_epilogue_of_rows(void *ctx, int64_t begin, int64_t end) { run_epilogue(ctx, begin, end); }

#endif
