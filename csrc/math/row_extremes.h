/* Maxima and minima over short rows of floats, four rows at a time, as row_sums.h adds them up. A CPU's instruction for
   the larger one of two numbers forgets a NaN, so a vector of sums is kept beside: it is NaN where an element of the
   four rows is one, or where infinities of both signs meet. Then these rows are read again, and those that have a NaN
   are NaN; the others keep what they have: no row depends on what lies beside it, not in the sign of a zero. */

/* tt: tt_extremes; needs: tt_sum_types */
#if defined(__AVX__)
#define TT_LARGER(A, B) __builtin_ia32_maxps256(A, B)
#define TT_SMALLER(A, B) __builtin_ia32_minps256(A, B)
#endif
#if defined(__SSE__)
#define TT_LARGER_OF_FOUR(A, B) __builtin_ia32_maxps(A, B)
#define TT_SMALLER_OF_FOUR(A, B) __builtin_ia32_minps(A, B)
#else /* masks, which become an instruction that chooses */
#define TT_OTHER(A, B, OP) ({ \
    __typeof__((A) OP (B)) first = (A) OP (B); \
    (__typeof__(A))((first & (__typeof__(first))(A)) | (~first & (__typeof__(first))(B))); })
#define TT_LARGER_OF_FOUR(A, B) TT_OTHER(A, B, >)
#define TT_SMALLER_OF_FOUR(A, B) TT_OTHER(A, B, <)
#endif
#if !defined(__AVX__)
#define TT_LARGER TT_LARGER_OF_FOUR
#define TT_SMALLER TT_SMALLER_OF_FOUR
#endif

#if defined(__clang__) || __GNUC__ >= 12
/* The last vector takes some elements in twice. */
#define TT_EXTREME_ROW(X, N, OF_TWO, FOUR, SUM) { \
    tt_sum_lanes extreme = *(const tt_sum_any *)(X); \
    SUM += extreme; \
    for (int64_t j = TT_SUM_LANES; j < N; j += TT_SUM_LANES) { \
        tt_sum_lanes next = *(const tt_sum_any *)((X) + (j + TT_SUM_LANES <= N ? j : N - TT_SUM_LANES)); \
        extreme = OF_TWO(next, extreme); \
        SUM += next; \
    } \
    FOUR = extreme; \
}
#ifdef __AVX__
#define TT_EXTREME_HALVES(X, OF_TWO) \
    OF_TWO(__builtin_shufflevector(X, X, 0, 1, 2, 3), __builtin_shufflevector(X, X, 4, 5, 6, 7))
#else
#define TT_EXTREME_HALVES(X, OF_TWO) (X)
#endif

#define TT_EXTREME_ROWS(OP, OF_TWO, OF_FOUR) \
    for (int64_t i = 0; i < rows; i += 4) { \
        tt_sums four[4]; \
        tt_sum_lanes sum = {0}; \
        _Pragma("GCC unroll 4") for (int64_t k = 0; k < 4; k++) { \
            const float *row = x + (i + k < rows ? i + k : rows - 1) * x_row; \
            tt_sum_lanes extremes; \
            TT_EXTREME_ROW(row, n, OF_TWO, extremes, sum) \
            four[k] = TT_EXTREME_HALVES(extremes, OF_FOUR); \
        } \
        tt_sums a = OF_FOUR(__builtin_shufflevector(four[0], four[1], 0, 1, 4, 5), \
                            __builtin_shufflevector(four[0], four[1], 2, 3, 6, 7)); \
        tt_sums b = OF_FOUR(__builtin_shufflevector(four[2], four[3], 0, 1, 4, 5), \
                            __builtin_shufflevector(four[2], four[3], 2, 3, 6, 7)); \
        tt_sums extremes = OF_FOUR(__builtin_shufflevector(a, b, 0, 2, 4, 6), \
                                   __builtin_shufflevector(a, b, 1, 3, 5, 7)); \
        if (i + 4 <= rows) \
            *(tt_sums_any *)(to + i) = extremes; \
        else \
            for (int64_t k = 0; i + k < rows; k++) \
                to[i + k] = extremes[k]; \
        float total = 0; \
        _Pragma("GCC unroll 8") for (int64_t k = 0; k < TT_SUM_LANES; k++) \
            total += sum[k]; \
        if (__builtin_expect(total != total, 0)) \
            for (int64_t k = i; k < i + 4 && k < rows; k++) \
                for (int64_t j = 0; j < n; j++) \
                    if (x[k * x_row + j] != x[k * x_row + j]) to[k] = x[k * x_row + j]; \
    }
#else
/* One row, with NaN. */
#define TT_EXTREME_ELEMENT_BY_ELEMENT(TO, X, N, OP) { \
    float extreme = (X)[0]; \
    for (int64_t j = 1; j < N; j++) \
        extreme = (X)[j] OP extreme || (X)[j] != (X)[j] ? (X)[j] : extreme; \
    TO = extreme; \
}

#define TT_EXTREME_ROWS(OP, OF_TWO, OF_FOUR) \
    for (int64_t i = 0; i < rows; i++) \
        TT_EXTREME_ELEMENT_BY_ELEMENT(to[i], x + i * x_row, n, OP)
#endif

/* tt: tt_max_rows_f32; needs: tt_extremes; of rows */
/* to[i] = the largest of the n >= 8 floats x + i * x_row, NaN if there is one, for all rows i. */
static inline void tt_max_rows_f32(float *restrict to, const float *x, int64_t x_row, int64_t rows, int64_t n) {
    TT_EXTREME_ROWS(>, TT_LARGER, TT_LARGER_OF_FOUR)
}

/* tt: tt_min_rows_f32; needs: tt_extremes; of rows */
static inline void tt_min_rows_f32(float *restrict to, const float *x, int64_t x_row, int64_t rows, int64_t n) {
    TT_EXTREME_ROWS(<, TT_SMALLER, TT_SMALLER_OF_FOUR)
}
