/* Sums over short rows of floats. Every row is added up in the same order, on all CPUs: lanes 16 apart, of what is left
   eight elements among the lower eight lanes and the last ones among the upper; then halves, until one is left. */

/* tt: tt_sum_types; needs:  */
#if defined(__clang__) || __GNUC__ >= 12
#ifdef __AVX__
enum { TT_SUM_LANES = 8 };
#else
enum { TT_SUM_LANES = 4 };
#endif
typedef float tt_sum_lanes __attribute__((vector_size(4 * TT_SUM_LANES)));
typedef float tt_sum_any __attribute__((vector_size(4 * TT_SUM_LANES), may_alias, aligned(4)));
typedef int32_t tt_sum_mask __attribute__((vector_size(4 * TT_SUM_LANES)));
typedef float tt_sums __attribute__((vector_size(16)));
typedef float tt_sums_any __attribute__((vector_size(16), may_alias, aligned(4)));
#endif

/* tt: tt_sum_last; needs: tt_sum_types */
/* The last n of eight lanes, or of the four that they begin with. */
#if defined(__clang__) || __GNUC__ >= 12
static inline tt_sum_mask tt_sum_last(int64_t n) {
    tt_sum_mask lane;
    _Pragma("GCC unroll 8") for (int32_t k = 0; k < TT_SUM_LANES; k++)
        lane[k] = k;
    return lane >= (int32_t)(8 - n);
}
#endif

/* tt: tt_sum_halves; needs: tt_sum_types */
#if defined(__clang__) || __GNUC__ >= 12
static inline tt_sums tt_sum_halves(const tt_sum_lanes *sum) {
#ifdef __AVX__
    tt_sum_lanes half = sum[0] + sum[1];
    return __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
#else
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
#endif
}
#endif

/* tt: tt_sum_rows; needs: tt_sum_types, tt_sum_last, tt_sum_halves */
/* Of four rows at a time vectors are added up to four partial sums each, whose sum is (0 + 2) + (1 + 3), and these
   crosswise. TERM(T, I, J) are the terms of row I from J on, as a vector T. */
#if defined(__clang__) || __GNUC__ >= 12
#define TT_SUM_ROW(TERM, I, N, SUM) { \
    enum { PARTS = 16 / TT_SUM_LANES, HALF = PARTS / 2 }; \
    tt_sum_lanes sum[PARTS] = {{0}}; \
    int64_t j = 0; \
    for (; j + 16 <= N; j += 16) \
        _Pragma("GCC unroll 4") for (int k = 0; k < PARTS; k++) \
            sum[k] += TERM(tt_sum_any, I, j + k * TT_SUM_LANES); \
    if (j + 8 <= N) { \
        _Pragma("GCC unroll 2") for (int k = 0; k < HALF; k++) \
            sum[k] += TERM(tt_sum_any, I, j + k * TT_SUM_LANES); \
        j += 8; \
    } \
    if (j < N) /* the last eight, without those that were added already */ \
        _Pragma("GCC unroll 2") for (int k = 0; k < HALF; k++) \
            sum[HALF + k] += (tt_sum_lanes)((tt_sum_mask)(TERM(tt_sum_any, I, N - 8 + k * TT_SUM_LANES)) & \
                                            tt_sum_last(N - j + k * TT_SUM_LANES)); \
    SUM = tt_sum_halves(sum); \
}

#define TT_SUM_ROWS(TERM, TO, ROWS, N) \
    for (int64_t i = 0; i < ROWS; i += 4) { \
        tt_sums four[4]; \
        _Pragma("GCC unroll 4") for (int64_t k = 0; k < 4; k++) { \
            int64_t row = i + k < ROWS ? i + k : ROWS - 1; \
            TT_SUM_ROW(TERM, row, N, four[k]) \
        } \
        tt_sums a = __builtin_shufflevector(four[0], four[1], 0, 1, 4, 5) + \
                    __builtin_shufflevector(four[0], four[1], 2, 3, 6, 7); \
        tt_sums b = __builtin_shufflevector(four[2], four[3], 0, 1, 4, 5) + \
                    __builtin_shufflevector(four[2], four[3], 2, 3, 6, 7); \
        tt_sums sums = __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7); \
        if (i + 4 <= ROWS) \
            *(tt_sums_any *)(TO + i) = sums; \
        else \
            for (int64_t k = 0; i + k < ROWS; k++) \
                TO[i + k] = sums[k]; \
    }
#else
#define TT_SUM_ROWS(TERM, TO, ROWS, N) \
    for (int64_t i = 0; i < ROWS; i++) { \
        float sum[16] = {0}; \
        int64_t j = 0; \
        for (; j + 16 <= N; j += 16) \
            for (int64_t k = 0; k < 16; k++) \
                sum[k] += TERM(float, i, j + k); \
        if (j + 8 <= N) { \
            for (int64_t k = 0; k < 8; k++) \
                sum[k] += TERM(float, i, j + k); \
            j += 8; \
        } \
        for (int64_t k = 16 - (N - j); j < N; j++, k++) \
            sum[k] += TERM(float, i, j); \
        for (int64_t half = 8; half; half /= 2) \
            for (int64_t k = 0; k < half; k++) \
                sum[k] += sum[k + half]; \
        TO[i] = sum[0]; \
    }
#endif

/* tt: tt_add_rows_f32; needs: tt_sum_rows; of rows */
/* to[i] = the sum of the n >= 8 floats x + i * x_row, for all rows i. */
static inline void tt_add_rows_f32(float *restrict to, const float *x, int64_t x_row, int64_t rows, int64_t n) {
#define TT_TERM(T, I, J) *(const T *)(x + (I) * x_row + (J))
    TT_SUM_ROWS(TT_TERM, to, rows, n)
#undef TT_TERM
}

/* tt: tt_dot_rows_f32; needs: tt_sum_rows; of rows */
/* to[i] = the sum of the products of the n >= 8 floats x + i * x_row and y + i * y_row, for all rows i. */
static inline void tt_dot_rows_f32(float *restrict to, const float *x, int64_t x_row, const float *y, int64_t y_row,
                                   int64_t rows, int64_t n) {
#define TT_TERM(T, I, J) (*(const T *)(x + (I) * x_row + (J)) * *(const T *)(y + (I) * y_row + (J)))
    TT_SUM_ROWS(TT_TERM, to, rows, n)
#undef TT_TERM
}
