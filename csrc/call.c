/* Calling compiled programs. */

#include <stdatomic.h>
#include <stdint.h>
#include "tt_host.h"
#include "blas.h"
#include "fft.h"
#include "lapack.h"
#include "members.h"
#include "narrow.h"
#include "pool.h"
#include "select.h"
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
    .alloc = host_alloc,
    .free = host_free,
    .callback = host_callback,
};

int32_t tt_host_abi(void) { return TT_HOST_ABI; }

int32_t tt_call(uintptr_t entry, uintptr_t *buffers) { return ((program)entry)((void *const *)buffers, &host); }

/* --- elementwise programs, a block after the other --------------------------------------------------------------- */

enum { MOST_BUFFERS = 32 }; /* a program with more of them stays on its caller's thread */

struct blocks {
    uintptr_t entry;
    const uintptr_t *buffers;
    const size_t *steps;
    int32_t n;
    _Atomic int32_t status;
};

static int32_t call_in_order(const struct blocks *b, uintptr_t *buffers, int64_t count) {
    int32_t status = TT_OK;
    for (; count > 0 && status == TT_OK; count--) {
        status = tt_call(b->entry, buffers);
        for (int32_t i = 0; i < b->n; i++) buffers[i] += b->steps[i];
    }
    return status;
}

static void call_piece(void *ctx, int64_t begin, int64_t end) {
    struct blocks *b = ctx;
    uintptr_t buffers[MOST_BUFFERS];
    for (int32_t i = 0; i < b->n; i++) buffers[i] = b->buffers[i] + (size_t)begin * b->steps[i];
    int32_t status = call_in_order(b, buffers, end - begin);
    if (status != TT_OK) atomic_store(&b->status, status);
}

int32_t tt_call_on_blocks(uintptr_t entry, uintptr_t *buffers, const size_t *steps, int32_t n, int64_t count,
                          int64_t grain) {
    struct blocks b = {entry, buffers, steps, n, TT_OK};
    if (grain <= 0 || grain >= count || n > MOST_BUFFERS) return call_in_order(&b, buffers, count);
    tt_parallel_for(call_piece, &b, count, grain);
    for (int32_t i = 0; i < n; i++) buffers[i] += (size_t)count * steps[i];
    return atomic_load(&b.status);
}
