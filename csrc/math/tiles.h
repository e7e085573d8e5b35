/* Products of narrow matrices by registers of 16 rows of 64 bytes (AMX), where the compiler says that the CPU has them and
   the system lets the process use them. */

/* tt: tt_has_tiles; needs:  */
/* Has this process registers of 16 rows of 64 bytes (AMX)? It has to ask for them. */
#if defined(__AMX_TILE__) && defined(__linux__)
long syscall(long number, ...);
static inline int tt_has_tiles(void) {
    static int is_given; /* 0: not asked yet, -1: refused (old kernels, small stacks for signals) */
    int given = __atomic_load_n(&is_given, __ATOMIC_RELAXED);
    if (!given) {
        given = syscall(158, 0x1023L, 18L) ? -1 : 1; /* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) */
        __atomic_store_n(&is_given, given, __ATOMIC_RELAXED);
    }
    return given > 0;
}
#else
static inline int tt_has_tiles(void) { return 0; }
#endif

/* tt: tt_tiles_begin; needs:  */
/* All eight are whole until tt_tiles_end. */
#if defined(__AMX_TILE__) && defined(__linux__)
static inline void tt_tiles_begin(void) {
    struct { uint8_t palette, start_row, unused[14]; uint16_t bytes[16]; uint8_t rows[16]; } shape = {.palette = 1};
    for (int t = 0; t < 8; t++) shape.bytes[t] = 64, shape.rows[t] = 16;
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
}
#endif

/* tt: tt_tiles_end; needs:  */
#if defined(__AMX_TILE__) && defined(__linux__)
static inline void tt_tiles_end(void) { __asm__ volatile("tilerelease" : : : "memory"); }
#endif

/* tt: tt_sum_in_tiles; needs:  */
/* to: [32, 32] = the sums of `count` times 64 bytes of terms: of rows, and of columns, fours of bytes or pairs of
   bfloat16 side by side; or these are added. Steps are bytes from one row to the next. */
#if defined(__AMX_TILE__) && defined(__linux__)
#define TT_TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t : : : "memory")
#define TT_TILE_LOAD(t, from, step) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"((const void *)(from)), "r"((int64_t)(step)) : "memory")
#define TT_TILE_STORE(t, to, step) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"((void *)(to)), "r"((int64_t)(step)) : "memory")
#define TT_TILE_DOT(kind, sums, a, b) __asm__ volatile(kind " %%tmm" #b ", %%tmm" #a ", %%tmm" #sums : : :)
static inline __attribute__((always_inline)) void tt_sum_in_tiles(const int of_bytes, int64_t count, const void *rows,
                                                                  int64_t row_step, const void *columns,
                                                                  int64_t column_step, void *to, int64_t step,
                                                                  int adds) {
    if (adds) {
        TT_TILE_LOAD(0, to, step);
        TT_TILE_LOAD(1, (char *)to + 64, step);
        TT_TILE_LOAD(2, (char *)to + 16 * step, step);
        TT_TILE_LOAD(3, (char *)to + 16 * step + 64, step);
    } else {
        TT_TILE_ZERO(0);
        TT_TILE_ZERO(1);
        TT_TILE_ZERO(2);
        TT_TILE_ZERO(3);
    }
    for (int64_t g = 0; g < count; g++) {
        const char *left = (const char *)rows + 64 * g, *right = (const char *)columns + 16 * column_step * g;
        TT_TILE_LOAD(4, left, row_step);
        TT_TILE_LOAD(5, left + 16 * row_step, row_step);
        TT_TILE_LOAD(6, right, column_step);
        TT_TILE_LOAD(7, right + 64, column_step);
        if (of_bytes) {
            TT_TILE_DOT("tdpbssd", 0, 4, 6);
            TT_TILE_DOT("tdpbssd", 1, 4, 7);
            TT_TILE_DOT("tdpbssd", 2, 5, 6);
            TT_TILE_DOT("tdpbssd", 3, 5, 7);
        } else {
            TT_TILE_DOT("tdpbf16ps", 0, 4, 6);
            TT_TILE_DOT("tdpbf16ps", 1, 4, 7);
            TT_TILE_DOT("tdpbf16ps", 2, 5, 6);
            TT_TILE_DOT("tdpbf16ps", 3, 5, 7);
        }
    }
    TT_TILE_STORE(0, to, step);
    TT_TILE_STORE(1, (char *)to + 64, step);
    TT_TILE_STORE(2, (char *)to + 16 * step, step);
    TT_TILE_STORE(3, (char *)to + 16 * step + 64, step);
}
#endif

/* tt: tt_has_tiles_bf16; needs: tt_has_tiles */
/* Are products of bfloat16 computed by such registers? */
static inline int tt_has_tiles_bf16(void) {
#if defined(__AMX_BF16__) && defined(__linux__)
    return tt_has_tiles();
#else
    return 0;
#endif
}

/* tt: tt_product_bf16; needs: tt_tiles_begin, tt_tiles_end, tt_sum_in_tiles */
/* c: [m, n] = a: [m, k] times b: [k, n], in floats; ld* = elements from one row to the next. Only where
   tt_has_tiles_bf16. The instruction takes subnormal numbers for zero. */
static inline void tt_product_bf16(const uint16_t *a, const uint16_t *b, float *c, int64_t m, int64_t n, int64_t k,
                                   int64_t lda, int64_t ldb, int64_t ldc) {
#if defined(__AMX_BF16__) && defined(__linux__)
    enum { DEPTH = 512, COLUMNS = 64 };
    uint32_t panel[DEPTH / 2 * COLUMNS] __attribute__((aligned(64))); /* two terms of a column, side by side */
    uint16_t edge[32 * DEPTH] __attribute__((aligned(64)));
    float block[32 * 32] __attribute__((aligned(64)));
    tt_tiles_begin();
    for (int64_t p = 0; p < k; p += DEPTH) {
        int64_t depth = k - p < DEPTH ? k - p : DEPTH, padded = (depth + 31) / 32 * 32;
        for (int64_t j = 0; j < n; j += COLUMNS) {
            int64_t columns = n - j < COLUMNS ? n - j : COLUMNS;
            for (int64_t q = 0; q < padded; q += 2) {
                const uint16_t *even = b + (p + q) * ldb + j, *odd = even + ldb;
                uint32_t *to = panel + q / 2 * COLUMNS;
                if (q + 2 <= depth && columns == COLUMNS)
                    for (int64_t x = 0; x < COLUMNS; x++) to[x] = even[x] | (uint32_t)odd[x] << 16;
                else
                    for (int64_t x = 0; x < COLUMNS; x++)
                        to[x] = (x < columns && q < depth ? even[x] : 0u) |
                                (x < columns && q + 1 < depth ? (uint32_t)odd[x] : 0u) << 16;
            }
            for (int64_t i = 0; i < m; i += 32) {
                const uint16_t *rows = a + i * lda + p;
                int64_t row_step = lda;
                if (i + 32 > m || padded > depth) { /* zeros where the matrix ends */
                    for (int64_t row = 0; row < 32; row++)
                        for (int64_t q = 0; q < padded; q++)
                            edge[row * padded + q] = i + row < m && q < depth ? rows[row * lda + q] : 0;
                    rows = edge, row_step = padded;
                }
                for (int64_t v = 0; v < columns; v += 32) {
                    int is_whole = i + 32 <= m && v + 32 <= columns;
                    float *to = is_whole ? c + i * ldc + j + v : block;
                    int64_t step = is_whole ? 4 * ldc : 4 * 32;
                    tt_sum_in_tiles(0, padded / 32, rows, 2 * row_step, panel + v, 4 * COLUMNS, to, step,
                                    p && is_whole);
                    for (int64_t row = 0; !is_whole && row < 32 && i + row < m; row++)
                        for (int64_t q = 0; q < 32 && v + q < columns; q++) {
                            float *sum = c + (i + row) * ldc + j + v + q;
                            *sum = (p ? *sum : 0.0f) + block[32 * row + q];
                        }
                }
            }
        }
    }
    tt_tiles_end();
#else
    (void)a, (void)b, (void)c, (void)m, (void)n, (void)k, (void)lda, (void)ldb, (void)ldc;
#endif
}
