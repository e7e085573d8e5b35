/* Discrete Fourier transforms along one, two or three axes. Lines are transformed side by side in vectors (fft.inc);
   one long line is cut into columns and rows, which are such lines; a length with a large prime factor is a convolution.

   Source: C. Van Loan, Computational Frameworks for the Fast Fourier Transform (1992): Stockham's framework, the
   four-step framework and chirps. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* loops over lanes are made of vectors */
#endif

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include "tt_host.h"
#include "fft.h"
#include "pool.h"
#include "sizes.h"
#include "tt_runtime.h"
#include "vectors.h"

enum {
    VECTOR = 64,             /* bytes of the widest vectors */
    OF_A_LINE = 8,           /* elements of a line that are copied before those of the next line: a cache line's */
    LARGEST_FACTOR = 512,    /* primes up to it are factors, of (p / 2)^2 steps: for more a convolution takes less, */
    LARGEST_ALONE = 64,      /* and so it does for a few lines of such a length, of which lanes stay empty */
    MOST_FACTORS = 64,
    SHORTEST_CUT = 64,       /* a line of so many elements is cut when there are few of them, */
    LONGEST_WHOLE = 4096,    /* and a longer one always: its vectors leave the second-level cache */
    ELEMENTS_OF_A_PIECE = 1 << 14, /* that a thread takes at once: at least */
    MOST_TWISTS = 1 << 17,   /* that are kept; others are products, made for each tile */
    BYTES_KEPT = 1 << 26,    /* of plans */
};

/* What a plan is for: lines; the columns or rows of one, which passes alone transform, so that all its roots are in one
   table; or a line of real numbers that is transformed as one of half as many complex ones: its roots. */
enum purpose { OF_LINES, OF_PARTS, OF_ROOTS };

/* A plan that is kept, or nobody else's: to be given back. */
struct planned {
    struct plan *plan;
    int32_t is_kept;
};

/* What is known of a length. */
struct plan {
    struct plan *next;
    int64_t n, many, factors[MOST_FACTORS];
    enum purpose purpose;
    int32_t bytes, shift;         /* of a real number; log2 of how many fine roots there are */
    size_t size;                  /* of it and all that belongs to it alone */
    void *roots, *fine, *coarse;  /* exp(-2 pi i k / n), k < n; or, of long lines, two tables of their factors */
    struct planned columns, rows; /* of a line that may be cut */
    void *twists;                 /* of the columns' results, of lines that are not too long */
    int32_t has_factors;          /* else every line is a convolution */
    struct planned chirped;       /* its length, where there may be one; */
    void *chirp, *kernel;         /* the chirp, and its transform */
};

static int64_t tiles_of_a_piece(int64_t n, int64_t lanes) { return ceil_div(ELEMENTS_OF_A_PIECE, n * lanes); }

/* exp(-2 pi i k / n): by the nearest of the multiples of a quarter of a turn, so that those are exact. */
static void root(int64_t k, int64_t n, double *re, double *im) {
    int64_t quarter = (8 * (k % n) + n) / (2 * n);
    double angle = 2 * 3.14159265358979323846 * (double)(4 * (k % n) - quarter * n) / (4 * (double)n);
    double c = cos(angle), s = -sin(angle);
    switch (quarter % 4) {
    case 0: *re = c, *im = s; break;
    case 1: *re = s, *im = -c; break;
    case 2: *re = -c, *im = -s; break;
    default: *re = -s, *im = c;
    }
}

static void put_number(void *to, int64_t i, int32_t bytes, double x) {
    if (bytes == 8) ((double *)to)[i] = x;
    else ((float *)to)[i] = (float)x;
}

static void put_root(void *to, int64_t i, int32_t bytes, int64_t k, int64_t n) {
    double re, im;
    root(k, n, &re, &im);
    put_number(to, 2 * i, bytes, re);
    put_number(to, 2 * i + 1, bytes, im);
}

static struct planned plan_for(int64_t n, int32_t bytes, enum purpose purpose);
static void give_plan_back(struct planned given);

#define T float
#define LANES 16
#define NAME(suffix) fft_f32_##suffix
#include "fft.inc"
#include "fft_lines.inc"
#undef T
#undef LANES
#undef NAME
#define T double
#define LANES 8
#define NAME(suffix) fft_f64_##suffix
#include "fft.inc"
#include "fft_lines.inc"
#undef T
#undef LANES
#undef NAME

/* --- plans -------------------------------------------------------------------------------------------------------- */

static struct plan *_Atomic plans;
static _Atomic int64_t bytes_kept;

/* Fills in the factors of n, fours first; the largest prime among them. */
static int64_t factor_length(struct plan *p) {
    int64_t left = p->n, factor = 4;
    for (p->many = 0; left > 1; factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2) {
        if (factor > 4 && factor * factor > left) factor = left;
        for (; left % factor == 0; left /= factor) p->factors[p->many++] = factor;
    }
    return p->many ? most(p->factors[p->many - 1], 2) : 1;
}

/* The product of factors that is next to the root of n. */
static int64_t best_cut(const struct plan *p) {
    int64_t best = 1;
    for (int64_t d = 2; d * d <= p->n; d++)
        if (p->n % d == 0) best = d;
    return best;
}

static int64_t next_smooth(int64_t n) {
    for (;; n++) {
        int64_t left = n;
        for (int64_t factor = 2; factor <= 5; factor += factor == 2 ? 1 : 2)
            while (left % factor == 0) left /= factor;
        if (left == 1) return n;
    }
}

static void *room(struct plan *p, int64_t pairs) {
    size_t size = 2 * (size_t)pairs * (size_t)p->bytes;
    p->size += size;
    return (void *)tt_alloc(size);
}

static void give_room_back(const struct plan *p, void *pairs, int64_t count) {
    if (pairs) tt_free((uintptr_t)pairs, 2 * (size_t)count * (size_t)p->bytes);
}

static int64_t twists_of(const struct plan *p) {
    int64_t lanes = 64 / p->bytes;
    return ceil_div(p->rows.plan->n, lanes) * lanes * p->columns.plan->n;
}

/* The factors of columns' results, in the order in which tiles read these: vectors of real parts, then imaginary ones. */
static int32_t cut_line(struct plan *p, int64_t columns) {
    int64_t lanes = 64 / p->bytes;
    double re, im;
    int64_t rows = p->n / columns;
    p->columns = plan_for(columns, p->bytes, columns > LONGEST_WHOLE ? OF_PARTS : OF_LINES);
    p->rows = plan_for(rows, p->bytes, rows > LONGEST_WHOLE ? OF_PARTS : OF_LINES);
    if (!p->columns.plan || !p->rows.plan) return 0;
    if (p->n > MOST_TWISTS) return 1;
    if (!(p->twists = room(p, twists_of(p)))) return 0;
    for (int64_t row = 0; row < ceil_div(p->rows.plan->n, lanes) * lanes; row++)
        for (int64_t e = 0; e < columns; e++) {
            int64_t place = (row / lanes * columns + e) * 2 * lanes + row % lanes;
            root(row * e, p->n, &re, &im);
            put_number(p->twists, place, p->bytes, re);
            put_number(p->twists, place + lanes, p->bytes, im);
        }
    return 1;
}

/* exp(-2 pi i k / n) as products of two of `few` and some: floats are those of double precision, rounded. */
static double *two_tables(int64_t n, int64_t few) {
    double *tables = (double *)tt_alloc(2 * (size_t)(few + n / few + 1) * sizeof(double));
    if (!tables) return NULL;
    for (int64_t k = 0; k < few; k++) put_root(tables, k, 8, k, n);
    for (int64_t k = 0; k <= n / few; k++) put_root(tables, few + k, 8, k * few, n);
    return tables;
}

/* The chirp, and its mirror image on both sides of 0. */
static int32_t fill_chirp(struct plan *p, int64_t m) {
    int64_t few = 1 << 10, n = 2 * p->n;
    int32_t from_tables = p->bytes == 4 && n > few * few;
    double *tables = from_tables ? two_tables(n, few) : NULL;
    if (from_tables && !tables) return 0;
    for (int64_t i = 0, square = 0; i < p->n; square = (square + 2 * i + 1) % n, i++) {
        double re, im;
        if (tables) {
            const double *a = tables + 2 * (few + square / few), *b = tables + 2 * (square % few);
            re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
        } else {
            root(square, n, &re, &im);
        }
        for (int64_t part = 0; part < 2; part++) {
            put_number(p->chirp, 2 * i + part, p->bytes, part ? im : re);
            put_number(p->kernel, 2 * i + part, p->bytes, part ? -im : re);
            if (i) put_number(p->kernel, 2 * (m - i) + part, p->bytes, part ? -im : re);
        }
    }
    if (tables) tt_free((uintptr_t)tables, 2 * (size_t)(few + n / few + 1) * sizeof(double));
    return 1;
}

static int32_t make_chirp(struct plan *p) {
    int64_t m = next_smooth(2 * p->n - 1);
    p->chirped = plan_for(m, p->bytes, OF_LINES);
    if (!p->chirped.plan || !(p->chirp = room(p, p->n)) || !(p->kernel = room(p, m))) return 0;
    memset(p->kernel, 0, 2 * (size_t)m * (size_t)p->bytes);
    if (!fill_chirp(p, m)) return 0;
    struct fft_f32_lines narrow = {p->chirped.plan, NULL, p->kernel, p->kernel, 1, 1, 0, 0, 0, 1, NULL, TT_OK};
    struct fft_f64_lines wide = {p->chirped.plan, NULL, p->kernel, p->kernel, 1, 1, 0, 0, 0, 1, NULL, TT_OK};
    return (p->bytes == 4 ? fft_f32_one_line(narrow) : fft_f64_one_line(wide)) == TT_OK;
}

static void drop_plan(struct plan *p) {
    give_room_back(p, p->roots, p->n);
    give_room_back(p, p->fine, (int64_t)1 << p->shift);
    give_room_back(p, p->coarse, (p->n >> p->shift) + 1);
    give_room_back(p, p->twists, p->twists ? twists_of(p) : 0);
    give_room_back(p, p->chirp, p->n);
    give_room_back(p, p->kernel, p->kernel ? p->chirped.plan->n : 0);
    give_plan_back(p->columns), give_plan_back(p->rows), give_plan_back(p->chirped);
    tt_free((uintptr_t)p, sizeof *p);
}

static int32_t make_roots(struct plan *p) {
    int64_t n = p->n;
    if (n <= LONGEST_WHOLE || p->purpose == OF_PARTS) {
        if (!(p->roots = room(p, n))) return 0;
        for (int64_t k = 0; k < n; k++) put_root(p->roots, k, p->bytes, k, n);
        return 1;
    }
    while ((int64_t)1 << 2 * p->shift < n) p->shift++;
    if (!(p->fine = room(p, (int64_t)1 << p->shift)) || !(p->coarse = room(p, (n >> p->shift) + 1))) return 0;
    for (int64_t k = 0; k < (int64_t)1 << p->shift; k++) put_root(p->fine, k, p->bytes, k, n);
    for (int64_t k = 0; k <= n >> p->shift; k++) put_root(p->coarse, k, p->bytes, k << p->shift, n);
    return 1;
}

static struct plan *make_plan(int64_t n, int32_t bytes, enum purpose purpose) {
    struct plan *p = (struct plan *)tt_alloc(sizeof *p);
    if (!p) return NULL;
    *p = (struct plan){.n = n, .bytes = bytes, .size = sizeof *p, .purpose = purpose};
    int64_t largest = factor_length(p), cut = largest <= LARGEST_FACTOR && n >= SHORTEST_CUT ? best_cut(p) : 1;
    int32_t is_made = make_roots(p);
    p->has_factors = largest <= LARGEST_FACTOR;
    if (is_made && purpose != OF_LINES) return p;
    if (is_made && (!p->has_factors || (largest == n && n > LARGEST_ALONE))) is_made = make_chirp(p);
    if (is_made && cut > 1) is_made = cut_line(p, cut);
    if (is_made) return p;
    drop_plan(p);
    return NULL;
}

/* Plans are kept for ever, or, if they are large, their user's alone. Two threads that make one at once keep both. */
static struct planned plan_for(int64_t n, int32_t bytes, enum purpose purpose) {
    for (struct plan *p = atomic_load(&plans); p; p = p->next)
        if (p->n == n && p->bytes == bytes && p->purpose == purpose) return (struct planned){p, 1};
    struct planned made = {make_plan(n, bytes, purpose), 0};
    if (!made.plan) return made;
    made.is_kept = atomic_fetch_add(&bytes_kept, (int64_t)made.plan->size) + (int64_t)made.plan->size <= BYTES_KEPT;
    if (!made.is_kept) {
        atomic_fetch_sub(&bytes_kept, (int64_t)made.plan->size);
        return made;
    }
    made.plan->next = atomic_load(&plans);
    while (!atomic_compare_exchange_weak(&plans, &made.plan->next, made.plan)) continue;
    return made;
}

static void give_plan_back(struct planned given) {
    if (given.plan && !given.is_kept) drop_plan(given.plan);
}

/* --- struct tt_host's entry --------------------------------------------------------------------------------------- */

static int32_t complex_axis(int32_t bytes, const void *from, void *to, int64_t outer, int64_t n, int64_t inner,
                            int32_t back) {
    return bytes == 4 ? fft_f32_complex_lines(from, to, outer, n, inner, back)
                      : fft_f64_complex_lines(from, to, outer, n, inner, back);
}

static int32_t real_axis(int32_t bytes, const void *from, void *to, int64_t lines, int64_t n, int32_t back) {
    return bytes == 4 ? fft_f32_real_lines(from, to, lines, n, back) : fft_f64_real_lines(from, to, lines, n, back);
}

/* The axes before the last; of an array [lines, a, b, c], whose result begins in `from`. */
static int32_t outer_axes(int32_t bytes, const void *from, void *to, int64_t lines, int64_t a, int64_t b, int64_t c,
                          int32_t back) {
    int32_t status = TT_OK;
    if (b > 1) status = complex_axis(bytes, from, to, lines * a, b, c, back), from = to;
    if (a > 1 && status == TT_OK) status = complex_axis(bytes, from, to, lines, a, b * c, back);
    return status;
}

int32_t tt_fft(int32_t bytes, int32_t kind, int64_t lines, int64_t a, int64_t b, int64_t c, const void *in, void *out) {
    int32_t back = kind & 1, is_real = kind & 2, status;
    int64_t half = is_real ? c / 2 + 1 : c;
    if (lines * a * b * c == 0) {
        size_t numbers = (size_t)(lines * a * b * (kind == TT_IRFFT ? c : 2 * half));
        memset(out, 0, numbers * (size_t)bytes);
        return TT_OK;
    }
    if (kind != TT_IRFFT) {
        status = is_real ? real_axis(bytes, in, out, lines * a * b, c, 0)
                         : complex_axis(bytes, in, out, lines * a * b, c, 1, back);
        return status == TT_OK ? outer_axes(bytes, out, out, lines, a, b, half, back) : status;
    }
    if (a * b == 1) return real_axis(bytes, in, out, lines, c, 1);
    size_t size = 2 * (size_t)(lines * a * b * half) * (size_t)bytes;
    void *between = (void *)tt_alloc(size);
    if (!between) return TT_NO_MEMORY;
    status = outer_axes(bytes, in, between, lines, a, b, half, 1);
    if (status == TT_OK) status = real_axis(bytes, between, out, lines * a * b, c, 1);
    tt_free((uintptr_t)between, size);
    return status;
}
