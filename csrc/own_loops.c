/* What `where`, `maximum` and `minimum` do: NumPy has no ufunc for the first, and its own for the others let the order
   of operands decide about the sign of a zero, which takes four more calls to mend. And products and sums in one
   rounding, for which NumPy has none either. */

#include "own_loops.h"
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <string.h>

/* In vectors. Compilers make them where strides are numbers that they know. */
#if defined(__GNUC__) && !defined(__clang__)
#define IN_VECTORS __attribute__((optimize("O3")))
#else
#define IN_VECTORS
#endif

/* --- select: bool which, on_false, on_true ----------------------------------------------------------------------- */

typedef struct { uint64_t low, high; } word16;

#define SELECT(NAME, WORD)                                                                                           \
    IN_VECTORS static void NAME(char **addresses, const Py_ssize_t *count, const Py_ssize_t *strides, void *data) {  \
        const WORD *no = (const WORD *)addresses[1], *yes = (const WORD *)addresses[2];                              \
        const uint8_t *which = (const uint8_t *)addresses[0];                                                        \
        WORD *restrict to = (WORD *)addresses[3];                                                                    \
        Py_ssize_t n = *count, w = strides[0] != 0, f = strides[1] != 0, t = strides[2] != 0;                        \
        (void)data;                                                                                                  \
        if (w && f && t)                                                                                             \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = which[i] ? yes[i] : no[i];                                    \
        else if (w && t)                                                                                             \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = which[i] ? yes[i] : no[0];                                    \
        else if (w && f)                                                                                             \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = which[i] ? yes[0] : no[i];                                    \
        else                                                                                                         \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = which[i * w] ? yes[i * t] : no[i * f];                        \
    }

SELECT(select_1, uint8_t)
SELECT(select_2, uint16_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)
SELECT(select_16, word16)

static inner_loop select_of(Py_ssize_t width) {
    switch (width) {
    case 1: return select_1;
    case 2: return select_2;
    case 4: return select_4;
    case 8: return select_8;
    case 16: return select_16;
    default: return NULL;
    }
}

/* --- max, min: a NaN wins; of two zeros 0 is greater than -0 -------------------------------------------------------

   Equal floats have equal bits, but for zeros: of their signs both are set, or one. */

#define EXTREME(NAME, FLOAT, WORD, BEATS, MERGE)                                                                     \
    static inline FLOAT NAME##_of(FLOAT x, FLOAT y) {                                                                \
        WORD a, b;                                                                                                   \
        memcpy(&a, &x, sizeof a);                                                                                    \
        memcpy(&b, &y, sizeof b);                                                                                    \
        WORD best = x BEATS y || x != x ? a : b;                                                                     \
        best = x == y ? a MERGE b : best;                                                                            \
        memcpy(&x, &best, sizeof x);                                                                                 \
        return x;                                                                                                    \
    }                                                                                                                \
    IN_VECTORS static void NAME(char **addresses, const Py_ssize_t *count, const Py_ssize_t *strides, void *data) {  \
        const FLOAT *x = (const FLOAT *)addresses[0], *y = (const FLOAT *)addresses[1];                              \
        FLOAT *restrict to = (FLOAT *)addresses[2];                                                                  \
        Py_ssize_t n = *count;                                                                                       \
        (void)data;                                                                                                  \
        if (strides[0] && strides[1])                                                                                \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = NAME##_of(x[i], y[i]);                                        \
        else if (strides[0])                                                                                         \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = NAME##_of(x[i], y[0]);                                        \
        else                                                                                                         \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = NAME##_of(x[0], y[strides[1] ? i : 0]);                       \
    }

EXTREME(max_4, float, uint32_t, >, &)
EXTREME(min_4, float, uint32_t, <, |)
EXTREME(max_8, double, uint64_t, >, &)
EXTREME(min_8, double, uint64_t, <, |)

/* --- fma, fms, fnma: a * b + c, a * b - c, c - a * b ---------------------------------------------------------------

   On processors that have instructions for it: others round the product, too (csrc/math/bits.h). */

#if defined(__x86_64__) && defined(__GNUC__)
#define FUSED_TARGET __attribute__((target("avx2,fma")))
static int fuses(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#elif defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
#define FUSED_TARGET
static int fuses(void) { return 1; }
#else
#define FUSED_TARGET
static int fuses(void) { return 0; }
#endif

#define FUSED(NAME, FLOAT, FMA, A_SIGN, C_SIGN)                                                                      \
    FUSED_TARGET IN_VECTORS static void NAME(char **addresses, const Py_ssize_t *count, const Py_ssize_t *strides,   \
                                             void *data) {                                                           \
        const FLOAT *a = (const FLOAT *)addresses[0], *b = (const FLOAT *)addresses[1];                              \
        const FLOAT *c = (const FLOAT *)addresses[2];                                                                \
        FLOAT *restrict to = (FLOAT *)addresses[3];                                                                  \
        Py_ssize_t n = *count, i = strides[0] != 0, j = strides[1] != 0, k = strides[2] != 0;                        \
        (void)data;                                                                                                  \
        if (i && !j && !k)                                                                                           \
            for (Py_ssize_t at = 0; at < n; at++) to[at] = FMA(A_SIGN a[at], b[0], C_SIGN c[0]);                     \
        else if (i && j && k)                                                                                        \
            for (Py_ssize_t at = 0; at < n; at++) to[at] = FMA(A_SIGN a[at], b[at], C_SIGN c[at]);                   \
        else                                                                                                         \
            for (Py_ssize_t at = 0; at < n; at++) to[at] = FMA(A_SIGN a[at * i], b[at * j], C_SIGN c[at * k]);       \
    }

FUSED(fma_4, float, __builtin_fmaf, +, +)
FUSED(fms_4, float, __builtin_fmaf, +, -)
FUSED(fnma_4, float, __builtin_fmaf, -, +)
FUSED(fma_8, double, __builtin_fma, +, +)
FUSED(fms_8, double, __builtin_fma, +, -)
FUSED(fnma_8, double, __builtin_fma, -, +)

static const struct { const char *name; inner_loop floats, doubles; int fused; } OF_FLOATS[] = {
    {"max", max_4, max_8, 0}, {"min", min_4, min_8, 0},
    {"fma", fma_4, fma_8, 1}, {"fms", fms_4, fms_8, 1}, {"fnma", fnma_4, fnma_8, 1}};

inner_loop own_loop(const char *name, int type, Py_ssize_t width) {
    if (!strcmp(name, "select_n"))
        return select_of(width);
    if (type != NPY_FLOAT && type != NPY_DOUBLE)
        return NULL;
    for (size_t k = 0; k < sizeof OF_FLOATS / sizeof *OF_FLOATS; k++)
        if (!strcmp(name, OF_FLOATS[k].name) && (!OF_FLOATS[k].fused || fuses()))
            return type == NPY_FLOAT ? OF_FLOATS[k].floats : OF_FLOATS[k].doubles;
    return type == NPY_FLOAT ? math_loop(name) : NULL;
}

PyObject *has_own_loop(PyObject *module, PyObject *args) {
    const char *name;
    int type;
    Py_ssize_t width;
    (void)module;
    if (!PyArg_ParseTuple(args, "sin", &name, &type, &width))
        return NULL;
    return PyBool_FromLong(own_loop(name, type, width) != NULL);
}
