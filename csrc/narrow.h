#ifndef TT_NARROW_H
#define TT_NARROW_H
#include <stdint.h>
#include "tt_runtime.h"

/* struct tt_host's sbgemm, shgemm, what may follow them, i8gemm and has_tiles; see tt_host.h. */
void tt_sbgemm(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda,
               const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc);
void tt_shgemm(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda,
               const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc);
void tt_sbgemm_then(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda,
                    const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc,
                    void (*then)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t step);
void tt_shgemm_then(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda,
                    const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc,
                    void (*then)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t step);
void tt_i8gemm(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const int8_t *a, int64_t lda,
               const int8_t *b, int64_t ldb, int32_t *c, int64_t ldc);
int32_t tt_has_tiles(void);

#endif
