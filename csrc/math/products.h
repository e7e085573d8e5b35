/* Products of matrices of bytes, added up in 32 bits, which wrap: exact, whatever the instructions are; at the end, dot
   products of complex numbers.

   The second operand is packed: the terms that one instruction adds to a lane lie together, of as many columns as there
   are sums in registers. Of the first operand they are a word, which is spread over all lanes. */

/* tt: tt_dot_i8; needs:  */
/* sums[j] += the products of TT_TERMS terms: of a, the same in each lane, and of b. x86's instruction for four takes
   unsigned bytes of a, so they are given 128 more, which tt_product_i8 takes off again. */
#if defined(__AVX512VNNI__)
enum { TT_LANES = 16, TT_TERMS = 4, TT_ROWS = 6, TT_VECTORS = 4, TT_MORE = 128 };
typedef int8_t tt_term;
typedef uint8_t tt_bits;
#elif defined(__AVXVNNI__)
enum { TT_LANES = 8, TT_TERMS = 4, TT_ROWS = 4, TT_VECTORS = 2, TT_MORE = 128 };
typedef int8_t tt_term;
typedef uint8_t tt_bits;
#elif defined(__AVX2__)
enum { TT_LANES = 8, TT_TERMS = 2, TT_ROWS = 4, TT_VECTORS = 2, TT_MORE = 0 };
typedef int16_t tt_term;
typedef uint16_t tt_bits;
#elif defined(__SSE2__)
enum { TT_LANES = 4, TT_TERMS = 2, TT_ROWS = 4, TT_VECTORS = 2, TT_MORE = 0 };
typedef int16_t tt_term;
typedef uint16_t tt_bits;
#elif defined(__ARM_FEATURE_DOTPROD)
enum { TT_LANES = 4, TT_TERMS = 4, TT_ROWS = 6, TT_VECTORS = 4, TT_MORE = 0 };
typedef int8_t tt_term;
typedef uint8_t tt_bits;
#else
enum { TT_LANES = 4, TT_TERMS = 1, TT_ROWS = 4, TT_VECTORS = 4, TT_MORE = 0 };
typedef int32_t tt_term;
typedef uint32_t tt_bits;
#endif
enum { TT_COLUMNS = TT_LANES * TT_VECTORS, TT_DEPTH = 512, TT_MOST_ROWS = 128 };
typedef int32_t tt_lanes __attribute__((vector_size(4 * TT_LANES)));
#ifdef __clang__
#define TT_UNROLLED _Pragma("unroll")
#else
#define TT_UNROLLED _Pragma("GCC unroll 8")
#endif
static inline tt_lanes tt_dot_i8(tt_lanes sums, tt_lanes a, tt_lanes b) {
#if defined(__AVX512VNNI__)
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
    return sums;
#elif defined(__AVXVNNI__)
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(a), "x"(b));
    return sums;
#elif defined(__AVX2__)
    typedef int16_t halves __attribute__((vector_size(32)));
    return sums + (tt_lanes)__builtin_ia32_pmaddwd256((halves)a, (halves)b);
#elif defined(__SSE2__)
    typedef int16_t halves __attribute__((vector_size(16)));
    return sums + (tt_lanes)__builtin_ia32_pmaddwd128((halves)a, (halves)b);
#elif defined(__ARM_FEATURE_DOTPROD)
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sums) : "w"(a), "w"(b));
    return sums;
#else
    return sums + a * b;
#endif
}

/* tt: tt_pack_rows_i8; needs: tt_dot_i8 */
/* words[i][p] = TT_TERMS neighbours of row i, zeros after the last. */
static inline void tt_pack_rows_i8(const int8_t *a, int64_t lda, int64_t m, int64_t depth, tt_term *words) {
    int64_t padded = (depth + TT_TERMS - 1) / TT_TERMS * TT_TERMS;
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < padded; p++)
            words[i * padded + p] = (tt_term)((p < depth ? a[i * lda + p] : 0) + TT_MORE);
}

/* tt: tt_pack_columns_i8; needs: tt_dot_i8 */
#define TT_LOW_BYTES(x, y) __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define TT_HIGH_BYTES(x, y) __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
/* panel[p][j] = TT_TERMS neighbours of column j, zeros where the matrix ends. */
static inline void tt_pack_columns_i8(const int8_t *restrict b, int64_t ldb, int64_t depth, int64_t n,
                                      tt_term *restrict panel) {
    typedef int8_t bytes __attribute__((vector_size(16), aligned(1)));
    typedef int16_t pairs __attribute__((vector_size(16), aligned(1)));
    int64_t p = 0;
    for (; TT_TERMS == 4 && n == TT_COLUMNS && p + 4 <= depth; p += 4)
        for (int64_t j = 0; j < TT_COLUMNS; j += 16) {
            const int8_t *from = b + p * ldb + j;
            pairs *to = (pairs *)(panel + p * TT_COLUMNS + j * 4);
            bytes x = *(const bytes *)from, y = *(const bytes *)(from + ldb);
            bytes z = *(const bytes *)(from + 2 * ldb), w = *(const bytes *)(from + 3 * ldb);
            pairs xy = (pairs)TT_LOW_BYTES(x, y), zw = (pairs)TT_LOW_BYTES(z, w);
            to[0] = __builtin_shufflevector(xy, zw, 0, 8, 1, 9, 2, 10, 3, 11);
            to[1] = __builtin_shufflevector(xy, zw, 4, 12, 5, 13, 6, 14, 7, 15);
            xy = (pairs)TT_HIGH_BYTES(x, y), zw = (pairs)TT_HIGH_BYTES(z, w);
            to[2] = __builtin_shufflevector(xy, zw, 0, 8, 1, 9, 2, 10, 3, 11);
            to[3] = __builtin_shufflevector(xy, zw, 4, 12, 5, 13, 6, 14, 7, 15);
        }
    for (; n == TT_COLUMNS && p + TT_TERMS <= depth; p += TT_TERMS)
        for (int64_t j = 0; j < TT_COLUMNS; j++) { /* words, of which compilers make vectors */
            const int8_t *from = b + p * ldb + j;
            uint32_t word = (tt_bits)from[0];
            if (TT_TERMS > 1) word |= (uint32_t)(tt_bits)from[ldb] << 32 / TT_TERMS % 32;
            __builtin_memcpy(panel + p * TT_COLUMNS + j * TT_TERMS, &word, 4);
        }
    for (; p < depth; p += TT_TERMS)
        for (int64_t j = 0; j < TT_COLUMNS; j++)
            for (int64_t t = 0; t < TT_TERMS; t++)
                panel[p * TT_COLUMNS + j * TT_TERMS + t] = p + t < depth && j < n ? b[(p + t) * ldb + j] : 0;
}

/* tt: tt_tile_i8; needs: tt_dot_i8 */
/* to: [rows, TT_COLUMNS] = start in each row, and the product of so many rows of words and a panel; or that is added.
   `rows` is known to the compiler, which keeps all sums in registers. */
static inline __attribute__((always_inline)) void tt_tile_i8(const tt_term *words, const tt_term *panel, int64_t groups,
                                                             const tt_lanes *start, int32_t *to, int64_t step, int adds,
                                                             const int rows) {
    typedef int32_t unaligned __attribute__((vector_size(4 * TT_LANES), aligned(4)));
    const tt_lanes *b = (const tt_lanes *)panel;
    tt_lanes sums[TT_ROWS][TT_VECTORS];
    TT_UNROLLED for (int i = 0; i < rows; i++)
        TT_UNROLLED for (int v = 0; v < TT_VECTORS; v++) sums[i][v] = start[v];
    for (int64_t p = 0; p < groups; p++)
        TT_UNROLLED for (int i = 0; i < rows; i++) {
            int32_t word;
            __builtin_memcpy(&word, words + (i * groups + p) * TT_TERMS, 4);
            TT_UNROLLED for (int v = 0; v < TT_VECTORS; v++)
                sums[i][v] = tt_dot_i8(sums[i][v], word - (tt_lanes){0}, b[p * TT_VECTORS + v]);
        }
    TT_UNROLLED for (int i = 0; i < rows; i++)
        TT_UNROLLED for (int v = 0; v < TT_VECTORS; v++) {
            unaligned *place = (unaligned *)(to + i * step + v * TT_LANES);
            *place = adds ? *place + sums[i][v] : sums[i][v];
        }
}

/* Functions of their own: inlined where the loop around them adds to sums, gcc keeps half of the registers on the stack. */
static __attribute__((noinline)) void tt_tile_of_rows(const tt_term *words, const tt_term *panel, int64_t groups,
                                                      const tt_lanes *start, int32_t *to, int64_t step, int adds) {
    tt_tile_i8(words, panel, groups, start, to, step, adds, TT_ROWS);
}

static __attribute__((noinline)) void tt_tile_of_row(const tt_term *words, const tt_term *panel, int64_t groups,
                                                     const tt_lanes *start, int32_t *to, int64_t step, int adds) {
    tt_tile_i8(words, panel, groups, start, to, step, adds, 1);
}

/* tt: tt_product_i8; needs: tt_dot_i8, tt_pack_rows_i8, tt_pack_columns_i8, tt_tile_i8 */
/* c: [m, n] = a: [m, k] times b: [k, n], m <= TT_MOST_ROWS; ld* = elements from one row to the next. */
static inline void tt_product_i8(const int8_t *a, const int8_t *b, int32_t *c, int64_t m, int64_t n, int64_t k,
                                 int64_t lda, int64_t ldb, int64_t ldc) {
    tt_term words[TT_MOST_ROWS * TT_DEPTH] __attribute__((aligned(64)));
    tt_term panel[TT_DEPTH * TT_COLUMNS] __attribute__((aligned(64)));
    int32_t tile[TT_ROWS * TT_COLUMNS] __attribute__((aligned(64)));
    for (int64_t p = 0; p < k; p += TT_DEPTH) {
        int64_t depth = k - p < TT_DEPTH ? k - p : TT_DEPTH, groups = (depth + TT_TERMS - 1) / TT_TERMS;
        tt_pack_rows_i8(a + p, lda, m, depth, words);
        for (int64_t j = 0; j < n; j += TT_COLUMNS) {
            int64_t columns = n - j < TT_COLUMNS ? n - j : TT_COLUMNS;
            tt_pack_columns_i8(b + p * ldb + j, ldb, depth, columns, panel);
            tt_lanes start[TT_VECTORS] = {{0}};
            for (int64_t g = 0; g < (TT_MORE > 0) * groups; g++)
                for (int v = 0; v < TT_VECTORS; v++)
                    start[v] = tt_dot_i8(start[v], (int32_t)0x80808080u - (tt_lanes){0},
                                         ((const tt_lanes *)panel)[g * TT_VECTORS + v]);
            for (int v = 0; v < TT_VECTORS; v++) start[v] = -start[v];
            for (int64_t i = 0; i < m;) {
                int64_t rows = m - i < TT_ROWS ? 1 : TT_ROWS;
                const tt_term *first = words + i * groups * TT_TERMS;
                int32_t *to = columns == TT_COLUMNS ? c + i * ldc + j : tile;
                int64_t step = to == tile ? TT_COLUMNS : ldc;
                if (rows == 1) tt_tile_of_row(first, panel, groups, start, to, step, p && to != tile);
                else tt_tile_of_rows(first, panel, groups, start, to, step, p && to != tile);
                for (int64_t row = 0; to == tile && row < rows; row++)
                    for (int64_t q = 0; q < columns; q++) {
                        int32_t *sum = c + (i + row) * ldc + j + q;
                        *sum = (p ? *sum : 0) + tile[row * TT_COLUMNS + q];
                    }
                i += rows;
            }
        }
    }
    if (!k)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) c[i * ldc + j] = 0;
}

/* tt: tt_pairs; needs:  */
/* Bytes of a vector, and a vector with the numbers of each pair exchanged. */
#if defined(__AVX512F__)
enum { TT_VECTOR = 64 };
#define TT_EXCHANGED_f32(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#define TT_EXCHANGED_f64(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6)
#elif defined(__AVX__)
enum { TT_VECTOR = 32 };
#define TT_EXCHANGED_f32(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6)
#define TT_EXCHANGED_f64(x) __builtin_shufflevector(x, x, 1, 0, 3, 2)
#else
enum { TT_VECTOR = 16 };
#define TT_EXCHANGED_f32(x) __builtin_shufflevector(x, x, 1, 0, 3, 2)
#define TT_EXCHANGED_f64(x) __builtin_shufflevector(x, x, 1, 0)
#endif

/* tt: what follows is written for doubles too */

/* tt: tt_dot_parts_f32; needs: tt_pairs */
/* Adds the sums of the four products of parts of complex numbers: real with real, imaginary with imaginary, real with
   imaginary, imaginary with real. Numbers stay as they lie: one sum is of products with the same part, one of those with
   the other, for which the second operand's are exchanged within their lanes. Apart, they cross the lanes eight times. */
static inline void tt_dot_parts_f32(const float _Complex *a, const float _Complex *b, int64_t n, float *same_real,
                                    float *same_imag, float *real_imag, float *imag_real) {
    enum { LANES = TT_VECTOR / sizeof(float) };
    typedef float lanes __attribute__((vector_size(TT_VECTOR), aligned(sizeof(float)), may_alias));
    const lanes *x = (const lanes *)a, *y = (const lanes *)b;
    lanes same[4] = {{0}}, other[4] = {{0}};
    const int64_t vectors = 2 * n / LANES, fours = vectors / 4 * 4;
    for (int64_t k = 0; k < fours; k += 4) {
        same[0] += x[k] * y[k], other[0] += x[k] * TT_EXCHANGED_f32(y[k]);
        same[1] += x[k + 1] * y[k + 1], other[1] += x[k + 1] * TT_EXCHANGED_f32(y[k + 1]);
        same[2] += x[k + 2] * y[k + 2], other[2] += x[k + 2] * TT_EXCHANGED_f32(y[k + 2]);
        same[3] += x[k + 3] * y[k + 3], other[3] += x[k + 3] * TT_EXCHANGED_f32(y[k + 3]);
    }
    for (int64_t k = fours; k < vectors; k++) same[0] += x[k] * y[k], other[0] += x[k] * TT_EXCHANGED_f32(y[k]);
    /* Lanes are added up half by half: one after the other eight additions would wait for each other. */
    const lanes one = (same[0] + same[1]) + (same[2] + same[3]), two = (other[0] + other[1]) + (other[2] + other[3]);
    float ends[2][LANES];
    for (int j = 0; j < LANES; j++) ends[0][j] = one[j], ends[1][j] = two[j];
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 1; half /= 2)
#pragma GCC unroll 8
        for (int j = 0; j < half; j++) ends[0][j] += ends[0][j + half], ends[1][j] += ends[1][j + half];
    float sums[4] = {ends[0][0], ends[0][1], ends[1][0], ends[1][1]};
    for (int64_t i = vectors * LANES / 2; i < n; i++) {
        float p = __real__ a[i], q = __imag__ a[i], r = __real__ b[i], s = __imag__ b[i];
        sums[0] += p * r, sums[1] += q * s, sums[2] += p * s, sums[3] += q * r;
    }
    *same_real += sums[0], *same_imag += sums[1], *real_imag += sums[2], *imag_real += sums[3];
}
