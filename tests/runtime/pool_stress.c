/* Several callers of the thread pool and the block pool at once, for the sanitizers. Exits with 0 if all sums are right.
   With the arguments over, under, freed or inside, and a size: one access there, which the address sanitizer must see
   unless it is inside. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "pool.h"

enum { CALLERS = 4, TURNS = 2000 };

static void add_index(void *ctx, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) ((int64_t *)ctx)[i] += i;
}

static void *call(void *argument) {
    intptr_t caller = (intptr_t)argument;
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t n = 1 + (caller * 7919 + turn * 104729) % 700;
        int64_t *block = (int64_t *)tt_alloc((size_t)n * sizeof *block);
        memset(block, 0, (size_t)n * sizeof *block);
        tt_parallel_for(add_index, block, n, 1 + turn % 3);
        for (int64_t i = 0; i < n; i++)
            if (block[i] != i) exit(1);
        tt_free((uintptr_t)block, (size_t)n * sizeof *block);
        if (caller == 1 && turn % 200 == 0) tt_set_threads(1 + turn / 200 % 5);
        if (caller == 2 && turn % 500 == 0) tt_trim();
    }
    return NULL;
}

static int go_wild(char sort, size_t size) {
    volatile char *block = (char *)tt_alloc(size);
    if (sort == 'f') tt_free((uintptr_t)block, size);
    block[sort == 'o' ? size : sort == 'u' ? (size_t)-1 : 0] = 1; /* over, under, freed, inside */
    return 0;
}

int main(int count, char **arguments) {
    if (count > 1) return go_wild(arguments[1][0], (size_t)atol(arguments[2]));
    pthread_t threads[CALLERS];
    for (intptr_t i = 0; i < CALLERS; i++) pthread_create(&threads[i], NULL, call, (void *)(i + 1));
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
    uintptr_t large = tt_alloc(5 << 20);
    memset((void *)large, 1, 5 << 20);
    tt_free(large, 5 << 20);
    return 0;
}
