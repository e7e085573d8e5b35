"""Work-arounds for compilers that make wrong programs: which versions, a program that shows the fault, and the switch.

An entry names what goes wrong, since which version and until which, and how it is avoided: by flags, which the runtime
adds for these versions only, by a line in the C text, which stands between `#if` and `#endif`, or by other words, which
are written for every compiler. Tests compile each program with every compiler that is installed: with the switch its
answer is right; without it, it is wrong in the versions named here and in no earlier one. A version that is right
without the switch is the one to put into `until`.
"""
from __future__ import annotations

from tinytrace.records import NamedTuple


class Quirk(NamedTuple):
    """A fault of a compiler.

    Args:
      name: a word for it.
      compiler: the family, "gcc" or "clang".
      since: the first major version that has the fault.
      until: the first one that has it no more; None as long as none is known.
      fault: what goes wrong.
      program: C whose `main` returns 0 if the compiler is right; `SWITCH` stands where `line` or `words` belong.
      needs: the processor's feature without which the fault does not show, and the flag that turns it on.
      beside: other flags under which the fault shows.
      flags: the switch, if it is flags.
      machine: with what the names of the machines begin that know these flags; nothing: all do.
      line: the switch, if it is a line of C.
      words: the switch, if it is how something is written; `avoids`: the words in whose place it stands.
    """

    name: str
    compiler: str
    since: int
    until: int | None
    fault: str
    program: str
    needs: tuple[str, str]
    beside: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    machine: str = ""
    line: str = ""
    words: str = ""
    avoids: str = ""

    def concerns(self, compiler: str, version: int) -> bool:
        """Does this version have the fault? A version of 0 is not known and may have all of them."""
        if compiler != self.compiler:
            return False
        return not version or (self.since <= version and (self.until is None or version < self.until))

    def in_text(self) -> list[str]:
        """Return the lines of C that avoid the fault, for the versions that have it."""
        versions = "defined(__clang__)" if self.compiler == "clang" else "!defined(__clang__)"
        number = "__clang_major__" if self.compiler == "clang" else "__GNUC__"
        versions += f" && {number} >= {self.since}" + (f" && {number} < {self.until}" if self.until else "")
        return [f"#if {versions} /* {self.name}: quirks.py */", self.line, "#endif"]


SMALL_MAXIMA = Quirk(
    "small maxima", "gcc", 12, None,
    "Straight-line code that becomes vectors: of a few unsigned bytes that are 0 or 1 the maximum is 255.",
    needs=("avx2", "-march=x86-64-v3"),
    flags=("-fno-tree-slp-vectorize",),
    program="""
#include <stdint.h>

__attribute__((noipa)) void f(const uint8_t *a, uint8_t *c) {
    for (int64_t i = 0; i < 3; i++) {
        const uint8_t x = a[4 * i] != 0, y = a[4 * i + 1] != 0, z = a[4 * i + 2] != 0, w = a[4 * i + 3] != 0;
        const uint8_t s = y > x ? y : x;
        const uint8_t t = z > s ? z : s;
        c[i] = w > t ? w : t;
    }
}

int main(void) {
    const uint8_t a[12] = {0, 1, 2, 0, 3, 0, 0, 1, 0, 0, 0, 7};
    uint8_t c[3];
    f(a, c);
    return c[0] != 1 || c[1] != 1 || c[2] != 1;
}
""")

LOST_LANES = Quirk(
    "lost lanes", "gcc", 12, None,
    "Jump threading duplicates parts of a loop's body. Where the use of a variable that `omp simd` makes one per lane "
    "becomes conditional so, it is read past its lanes: a sum, or whether there was a NaN, comes from other memory.",
    needs=("avx512f", "-march=x86-64-v4"),
    flags=("-fno-thread-jumps",),
    program="""
#include <stdint.h>

enum { N = 3000 };

__attribute__((noipa)) int f(const float *a, const float *b, float *out) {
    float max = -__builtin_inff(), count = 0.0f, sum = 0.0f;
    uint8_t nan = 0;
    #pragma omp simd reduction(max: max) reduction(|: nan) reduction(+: count, sum)
    for (int64_t i = 0; i < N; i++) {
        const uint8_t c = b[i] > 0.0f;
        const float x = c ? __builtin_fabsf(a[i]) : -__builtin_inff();
        max = x > max ? x : max;
        nan |= x != x;
        count += (float)(int32_t)c;
        sum += c ? a[i] : 0.0f;
    }
    out[0] = max, out[1] = count, out[2] = sum;
    return nan;
}

int main(void) {
    static float a[N], b[N];
    float out[3];
    for (int i = 0; i < N; i++)
        a[i] = (float)(i % 7), b[i] = i % 2 ? 1.0f : -1.0f;
    return f(a, b, out) != 0 || out[0] != 6.0f || out[1] != 1500.0f || out[2] != 4498.0f;
}
""")

GROUPED_LOADS = Quirk(
    "grouped loads", "gcc", 12, None,
    "Loads that depend on conditions and lie side by side become one load, whose lanes get each other's conditions: "
    "elements that should be read are 0. See grouped_loads.py for where this may happen.",
    needs=("avx2", "-march=x86-64-v3"),
    beside=("-fno-thread-jumps",),
    line='__asm__ volatile(""); /* so the loop has no vectors */',
    program="""
#include <stdint.h>

__attribute__((noipa)) void f(const float *restrict a, float *restrict o) {
    for (int64_t i = 0; i < 8; i++) {
        SWITCH
        o[4 * i] = (i < 6) ? ((i >= 1) ? a[3 * i - 3] : 9.0f) : 9.0f;
        o[4 * i + 1] = (i < 6) ? ((i >= 1) ? a[3 * i - 2] : 9.0f) : 9.0f;
        o[4 * i + 2] = (i < 6) ? ((i >= 1) ? a[3 * i - 1] : 9.0f) : 9.0f;
        o[4 * i + 3] = 9.0f;
    }
}

int main(void) {
    float a[15], o[32];
    int wrong = 0;
    for (int i = 0; i < 15; i++)
        a[i] = (float)i + 1.0f;
    f(a, o);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 3; j++)
            wrong += o[4 * i + j] != (i >= 1 && i < 6 ? a[3 * i - 3 + j] : 9.0f);
    return wrong;
}
""")

_NEGATED = """
#include <stdint.h>

static inline float negated(float x) {
    union { float number; uint32_t bits; } either = {x};
    either.bits ^= 0x80000000u;
    return either.number;
}
"""

NEGATED_SUMS = Quirk(
    "negated sums", "gcc", 11, None,
    "-fma(a, b, c) becomes one instruction, which computes -(a * b) - c: that is 0 where the negated sum is -0. "
    "`tt_neg_f32` flips the sign bit.",
    needs=("fma", "-march=x86-64-v3"),
    words="negated(__builtin_fmaf(a, b, c))",
    avoids="-__builtin_fmaf(a, b, c)",
    program=_NEGATED + """
__attribute__((noipa)) float f(float a, float b, float c) { return SWITCH; }

int main(void) {
    return !__builtin_signbit(f(1.0f, 2.0f, -2.0f));
}
""")

PAIRED_PRODUCTS = Quirk(
    "paired products", "gcc", 12, None,
    "A difference of products beside a sum of products, as in a product of complex numbers, become one instruction "
    "that rounds once (VEC_FMADDSUB), whatever -ffp-contract says: z * conj(z) has an imaginary part. "
    "`core.formulas.product` writes two sums, of which one has a product whose sign bit is flipped (`tt_neg_f32`): "
    "of a sum with `-x` the compiler makes the difference again.",
    needs=("fma", "-march=x86-64-v3"),
    words="p * r + negated(q * s)",
    avoids="p * r - q * s",
    program=_NEGATED + """

__attribute__((noipa)) void f(const float *restrict a, const float *restrict b, float *restrict c) {
    for (int64_t i = 0; i < 64; i++) {
        const float p = a[2 * i], q = a[2 * i + 1], r = b[2 * i], s = b[2 * i + 1];
        c[2 * i] = SWITCH;
        c[2 * i + 1] = p * s + q * r;
    }
}

int main(void) {
    float a[128], b[128], c[128];
    int wrong = 0;
    for (int i = 0; i < 64; i++) {
        a[2 * i] = b[2 * i] = 1.0f + 0.37f * (float)i;
        a[2 * i + 1] = 0.1f + (float)i / 7.0f;
        b[2 * i + 1] = -a[2 * i + 1];
    }
    f(a, b, c);
    for (int i = 0; i < 64; i++)
        wrong += c[2 * i + 1] != 0.0f;
    return wrong;
}
""")

SIGN_TESTS = Quirk(
    "sign tests", "gcc", 12, None,
    "A vectorised load under the condition that an integer as wide as its elements is not negative becomes a load "
    "without a condition, and a choice by the sign: what lies before an array is read, and that may be nobody's. "
    "`Code._compared` writes guards without differences: `i + j >= 8`.",
    needs=("avx512vl", "-march=x86-64-v4"),
    beside=("-mprefer-vector-width=256",),
    words="i + j >= 8",
    avoids="0 <= i + j - 8",
    program="""
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

enum { N = 1024, BYTES = 1 << 16 };

__attribute__((noipa)) void f(const double *restrict a, double *restrict out, int64_t j) {
    #pragma omp simd
    for (int64_t i = 0; i < N; i++)
        out[i] = (SWITCH) ? a[i + j - 8] : 0.0;
}

int main(void) {
    static double out[N];
    char *pages = mmap(0, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages, BYTES, PROT_NONE);
    f((double *)(pages + BYTES), out, 0);
    return 0;
}
""")

UNALIGNED_ROWS = Quirk(
    "unaligned rows", "gcc", 11, None,
    "A function that calls nothing keeps its arrays below the stack pointer. Where it reads them through other "
    "registers alone, they are thought to need no alignment, and a vector that wants it is a segmentation fault "
    "(gcc's PR 109780).",
    needs=("avx512vl", "-march=x86-64-v4"),
    flags=("-mno-red-zone",),
    machine="x86_64",
    program="""
#include <stdint.h>

__attribute__((noipa)) void f(const int64_t *a, const int8_t *b, int64_t *c) {
    for (int64_t i = 0; i < 6; i++) {
        int64_t row[6];
        #pragma omp simd
        for (int64_t lane = 0; lane < 6; lane++)
            row[lane] = 0;
        for (int64_t k = 0; k < 6; k++) {
            const int64_t x = a[6 * i + k];
            #pragma omp simd
            for (int64_t lane = 0; lane < 6; lane++)
                row[lane] += x * b[6 * k + lane];
        }
        #pragma omp simd
        for (int64_t lane = 0; lane < 6; lane++)
            c[6 * i + lane] = row[lane];
    }
}

int main(void) {
    static int64_t a[36], c[36];
    static int8_t b[36];
    for (int i = 0; i < 36; i++)
        a[i] = b[i] = 1;
    f(a, b, c);
    return c[35] != 6;
}
""")

QUIRKS = (SMALL_MAXIMA, LOST_LANES, GROUPED_LOADS, NEGATED_SUMS, PAIRED_PRODUCTS, SIGN_TESTS,
          UNALIGNED_ROWS)


def switches(compiler: str, version: int, machine: str) -> tuple[str, ...]:
    """Return the flags that avoid the faults of a compiler's version, for a machine.

    >>> switches("gcc", 11, "aarch64-linux-gnu"), switches("gcc", 12, "aarch64-linux-gnu")
    ((), ('-fno-tree-slp-vectorize', '-fno-thread-jumps'))
    >>> switches("gcc", 11, "x86_64-linux-gnu")
    ('-mno-red-zone',)
    """
    return tuple(flag for quirk in QUIRKS if quirk.concerns(compiler, version) and machine.startswith(quirk.machine)
                 for flag in quirk.flags)
