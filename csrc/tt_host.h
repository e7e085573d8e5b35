/* What a compiled program may ask of its host. Pasted at the top of every generated file, so it includes nothing.

   A program has one entry, int32_t entry(void *const *buffers, const struct tt_host *host), whose buffers are its
   inputs, its outputs, then its workspace if it has one. Who asks nothing of the host needs the types alone. */

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __SIZE_TYPE__ size_t;

/* Counts the changes of this file's meaning. Part of every artifact's key, so an older object is never loaded. */
enum { TT_HOST_ABI = 13 };

/* What a program's entry returns. */
enum {
    TT_OK = 0,
    TT_NO_MEMORY = 1,       /* host->alloc gave NULL */
    TT_CALLBACK_RAISED = 2, /* host->callback returned non-zero: the exception waits in the calling thread */
    TT_NO_LAPACK = 3,       /* a factorization needs LAPACK, and the host has neither it nor Python */
};

/* tt: what follows is for programs that ask their host for something */
/* The elements of matrices that are factored. */
enum { TT_F32, TT_F64, TT_C64, TT_C128 };

/* Fourier transforms: of complex numbers, back, of real ones, back to these. */
enum { TT_FFT, TT_IFFT, TT_RFFT, TT_IRFFT };

/* How elements that are sorted compare; unsigned ones have none of these. BRAIN: bfloat16, and not the other float of two
   bytes. TOTAL: IEEE 754's order of all floats, from -NaN over -0 and 0 to NaN; without it NaN is last and -0 is 0.
   ZEROS_BY_SIGN: values that are sorted alone have -0 before 0, not in their order. UNORDERED: the last of the k largest
   and those that equal it are last, the others before them, both in the order of the line. */
enum {
    TT_SIGNED = 1, TT_FLOAT = 2, TT_BRAIN = 4, TT_TOTAL = 8, TT_DESCENDING = 16, TT_ZEROS_BY_SIGN = 32, TT_UNORDERED = 64,
};

struct tt_host {
    /* Runs body(ctx, begin, end) over [0, n) in chunks, on several threads when there is more than one chunk.
       Chunks depend on n and grain only, never on the number of threads, and every begin is a multiple of grain.
       A parallel_for inside a body runs on its own thread. Returns when all of [0, n) is done. */
    void (*parallel_for)(void (*body)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t n, int64_t grain);

    /* c = alpha * op(a) @ op(b) + beta * c, row-major, op(x) = transpose of x when its flag is set;
       op(a): [m, k], op(b): [k, n], c: [m, n]; ld* = elements from one row to the next as stored.
       Spreads over the threads; the result does not depend on their number. */
    void (*sgemm)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                  int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
    void (*dgemm)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                  int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

    /* c = a @ b + beta * c, where a row of a: [m, taps * k] comes in pieces of k elements, `tap` apart, and rows may
       overlap: the windows of an image as they lie. */
    void (*sgemm_taps)(int64_t m, int64_t n, int64_t k, int64_t taps, int64_t tap, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
    void (*dgemm_taps)(int64_t m, int64_t n, int64_t k, int64_t taps, int64_t tap, const double *a, int64_t lda,
                       const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

    /* Products as sgemm's, and then(ctx, step * begin, step * end) for rows [begin, end) of c as soon as they are done,
       on the thread that has them in its cache; every row's turn comes once. */
    void (*sgemm_then)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                       int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc,
                       void (*then)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t step);
    void (*dgemm_then)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                       int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc,
                       void (*then)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t step);

    /* c = op(a) @ op(b), of bfloat16 (sbgemm) or float16 (shgemm), added up as floats; c has these, or, where `rounds` is
       set, the operands' type. In other respects as above. */
    void (*sbgemm)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda,
                   const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc);
    void (*shgemm)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda,
                   const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc);
    void (*sbgemm_then)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
                        int64_t lda, const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc,
                        void (*then)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t step);
    void (*shgemm_then)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
                        int64_t lda, const uint16_t *b, int64_t ldb, int32_t rounds, void *c, int64_t ldc,
                        void (*then)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t step);

    /* The same of int8, added up in 32 bits, which wrap: fast where has_tiles, the registers for it. */
    void (*i8gemm)(int32_t trans_a, int32_t trans_b, int64_t m, int64_t n, int64_t k, const int8_t *a, int64_t lda,
                   const int8_t *b, int64_t ldb, int32_t *c, int64_t ldc);
    int32_t (*has_tiles)(void);

    /* Factorizations, under LAPACK's names, of `count` matrices that lie one after the other, row-major; `type` says
       what their elements are. They spread over the threads; the result does not depend on their number. Each returns
       a status; where LAPACK finds no answer, the results of that matrix are NaN.

       potrf: l = lower triangular factor of a: [n, n], with zeros above.
       trsm:  x = solution of op(a) x = b (left: b is [n, k]) or x op(a) = b ([k, n]); a is lower or upper triangular.
       getrf: both factors of a: [m, n] in one; the row that each row was exchanged with; the permutation that results.
       geqrf: q: [m, min(m, n)] and r; or, complete, q: [m, m].
       syevd: eigenvectors of a: [n, n] as columns, unless they are NULL, and ascending eigenvalues; one triangle is
              read.
       gesdd: singular values of a: [m, n]; u and vt, unless they are NULL; complete, they are square.
       geev:  complex eigenvalues; left and right eigenvectors as columns, unless they are NULL.
       gees:  the Schur form of a: [n, n], and its vectors as columns, unless they are NULL.
       gehrd: a: [n, n] reduced to Hessenberg form, with the reflections below; their factors taus: [n - 1].
       orgqr: the first n columns of the product of k reflections, which lie in a: [m, n] with factors taus: [k].
       sytrd: a: [n, n], of which one triangle is read, reduced to the diagonal d: [n] and e: [n - 1] beside it, with
              the reflections beyond; their factors taus: [n - 1]; info: 0 of each matrix. */
    int32_t (*potrf)(int32_t type, int64_t count, int64_t n, const void *a, void *l);
    int32_t (*trsm)(int32_t type, int64_t count, int64_t n, int64_t k, int32_t left, int32_t lower, int32_t transposed,
                    int32_t conjugated, int32_t unit, const void *a, const void *b, void *x);
    int32_t (*getrf)(int32_t type, int64_t count, int64_t m, int64_t n, const void *a, void *factors, int32_t *pivots,
                     int32_t *rows);
    int32_t (*geqrf)(int32_t type, int64_t count, int64_t m, int64_t n, int32_t complete, const void *a, void *q,
                     void *r);
    int32_t (*syevd)(int32_t type, int64_t count, int64_t n, int32_t lower, const void *a, void *vectors, void *values);
    int32_t (*gesdd)(int32_t type, int64_t count, int64_t m, int64_t n, int32_t complete, const void *a, void *values,
                     void *u, void *vt);
    int32_t (*geev)(int32_t type, int64_t count, int64_t n, const void *a, void *values, void *left, void *right);
    int32_t (*gees)(int32_t type, int64_t count, int64_t n, const void *a, void *t, void *vectors);
    int32_t (*gehrd)(int32_t type, int64_t count, int64_t n, const void *a, void *reduced, void *taus);
    int32_t (*orgqr)(int32_t type, int64_t count, int64_t m, int64_t n, int64_t k, const void *a, const void *taus,
                     void *q);
    int32_t (*sytrd)(int32_t type, int64_t count, int64_t n, int32_t lower, const void *a, void *reduced, void *d,
                     void *e, void *taus, int32_t *info);

    /* Stable sorting along the middle axis of arrays [outer, n, inner] of elements of `bytes` bytes; `kind` says how they
       compare. They spread over the threads; the result does not depend on their number. Each returns a status.

       sort:  the elements in order, neither TOTAL nor DESCENDING.
       select: those at places [first, first + count) of sorted lines, for each line, one after the other; inner is 1.
       order: for each line, one after the other, the n positions of its elements in order; `again`: order holds that
              by another key, which decides where this one is equal.
       take:  out[i] = in[order[i]] along each line.
       sort_by: both for one line of n keys of four bytes, of elements of four bytes; `order` is room for as many.
       top_k: the k largest of each of `lines` lines of n, the largest first in TOTAL order, and their positions; values
              or positions that nobody reads are NULL. */
    int32_t (*sort)(int32_t bytes, int32_t kind, int64_t outer, int64_t n, int64_t inner, const void *in, void *out);
    int32_t (*select)(int32_t bytes, int32_t kind, int64_t lines, int64_t n, int64_t first, int64_t count, const void *in,
                      void *out);
    int32_t (*order)(int32_t bytes, int32_t kind, int32_t again, int64_t outer, int64_t n, int64_t inner,
                     const void *keys, uint32_t *order);
    int32_t (*take)(int32_t bytes, int64_t outer, int64_t n, int64_t inner, const void *in, const uint32_t *order,
                    void *out);
    int32_t (*sort_by)(int32_t kind, int64_t n, const void *keys, const void *in, uint32_t *order, void *out);
    int32_t (*top_k)(int32_t bytes, int32_t kind, int64_t lines, int64_t n, int64_t k, const void *in, void *values,
                     int32_t *positions);

    /* Says for each of `lines` lines of n which of its elements are among the m that belong to the line: elements of so many
       parts of `bytes` bytes, which compare as for sorting, but that NaN equals nothing. Returns a status. */
    int32_t (*is_member)(int32_t bytes, int32_t kind, int32_t parts, int64_t lines, int64_t n, int64_t m, const void *x,
                         const void *y, uint8_t *out);

    /* Discrete Fourier transforms of `lines` arrays [a, b, c] over these axes, those back divided by a * b * c; real numbers
       have `bytes`. c counts the real numbers where there are some, on whose other side there are c / 2 + 1. They spread
       over the threads; the result does not depend on their number. Returns a status. */
    int32_t (*fft)(int32_t bytes, int32_t kind, int64_t lines, int64_t a, int64_t b, int64_t c, const void *in, void *out);

    /* A 64-byte aligned block with at least 64 readable bytes after its end, or NULL; freed with the same size. */
    void *(*alloc)(size_t size);
    void (*free)(void *block, size_t size);

    /* Calls the Python function registered under id with these buffers; non-zero when it raised.
       An id belongs to one process: a program reads it from an input buffer and never has it in its text. */
    int32_t (*callback)(int64_t id, void *const *buffers);
};
