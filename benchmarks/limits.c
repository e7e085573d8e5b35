/* What the machine can do at most: bytes read, bytes copied, multiply-adds. Compiled and called by limits.py. */

#include <stddef.h>
#include <stdint.h>

/* One register: gcc keeps wider vectors on the stack, which halves the bandwidth and leaves a tenth of the flops. */
#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX__)
#define VECTOR 32
#else
#define VECTOR 16
#endif
typedef float lanes __attribute__((vector_size(VECTOR)));

/* Sums that wait for nobody: 2 units of latency 4 or 5 need 8 to 10; with the two factors they fit in 16 registers. */
enum { SUMS = 12 };

/* Read `bytes`, `repeats` times over. */
float limit_read(const lanes *x, int64_t bytes, int64_t repeats) {
    const int64_t n = bytes / VECTOR;
    lanes sums[8] = {{0}};
    for (int64_t r = 0; r < repeats; r++)
        for (int64_t i = 0; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; k++) sums[k] += x[i + k];
    for (int k = 1; k < 8; k++) sums[0] += sums[k];
    return sums[0][0];
}

/* Copy `bytes`, `repeats` times over, through the caches. */
void limit_copy(const lanes *x, lanes *y, int64_t bytes, int64_t repeats) {
    const int64_t n = bytes / VECTOR;
    for (int64_t r = 0; r < repeats; r++) {
        for (int64_t i = 0; i < n; i++) y[i] = x[i];
        __asm__ volatile("" : : "r"(y) : "memory"); /* every turn happens */
    }
}

/* Copy `bytes`, `repeats` times over, past the caches where the processor can. */
void limit_stream(const lanes *x, lanes *y, int64_t bytes, int64_t repeats) {
#ifdef __SSE2__
    typedef float quad __attribute__((vector_size(16)));
    for (int64_t r = 0; r < repeats; r++)
        for (int64_t i = 0; i < bytes / 16; i++) __builtin_ia32_movntps((float *)((quad *)y + i), ((const quad *)x)[i]);
#else
    limit_copy(x, y, bytes, repeats);
#endif
}

/* Multiply and add in each of n turns as often as limit_flops_per_turn says. */
float limit_multiply_add(int64_t n) {
    lanes sums[SUMS] = {{0}}, a = {0}, b = {0};
    __asm__ volatile("" : "+m"(sums), "+m"(a), "+m"(b)); /* values that the compiler does not know */
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < SUMS; k++) sums[k] = sums[k] * a + b;
    for (int k = 1; k < SUMS; k++) sums[0] += sums[k];
    return sums[0][0];
}

int64_t limit_flops_per_turn(void) { return 2 * SUMS * (VECTOR / sizeof(float)); }
