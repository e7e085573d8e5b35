"""The C texts that generated programs paste: the host's interface, the vector math of csrc/math, and a host in C.

They are embedded in the extension module when it is built, so nothing here opens a file; `csrc/embedded.txt` has
their list. Nothing here asks what C means: a line above each math function states what must be known of it.

    /* tt: NAME; needs: NAMES; WORDS */    the functions that it calls, and what is true of it besides:
                                           `long`: it is elementwise, and that; `of rows`: of whole rows, and longer
                                           than most programs that call it; `chooses`: by conditions of which one
                                           depends on another
    /* tt: what follows is written for doubles too */
    /* tt: what follows is for programs that ask their host for something */
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache

from tinytrace._runtime import ffi, lib
from tinytrace.records import NamedTuple

OFTEN = 6
"""From how many calls in a program on a long math function stays a function.

Those are long that take and give floats of one type and have 14 statements or more, what they call included: a test
holds their headings to it.
"""


@cache
def host_source(is_asked: bool = True) -> str:
    """The text of csrc/tt_host.h: integer types, and what the host can do.

    Args: is_asked: does the program ask it for something? The compiler reads the declarations for a millisecond.

    >>> "struct tt_host {" in host_source(), "struct tt_host {" in host_source(is_asked=False)
    (True, False)
    """
    types, _, interface = _embedded()["tt_host.h"].partition(_FOR_THOSE_WHO_ASK)
    return types + (interface if is_asked else "struct tt_host;\n")


@cache
def math_source() -> dict[str, str]:
    """The texts of csrc/math/*.h by file name, in alphabetical order; what is of both types is there twice."""
    return {name: _of_both_types(text) for name, text in _embedded().items() if name.startswith("math/")}


def _of_both_types(text: str) -> str:
    """Repeat for doubles what follows the line that says so.

    >>> _of_both_types(_FOR_DOUBLES_TOO + "float tt_one_f32(void) { return __builtin_sqrtf(1); }")
    'float tt_one_f32(void) { return __builtin_sqrtf(1); }\\ndouble tt_one_f64(void) { return __builtin_sqrt(1); }'
    """
    once, _, floats = text.partition(_FOR_DOUBLES_TOO)
    if not floats:
        return once
    doubles = re.sub(r"\b(__builtin_\w+)f\(", r"\1(", floats.replace("_f32", "_f64"))
    return once + floats + "\n" + re.sub(r"\bfloat\b", "double", doubles)


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

    return expanded("standalone.c").replace(_FOR_THOSE_WHO_ASK, "")


def math_functions(calls: Mapping[str, int], for_few: Collection[str] = ()) -> str:
    """Return the text of the math functions among what a program calls, each after those that it needs.

    Args:
      calls: how often the program calls each function; names of others may be among them.
      for_few: those that are called for few elements: a program is linked to them, if they are of rows.

    >>> "tt_sign_f32(float x)" in math_functions({"tt_sign_f32": 1})
    True
    """
    chosen = _needed(calls)
    unrolled = "".join([body for function in chosen.values() for body in _unrolled_loops(function.text)])
    return "\n".join(_called(function, name, calls.get(name, 0) + len(re.findall(rf"\b{name}\(", unrolled)),
                             name in for_few) for name, function in chosen.items())


def linked_functions(text: str) -> dict[str, str]:
    """Return the math functions that a program need not define, each by name with a text that defines it alone.

    They take a compiler longer than most programs do. Compiled with -DTT_LINKED_MATH the program declares them, and is
    linked to what was made of these texts once.

    >>> [name for name in linked_functions(math_functions({"tt_sin_f32": OFTEN}))]
    ['tt_trig_mended_f32', 'tt_sin_f32']
    """
    return {name: _defined_alone(name) for name in _LINKED.findall(text)}


@cache
def _defined_alone(name: str) -> str:
    needed = _needed([name])
    texts = [function.text for other, function in needed.items() if other != name]
    own = needed[name].text
    if _LINKED.search(own):
        own = _LINKED.sub("#if 1", own)
    else:
        own = own.replace(_INLINED, f"{_declaration(needed[name])}\n", 1)
    return "\n".join([host_source(is_asked=False), *texts, own])


def _needed(calls: Iterable[str]) -> dict[str, MathFunction]:
    """Return the math functions among what a program calls, and those that they need, in their order."""
    functions = {**_functions(), **_own_functions}
    wanted = functions.keys() & set(calls)
    for name in reversed(functions):
        if name in wanted:
            wanted.update(functions[name].needs)
    return {name: function for name, function in functions.items() if name in wanted}


def _unrolled_loops(text: str) -> list[str]:
    """Return the bodies of the loops of a function that are unrolled, each as often as it runs.

    >>> _unrolled_loops("#pragma GCC unroll 2\\n    for (;;) {\\n        f(1);\\n    }\\n    f(2);")
    ['        f(1);\\n        f(1);\\n']
    """
    return [body * int(times) for times, body in _UNROLLED.findall(text)]


def is_long(name: str) -> bool:
    """Is this a math function that is elementwise and long?

    >>> is_long("tt_sin_f32"), is_long("tt_max_f32"), is_long("tt_threefry")
    (True, False, False)
    """
    function = _functions().get(name)
    return function is not None and function.is_long


def chooses_among_choices(name: str) -> bool:
    """Does this math function itself choose by conditions of which one depends on another?

    >>> chooses_among_choices("tt_log_f32"), chooses_among_choices("tt_exp_f32")
    (True, False)
    """
    function = _functions().get(name)
    return function is not None and _CHOOSES in function.words


@cache
def takes_doubles(name: str) -> bool:
    """Is this a long function of floats that is computed in double precision?

    >>> takes_doubles("tt_lgamma_f32"), takes_doubles("tt_exp_f32"), takes_doubles("tt_exp_f64")
    (True, False, False)
    """
    return is_long(name) and name.endswith("_f32") and "double " in math_functions({name: 1})


def add_function(name: str, function: MathFunction) -> None:
    """Let programs call a function of the user's, whose name says what its text is."""
    _own_functions[name] = function


def _called(function: MathFunction, name: str, times: int, is_for_few: bool) -> str:
    """Return the text of a function that is called `times` times: called often, it stays one.

    The compiler's time grows with what it inlines, and after some thirty calls it gives up on both, inlining and
    vectors. A call costs no more than a step of a polynomial: 500 sines compile in 0.11 s instead of 0.35 s. clang
    makes no variants of functions for vectors, so it inlines it.

    One of rows is better off inlined, where the length of a row is known: it is 0.6 to 0.8 of the time. But it takes
    the compiler longer than all the rest of most programs, so those that need it for few elements are linked to it.
    """
    if is_for_few and _OF_ROWS in function.words:
        defined = function.text
    elif times >= OFTEN and function.is_long:
        lanes = "4" if f"{_INLINED}double" in function.text else "8"
        defined = function.text.replace(_INLINED, _STAYS.replace("LANES", lanes), 1)
    else:
        return function.text
    return f"#ifdef TT_LINKED_MATH /* {name} */\n{_declaration(function)}#else\n{defined}#endif\n"


def _declaration(function: MathFunction) -> str:
    """Return what a program that is linked to a function says of it."""
    return f"{_DECLARED if function.is_long else _HIDDEN}{_heading(function.text)};\n"


def _heading(text: str) -> str:
    """Return what a function's text says of it before its body.

    >>> _heading("/* One. */\\nstatic inline float tt_one_f32(void) { return 1; }")
    'float tt_one_f32(void)'
    """
    return text.partition(_INLINED)[2].partition(" {")[0]


class MathFunction(NamedTuple):
    """One function of csrc/math: its C text, and the functions that must stand before it."""

    text: str
    needs: tuple[str, ...]
    words: tuple[str, ...] = ()
    """What its heading says of it besides."""

    @property
    def is_long(self) -> bool:
        """Is it elementwise, and long enough to stay a function where it is called often?"""
        return _LONG in self.words


_own_functions: dict[str, MathFunction] = {}


@cache
def _functions() -> dict[str, MathFunction]:
    """Every function by name, in an order in which each comes after those that it needs."""
    found = {}
    for source in math_source().values():
        _, *pieces = _HEADING.split(source)
        for name, needs, words, text in zip(*(pieces[k::4] for k in range(4)), strict=True):
            found[name] = MathFunction(text.strip() + "\n", tuple(needs.replace(",", " ").split()),
                                       tuple((words or "").strip().split(", ")))
    order: dict[str, MathFunction] = {}
    for name in found:
        _place(name, found, order)
    return order


def _place(name: str, found: dict[str, MathFunction], order: dict[str, MathFunction]) -> None:
    """Put a function into the order, behind those that it needs."""
    if name not in order:
        for needed in found[name].needs:
            _place(needed, found, order)
        order[name] = found[name]


_LINKED = re.compile(r"#ifn?def TT_LINKED_MATH /\* (\w+)[^*]*\*/")
_UNROLLED = re.compile(r"#pragma GCC unroll (\d+)\n    for [^\n]*\{\n(.*?)    \}", re.DOTALL)
_INCLUDED = re.compile(r'^#include "([\w.]+)"\n', re.MULTILINE)
_INLINED = "static inline "
_LONG, _OF_ROWS, _CHOOSES = "long", "of rows", "chooses"
_DECLARED = '__attribute__((const, simd("notinbranch"), visibility("hidden")))\n'
_HIDDEN = '__attribute__((visibility("hidden")))\n'
_STAYS = """#ifdef __clang__
static inline
#else
#pragma omp declare simd notinbranch
#ifdef __AVX512F__ /* of such a function gcc makes the widest variant alone, and many of these CPUs take 256 bits */
#pragma omp declare simd notinbranch simdlen(LANES)
#endif
static __attribute__((noinline, const))
#endif
"""
"""What a long function begins with where it is called often; LANES: of its type, in 256 bits."""
_FOR_DOUBLES_TOO = "/* tt: what follows is written for doubles too */\n"
_FOR_THOSE_WHO_ASK = "/* tt: what follows is for programs that ask their host for something */\n"
_HEADING = re.compile(r"/\* tt: (\w+); needs: ([^*;]*)(?:; ([^*;]+))?\*/\n")  # five times as fast as with a ^


@cache
def _embedded() -> dict[str, str]:
    def text(pointer: ffi.CData) -> str:
        return str(ffi.string(pointer).decode())

    return {text(lib.tt_source_name(i)): text(lib.tt_source_text(i)) for i in range(lib.tt_source_count())}
