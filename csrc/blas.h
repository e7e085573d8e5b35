#ifndef TT_BLAS_H
#define TT_BLAS_H
#include <stdint.h>
#include "tt_runtime.h"

/* struct tt_host's sgemm, dgemm and what may follow them; see tt_host.h. */
void tt_sgemm(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
              int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void tt_dgemm(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
              int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
void tt_sgemm_taps(int64_t m, int64_t n, int64_t k, int64_t taps, int64_t tap, const float *a, int64_t lda,
                   const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void tt_dgemm_taps(int64_t m, int64_t n, int64_t k, int64_t taps, int64_t tap, const double *a, int64_t lda,
                   const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
void tt_sgemm_then(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                   int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc,
                   void (*then)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t step);
void tt_dgemm_then(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                   int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc,
                   void (*then)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t step);

/* Look for the BLAS in a library; `function` finds what has a name there. Returns: 0, or -1 if it is not there. */
int32_t tt_blas_find(void *library, void *(*function)(void *library, const char *name));

#endif
