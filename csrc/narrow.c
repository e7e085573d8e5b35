/* Products of narrow matrices by tiles, where the CPU has registers or vectors for them (tiles.h); else those of float16
   and bfloat16 as floats, by the BLAS. Either way the result does not depend on the number of threads. */

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "blas.h"
#include "narrow.h"
#include "pool.h"
#include "sizes.h"
#include "tiles.h"
#include "vectors.h"

enum { WIDENED_AT_ONCE = 4096, LEAST_WIDENED = 1 << 16 };

int32_t tt_set_tiles_hidden(int32_t what) { return atomic_exchange(&tiles_hidden, what); }

/* --- as floats --------------------------------------------------------------------------------------------------- */

typedef uint16_t eight_halves __attribute__((vector_size(16), may_alias, aligned(2)));
typedef uint32_t eight_words __attribute__((vector_size(32), may_alias));
typedef float eight_floats __attribute__((vector_size(32), may_alias));

/* The exponent is counted anew, by a product that makes small numbers normal. */
ALWAYS_INLINE float float_of(int32_t is_brain, uint16_t x) {
    uint32_t size = (uint32_t)(x & 0x7FFF) << 13, bits = (uint32_t)x << 16;
    float result;
    if (!is_brain) {
        uint32_t sign = bits & 0x80000000u;
        memcpy(&result, &size, sizeof result);
        result *= 0x1p112f;
        memcpy(&bits, &result, sizeof bits);
        bits |= sign | (size >= 0x0F800000u ? 0x7F800000u : 0);
    }
    memcpy(&result, &bits, sizeof result);
    return result;
}

ALWAYS_INLINE void widen_all(int32_t is_brain, const uint16_t *restrict from, float *restrict to, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        eight_words x = __builtin_convertvector(*(const eight_halves *)(from + i), eight_words), bits = x << 16;
        if (!is_brain) {
            eight_words size = (x & 0x7FFF) << 13, large = (eight_words)(size >= 0x0F800000u) & 0x7F800000u;
            bits = (eight_words)((eight_floats)size * 0x1p112f) | large | (bits & 0x80000000u);
        }
        memcpy(to + i, &bits, sizeof bits);
    }
    for (; i < count; i++) to[i] = float_of(is_brain, from[i]);
}

/* Rounds to nearest, halves to even; a NaN stays one (math/halves.h). */
ALWAYS_INLINE void round_eight(int32_t is_brain, eight_words *x) {
    eight_words bits = *x;
    eight_words size = bits & 0x7FFFFFFFu, sign = (bits & 0x80000000u) >> 16, is_nan = (eight_words)(size > 0x7F800000u);
    if (is_brain) {
        eight_words rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
        *x = (rounded & ~is_nan) | ((bits >> 16 | 0x40u) & is_nan);
        return;
    }
    eight_words is_small = (eight_words)(size < 0x38800000u), is_large = (eight_words)(size >= 0x477FF000u);
    eight_words small = (eight_words)((eight_floats)size + 0.5f) - 0x3F000000u;
    eight_words large = 0x7C00u | ((0x200u | (size >> 13 & 0x3FFu)) & is_nan);
    eight_words usual = (size + 0xC8000FFFu + (size >> 13 & 1)) >> 13;
    *x = (small & is_small) | (large & is_large) | (usual & ~is_small & ~is_large) | sign;
}

ALWAYS_INLINE void round_all(int32_t is_brain, const float *restrict from, uint16_t *restrict to, int64_t count) {
    for (int64_t i = 0; i < count; i += 8) {
        eight_words bits = {0};
        const size_t there = (size_t)least(count - i, 8);
        if (there == 8) memcpy(&bits, from + i, sizeof bits);
        else memcpy(&bits, from + i, there * sizeof *from);
        round_eight(is_brain, &bits);
        eight_halves rounded = __builtin_convertvector(bits, eight_halves);
        if (there == 8) memcpy(to + i, &rounded, sizeof rounded);
        else memcpy(to + i, &rounded, there * sizeof *to);
    }
}

/* From floats and back. */
struct conversion {
    void (*widen)(const uint16_t *restrict from, float *restrict to, int64_t count);
    void (*round)(const float *restrict from, uint16_t *restrict to, int64_t count);
};

#define CONVERSION(name, is_brain, target)                                                                             \
    target static void widen_##name(const uint16_t *restrict from, float *restrict to, int64_t count) {                \
        widen_all(is_brain, from, to, count);                                                                          \
    }                                                                                                                  \
    target static void round_##name(const float *restrict from, uint16_t *restrict to, int64_t count) {                \
        round_all(is_brain, from, to, count);                                                                          \
    }                                                                                                                  \
    static const struct conversion name = {widen_##name, round_##name};

CONVERSION(brain, 1, )
CONVERSION(half, 0, )

#if defined(__x86_64__)
CONVERSION(brain_avx2, 1, __attribute__((target("avx2"))))

typedef short eight_signed __attribute__((vector_size(16), may_alias, aligned(2)));

__attribute__((target("avx2,f16c"))) static void widen_half_f16c(const uint16_t *restrict from, float *restrict to,
                                                                 int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        eight_floats x = __builtin_ia32_vcvtph2ps256(*(const eight_signed *)(from + i));
        memcpy(to + i, &x, sizeof x);
    }
    widen_all(0, from + i, to + i, count - i);
}

__attribute__((target("avx2,f16c"))) static void round_half_f16c(const float *restrict from, uint16_t *restrict to,
                                                                 int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        eight_floats x;
        memcpy(&x, from + i, sizeof x);
        *(eight_signed *)(to + i) = __builtin_ia32_vcvtps2ph256(x, 0);
    }
    round_all(0, from + i, to + i, count - i);
}

static const struct conversion half_f16c = {widen_half_f16c, round_half_f16c};

#ifdef KNOWS_TILES
/* By sixteen: small products are little else. */
WITH_TILES static void widen_brain_avx512(const uint16_t *restrict from, float *restrict to, int64_t count) {
    for (int64_t i = 0; i < count; i += 16) {
        const __mmask16 there = (__mmask16)first_bits(count - i);
        __m512i x = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, from + i));
        _mm512_mask_storeu_epi32(to + i, there, _mm512_slli_epi32(x, 16));
    }
}

WITH_TILES static void round_brain_avx512(const float *restrict from, uint16_t *restrict to, int64_t count) {
    const __m512i half = _mm512_set1_epi32(0x7FFF), one = _mm512_set1_epi32(1), quiet = _mm512_set1_epi32(0x40);
    for (int64_t i = 0; i < count; i += 16) {
        const __mmask16 there = (__mmask16)first_bits(count - i);
        __m512i x = _mm512_maskz_loadu_epi32(there, from + i), cut = _mm512_srli_epi32(x, 16);
        __mmask16 is_nan = _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(x), _CMP_UNORD_Q);
        __m512i up = _mm512_add_epi32(half, _mm512_and_si512(cut, one));
        __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(x, up), 16);
        rounded = _mm512_mask_or_epi32(rounded, is_nan, cut, quiet);
        _mm256_mask_storeu_epi16(to + i, there, _mm512_cvtepi32_epi16(rounded));
    }
}

static const struct conversion brain_avx512 = {widen_brain_avx512, round_brain_avx512};
#endif

/* These instructions have a bit of their own, which a virtual machine may hide. To ask takes a microsecond there. */
static int32_t converts_halves(void) {
    static _Atomic int32_t found = -1;
    int32_t converts = atomic_load_explicit(&found, memory_order_relaxed);
    if (converts < 0) {
        unsigned a, b, c = 0, d;
        converts = vector_level() >= 3 && __get_cpuid(1, &a, &b, &c, &d) && c >> 29 & 1;
        atomic_store_explicit(&found, converts, memory_order_relaxed);
    }
    return converts;
}
#endif

static const struct conversion *conversion_of(int32_t is_brain) {
#ifdef KNOWS_TILES
    if (is_brain && vector_level() >= 4) return &brain_avx512;
#endif
#if defined(__x86_64__)
    if (is_brain && vector_level() >= 3) return &brain_avx2;
    if (!is_brain && converts_halves()) return &half_f16c;
#endif
    return is_brain ? &brain : &half;
}

/* Rows of `width` halves, `step` apart, become `total` floats, one after the other. */
struct widening {
    const struct conversion *by;
    const uint16_t *from;
    float *to;
    int64_t width, step, total;
};

static void widen_rows(void *ctx, int64_t begin, int64_t end) {
    const struct widening *w = ctx;
    for (int64_t row = begin; row < end; row++)
        w->by->widen(w->from + row * w->step, w->to + row * w->width, least(w->width, w->total - row * w->width));
}

static void widen_matrix(int32_t is_brain, const uint16_t *from, int64_t rows, int64_t columns, int64_t step, float *to) {
    int64_t width = step == columns ? WIDENED_AT_ONCE : columns;
    struct widening w = {conversion_of(is_brain), from, to, width, step == columns ? width : step, rows * columns};
    if (w.total) tt_parallel_for(widen_rows, &w, ceil_div(w.total, width), ceil_div(LEAST_WIDENED, width));
}

/* The result by the BLAS, as floats. */
static int32_t has_multiplied_floats(const struct narrow_product *p) {
    const int64_t size_a = (p->m * p->k + 15) / 16 * 16, size = size_a + p->k * p->n; /* both begin with a line */
    const int64_t rows_a = p->trans_a ? p->k : p->m, columns_a = p->trans_a ? p->m : p->k;
    const int64_t rows_b = p->trans_b ? p->n : p->k, columns_b = p->trans_b ? p->k : p->n;
    float *a = (float *)tt_alloc((size_t)size * sizeof *a), *b = a + size_a;
    if (!a) return 0;
    widen_matrix(p->type == BRAIN, p->a, rows_a, columns_a, p->lda, a);
    widen_matrix(p->type == BRAIN, p->b, rows_b, columns_b, p->ldb, b);
    tt_sgemm_then(p->trans_a, p->trans_b, p->m, p->n, p->k, 1, a, columns_a, b, columns_b, 0, p->sums, p->ldc,
                  p->then.body, p->then.ctx, p->then.step);
    tt_free((uintptr_t)a, (size_t)size * sizeof *a);
    return 1;
}

/* Without memory for that: slow, and right. */
static void multiply_elements(const struct narrow_product *p) {
    const uint16_t *a = p->a, *b = p->b;
    int64_t a_row = p->trans_a ? 1 : p->lda, a_column = p->trans_a ? p->lda : 1;
    int64_t b_row = p->trans_b ? 1 : p->ldb, b_column = p->trans_b ? p->ldb : 1;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float sum = 0;
            for (int64_t q = 0; q < p->k; q++)
                sum += float_of(p->type == BRAIN, a[i * a_row + q * a_column]) *
                       float_of(p->type == BRAIN, b[q * b_row + j * b_column]);
            if (p->rounded) round_all(p->type == BRAIN, &sum, p->rounded + i * p->ldc + j, 1);
            else p->sums[i * p->ldc + j] = sum;
        }
    run_epilogue(&p->then, 0, p->m);
}

/* --- either way -------------------------------------------------------------------------------------------------- */

/* Rows of sums that are rounded as soon as they are done, and then what follows. */
struct rounded_rows {
    const struct conversion *by;
    const struct narrow_product *of;
    const float *sums;
};

static void round_rows(void *ctx, int64_t begin, int64_t end) {
    const struct rounded_rows *r = ctx;
    const struct narrow_product *p = r->of;
    for (int64_t row = begin; row < end; row++)
        r->by->round(r->sums + row * p->n, p->rounded + row * p->ldc, p->n);
    run_epilogue(&p->then, begin, end);
}

/* The product as floats, which are rounded; `tiles`: is it worth trying them? */
static int32_t has_multiplied_and_rounded(const struct narrow_product *p, int32_t tiles) {
    const size_t size = (size_t)(p->m * p->n) * sizeof(float);
    float *sums = (float *)tt_alloc(size);
    if (!sums) return 0;
    struct rounded_rows rows = {conversion_of(p->type == BRAIN), p, sums};
    struct narrow_product unrounded = *p;
    unrounded.sums = sums, unrounded.rounded = NULL, unrounded.ldc = p->n;
    unrounded.then = (struct epilogue){round_rows, &rows, 1};
    int32_t is_done = (tiles && has_multiplied_by_tiles(&unrounded)) || has_multiplied_floats(&unrounded);
    tt_free((uintptr_t)sums, size);
    return is_done;
}

static void multiply_halves(const struct narrow_product *p) {
    if (p->m <= 0 || p->n <= 0) return;
    const int32_t is_in_parts = p->rounded && has_long_sums(p);
    if (!is_in_parts && has_multiplied_by_tiles(p)) return;
    if (!(p->rounded ? has_multiplied_and_rounded(p, is_in_parts) : has_multiplied_floats(p))) multiply_elements(p);
}

/* A program asks first whether there are tiles; without memory for them: slow, and right. */
static void multiply_bytes(const struct narrow_product *p) {
    const int8_t *a = p->a, *b = p->b;
    uint32_t *c = (void *)p->sums;
    int64_t a_row = p->trans_a ? 1 : p->lda, a_column = p->trans_a ? p->lda : 1;
    int64_t b_row = p->trans_b ? 1 : p->ldb, b_column = p->trans_b ? p->ldb : 1;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            uint32_t sum = 0;
            for (int64_t q = 0; q < p->k; q++)
                sum += (uint32_t)(a[i * a_row + q * a_column] * b[q * b_row + j * b_column]);
            c[i * p->ldc + j] = sum;
        }
}

/* --- the entries ------------------------------------------------------------------------------------------------- */

#define PRODUCT_OF_HALVES(name, type)                                                                                  \
    void tt_##name##_then(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,        \
                          int64_t lda, const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc,           \
                          loop_body then, void *ctx, int64_t step) {                                                   \
        struct narrow_product p = {type, trans_a, trans_b, m, n, k, lda, ldb, a, b, rounds ? NULL : c,             \
                                   rounds ? c : NULL, ldc, {then, ctx, step}};                                         \
        multiply_halves(&p);                                                                                           \
    }                                                                                                                  \
    void tt_##name(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda,  \
                   const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc) {                             \
        tt_##name##_then(trans_a, trans_b, m, n, k, a, lda, b, ldb, rounds, c, ldc, NULL, NULL, 0);                    \
    }

PRODUCT_OF_HALVES(sbgemm, BRAIN)
PRODUCT_OF_HALVES(shgemm, HALF)

void tt_i8gemm(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const int8_t *a, int64_t lda,
               const int8_t *b, int64_t ldb, int32_t *c, int64_t ldc) {
    struct narrow_product p = {.type = BYTE, .trans_a = trans_a, .trans_b = trans_b, .m = m, .n = n, .k = k, .lda = lda,
                               .ldb = ldb, .a = a, .b = b, .sums = (void *)c, .ldc = ldc};
    if (m > 0 && n > 0 && !has_multiplied_by_tiles(&p)) multiply_bytes(&p);
}
