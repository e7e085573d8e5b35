/* Factorizations of small matrices, row by row as they lie: a program that knows their size has them unrolled. The host
   has LAPACK for larger matrices, and for those of complex numbers.

   Source: G. Golub, C. Van Loan, "Matrix Computations", 4th edition, algorithms 3.1.1, 3.4.1 and 4.2.1. */

/* tt: tt_cholesky_f32; needs:  */
/* out = the lower triangular factor of an n by n matrix, of which the lower triangle is read; NaN throughout where it
   is not positive definite. Rows of the upper triangle are eliminated first: their elements lie side by side. */
static inline void tt_cholesky_f32(const float *restrict in, float *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) out[i * n + j] = in[j * n + i];
    for (int64_t k = 0; k < n; k++) {
        if (!(out[k * n + k] > 0)) {
            for (int64_t i = 0; i < n * n; i++) out[i] = __builtin_nanf("");
            return;
        }
        float root = __builtin_sqrtf(out[k * n + k]);
        out[k * n + k] = root;
        for (int64_t j = k + 1; j < n; j++) out[k * n + j] /= root;
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = i; j < n; j++) out[i * n + j] -= out[k * n + i] * out[k * n + j];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) out[i * n + j] = out[j * n + i], out[j * n + i] = 0;
}

/* tt: tt_lu_f32; needs:  */
/* out = both factors of an m by n matrix, after exchanges of row i with row pivots[i], so that the largest element of
   each column divides the others; rows = the permutation that these make. */
static inline void tt_lu_f32(const float *restrict in, float *restrict out, int32_t *restrict pivots,
                             int32_t *restrict rows, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m * n; i++) out[i] = in[i];
    for (int64_t i = 0; i < m; i++) rows[i] = (int32_t)i;
    for (int64_t k = 0; k < m && k < n; k++) {
        int64_t largest = k;
        for (int64_t i = k + 1; i < m; i++)
            if (__builtin_fabsf(out[i * n + k]) > __builtin_fabsf(out[largest * n + k])) largest = i;
        pivots[k] = (int32_t)largest;
        if (largest != k) {
            int32_t row = rows[k];
            rows[k] = rows[largest], rows[largest] = row;
            for (int64_t j = 0; j < n; j++) {
                float x = out[k * n + j];
                out[k * n + j] = out[largest * n + j], out[largest * n + j] = x;
            }
        }
        if (out[k * n + k] == 0) continue;
        for (int64_t i = k + 1; i < m; i++) {
            float factor = out[i * n + k] / out[k * n + k];
            out[i * n + k] = factor;
            for (int64_t j = k + 1; j < n; j++) out[i * n + j] -= factor * out[k * n + j];
        }
    }
}

/* tt: tt_solve_triangular_f32; needs:  */
/* x = b, solved with a triangle of an n by n matrix. Element (i, j) of the triangle, seen as a lower one, is
   a[i * row + j * column]; element i of the right side r is x[i * step + r * side]. */
static inline void tt_solve_triangular_f32(const float *restrict a, const float *restrict b, float *restrict x,
                                           int64_t n, int64_t k, int64_t row, int64_t column, int64_t step,
                                           int64_t side, int32_t upper, int32_t unit) {
    for (int64_t i = 0; i < n * k; i++) x[i] = b[i];
    for (int64_t turn = 0; turn < n; turn++) {
        int64_t i = upper ? n - 1 - turn : turn;
        float pivot = a[i * (row + column)];
        for (int64_t r = 0; r < k && !unit; r++) x[i * step + r * side] /= pivot;
        for (int64_t next = turn + 1; next < n; next++) {
            int64_t j = upper ? n - 1 - next : next;
            float factor = a[j * row + i * column];
            for (int64_t r = 0; r < k; r++) x[j * step + r * side] -= factor * x[i * step + r * side];
        }
    }
}

/* tt: tt_cholesky_f64; needs:  */
/* out = the lower triangular factor of an n by n matrix, of which the lower triangle is read; NaN throughout where it
   is not positive definite. Rows of the upper triangle are eliminated first: their elements lie side by side. */
static inline void tt_cholesky_f64(const double *restrict in, double *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) out[i * n + j] = in[j * n + i];
    for (int64_t k = 0; k < n; k++) {
        if (!(out[k * n + k] > 0)) {
            for (int64_t i = 0; i < n * n; i++) out[i] = __builtin_nan("");
            return;
        }
        double root = __builtin_sqrt(out[k * n + k]);
        out[k * n + k] = root;
        for (int64_t j = k + 1; j < n; j++) out[k * n + j] /= root;
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = i; j < n; j++) out[i * n + j] -= out[k * n + i] * out[k * n + j];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) out[i * n + j] = out[j * n + i], out[j * n + i] = 0;
}

/* tt: tt_lu_f64; needs:  */
/* out = both factors of an m by n matrix, after exchanges of row i with row pivots[i], so that the largest element of
   each column divides the others; rows = the permutation that these make. */
static inline void tt_lu_f64(const double *restrict in, double *restrict out, int32_t *restrict pivots,
                             int32_t *restrict rows, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m * n; i++) out[i] = in[i];
    for (int64_t i = 0; i < m; i++) rows[i] = (int32_t)i;
    for (int64_t k = 0; k < m && k < n; k++) {
        int64_t largest = k;
        for (int64_t i = k + 1; i < m; i++)
            if (__builtin_fabs(out[i * n + k]) > __builtin_fabs(out[largest * n + k])) largest = i;
        pivots[k] = (int32_t)largest;
        if (largest != k) {
            int32_t row = rows[k];
            rows[k] = rows[largest], rows[largest] = row;
            for (int64_t j = 0; j < n; j++) {
                double x = out[k * n + j];
                out[k * n + j] = out[largest * n + j], out[largest * n + j] = x;
            }
        }
        if (out[k * n + k] == 0) continue;
        for (int64_t i = k + 1; i < m; i++) {
            double factor = out[i * n + k] / out[k * n + k];
            out[i * n + k] = factor;
            for (int64_t j = k + 1; j < n; j++) out[i * n + j] -= factor * out[k * n + j];
        }
    }
}

/* tt: tt_solve_triangular_f64; needs:  */
/* x = b, solved with a triangle of an n by n matrix. Element (i, j) of the triangle, seen as a lower one, is
   a[i * row + j * column]; element i of the right side r is x[i * step + r * side]. */
static inline void tt_solve_triangular_f64(const double *restrict a, const double *restrict b, double *restrict x,
                                           int64_t n, int64_t k, int64_t row, int64_t column, int64_t step,
                                           int64_t side, int32_t upper, int32_t unit) {
    for (int64_t i = 0; i < n * k; i++) x[i] = b[i];
    for (int64_t turn = 0; turn < n; turn++) {
        int64_t i = upper ? n - 1 - turn : turn;
        double pivot = a[i * (row + column)];
        for (int64_t r = 0; r < k && !unit; r++) x[i * step + r * side] /= pivot;
        for (int64_t next = turn + 1; next < n; next++) {
            int64_t j = upper ? n - 1 - next : next;
            double factor = a[j * row + i * column];
            for (int64_t r = 0; r < k; r++) x[j * step + r * side] -= factor * x[i * step + r * side];
        }
    }
}

/* tt: tt_permutation; needs:  */
/* rows = the permutation of 0, 1, ..., n - 1 that exchanging element i with element pivots[i] makes, for i < k; there
   may be no such element. */
static inline void tt_permutation(const void *pivots, void *out, int64_t k, int64_t n) {
    const uint32_t *other = pivots;
    uint32_t *rows = out;
    for (int64_t i = 0; i < n; i++) rows[i] = (uint32_t)i;
    for (int64_t i = 0; i < k; i++) {
        if (other[i] >= n) continue;
        uint32_t row = rows[i];
        rows[i] = rows[other[i]], rows[other[i]] = row;
    }
}
