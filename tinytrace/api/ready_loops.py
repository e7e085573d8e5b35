"""Jitted functions that nobody compiles: of a few operations with one right answer each, on small arrays.

`jit(lambda x: x + 1)` is one inner loop of NumPy's, `x * 2 + 1` one of csrc/own_loops.c, `sin(x)` one of
csrc/math_loops.c. To call such a loop takes no longer than to call a compiled program, which takes 20 ms to make.
Nobody can tell the two from results: the loops compute the simplified program, in which it is settled what is fused
(`passes/multiply_add.py`), and each operation is exact or rounded once (`exactness`), or the C of csrc/math that a
compiled program would hold. `lower().compile()` compiles, whatever is here.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace._dispatch import EagerEntry, HitCounter
from tinytrace.api.concrete import SCALARS
from tinytrace.api.exactness import has_one_answer, is_defined
from tinytrace.api.inner_loops import FEW_LOOPS, MADE, MOST_LOOPS, InnerLoops, arithmetic, math_loop
from tinytrace.api.program import Program
from tinytrace.api.recipes import BUDGET, SEVERAL_BYTES, Answer, IsBest, are_short, numpy_call
from tinytrace.config import config
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import is_half
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr
from tinytrace.pure import PURE
from tinytrace.records import NamedTuple
from tinytrace.util import cache_by_jaxpr_anywhere

OF_LOOPS = frozenset({Array, *SCALARS})
OF_NUMPY = OF_LOOPS | {np.ndarray}
"""Arguments that loops read, and those of which NumPy makes such."""
NANOSECONDS = 20
"""What one loop more takes. Outside of traces many of them answer, until a compiler would have paid."""
OperandTypes = tuple["Callable[[Any], Any] | None", ...]


def ready_loops(program: Program, consts: Sequence[Array], leaf_types: Sequence[type],
                order: Sequence[int] | None = None, counter: HitCounter | None = None) -> EagerEntry | None:
    """Return what answers calls of a program as soon, and to the same bits, as its compiled form; None if nothing does.

    consts: the first inputs, the same in every call.  order: at which place each of the others is read, if not
    at its own.  counter: what counts the calls.
    """
    if config.verify or program.donated:
        return None
    found = _loops_of(program, consts, leaf_types)
    if found is None or not found.are_for(program.out_avals[0]):
        return None
    function, types, loops = _as_read(found, order or range(len(leaf_types)))
    return EagerEntry(function, types, loops, program.out_avals, None, -1, counter)


def loops_of_any_shape(program: Program, consts: Sequence[Array],
                       leaf_types: Sequence[type]) -> tuple[Answer, IsBest] | None:
    """Return what `ReadyFirst` asks of loops that compute an elementwise program on a block; None where none do."""
    found = _loops_of(program, consts, leaf_types, any_shape=True)
    if found is None:
        return None
    loops = len(found.loops[0])

    def answer(elements: int, avals: tuple[ShapedArray, ...], for_good: bool) -> EagerEntry | None:
        if not config.ready_loops or not found.are_for(avals[0], MOST_LOOPS):
            return None
        calls = -1 if for_good or loops <= FEW_LOOPS else 1000 * BUDGET // (NANOSECONDS * loops)
        return EagerEntry(*found[:3], avals, None, calls)

    return answer, lambda avals: config.ready_loops and found.are_for(avals[0])


class Found(NamedTuple):
    """A program as loops."""

    function: Callable[..., Any] | None
    """The same in NumPy, for arguments that loops do not read; None if its last digits would differ."""
    types: OperandTypes
    loops: InnerLoops
    jaxpr: Jaxpr

    def are_for(self, result: ShapedArray, most_loops: int = FEW_LOOPS) -> bool:
        """Can nobody compute such a result in less time? Vectors of a compiled math function may be wider."""
        is_short = 0 < result.nbytes <= SEVERAL_BYTES or self.function is not None
        return is_short and are_short(self.loops, self.jaxpr, result, most_loops)


def _loops_of(program: Program, consts: Sequence[Array], leaf_types: Sequence[type],
              any_shape: bool = False) -> Found | None:
    jaxpr, n = program.jaxpr.jaxpr, len(consts)
    if PURE or not config.ready_loops or len(program.out_avals) != 1 or len(jaxpr.eqns) > 2 * MOST_LOOPS:
        return None
    is_exact = each_is_defined(jaxpr)
    if not (is_exact or each_is_defined(jaxpr, True)):
        return None
    if not (OF_NUMPY if is_exact else OF_LOOPS).issuperset(leaf_types):
        return None
    inner = Jaxpr([*jaxpr.constvars, *jaxpr.invars[:n]], jaxpr.invars[n:], jaxpr.outvars, jaxpr.eqns, jaxpr.effects)
    call = numpy_call(ClosedJaxpr(inner, [*program.jaxpr.consts, *consts]), leaf_types, True, any_shape, not is_exact)
    return Found(call[0] if is_exact else None, call[1], call[2], jaxpr) if call and call[2] else None


@cache_by_jaxpr_anywhere
def each_is_defined(jaxpr: Jaxpr, by_math_loops: bool = False) -> bool:
    """Is the result of every operation the same whoever computes it? Then so is that of a program that fuses no more.

    Floats of two bytes are computed in wider ones: whether each result is rounded is not the operation's affair.
    by_math_loops: do those of which there is a loop count as such?
    """
    if has_one_answer(jaxpr):
        return True
    dtypes = {v.aval.dtype for eqn in jaxpr.eqns for v in (*eqn.invars, *eqn.outvars)}
    return not jaxpr.effects and not any(map(is_half, dtypes)) and all(
        is_defined(eqn) or (by_math_loops and (math_loop(eqn) or arithmetic(eqn)) is not None) for eqn in jaxpr.eqns)


def _as_read(found: Found, order: Sequence[int]) -> tuple[Callable[..., Any] | None, OperandTypes, InnerLoops]:
    """Return a call as one of arguments that are read in another order."""
    function, types, loops, _ = found
    if all(i == place for i, place in enumerate(order)):
        return function, types, loops
    moved = [(which, number, tuple([(order[i] if 0 <= i < MADE else i, dtype, width) for i, dtype, width in operands]),
              result, size, rows) for which, number, operands, result, size, rows in loops[0]]
    return (function and (lambda *read: function(*[read[place] for place in order])),
            tuple([types[i] for i in np.argsort(order)]), (tuple(moved), loops[1]))
