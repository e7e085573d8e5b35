/* Matrix products: a BLAS found at run time (openblas.c), called single-threaded on blocks of the result that our pool
   shares out.

   The BLAS keeps no threads of its own: two pools on one machine fight. Blocks depend on the shape only, so results
   do not depend on the number of threads. Without a BLAS, plain C loops give the same answers, slower. */

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include "blas.h"
#include "epilogue.h"
#include "pool.h"
#include "sizes.h"
#include "vectors.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, UNPACKED = 786432 };
enum { LINE = 64, TOGETHER = 16, PANEL = 64, STRIP_ROWS_4 = 14, STRIP_ROWS_3 = 6, FEW_ROWS = 32, TERMS_AHEAD = 8,
       FIRST_LEVEL = 1 << 15, SECOND_LEVEL = 1 << 20, MOST_COPIED = 1 << 26, BAND_ROWS = 16, MOST_BANDS = 128,
       BAND_WORK = 1 << 20, MOST_TURNED = 1 << 14 };

/* Does the BLAS multiply small matrices as they lie, with AVX-512? Is our own kernel faster at large ones (as with
   OpenBLAS 0.3.34 on a Cascade Lake, where it reaches 70 % of what a core can do, our kernel 80)? */
static int32_t has_unpacked, has_microkernel;
/* Has the BLAS narrower vectors than the CPU and our own kernel? It has where it does not know the CPU, or is told to. */
static int32_t is_narrow;
/* Has the CPU AVX2 alone, so that our own kernel takes only what it can read as it lies? */
static int32_t has_strips;

/* What one call of the BLAS computes: a part of a block, from a part of the sums. What it reads of the first operand is
   read again for the next columns, so the sums are cut once more, after `reach` terms, lest the caches lose it. */
struct tile {
    int64_t rows, columns, depth, reach;
};

struct block {
    int64_t rows, columns;
};

static int64_t even_share(int64_t whole, int64_t part) { return ceil_div(whole, ceil_div(whole, part)); }

/* OpenBLAS multiplies small matrices (up to 10**6 multiply-adds) as they lie and reaches 98 % of what the cores can do;
   larger ones it packs first and reaches 90 %. So we ask it for small ones, as long as the second operand, which every
   block reads, stays in the second-level cache, or is long and narrow: it is read in order then. Where its rows are the
   sums' terms, short ones are loaded badly. */
static int32_t is_unpacked(int32_t trans_a, int32_t trans_b, int64_t n, int64_t k, size_t size) {
    double bytes = (double)n * (double)k * (double)size;
    if (!has_unpacked || k < 1) return 0;
    if (trans_b) return bytes <= SECOND_LEVEL && (trans_a || k >= 256);
    return bytes <= (n * (int64_t)size <= 2048 ? 4 : 1) * SECOND_LEVEL;
}

/* A larger second operand is copied once, in panels of PANEL columns that lie together: rows that are a power of two
   apart throw each other out of the caches. 1024^3 reaches 94 % so, and 70 % in place. For many rows it pays to copy a
   small one as well, if its rows do not begin with a line of the cache (300 x 300: 1.35 of the speed in place), or if
   they are the sums' terms, so that it would be read by columns (1.1 to 1.5). These pay for fewer rows if they do not begin
   with a line: OpenBLAS takes 1.2 to 1.45 as long for 64 to 200 rows. */
static int32_t is_in_panels(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, int64_t ldb, size_t size) {
    double bytes = (double)n * (double)k * (double)size;
    if (!has_unpacked || bytes > MOST_COPIED) return 0;
    const int32_t begins_with_line = ldb * (int64_t)size % LINE == 0;
    if (trans_b) return m >= (begins_with_line ? 256 : 64) && k >= 32 && (!trans_a || k < 128 || n < PANEL);
    if (is_unpacked(trans_a, 0, n, k, size)) return m >= 256 && k >= 128 && !begins_with_line;
    return !trans_a && m >= 128 && k >= 128;
}

/* Our own kernel copies both operands, which pays where many columns are multiplied by the first one; if that is
   transposed, it is copied for free, and OpenBLAS reads it badly. Against half the vectors it is always worth it. */
static int32_t is_for_microkernel(int32_t trans_a, int64_t m, int64_t n, int64_t k, size_t size) {
    if (!has_microkernel) return 0;
    if (is_narrow) return m >= FEW_ROWS && n >= 32 && k >= 32;
    if (k < 64) return 0;
    return trans_a ? m >= 256 && n >= 64 : size == sizeof(float) && m >= 128 && n >= 384;
}

/* Where operands lie well, nothing is copied: of a second operand that the first-level cache does not hold, but the
   second-level one does, our kernel reads each line once for STRIP_ROWS_4 rows (0.7 to 0.9 of OpenBLAS's time). Rows that
   are a large power of two apart throw each other out of the caches. For few rows to copy a large second operand takes
   longer than to multiply by it (16 x 1024 by 1024 x 1024: 0.6 of OpenBLAS's time, 8 x 2048 by 2048 x 2048 0.4). */
static int32_t is_for_strips(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             size_t size) {
    const double bytes = (double)n * (double)k * (double)size;
    const int32_t is_long = k > 256, lies_apart = lda * (int64_t)size % 2048 || (trans_a && !is_long);
    if (!has_microkernel || trans_b) return 0;
    if (is_narrow && (bytes <= FIRST_LEVEL || m < FEW_ROWS)) return m >= 4 && n >= 16 && k >= 16;
    if (n < 32 || k < 64) return 0;
    if (bytes > SECOND_LEVEL) return m >= 8 && m < FEW_ROWS;
    return m >= STRIP_ROWS_4 && bytes > FIRST_LEVEL && lies_apart && (!is_long || ldb * (int64_t)size % 2048);
}

/* With AVX2 a second operand that leaves room in the second-level cache is read as it lies, where its columns fill vectors:
   for few rows, or few columns, OpenBLAS copies more than it multiplies (on a Zen 3 it takes 1.2 to 3 times as long), and
   rows that overlap it refuses, so that it gets the sums in parts (1.05 to 1.2). */
static int32_t is_for_avx2_strips(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, int64_t lda,
                                  size_t size) {
    const int64_t row = n * (int64_t)size;
    if (!has_strips || trans_b || m < 4 || n < 16 || k < 16 || row % 32) return 0;
    if ((double)row * (double)k > SECOND_LEVEL / 4) return 0;
    return m <= FEW_ROWS || row <= 128 || (!trans_a && lda < k);
}

/* A BLAS takes 0.1 to 0.2 us before it multiplies, which counts where each product of a stack is a few hundred vectors:
   our kernel takes 0.5 to 0.95 of the time. Rows that are the sums' terms OpenBLAS reads badly up to a few vectors of
   terms; turned they take 0.5 to 0.9 of the time, if more rows than a few are multiplied by them. */
static int32_t is_small(int32_t trans_b, int64_t m, int64_t n, int64_t k, size_t size) {
    const int64_t lanes = LINE / (int64_t)size, longest = most(most(m, n), k);
    if (tt_vector_level() != 4 || longest > MOST_TURNED || k < 1 || 2 * n < lanes) return 0;
    if (!trans_b) return m * n * k <= (1 << 16) / (int64_t)size;
    return k <= 4 * lanes && (m >= 8 || k <= lanes) && m * n * k <= 1 << 18 &&
           round_up(n, lanes) * k * (int64_t)size <= MOST_TURNED;
}

/* Rows that come in pieces, as those of an image's windows, a BLAS does not take. Our own kernel does where the CPU has its
   vectors; with AVX2 columns have to fill them. */
static int32_t multiplies_taps(int64_t n, size_t size) {
    return has_strips ? n * (int64_t)size % 32 == 0 : vector_level() == 4;
}

/* An odd number of blocks would leave one of two threads idle in the end. */
static int64_t rows_in_even_parts(int64_t m, int64_t wanted) {
    int64_t rows = round_up(even_share(m, wanted), 8);
    while (rows < m && ceil_div(m, rows) % 2) rows += 8;
    return rows;
}

/* Blocks of a product are chunks of work for threads; where nothing is packed small ones cost little. Rows are best
   left whole, for what follows. */
static struct block choose_unpacked_block(int64_t m, int64_t n, double work) {
    int64_t wanted = work <= 1 << 20 ? 1 : work < 8 << 21 ? 2 * (int64_t)(1 + work / (1 << 21)) : 16; /* some 20 us each */
    int64_t block_rows = most(least(wanted, m / 32), 1), rows = rows_in_even_parts(m, ceil_div(m, block_rows));
    return (struct block){rows, round_up(ceil_div(n, most(least(least(wanted, 4) / block_rows, n / 64), 1)), 64)};
}

/* Results of a transposed second operand have up to 1200 elements where nothing is packed. */
static struct tile choose_tile(int32_t trans_b, struct block block, int64_t k) {
    int64_t rows = least(block.rows, 32), columns = least(block.columns, trans_b ? 32 : 64);
    int64_t depth = even_share(k, most(trans_b ? 512 : 384, UNPACKED / (rows * columns)));
    if (!trans_b) {
        rows = least(most(UNPACKED / (columns * depth), rows), 128);
        columns = least(most(UNPACKED / (rows * depth) / 64 * 64, columns), block.columns);
    }
    return (struct tile){round_up(even_share(block.rows, most(rows / 8 * 8, 8)), 8), columns, depth, k};
}

/* Every block reads all panels: 128 rows compute long enough with each. */
static struct block choose_panelled_block(int64_t m, int64_t n, int64_t panel) {
    return (struct block){rows_in_even_parts(m, least(128, ceil_div(m, 2))), round_up(n, panel)};
}

static struct tile choose_panelled_tile(int64_t k, int64_t panel) {
    int64_t reach = even_share(k, 1024);
    return (struct tile){32, panel, even_share(reach, 384), reach};
}

/* Each packed block packs its operands anew: a product of 1024^3 takes 2 % more in blocks of 256 x 512, and 7 % more in
   blocks of 256 x 256, than in blocks of 512 x 1024. */
static struct block choose_packed_block(int64_t m, int64_t n, double work) {
    int64_t wanted = work > 1 << 27 ? 4 : work > 1 << 20 ? 2 : 1; /* more than 2 ms, more than 20 us */
    int64_t block_rows = wanted > 1 ? ceil_div(m, 512) : 1, block_columns = wanted > 1 ? ceil_div(n, 1024) : 1;
    while (block_rows * block_columns < wanted) *(m / block_rows >= 128 ? &block_rows : &block_columns) *= 2;
    return (struct block){ceil_div(m, block_rows), ceil_div(n, block_columns)};
}

#define REAL float
#define INTEGER int32_t
#define PERMUTE(A, PLACES, B) _mm512_permutex2var_ps((__m512)A, (__m512i)PLACES, (__m512)B)
#define LANE_MASK_4 __mmask16
#define LOAD_LANES_4(LANES, FROM) _mm512_maskz_loadu_ps(LANES, FROM)
#define STORE_LANES_4(TO, LANES, X) _mm512_mask_storeu_ps(TO, LANES, (__m512)X)
#define NAME(suffix) sgemm##suffix
#define ENTRY(suffix) tt_sgemm##suffix
#include "gemm.inc"
#undef REAL
#undef INTEGER
#undef PERMUTE
#undef LANE_MASK_4
#undef LOAD_LANES_4
#undef STORE_LANES_4
#undef NAME
#undef ENTRY

#define REAL double
#define INTEGER int64_t
#define PERMUTE(A, PLACES, B) _mm512_permutex2var_pd((__m512d)A, (__m512i)PLACES, (__m512d)B)
#define LANE_MASK_4 __mmask8
#define LOAD_LANES_4(LANES, FROM) _mm512_maskz_loadu_pd(LANES, FROM)
#define STORE_LANES_4(TO, LANES, X) _mm512_mask_storeu_pd(TO, LANES, (__m512d)X)
#define NAME(suffix) dgemm##suffix
#define ENTRY(suffix) tt_dgemm##suffix
#include "gemm.inc"
#undef REAL
#undef INTEGER
#undef PERMUTE
#undef LANE_MASK_4
#undef LOAD_LANES_4
#undef STORE_LANES_4
#undef NAME
#undef ENTRY

/* Is this the BLAS's name for a core with AVX-512? */
static int32_t is_wide(const char *core) {
    static const char *const names[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!strcmp(core, names[k])) return 1;
    return 0;
}

int32_t tt_blas_loaded(void) { return sgemm_blas && dgemm_blas; }

int32_t tt_blas_find(void *library, void *(*function)(void *library, const char *name)) {
    void (*set_num_threads)(int) = (void (*)(int))function(library, "openblas_set_num_threads");
    sgemm_function sgemm = (sgemm_function)function(library, "cblas_sgemm");
    dgemm_function dgemm = (dgemm_function)function(library, "cblas_dgemm");
    char *(*core)(void) = (char *(*)(void))function(library, "openblas_get_corename");
    if (!set_num_threads || !sgemm || !dgemm) return -1;
    set_num_threads(1);
    has_unpacked = core && is_wide(core());
    is_narrow = !has_unpacked && vector_level() == 4;
    has_microkernel = is_narrow || (vector_level() == 4 && !strcmp(core(), "SkylakeX"));
    has_strips = vector_level() == 3;
    sgemm_blas = sgemm;
    dgemm_blas = dgemm;
    return 0;
}

int32_t tt_blas_set_way(int32_t way) {
    int32_t before = has_unpacked + 2 * has_microkernel + 4 * is_narrow + 8 * has_strips;
    has_unpacked = way & 1;
    has_microkernel = way >> 1 & 1 && vector_level() == 4;
    is_narrow = way >> 2 & 1 && has_microkernel;
    has_strips = way >> 3 & 1 && !has_microkernel && vector_level() >= 3;
    return before;
}
