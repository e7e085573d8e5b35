/* What the machine can do at most: bytes read, bytes copied, multiply-adds. Compiled and called by limits.py. */

#include <stddef.h>
#include <stdint.h>

typedef float lanes __attribute__((vector_size(64)));

/* Read n vectors, `repeats` times over. */
float limit_read(const lanes *x, int64_t n, int64_t repeats) {
    lanes sums[8] = {{0}};
    for (int64_t r = 0; r < repeats; r++)
        for (int64_t i = 0; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; k++) sums[k] += x[i + k];
    for (int k = 1; k < 8; k++) sums[0] += sums[k];
    return sums[0][0];
}

/* Copy n vectors, `repeats` times over, through the caches. */
void limit_copy(const lanes *x, lanes *y, int64_t n, int64_t repeats) {
    for (int64_t r = 0; r < repeats; r++) {
        for (int64_t i = 0; i < n; i++) y[i] = x[i];
        __asm__ volatile("" : : "r"(y) : "memory"); /* every turn happens */
    }
}

/* Copy n vectors, `repeats` times over, past the caches where the processor can. */
void limit_stream(const lanes *x, lanes *y, int64_t n, int64_t repeats) {
#ifdef __SSE2__
    typedef float quad __attribute__((vector_size(16)));
    for (int64_t r = 0; r < repeats; r++)
        for (int64_t i = 0; i < 4 * n; i++) __builtin_ia32_movntps((float *)((quad *)y + i), ((const quad *)x)[i]);
#else
    limit_copy(x, y, n, repeats);
#endif
}

/* 2 * 16 * 16 flops in each of n turns. */
float limit_multiply_add(int64_t n) {
    lanes sums[16] = {{0}}, a = {0}, b = {0};
    __asm__ volatile("" : "+m"(a), "+m"(b)); /* values that the compiler does not know */
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 16; k++) sums[k] = sums[k] * a + b;
    for (int k = 1; k < 16; k++) sums[0] += sums[k];
    return sums[0][0];
}
