/* The host of exported programs (tinytrace.export_c): loops on threads, matrix products and memory, without Python. It
   serves any number of programs. A program of yours may define tt_standalone_host itself and do without this file.

   Matrix products run in plain C loops, and on OpenBLAS where its library is named: by the environment variable TT_BLAS
   when the program starts, or by -DTT_BLAS='"path"' when this file is compiled. Products of OpenBLAS are those of the
   jitted function to the bit; those of the loops differ in the last bits. TT_THREADS says how many threads there are;
   results do not depend on it.

   Build: cc -std=gnu11 -O2 -c tt_host.c, and link with -lpthread -ldl. */

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A 64-byte aligned block, with 64 readable bytes after its end. */
static void *standalone_alloc(size_t size) {
    void *block = NULL;
    if (size > PTRDIFF_MAX - 64) return NULL;
    return posix_memalign(&block, 64, size + 64) ? NULL : block;
}

static void standalone_free(void *block, size_t size) {
    (void)size;
    free(block);
}

static uintptr_t tt_alloc(size_t size) { return (uintptr_t)standalone_alloc(size); }
static void tt_free(uintptr_t block, size_t size) { standalone_free((void *)block, size); }

#include "tt_host.h"
#include "pool.c"
#include "vectors.c"
#include "blas.c"
#include "narrow.c"
#include "lapack.c"
#include "openblas.c"
#include "sort.c"
#include "select.c"
#include "top_k.c"
#include "members.c"
#include "fft.c"

/* An exported program has no callbacks: export_c refuses those that do. */
static int32_t no_callback(int64_t id, void *const *buffers) {
    (void)id, (void)buffers;
    return TT_CALLBACK_RAISED;
}

const struct tt_host tt_standalone_host = {
    .parallel_for = tt_parallel_for,
    .sgemm = tt_sgemm,
    .dgemm = tt_dgemm,
    .sgemm_taps = tt_sgemm_taps,
    .dgemm_taps = tt_dgemm_taps,
    .sgemm_then = tt_sgemm_then,
    .dgemm_then = tt_dgemm_then,
    .sbgemm = tt_sbgemm,
    .shgemm = tt_shgemm,
    .sbgemm_then = tt_sbgemm_then,
    .shgemm_then = tt_shgemm_then,
    .i8gemm = tt_i8gemm,
    .has_tiles = tt_has_tiles,
    .potrf = tt_potrf,
    .trsm = tt_trsm,
    .getrf = tt_getrf,
    .geqrf = tt_geqrf,
    .syevd = tt_syevd,
    .gesdd = tt_gesdd,
    .geev = tt_geev,
    .gees = tt_gees,
    .gehrd = tt_gehrd,
    .orgqr = tt_orgqr,
    .sytrd = tt_sytrd,
    .sort = tt_sort,
    .select = tt_select,
    .order = tt_order,
    .take = tt_take,
    .sort_by = tt_sort_by,
    .top_k = tt_top_k,
    .is_member = tt_is_member,
    .fft = tt_fft,
    .alloc = standalone_alloc,
    .free = standalone_free,
    .callback = no_callback,
};

#ifndef TT_BLAS
#define TT_BLAS ""
#endif

__attribute__((constructor)) static void read_settings(void) {
    const char *blas = getenv("TT_BLAS"), *wanted = getenv("TT_THREADS");
    if (!blas) blas = TT_BLAS;
    if (*blas && tt_blas_open(blas)) fprintf(stderr, "tt_host: no OpenBLAS at %s: matrix products in plain C\n", blas);
    tt_set_threads(wanted ? atoi(wanted) : 0);
}
