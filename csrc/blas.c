/* Matrix products: a BLAS found at run time, called single-threaded on blocks of the result that our pool shares out.

   The BLAS keeps no threads of its own: two pools on one machine fight. Blocks depend on the shape only, so results
   do not depend on the number of threads. Without a BLAS, plain C loops give the same answers, slower. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "blas.h"
#include "pool.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, MOST_ROWS = 512, MOST_COLUMNS = 1024, FEW_ROWS = 128,
       LEAST_ELEMENTS = 16384 };
static const double TWO_BLOCKS = 1 << 20, FOUR_BLOCKS = 1 << 27; /* multiply-adds: some 20 us and 2 ms */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t parts(int64_t whole, int64_t part) { return (whole - 1) / part + 1; }

/* The size of a block of a product with m rows and n columns. Smaller blocks cost, for each packs its operands anew:
   a product of 1024^3 takes 3 % more in blocks of 512 x 512 and 9 % more in blocks of 256 x 256. */
static void choose_block(int64_t m, int64_t n, int64_t k, int64_t *rows, int64_t *columns) {
    double work = (double)m * (double)n * (double)k;
    int64_t wanted = work > FOUR_BLOCKS ? 4 : work > TWO_BLOCKS ? 2 : 1;
    int64_t down = wanted > 1 ? parts(m, MOST_ROWS) : 1, across = wanted > 1 ? parts(n, MOST_COLUMNS) : 1;
    while (down * across < wanted) *(m / down >= FEW_ROWS ? &down : &across) *= 2;
    *rows = parts(m, down);
    *columns = parts(n, across);
}

typedef void (*loop_body)(void *ctx, int64_t begin, int64_t end);

/* What is done with rows of the result that are complete. */
struct sequel {
    loop_body body;
    void *ctx;
    int64_t step; /* iterations of `body` per row */
};

static void continue_with(const struct sequel *then, int64_t begin, int64_t end) {
    if (then->body) then->body(then->ctx, then->step * begin, then->step * end);
}

static void continue_rows(void *ctx, int64_t begin, int64_t end) { continue_with(ctx, begin, end); }

#define REAL float
#define NAME(suffix) sgemm##suffix
#define ENTRY(suffix) tt_sgemm##suffix
#include "gemm.inc"
#undef REAL
#undef NAME
#undef ENTRY

#define REAL double
#define NAME(suffix) dgemm##suffix
#define ENTRY(suffix) tt_dgemm##suffix
#include "gemm.inc"

int32_t tt_blas_open(const char *path) {
    const char *before = getenv("OPENBLAS_NUM_THREADS");
    char *saved = before ? strdup(before) : NULL;
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* read while it loads: it then starts no threads */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (saved) setenv("OPENBLAS_NUM_THREADS", saved, 1);
    else unsetenv("OPENBLAS_NUM_THREADS");
    free(saved);
    if (!library) return -1;
    void (*set_num_threads)(int) = (void (*)(int))dlsym(library, "scipy_openblas_set_num_threads");
    sgemm_function sgemm = (sgemm_function)dlsym(library, "scipy_cblas_sgemm");
    dgemm_function dgemm = (dgemm_function)dlsym(library, "scipy_cblas_dgemm");
    if (!set_num_threads || !sgemm || !dgemm) return -1;
    set_num_threads(1);
    sgemm_blas = sgemm;
    dgemm_blas = dgemm;
    return 0;
}

int32_t tt_blas_loaded(void) { return sgemm_blas && dgemm_blas; }
