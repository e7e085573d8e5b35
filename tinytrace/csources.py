"""The C texts that generated programs paste: the host's interface, the vector math of csrc/math, and a host in C.

They are embedded in the extension module when it is built, so nothing here opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from tinytrace._runtime import ffi, lib

OFTEN = 6
"""From how many calls in a program on a math function stays a function: if it is long, that is."""
LONG = 14
"""Statements, those of the functions that it calls included."""


@cache
def host_source() -> str:
    """The text of csrc/tt_host.h: integer types and `struct tt_host`.

    >>> "struct tt_host {" in host_source()
    True
    """
    return _embedded()["tt_host.h"]


@cache
def math_source() -> dict[str, str]:
    """The texts of csrc/math/*.h by file name, in alphabetical order."""
    return {name: text for name, text in _embedded().items() if name not in _HOST}


@cache
def standalone_host() -> str:
    """The text of the host that exported programs run on: csrc/standalone.c with all that it includes, one file.

    >>> "const struct tt_host tt_standalone_host" in standalone_host()
    True
    """
    seen: set[str] = set()

    def expanded(name: str) -> str:
        if name in (*seen, "tt_runtime.h") and name.endswith(".h"):
            return ""  # the last one is the interface to Python
        seen.add(name)
        return _INCLUDED.sub(lambda found: expanded(found[1]), _embedded()[name])

    return expanded("standalone.c")


def math_functions(calls: Mapping[str, int]) -> str:
    """Return the text of the math functions among what a program calls, each after those that it needs.

    Args: calls: how often the program calls each function; names of others may be among them.

    >>> "tt_sign_f32(float x)" in math_functions({"tt_sign_f32": 1})
    True
    """
    functions = _functions()
    wanted = calls.keys() & functions.keys()
    for name in reversed(functions):
        if name in wanted:
            wanted.update(functions[name].needs)
    return "\n".join(_called(function, calls.get(name, 0)) for name, function in functions.items()
                     if name in wanted)


def _called(function: MathFunction, times: int) -> str:
    """Return the text of a function that is called `times` times: called often, it stays one.

    The compiler's time grows with what it inlines, and after some thirty calls it gives up on both, inlining and
    vectors. A call costs no more than a step of a polynomial: 500 sines compile in 0.11 s instead of 0.35 s. clang
    makes no variants of functions for vectors, so it inlines it.
    """
    if times < OFTEN or function.statements < LONG:
        return function.text
    return _ELEMENTWISE.sub(_STAYS.replace("\n", "\\n") + r"\1", function.text)


class MathFunction(NamedTuple):
    """One function of csrc/math: its C text, and the functions that must stand before it."""

    text: str
    needs: tuple[str, ...]
    statements: int = 0
    """How long it is with those functions inlined."""


@cache
def _functions() -> dict[str, MathFunction]:
    """Every function by name, in an order in which each comes after those that it needs."""
    found = {}
    for source in math_source().values():
        _, *pieces = _HEADER.split(source)
        for name, needs, text in zip(pieces[0::3], pieces[1::3], pieces[2::3], strict=True):
            found[name] = MathFunction(text.strip() + "\n", tuple(_NAME.findall(needs)))
    order: dict[str, MathFunction] = {}

    def place(name: str) -> None:
        for needed in found[name].needs:
            if needed not in order:
                place(needed)
        text, needs, _ = found[name]
        order[name] = MathFunction(text, needs, text.count(";") + sum(order[needed].statements for needed in needs))

    for name in found:
        if name not in order:
            place(name)
    return order


_HOST = ("tt_host.h", "standalone.c", "pool.c", "pool.h", "blas.c", "blas.h", "gemm.inc")
_INCLUDED = re.compile(r'^#include "([\w.]+)"\n', re.MULTILINE)
_NAME = re.compile(r"\btt_\w+")
_ELEMENTWISE = re.compile(r"^static inline ((float|double) tt_\w+\(\2 \w+(?:, \2 \w+)*\) \{)", re.MULTILINE)
_STAYS = """#ifdef __clang__
static inline
#else
#pragma omp declare simd notinbranch
static __attribute__((noinline, const))
#endif
"""
_HEADER = re.compile(r"^/\* tt: (\w+); needs: ([^*]*)\*/\n", re.MULTILINE)


@cache
def _embedded() -> dict[str, str]:
    def text(pointer: ffi.CData) -> str:
        return str(ffi.string(pointer).decode())

    return {text(lib.tt_source_name(i)): text(lib.tt_source_text(i)) for i in range(lib.tt_source_count())}
