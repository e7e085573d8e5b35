"""Names that nothing in C can have here: words of the language, and what compilers and <stdlib.h> know."""
from __future__ import annotations

_WORDS = """
    asm auto bool break case char class const constexpr continue default delete do double else enum explicit export
    extern false float for friend goto if inline int long namespace new nullptr operator private protected public
    register restrict return short signed sizeof static struct switch template this throw true try typedef typeof
    typename union unsigned using virtual void volatile while
    abort abs aligned_alloc atexit atof atoi atol bcmp bsearch bzero calloc data div example errno exit ffs fprintf
    fputs fread free fwrite getenv host index labs linux malloc main memchr memcmp memcpy memmove memset perror printf
    putchar puts qsort rand random read realloc remove rename rindex scanf select signal signgam sleep snprintf sprintf
    srand stderr stdin stdout stpcpy strcat strchr strcmp strcpy strlen strncpy system time unix unlink write
"""
_KNOWN = frozenset(_WORDS.split())
_OF_EXPORTED_FUNCTIONS = frozenset(["status", "buffers", "workspace"])
_FUNCTIONS = """
    abs acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt ccos ccosh ceil
    cexp cimag clog conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh drem erf erfc exp exp10 exp2
    expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan j0 j1 jn ldexp lgamma
    llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10 remainder
    remquo rint round scalb scalbl scalbln scalbn significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
_MATH = frozenset([name + kind for name in _FUNCTIONS.split() for kind in ("", "f", "l")])


def is_word(name: str) -> bool:
    """Does a name mean something in C or C++, or to their compilers?

    >>> is_word("tanh"), is_word("double"), is_word("softmax")
    (True, True, False)
    """
    return name in _KNOWN or name in _MATH


def is_reserved(name: str) -> bool:
    """Must the user's function or parameter have another name? Those with `tt_` or `_` in front are not theirs either.

    >>> is_reserved("tanh"), is_reserved("tt_f"), is_reserved("softmax")
    (True, True, False)
    """
    return is_word(name) or name in _OF_EXPORTED_FUNCTIONS or name.startswith(("tt_", "_", "constant_")) \
        or name.endswith("_t")
