/* Factorizations of matrices: the LAPACK of the library that brings the BLAS, called single-threaded.

   Matrices of a batch are shared out to our threads; a large matrix alone is factored in blocks, and the threads share
   what follows from each (blocks.inc); right sides of a triangular system are shared too (triangles.inc). Blocks depend
   on the shape only, so results do not depend on the number of threads. Without LAPACK a substitute is asked, which is
   Python where there is one. */

#include <float.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "tt_host.h"
#include "blas.h"
#include "lapack.h"
#include "matrices.h"
#include "pool.h"
#include "sizes.h"
#include "tt_runtime.h"
#include "vectors.h"

enum { POTRF, TRSM, TRSV, GETRF, GEQRF, ORGQR, SYEVD, GESDD, GEEV, GEES, GEHRD, SYTRD, GEMM, ROUTINES };

/* For float, double and complex numbers of them. */
static const char *const routine_names[ROUTINES][4] = {
    [POTRF] = {"spotrf_", "dpotrf_", "cpotrf_", "zpotrf_"}, [TRSM] = {"strsm_", "dtrsm_", "ctrsm_", "ztrsm_"},
    [TRSV] = {"strsv_", "dtrsv_", "ctrsv_", "ztrsv_"},
    [GETRF] = {"sgetrf_", "dgetrf_", "cgetrf_", "zgetrf_"}, [GEQRF] = {"sgeqrf_", "dgeqrf_", "cgeqrf_", "zgeqrf_"},
    [ORGQR] = {"sorgqr_", "dorgqr_", "cungqr_", "zungqr_"}, [SYEVD] = {"ssyevd_", "dsyevd_", "cheevd_", "zheevd_"},
    [GESDD] = {"sgesdd_", "dgesdd_", "cgesdd_", "zgesdd_"}, [GEEV] = {"sgeev_", "dgeev_", "cgeev_", "zgeev_"},
    [GEES] = {"sgees_", "dgees_", "cgees_", "zgees_"},      [GEHRD] = {"sgehrd_", "dgehrd_", "cgehrd_", "zgehrd_"},
    [SYTRD] = {"ssytrd_", "dsytrd_", "chetrd_", "zhetrd_"}, [GEMM] = {"sgemm_", "dgemm_", "cgemm_", "zgemm_"},
};
typedef void (*routine)(void);
static routine routines[ROUTINES][4];
static _Atomic int32_t is_found;

void tt_lapack_find(void *library, void *(*function)(void *library, const char *name)) {
    for (int32_t k = 0; k < ROUTINES; k++)
        for (int32_t type = TT_F32; type <= TT_C128; type++)
            if (!(routines[k][type] = (routine)function(library, routine_names[k][type]))) return;
    atomic_store(&is_found, 1);
}

int32_t tt_lapack_set_found(int32_t yes) { return atomic_exchange(&is_found, yes); }

static int32_t (*substitute)(const int64_t *words);
void tt_lapack_set_substitute(int32_t (*function)(const int64_t *words)) { substitute = function; }

/* One call of the host: what is done to `count` matrices. */
struct batch {
    int32_t kind, type;
    int64_t count, m, n;
    int32_t options;
    const char *in[2];
    char *out[5];
    int64_t flops;                 /* of one matrix */
    int work, real_work, int_work; /* elements of LAPACK's workspaces */
    size_t scratch;                /* bytes that a thread needs, the workspaces included */
    _Atomic int32_t status;
};

/* What a thread has to itself: one block, of which pieces are taken. */
struct scratch {
    char *next;
};

static void *take(struct scratch *s, size_t bytes) {
    char *piece = s->next;
    s->next += (bytes + 63) / 64 * 64;
    return piece;
}

enum { FLOPS_OF_A_PIECE = 1 << 16 };

static const float f32_one[2] = {1, 0}, f32_minus_one[2] = {-1, 0};
static const double f64_one[2] = {1, 0}, f64_minus_one[2] = {-1, 0};
static const void *one(int32_t type) { return is_double(type) ? (const void *)f64_one : f32_one; }
static const void *minus_one(int32_t type) { return is_double(type) ? (const void *)f64_minus_one : f32_minus_one; }

#include "routines.inc"
#include "kernels.inc"
#include "triangles.inc"
#include "blocks.inc"
#include "qr.inc"
#include "factor.inc"

/* LAPACK counts in 32 bits: rows, columns, and elements of workspaces, some of which grow with the square of a matrix. */
static int is_too_large(const struct batch *t) {
    int64_t small = least(t->m, t->n), large = most(t->m, t->n);
    if (large > INT_MAX / 8) return 1;
    return (t->kind == TT_SYEVD || t->kind == TT_GESDD) && small * (5 * small + 2 * large + 64) > INT_MAX;
}

/* What a routine says that it needs. A float has 24 bits: it may have been rounded down. */
static int asked(int32_t type, const void *answer) {
    int count = (int)real_at(type, answer, 0);
    return is_double(type) ? count : count + (count >> 22);
}

/* Elements, reals and integers of workspace: what LAPACK says, or NULL and zeros where it needs none. */
static void ask_for_workspace(struct batch *t) {
    double answer[2] = {0, 0}, real_answer = 0;
    struct workspace w = {answer, -1, &real_answer, -1, &t->int_work, -1};
    int m = (int)t->m, n = (int)t->n;
    switch (t->kind) {
    case TT_GEQRF:
        if (!is_complex(t->type)) return; /* that is ours */
        geqrf(t->type, m, n, NULL, NULL, &w);
        t->work = asked(t->type, answer);
        orgqr(t->type, m, (int)columns_of_q(t), (int)least(m, n), NULL, NULL, &w);
        break;
    case TT_SYEVD: syevd(t->type, t->out[0] != NULL, t->options, n, NULL, NULL, &w); break;
    case TT_GESDD:
        if (is_by_qr(t)) m = n = (int)least(m, n);
        gesdd(t->type, jobz(t), m, n, NULL, NULL, NULL, NULL, &w);
        break;
    case TT_GEEV: geev(t->type, vectors_of(t), n, NULL, NULL, NULL, NULL, &w); break;
    case TT_GEES: gees(t->type, t->out[1] != NULL, n, NULL, NULL, NULL, &w); break;
    case TT_GEHRD: gehrd(t->type, n, NULL, NULL, &w); break;
    case TT_ORGQR: orgqr(t->type, m, n, t->options, NULL, NULL, &w); break;
    case TT_SYTRD: sytrd(t->type, t->options, n, NULL, NULL, NULL, NULL, &w); break;
    default: return;
    }
    t->work = (int)most(t->work, asked(t->type, answer));
    t->real_work = (int)most(real_work_of(t), asked(t->type & 1, &real_answer));
    if (t->kind == TT_GESDD) t->int_work = (int)(8 * least(m, n));
}

static void factor_matrices(void *ctx, int64_t begin, int64_t end) {
    struct batch *t = ctx;
    char *block = t->scratch ? (char *)tt_alloc(t->scratch) : NULL;
    if (t->scratch && !block) {
        atomic_store(&t->status, TT_NO_MEMORY);
        return;
    }
    for (int64_t k = begin; k < end; k++) factor(t, k, (struct scratch){block});
    if (block) tt_free((uintptr_t)block, t->scratch);
}

static int32_t factor_batch(struct batch t) {
    if (t.count <= 0) return TT_OK;
    if (!atomic_load(&is_found) || is_too_large(&t)) {
        const int64_t words[] = {t.kind, t.type, t.count, t.m, t.n, t.options, (intptr_t)t.in[0], (intptr_t)t.in[1],
                                 (intptr_t)t.out[0], (intptr_t)t.out[1], (intptr_t)t.out[2], (intptr_t)t.out[3],
                                 (intptr_t)t.out[4]};
        return substitute ? substitute(words) : TT_NO_LAPACK;
    }
    if (t.m && t.n) ask_for_workspace(&t);
    t.scratch = scratch_of(&t);
    t.flops = most(t.m * t.n * least(t.m, t.n), 1);
    tt_parallel_for(factor_matrices, &t, t.count, ceil_div(FLOPS_OF_A_PIECE, t.flops));
    return t.status;
}

/* What the host's entries fill in. */
#define BATCH(of, rows, columns, choice, ...)                                                                  \
    factor_batch((struct batch){.kind = of, .type = type, .count = count, .m = rows, .n = columns, .options = choice, \
                                __VA_ARGS__})

int32_t tt_potrf(int32_t type, int64_t count, int64_t n, const void *a, void *l) {
    return BATCH(TT_POTRF, n, n, 0, .in = {a}, .out = {l});
}

int32_t tt_trsm(int32_t type, int64_t count, int64_t n, int64_t k, int32_t left, int32_t lower, int32_t transposed,
                int32_t conjugated, int32_t unit, const void *a, const void *b, void *x) {
    int32_t options = left * LEFT + lower * LOWER + transposed * TRANSPOSED + conjugated * CONJUGATED + unit * UNIT;
    return BATCH(TT_TRSM, n, k, options, .in = {a, b}, .out = {x});
}

int32_t tt_getrf(int32_t type, int64_t count, int64_t m, int64_t n, const void *a, void *factors, int32_t *pivots,
                 int32_t *rows) {
    return BATCH(TT_GETRF, m, n, 0, .in = {a}, .out = {factors, (char *)pivots, (char *)rows});
}

int32_t tt_geqrf(int32_t type, int64_t count, int64_t m, int64_t n, int32_t complete, const void *a, void *q, void *r) {
    return BATCH(TT_GEQRF, m, n, complete, .in = {a}, .out = {q, r});
}

int32_t tt_syevd(int32_t type, int64_t count, int64_t n, int32_t lower, const void *a, void *vectors, void *values) {
    return BATCH(TT_SYEVD, n, n, lower, .in = {a}, .out = {vectors, values});
}

int32_t tt_gesdd(int32_t type, int64_t count, int64_t m, int64_t n, int32_t complete, const void *a, void *values,
                 void *u, void *vt) {
    return BATCH(TT_GESDD, m, n, complete, .in = {a}, .out = {values, u, vt});
}

int32_t tt_geev(int32_t type, int64_t count, int64_t n, const void *a, void *values, void *left, void *right) {
    return BATCH(TT_GEEV, n, n, 0, .in = {a}, .out = {values, left, right});
}

int32_t tt_gees(int32_t type, int64_t count, int64_t n, const void *a, void *t, void *vectors) {
    return BATCH(TT_GEES, n, n, 0, .in = {a}, .out = {t, vectors});
}

int32_t tt_gehrd(int32_t type, int64_t count, int64_t n, const void *a, void *reduced, void *taus) {
    return BATCH(TT_GEHRD, n, n, 0, .in = {a}, .out = {reduced, taus});
}

int32_t tt_orgqr(int32_t type, int64_t count, int64_t m, int64_t n, int64_t k, const void *a, const void *taus,
                 void *q) {
    return BATCH(TT_ORGQR, m, n, (int32_t)k, .in = {a, taus}, .out = {q});
}

int32_t tt_sytrd(int32_t type, int64_t count, int64_t n, int32_t lower, const void *a, void *reduced, void *d, void *e,
                 void *taus, int32_t *info) {
    return BATCH(TT_SYTRD, n, n, lower, .in = {a}, .out = {reduced, d, e, taus, (char *)info});
}
