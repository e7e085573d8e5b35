/* Functions of csrc/math as inner loops (loops.h): the same C that a compiled program holds, with the flags that matter to
   its bits, for processors with AVX2 and fused multiply-add. A compiled program has them in vectors of its processor's
   width, which makes no difference to bits: nothing in it depends on a neighbour (tests/api/test_ready_loops.py). */

#include "math_loops.h"

/* As in runtime/flags.py. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HAS_LOOPS 1
#pragma GCC optimize("O2", "tree-loop-vectorize", "vect-cost-model=dynamic", "no-tree-sink", "no-tree-pre", "wrapv",     \
                     "no-strict-aliasing", "no-math-errno", "no-trapping-math", "fp-contract=off")
#pragma GCC target("avx2,fma,f16c")
#else
#define HAS_LOOPS 0
#endif

#if HAS_LOOPS

#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-function"
#include "math/bits.h"
#include "math/rounding.h"
#include "math/roots.h"
#include "math/exp.h"
#include "math/log.h"
#include "math/trig.h"
#include "math/hyperbolic.h"
#include "math/inverse_trig.h"
#include "math/erf.h"

/* Whole functions are inlined: a loop with a call in it has no vectors. */
#define IN_ONE __attribute__((flatten))

#define OF_ONE(NAME)                                                                                                 \
    IN_ONE static void loop_of_##NAME(char **addresses, const Py_ssize_t *count, const Py_ssize_t *strides,          \
                                      void *data) {                                                                  \
        const float *x = (const float *)addresses[0];                                                                \
        float *restrict to = (float *)addresses[1];                                                                  \
        Py_ssize_t n = *count;                                                                                       \
        (void)data;                                                                                                  \
        if (strides[0])                                                                                              \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = NAME(x[i]);                                                   \
        else                                                                                                         \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = NAME(x[0]);                                                   \
    }

#define OF_TWO(NAME)                                                                                                 \
    IN_ONE static void loop_of_##NAME(char **addresses, const Py_ssize_t *count, const Py_ssize_t *strides,          \
                                      void *data) {                                                                  \
        const float *x = (const float *)addresses[0], *y = (const float *)addresses[1];                              \
        float *restrict to = (float *)addresses[2];                                                                  \
        Py_ssize_t n = *count;                                                                                       \
        (void)data;                                                                                                  \
        if (strides[0] && strides[1])                                                                                \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = NAME(x[i], y[i]);                                             \
        else if (strides[0])                                                                                         \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = NAME(x[i], y[0]);                                             \
        else                                                                                                         \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = NAME(x[0], y[strides[1] ? i : 0]);                            \
    }

/* Those of which gcc makes vectors: the others take longer than compiled programs of wider ones. And none that rounds
   otherwise where a program's text has a number, as tt_pow_f32 does. */
#define OF_ONE_NUMBER(DO)                                                                                            \
    DO(tt_cbrt_f32) DO(tt_exp_f32) DO(tt_exp2_f32) DO(tt_expm1_f32) DO(tt_log_f32) DO(tt_log1p_f32)                  \
    DO(tt_logistic_f32) DO(tt_sin_f32) DO(tt_cos_f32) DO(tt_tan_f32) DO(tt_atan_f32) DO(tt_sinh_f32)                 \
    DO(tt_cosh_f32) DO(tt_tanh_f32) DO(tt_atanh_f32) DO(tt_erf_f32) DO(tt_erfc_f32)
#define OF_TWO_NUMBERS(DO) DO(tt_atan2_f32)

OF_ONE_NUMBER(OF_ONE)
OF_TWO_NUMBERS(OF_TWO)

#define ROW(NAME) {#NAME, loop_of_##NAME},
static const struct { const char *name; inner_loop run; } LOOPS[] = {OF_ONE_NUMBER(ROW) OF_TWO_NUMBERS(ROW)};

inner_loop math_loop(const char *name) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
        for (size_t k = 0; k < sizeof LOOPS / sizeof *LOOPS; k++)
            if (!strcmp(name, LOOPS[k].name))
                return LOOPS[k].run;
    return NULL;
}

#else

inner_loop math_loop(const char *name) {
    (void)name;
    return NULL;
}

#endif
