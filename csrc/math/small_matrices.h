/* Factorizations of small matrices, row by row as they lie: a program that knows their size has them unrolled. The host
   has LAPACK for larger matrices, and for those of complex numbers.

   Source: G. Golub, C. Van Loan, "Matrix Computations", 4th edition, algorithms 3.1.1, 3.4.1, 4.2.1 and 5.2.1. */

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

/* tt: what follows is written for doubles too */

/* tt: tt_cholesky_f32; needs:  */
/* out = the lower triangular factor of an n by n matrix, n <= 32, of which the lower triangle is read; NaN throughout
   where it is not positive definite. Rows of the upper triangle are made first: their elements lie side by side. */
static inline void tt_cholesky_f32(const float *restrict in, float *restrict out, int64_t n) {
    float row[32];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) row[j] = in[j * n + i];
        for (int64_t k = 0; k < i; k++) {
            float factor = out[k * n + i];
            for (int64_t j = 0; j < n; j++) row[j] -= factor * out[k * n + j];
        }
        float pivot = row[i], root = __builtin_sqrtf(pivot);
        if (!(pivot > 0)) {
            for (int64_t k = 0; k < n * n; k++) out[k] = __builtin_nanf("");
            return;
        }
        for (int64_t j = 0; j < n; j++) out[i * n + j] = j < i ? 0 : row[j] / root;
        out[i * n + i] = root;
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

/* tt: tt_reflect_f32; needs:  */
/* Rows [k, m) of columns [first, n) of a, reflected: a -= tau v (v' a), where v is 1, then column k of `from`. */
static inline void tt_reflect_f32(const float *from, float tau, float *a, int64_t m, int64_t n, int64_t k,
                                  int64_t columns, int64_t first) {
    float product[32];
    for (int64_t j = first; j < n; j++) product[j] = a[k * n + j];
    for (int64_t i = k + 1; i < m; i++)
        for (int64_t j = first; j < n; j++) product[j] += from[i * columns + k] * a[i * n + j];
    for (int64_t j = first; j < n; j++) a[k * n + j] -= tau * product[j];
    for (int64_t i = k + 1; i < m; i++) {
        float factor = tau * from[i * columns + k];
        for (int64_t j = first; j < n; j++) a[i * n + j] -= factor * product[j];
    }
}

/* tt: tt_qr_f32; needs: tt_reflect_f32 */
/* q r = an m by n matrix, m and n <= 32, where q has orthogonal columns, `wide` of them, and r is upper triangular:
   Householder's reflections, with signs as in LAPACK. */
static inline void tt_qr_f32(const float *restrict in, float *restrict q, float *restrict r, int64_t m, int64_t n,
                             int64_t wide) {
    float a[1024], tau[32];
    for (int64_t i = 0; i < m * n; i++) a[i] = in[i];
    for (int64_t k = 0; k < m && k < n; k++) {
        float largest = 0, sum = 0, pivot = a[k * n + k];
        for (int64_t i = k + 1; i < m; i++)
            if (!(__builtin_fabsf(a[i * n + k]) <= largest)) largest = __builtin_fabsf(a[i * n + k]);
        tau[k] = 0;
        if (largest == 0) continue;
        if (__builtin_fabsf(pivot) > largest) largest = __builtin_fabsf(pivot);
        for (int64_t i = k; i < m; i++) a[i * n + k] /= largest, sum += a[i * n + k] * a[i * n + k];
        pivot = a[k * n + k];
        float reflected = -__builtin_copysignf(__builtin_sqrtf(sum), pivot);
        tau[k] = (reflected - pivot) / reflected;
        for (int64_t i = k + 1; i < m; i++) a[i * n + k] /= pivot - reflected;
        a[k * n + k] = largest * reflected;
        tt_reflect_f32(a, tau[k], a, m, n, k, n, k + 1);
    }
    for (int64_t i = 0; i < wide; i++)
        for (int64_t j = 0; j < n; j++) r[i * n + j] = j < i ? 0 : a[i * n + j];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < wide; j++) q[i * wide + j] = i == j;
    for (int64_t k = (m < n ? m : n) - 1; k >= 0; k--) tt_reflect_f32(a, tau[k], q, m, wide, k, n, k);
}
