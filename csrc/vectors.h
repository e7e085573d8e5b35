/* Loops that are compiled for each kind of vectors that a CPU may have. */
#ifndef TT_VECTORS_H
#define TT_VECTORS_H
#include <stdatomic.h>
#include <stdint.h>

/* Under gcc's sanitizers each is one function with loops: what inlining and unrolling would make of it, with a check at
   every access, takes gcc many minutes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ALWAYS_INLINE static __attribute__((noinline, noclone, unused))
#else
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#endif
#if defined(__x86_64__)
#define WITH_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define WITH_AVX2 __attribute__((target("avx2,fma")))
#endif

/* Which vectors the CPU has: 4 for those of AVX-512, 3 for those of AVX2, 0 for what every one has. */
static inline int32_t vector_level(void) {
#if defined(__x86_64__)
    static _Atomic int32_t found = -1;
    int32_t level = atomic_load_explicit(&found, memory_order_relaxed);
    if (level >= 0) return level;
    __builtin_cpu_init();
    level = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 3 : 0;
    if (level && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        level = 4;
    atomic_store(&found, level);
    return level;
#else
    return 0;
#endif
}

/* The same, or what tests ask for where that is less (tt_runtime.h). */
int32_t tt_vector_level(void);

#endif
