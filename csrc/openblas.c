/* OpenBLAS, which has products of matrices (blas.c) and LAPACK (lapack.c), is opened when the first program needs it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "blas.h"
#include "lapack.h"
#include "tt_runtime.h"

/* A function of OpenBLAS: scipy's build has a prefix before its names. */
static void *openblas_function(void *library, const char *name) {
    char prefixed[64];
    snprintf(prefixed, sizeof prefixed, "scipy_%s", name);
    void *found = dlsym(library, prefixed);
    return found ? found : dlsym(library, name);
}

static int32_t open_once(const char *path) {
    if (tt_blas_loaded()) return 0;
    const char *before = getenv("OPENBLAS_NUM_THREADS");
    char *saved = before ? strdup(before) : NULL;
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* read while it loads: it then starts no threads */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (saved) setenv("OPENBLAS_NUM_THREADS", saved, 1);
    else unsetenv("OPENBLAS_NUM_THREADS");
    free(saved);
    if (!library) return -1;
    if (tt_blas_find(library, openblas_function)) return -1; /* LAPACK alone would have threads of its own */
    tt_lapack_find(library, openblas_function);
    return 0;
}

/* Threads that load their first programs at the same time find it loaded by one of them: others may be multiplying. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

int32_t tt_blas_open(const char *path) {
    pthread_mutex_lock(&opening);
    int32_t status = open_once(path);
    pthread_mutex_unlock(&opening);
    return status;
}

/* A fork waits until nobody is inside: the child would find the lock taken for ever. */
static void stop_opening(void) { pthread_mutex_lock(&opening); }
static void go_on_opening(void) { pthread_mutex_unlock(&opening); }
__attribute__((constructor)) static void survive_fork_of_openblas(void) {
    pthread_atfork(stop_opening, go_on_opening, go_on_opening);
}
