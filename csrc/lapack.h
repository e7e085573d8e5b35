#ifndef TT_LAPACK_H
#define TT_LAPACK_H
#include <stdint.h>

/* struct tt_host's factorizations; see tt_host.h. */
int32_t tt_potrf(int32_t type, int64_t count, int64_t n, const void *a, void *l);
int32_t tt_trsm(int32_t type, int64_t count, int64_t n, int64_t k, int32_t left, int32_t lower, int32_t transposed,
                int32_t conjugated, int32_t unit, const void *a, const void *b, void *x);
int32_t tt_getrf(int32_t type, int64_t count, int64_t m, int64_t n, const void *a, void *factors, int32_t *pivots,
                 int32_t *rows);
int32_t tt_geqrf(int32_t type, int64_t count, int64_t m, int64_t n, int32_t complete, const void *a, void *q, void *r);
int32_t tt_syevd(int32_t type, int64_t count, int64_t n, int32_t lower, const void *a, void *vectors, void *values);
int32_t tt_gesdd(int32_t type, int64_t count, int64_t m, int64_t n, int32_t complete, const void *a, void *values,
                 void *u, void *vt);
int32_t tt_geev(int32_t type, int64_t count, int64_t n, const void *a, void *values, void *left, void *right);
int32_t tt_gees(int32_t type, int64_t count, int64_t n, const void *a, void *t, void *vectors);
int32_t tt_gehrd(int32_t type, int64_t count, int64_t n, const void *a, void *reduced, void *taus);
int32_t tt_orgqr(int32_t type, int64_t count, int64_t m, int64_t n, int64_t k, const void *a, const void *taus, void *q);
int32_t tt_sytrd(int32_t type, int64_t count, int64_t n, int32_t lower, const void *a, void *reduced, void *d, void *e,
                 void *taus, int32_t *info);

/* Look for LAPACK in the library that has the BLAS; `function` finds what has a name there. */
void tt_lapack_find(void *library, void *(*function)(void *library, const char *name));

/* What computes a factorization where there is no LAPACK, if anything does. */
enum tt_factorization { TT_POTRF, TT_TRSM, TT_GETRF, TT_GEQRF, TT_SYEVD, TT_GESDD, TT_GEEV, TT_GEES, TT_GEHRD,
                        TT_ORGQR, TT_SYTRD };
void tt_lapack_set_substitute(int32_t (*substitute)(const int64_t *words));

#endif
