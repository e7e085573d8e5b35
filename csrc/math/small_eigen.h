/* Eigenvalues of small symmetric matrices, with the steps of LAPACK's ssyevd, so that signs of vectors are the same: to
   tridiagonal form by reflections, then iterations with a shift, from the end where the elements are larger. All in
   doubles: those of float are as long to compute, and their errors a fifth of LAPACK's.

   Source: G. Golub, C. Van Loan, "Matrix Computations", 4th edition, algorithms 8.3.1 and 8.3.3; LAPACK's ssteqr. */

/* tt: tt_tridiagonal_f64; needs:  */
/* Reduces a symmetric n by n matrix: d is its diagonal then, e what lies beside it. Reflection k is I - tau[k] v v',
   where v is 0 up to k, then 1, then column k of a. */
static inline void tt_tridiagonal_f64(double *a, double *d, double *e, double *tau, int64_t n) {
    for (int64_t k = 0; k < n - 1; k++) {
        double below = 0, pivot = a[(k + 1) * n + k], v[8], product[8], half = 0;
        for (int64_t i = k + 2; i < n; i++) below += a[i * n + k] * a[i * n + k];
        double reflected = -__builtin_copysign(__builtin_sqrt(pivot * pivot + below), pivot);
        d[k] = a[k * n + k], e[k] = below == 0 ? pivot : reflected;
        tau[k] = below == 0 ? 0 : (reflected - pivot) / reflected;
        if (below == 0) continue;
        for (int64_t i = k + 2; i < n; i++) a[i * n + k] /= pivot - reflected;
        for (int64_t i = k + 1; i < n; i++) v[i] = i == k + 1 ? 1 : a[i * n + k], product[i] = 0;
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = k + 1; j < n; j++) product[i] += tau[k] * a[i * n + j] * v[j];
        for (int64_t i = k + 1; i < n; i++) half += tau[k] / 2 * product[i] * v[i];
        for (int64_t i = k + 1; i < n; i++) product[i] -= half * v[i];
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= v[i] * product[j] + product[i] * v[j];
    }
    d[n - 1] = a[n * n - 1];
}

/* tt: tt_turn_f64; needs:  */
/* Turns two vectors of n elements by an angle, of which c and s are the cosine and the sine. */
static inline void tt_turn_f64(double *x, double *y, double c, double s, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double old = y[i];
        y[i] = c * old - s * x[i];
        x[i] = s * old + c * x[i];
    }
}

/* tt: tt_eigen_of_two_f64; needs: tt_turn_f64; chooses */
/* Diagonalizes ((d[0], b), (b, d[1])) and turns the two vectors of z: the larger eigenvalue, by its size, is first. */
static inline void tt_eigen_of_two_f64(double *d, double b, double *z, int64_t n) {
    double sum = d[0] + d[1], difference = d[0] - d[1], twice = b + b;
    double large = __builtin_fabs(difference), small = __builtin_fabs(twice), c = 1, s = 0;
    double first = __builtin_fabs(d[0]) > __builtin_fabs(d[1]) ? d[0] : d[1], second = first == d[0] ? d[1] : d[0];
    double root = large == 0 && small == 0 ? 0
                 : large > small          ? large * __builtin_sqrt(1 + small / large * (small / large))
                                          : small * __builtin_sqrt(1 + large / small * (large / small));
    d[0] = sum < 0 ? (sum - root) / 2 : (sum + root) / 2;
    d[1] = sum == 0 ? -root / 2 : first / d[0] * second - b / d[0] * b;
    double side = difference < 0 ? difference - root : difference + root;
    if (__builtin_fabs(side) > small) {
        double cotangent = -twice / side;
        s = 1 / __builtin_sqrt(1 + cotangent * cotangent), c = cotangent * s;
    } else if (small != 0) {
        double tangent = -side / twice;
        c = 1 / __builtin_sqrt(1 + tangent * tangent), s = tangent * c;
    }
    if ((sum < 0) == (difference < 0)) {
        double old = c;
        c = -s, s = old;
    }
    tt_turn_f64(z, z + n, c, s, n);
}

/* tt: tt_eigen_sweep_f64; needs: tt_turn_f64; chooses */
/* One iteration on rows from m back to l, one `step` apart: a rotation that the shift asks for at m, and those that bring
   what it leaves beside the three diagonals to l. */
static inline void tt_eigen_sweep_f64(double *d, double *e, double *z, int64_t l, int64_t m, int64_t step, int64_t n) {
    double beside = e[l - (step < 0)], g = (d[l + step] - d[l]) / (2 * beside), c = 1, s = 1, p = 0;
    g = d[m] - d[l] + beside / (g + __builtin_copysign(__builtin_sqrt(g * g + 1), g));
    for (int64_t i = m; i != l; i -= step) {
        double f = s * e[i - (step > 0)], b = c * e[i - (step > 0)], length = __builtin_sqrt(g * g + f * f);
        double large = f == 0 ? g : g == 0 ? __builtin_fabs(f) : __builtin_copysign(length, g);
        c = f == 0 ? 1 : __builtin_fabs(g) / length, s = f == 0 ? 0 : g == 0 ? __builtin_copysign(1, f) : f / large;
        if (i != m) e[i - (step < 0)] = large;
        g = d[i] - p;
        double r = (d[i - step] - g) * s + 2 * c * b;
        p = s * r;
        d[i] = g + p;
        g = c * r - b;
        tt_turn_f64(z + i * n, z + (i - step) * n, c, s, n);
    }
    d[l] -= p;
    e[l - (step < 0)] = g;
}

/* tt: tt_eigen_iterate_f64; needs: tt_eigen_of_two_f64, tt_eigen_sweep_f64; chooses */
/* Diagonalizes a tridiagonal matrix and turns the n vectors of z along; whether 30 n iterations were enough. */
static inline int32_t tt_eigen_iterate_f64(double *d, double *e, double *z, int64_t n) {
    double last_bit = __builtin_nextafter(1, 2) - 1, tiny = __builtin_nextafter(0, 1) / last_bit, eps = last_bit / 2;
    int64_t turns = 30 * n;
    for (int64_t first = 0, end; first < n; first = end + 1) { /* a block: elements beside its diagonal count */
        for (end = first; end < n - 1; end++)
            if (__builtin_fabs(e[end]) <= __builtin_sqrt(__builtin_fabs(d[end])) *
                                               __builtin_sqrt(__builtin_fabs(d[end + 1])) * eps) break;
        int64_t step = __builtin_fabs(d[end]) < __builtin_fabs(d[first]) ? -1 : 1;
        int64_t l = step > 0 ? first : end, last = step > 0 ? end : first;
        while (l * step <= last * step) {
            int64_t m = l;
            for (; m != last; m += step) {
                double beside = e[m - (step < 0)];
                if (beside * beside <= eps * eps * __builtin_fabs(d[m]) * __builtin_fabs(d[m + step]) + tiny) break;
            }
            if (m == l + step) {
                int64_t low = step > 0 ? l : m;
                tt_eigen_of_two_f64(d + low, e[low], z + low * n, n);
                l = m;
            }
            if (m == l) l += step;
            else if (turns-- > 0) tt_eigen_sweep_f64(d, e, z, l, m, step, n);
            else return 0;
        }
    }
    return 1;
}

/* tt: tt_read_triangle_f64; needs:  */
/* a = the symmetric matrix, of which one triangle is read, times a power of 2^40, so that squares neither overflow nor
   vanish; which power. The upper triangle is the lower one of the matrix read from its end. */
static inline int32_t tt_read_triangle_f64(const double *in, double *a, int64_t n, int32_t lower, int32_t *is_finite) {
    double largest = 0;
    int32_t power = 0;
    *is_finite = 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double x = in[lower ? i * n + j : n * n - 1 - i * n - j];
            a[i * n + j] = a[j * n + i] = x, *is_finite &= x - x == 0;
            if (__builtin_fabs(x) > largest) largest = __builtin_fabs(x);
        }
    for (; *is_finite && largest > 0x1p40; power--, largest *= 0x1p-40)
        for (int64_t i = 0; i < n * n; i++) a[i] *= 0x1p-40;
    for (; *is_finite && largest > 0 && largest < 0x1p-40; power++, largest *= 0x1p40)
        for (int64_t i = 0; i < n * n; i++) a[i] *= 0x1p40;
    return power;
}

/* tt: tt_reflect_back_f64; needs:  */
/* An eigenvector of the tridiagonal matrix becomes one of the matrix: the reflections, the last one first. */
static inline void tt_reflect_back_f64(const double *a, const double *tau, double *x, int64_t n) {
    for (int64_t k = n - 2; k >= 0; k--) {
        double sum = x[k + 1];
        for (int64_t j = k + 2; j < n; j++) sum += a[j * n + k] * x[j];
        x[k + 1] -= tau[k] * sum;
        for (int64_t j = k + 2; j < n; j++) x[j] -= tau[k] * sum * a[j * n + k];
    }
}

/* tt: tt_eigh_f64; needs: tt_read_triangle_f64, tt_tridiagonal_f64, tt_eigen_iterate_f64, tt_reflect_back_f64 */
/* Eigenvectors as columns, and ascending eigenvalues, of a symmetric n by n matrix, n <= 8; NaN where it is not finite. */
static inline void tt_eigh_f64(const double *restrict in, double *restrict vectors, double *restrict values, int64_t n,
                               int32_t lower) {
    double a[64], z[64], d[8], e[8], tau[8], x[8];
    int32_t is_found, power = tt_read_triangle_f64(in, a, n, lower, &is_found);
    tt_tridiagonal_f64(a, d, e, tau, n);
    for (int64_t i = 0; !lower && i < n / 2; i++) x[0] = d[i], d[i] = d[n - 1 - i], d[n - 1 - i] = x[0];
    for (int64_t i = 0; !lower && i < (n - 1) / 2; i++) x[0] = e[i], e[i] = e[n - 2 - i], e[n - 2 - i] = x[0];
    for (int64_t i = 0; i < n * n; i++) z[i] = i % (n + 1) == 0;
    if (!is_found || !tt_eigen_iterate_f64(d, e, z, n)) {
        for (int64_t i = 0; i < n * n; i++) vectors[i] = __builtin_nan("");
        for (int64_t i = 0; i < n; i++) values[i] = __builtin_nan("");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t next = i; /* the smallest that is left */
        for (int64_t j = i + 1; j < n; j++)
            if (d[j] < d[next]) next = j;
        for (int64_t j = 0; j < n; j++) x[j] = z[next * n + (lower ? j : n - 1 - j)];
        for (int64_t j = 0; j < n; j++) z[next * n + j] = z[i * n + j];
        values[i] = d[next], d[next] = d[i];
        for (int32_t k = power; k > 0; k--) values[i] *= 0x1p-40;
        for (int32_t k = power; k < 0; k++) values[i] *= 0x1p40;
        tt_reflect_back_f64(a, tau, x, n);
        for (int64_t j = 0; j < n; j++) vectors[(lower ? j : n - 1 - j) * n + i] = x[j];
    }
}

/* tt: tt_eigh_f32; needs: tt_eigh_f64 */
/* The same of floats. */
static inline void tt_eigh_f32(const float *restrict in, float *restrict vectors, float *restrict values, int64_t n,
                               int32_t lower) {
    double wide_in[64], wide_vectors[64], wide_values[8];
    for (int64_t i = 0; i < n * n; i++) wide_in[i] = in[i];
    tt_eigh_f64(wide_in, wide_vectors, wide_values, n, lower);
    for (int64_t i = 0; i < n * n; i++) vectors[i] = (float)wide_vectors[i];
    for (int64_t i = 0; i < n; i++) values[i] = (float)wide_values[i];
}
