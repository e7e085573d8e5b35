"""Names that nothing in C can have here: words of the language, and what compilers and <stdlib.h> know."""
from __future__ import annotations

import re

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
_MATH = re.compile("(?:c?(?:a?(?:sin|cos|tan)h?|exp|log|pow|sqrt|abs)|atan2|cbrt|ceil|copysign|drem|erfc?|exp10|exp2|"
                   "expm1|fabs|fdim|floor|fma|fmax|fmin|fmod|frexp|gamma|hypot|ilogb|j[01n]|y[01n]|ldexp|lgamma|"
                   "log10|log1p|log2|logb|l?lrint|l?lround|modf|nan|nearbyint|nextafter|nexttoward|pow10|remainder|"
                   "remquo|rint|round|scalbl?n?|scalb|significand|sincos|tgamma|trunc|conj|creal|cimag|cproj|carg|"
                   "isinf|isnan|isfinite|finite)[fl]?")


def is_word(name: str) -> bool:
    """Does a name mean something in C or C++, or to their compilers?

    >>> is_word("tanh"), is_word("double"), is_word("softmax")
    (True, True, False)
    """
    return name in _KNOWN or _MATH.fullmatch(name) is not None


def is_reserved(name: str) -> bool:
    """Must the user's function or parameter have another name? Those with `tt_` or `_` in front are not theirs either.

    >>> is_reserved("tanh"), is_reserved("tt_f"), is_reserved("softmax")
    (True, True, False)
    """
    return is_word(name) or name in _OF_EXPORTED_FUNCTIONS or name.startswith(("tt_", "_", "constant_")) \
        or name.endswith("_t")
