/* How far results are from what they should be: `float` against `double`, or `double` against `long double`.

   Compiled once per function, with -DREFERENCE=expression, which says what the result should be, of x, y (the operands)
   and got (the result). With -DVECTORS, loops over libm's double functions become vector code, by libmvec (glibc 2.35);
   it is right to 4 ulp of a double, which is 2**-27 ulp of a float. */

#include <float.h>
#include <stdint.h>

#ifdef WIDE
typedef double narrow;
typedef long double wide;
typedef uint64_t bits;
#define LEAST DBL_MIN
#define MOST DBL_MAX
#define EPSILON DBL_EPSILON
#define EXPONENT 0x7FF0000000000000u
#else
typedef float narrow;
typedef double wide;
typedef uint32_t bits;
#define LEAST FLT_MIN
#define MOST FLT_MAX
#define EPSILON FLT_EPSILON
#define EXPONENT 0x7F800000u
#endif

#ifdef VECTORS
#define V __attribute__((simd("notinbranch"), const))
V double exp(double), exp2(double), expm1(double), log(double), log1p(double), sin(double), cos(double), tan(double);
V double asin(double), acos(double), atan(double), sinh(double), cosh(double), tanh(double), asinh(double);
V double acosh(double), atanh(double), cbrt(double), erf(double), erfc(double), pow(double, double);
V double atan2(double, double);
#endif
#include <tgmath.h>

static inline wide logistic(wide x) { return 1 / (1 + exp(-x)); }

/* One step of Newton's method leads from the result to the inverse of erf; where erf is near 1, by its complement. From
   what is no number it leads nowhere: then any other number serves to refuse it. */
static inline wide erf_inv(wide x, wide got) {
    wide size = fabs(got), slope = 2 / sqrt(acos((wide)-1)) * exp(-size * size);
    wide excess = size < 0.5 ? erf(size) - fabs(x) : (1 - fabs(x)) - erfc(size);
    wide y = copysign(size - excess / slope, x);
    return fabs(x) < 1 ? (size < INFINITY ? y : x) : fabs(x) == 1 ? x * INFINITY : NAN;
}

/* Units in the last place of a float like `wanted`; infinite if one of both is NaN and the other is not, if one of
   both is infinite and the other not even rounded so, or if their signs differ, those of zeros included. */
static inline wide ulps(narrow got, wide wanted) {
    narrow rounded = (narrow)wanted, size = fabs(rounded);
    size = size > LEAST ? size : LEAST;
    size = size < MOST ? size : MOST;
    union { narrow value; bits bits; } power = {size};
    power.bits &= EXPONENT;
    wide error = fabs(got - wanted) / ((wide)power.value * EPSILON);
    error = got == rounded && size == MOST ? 0 : error;
    error = copysign((narrow)1, got) == copysign((narrow)1, rounded) ? error : INFINITY;
    int nans = (got != got) + (wanted != wanted);
    return nans == 0 ? error : nans == 2 ? 0 : INFINITY;
}

enum { BLOCK = 1024 };

/* The greatest error among n results, and where it is. */
int64_t worst(const narrow *restrict xs, const narrow *restrict ys, const narrow *restrict results, int64_t n,
              double *greatest) {
    int64_t at = 0;
    *greatest = -1;
    for (int64_t start = 0; start < n; start += BLOCK) {
        double errors[BLOCK], most = 0;
        int64_t count = n - start < BLOCK ? n - start : BLOCK;
        for (int64_t i = 0; i < count; i++) {
            const wide x = xs[start + i], y = ys[start + i], got = results[start + i];
            (void)x, (void)y;
            errors[i] = (double)ulps((narrow)got, REFERENCE);
        }
#pragma omp simd reduction(max : most)
        for (int64_t i = 0; i < count; i++) most = errors[i] > most ? errors[i] : most;
        for (int64_t i = 0; most > *greatest && i < count; i++)
            if (errors[i] == most) at = start + i, *greatest = most;
    }
    return at;
}
