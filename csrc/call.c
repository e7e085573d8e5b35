/* Calling compiled programs. */

#include <stdint.h>
#include "tt_host.h"
#include "blas.h"
#include "lapack.h"
#include "pool.h"
#include "sort.h"

typedef int32_t (*program)(void *const *buffers, const struct tt_host *host);

static void *host_alloc(size_t size) { return (void *)tt_alloc(size); }
static void host_free(void *block, size_t size) { tt_free((uintptr_t)block, size); }

/* Defined by cffi: takes the GIL and calls what runtime/callbacks.py registered. Success must be said: whatever keeps
   Python from it, an interrupt before its first line or an interpreter that is shutting down, is an error. */
enum { CALLBACK_DONE = 0x600D };
static int32_t (*python_callback)(int64_t id, uintptr_t *buffers);

void tt_set_callback(int32_t (*function)(int64_t id, uintptr_t *buffers)) { python_callback = function; }

static int32_t host_callback(int64_t id, void *const *buffers) {
    int done = python_callback && python_callback(id, (uintptr_t *)buffers) == CALLBACK_DONE;
    return done ? TT_OK : TT_CALLBACK_RAISED;
}

/* Factorizations without LAPACK: NumPy does them. */
static int32_t (*python_factorization)(const int64_t *words);

static int32_t factor_in_python(const int64_t *words) {
    return python_factorization(words) == CALLBACK_DONE ? TT_OK : TT_CALLBACK_RAISED;
}

void tt_set_factorization(int32_t (*function)(const int64_t *words)) {
    python_factorization = function;
    tt_lapack_set_substitute(factor_in_python);
}

static const struct tt_host host = {
    .parallel_for = tt_parallel_for,
    .sgemm = tt_sgemm,
    .dgemm = tt_dgemm,
    .sgemm_then = tt_sgemm_then,
    .dgemm_then = tt_dgemm_then,
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
    .order = tt_order,
    .take = tt_take,
    .top_k = tt_top_k,
    .alloc = host_alloc,
    .free = host_free,
    .callback = host_callback,
};

int32_t tt_host_abi(void) { return TT_HOST_ABI; }

int32_t tt_call(uintptr_t entry, uintptr_t *buffers) { return ((program)entry)((void *const *)buffers, &host); }
