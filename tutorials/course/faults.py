"""Planted faults: compilers with one mistake each, as data.

A fault is an edit of a right compiler's text. `load` runs the edited text as a module of its own, so the compiler
that the learner uses stays right. A property that is worth something accepts every right compiler and catches every
faulty one; `grade` says which of both it does.
"""

from __future__ import annotations

import functools
import pathlib
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from course.checker import SETTINGS
from course.exercise import edit
from course.running import observe, shown_as

FOLDER = pathlib.Path(__file__).parent
GRADED_CASES = 60
"""How many cases a learner's property sees of each compiler."""

Law = Callable[..., bool]


@dataclass(frozen=True)
class Fault:
    """A mistake that somebody could make.

    Args:
      id: a short name, `"sub-turned-around"`.
      stage: where it is: trace, print, evaluate, differentiate, batch, simplify, emit, cache.
      file: the compiler's file, beside this one.
      edits: what is replaced by what.
      symptom: what a user sees; what the learner is told once it is caught.
    """

    id: str
    stage: str
    file: str
    edits: tuple[tuple[str, str], ...]
    symptom: str


@functools.cache
def load(file: str, fault: Fault | None = None) -> types.ModuleType:
    """The compiler in `file` as a module, with a fault or without."""
    text = edit((FOLDER / file).read_text(), *(fault.edits if fault else ()))
    module = types.ModuleType(f"planted.{fault.id if fault else 'right'}.{pathlib.Path(file).stem}")
    sys.modules[module.__name__] = module  # where dataclasses look up the names of their annotations
    exec(compile(text, shown_as(module.__name__, text), "exec", dont_inherit=True), module.__dict__)
    return module


def grade(law: Law, compiler: Any, cases: st.SearchStrategy[str], **names: Any) -> str:
    """What a learner's property says of a compiler: "accepts", or "catches" if it is false or raises in some case.

    Args:
      law: `law(compiler, *inputs)`, true if it holds for these inputs.
      cases: texts of the inputs, such as `"lambda x: x * x, 2.0"`; `names` are the names in them.
    """

    def broken(case: str) -> bool:
        return observe(f"bool(law(compiler, {case}))", {"law": law, "compiler": compiler, **names}) is not True

    try:
        find(cases, broken, settings=settings(SETTINGS, max_examples=GRADED_CASES))
    except NoSuchExample:
        return "accepts"
    return "catches"


TRACER = "chapters/ch01_a_tracer_in_60_lines/tracer.py"
TINY = "../build/step_12_scan/tiny.py"


def tiny(id: str, stage: str, symptom: str, *edits: tuple[str, str]) -> Fault:
    """A fault of the compiler that the twelve steps build."""
    return Fault(id, stage, TINY, edits, symptom)


FAULTS: tuple[Fault, ...] = (
    Fault(
        "operand-order",
        "trace",
        TRACER,
        (('__rsub__ = lambda x, y: x.tape.record("sub", y, x)', '__rsub__ = lambda x, y: x.tape.record("sub", x, y)'),),
        "`2.0 - x` is recorded as `x - 2.0`.",
    ),
    Fault(
        "one-tracer-for-all",
        "trace",
        TRACER,
        (("[tape.new() for _ in range(n)]", "[tape.new()] * n"),),
        "All inputs of a function are recorded as one.",
    ),
    Fault(
        "branches-exchanged",
        "trace",
        TRACER,
        (('record("where", condition, x, y)', 'record("where", condition, y, x)'),),
        "A traced choice takes the other branch.",
    ),
    tiny("right-operand", "trace", "`2.0 - x` computes `x - 2.0`.",
         ('__r{name}__", lambda x, y, function=function: function(y, x)',
          '__r{name}__", lambda x, y, function=function: function(x, y)')),
    tiny("constants-by-shape", "trace", "Two arrays that are closed over are taken for one if their shapes agree.",
         ("self.consts.setdefault(id(x),", "self.consts.setdefault(np.shape(x),")),
    tiny("choice-exchanged", "evaluate", "`where` takes the other branch, unless it is compiled.",
         ("np.where(which, y, x)", "np.where(which, x, y)")),
    tiny("numbers-rounded", "print", "Numbers lose digits in the text of a program.",
         ("return str(np.asarray(atom.val, atom.aval.dtype).item())",
          'return f"{np.asarray(atom.val, atom.aval.dtype).item():.2g}"')),
    tiny("slope-of-cos", "differentiate", "The slope of `cos` has the wrong sign.",
         ('"cos": [lambda g, out, x: neg_p(mul_p(g, sin_p(x)))]', '"cos": [lambda g, out, x: mul_p(g, sin_p(x))]')),
    tiny("product-rule", "differentiate", "The second half of the product rule has the wrong factor.",
         ("lambda g, out, x, y: mul_p(x, g)]", "lambda g, out, x, y: mul_p(y, g)]")),
    tiny("quotient-rule", "differentiate", "The slope with respect to a divisor is not divided by it.",
         ("neg_p(mul_p(g, div_p(out, y)))", "neg_p(mul_p(g, out))")),
    tiny("slope-of-tanh", "differentiate", "The slope of `tanh` lacks a square.",
         ("sub_p(1.0, mul_p(out, out))", "sub_p(1.0, out)")),
    tiny("slope-of-what-is-subtracted", "differentiate", "What is subtracted pulls up.",
         ('"sub": [lambda g, out, x, y: g, lambda g, out, x, y: neg_p(g)]',
          '"sub": [lambda g, out, x, y: g, lambda g, out, x, y: g]')),
    tiny("cotangents-overwritten", "transpose", "Of a value that is read twice, only one use counts.",
         ("total[v] = add_p(total[v], ct) if v in total else ct", "total[v] = ct")),
    tiny("transpose-of-neg", "transpose", "Backwards, a change of sign is none.",
         ('"neg": lambda ct, x: [neg_p(ct)]', '"neg": lambda ct, x: [ct]')),
    tiny("transpose-of-mul", "transpose", "Backwards, a known first factor is forgotten.",
         ("[None, mul_p(x, ct)]", "[None, ct]")),
    tiny("sum-over-the-batch", "batch", "A sum inside `vmap` also sums over the examples.",
         ("axes=tuple(i + 1 for i in axes))]", "axes=axes)]")),
    tiny("live-by-first-operand", "simplify", "Equations are dropped that only a second operand needs.",
         ("needed.update(eqn.invars)", "needed.update(eqn.invars[:1])")),
    tiny("strides-turned-around", "emit", "Rows and columns are confused in compiled programs.",
         ("math.prod(aval.shape[k + 1 :])", "math.prod(aval.shape[:k])")),
    tiny("sum-overwritten", "emit", "A compiled sum is its last element.",
         ('body.append(f"{target} += {value};")', 'body.append(f"{target} = {value};")')),
    tiny("unfinished-sum", "emit", "A sum is read in the loop that computes it.",
         ("in_place and v.aval.shape == self.shape and v not in sums for v in own", "in_place for v in own")),
    tiny("short-numbers", "emit", "Numbers in the C text have two decimals.",
         ('return f"{value!r}f" if', 'return f"{value:.2f}f" if')),
    tiny("key-without-dtype", "cache", "The program for floats is called with integers.",
         ("CallKey(tuple(kwargs), treedef, tuple(map(aval_of, leaves)),",
          "CallKey(tuple(kwargs), treedef, tuple(map(np.shape, leaves)),")),
    tiny("key-without-shape", "cache", "The program for three elements is called with four.",
         ("CallKey(tuple(kwargs), treedef, tuple(map(aval_of, leaves)),",
          "CallKey(tuple(kwargs), treedef, tuple(aval_of(x)[1:] for x in leaves),")),
    tiny("key-without-statics", "cache", "A static argument keeps its first value.",
         ("tuple(statics.items()))", "())")),
    tiny("key-without-structure", "cache", "`[x]` and `(x,)` share a program.",
         ("CallKey(tuple(kwargs), treedef,", "CallKey(tuple(kwargs), None,")),
    tiny("key-with-values", "cache", "Every new number is a miss.",
         ("CallKey(tuple(kwargs), treedef, tuple(map(aval_of, leaves)),",
          "CallKey(tuple(kwargs), treedef, tuple(map(str, leaves)),")),
    tiny("always-the-first-row", "emit", "A compiled loop reads its first row in each turn.",
         ('start = f"{self.name(place)} + t * {row}" if row else self.name(place)', "start = self.name(place)")),
)  # fmt: skip
"""The table. `tests/course/test_faults.py` asks that each is caught by a law that all right compilers obey."""

RIGHT = tuple(f"../build/step_{name}/tiny.py" for name in (
    "08_c_for_one_loop", "09_fusion", "10_a_cache_in_memory", "11_a_cache_on_disk", "12_scan"))  # fmt: skip
"""Five right compilers, which a property must accept. The first three have no `static_argnums` or no `scan`."""


def fault(id: str) -> Fault:
    """A fault by its id."""
    return next(fault for fault in FAULTS if fault.id == id)
