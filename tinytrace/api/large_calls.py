"""Library functions on large arrays: compiled when a call repeats, where machine code gives the same bits as NumPy.

NumPy computes on one thread and takes a selection element by element; a compiled loop is two to six times as fast.
Which of the two answers must not matter: only functions whose results do not depend on who computes them are compiled,
those that move elements, compare and choose them, or add, subtract, multiply and divide them one by one.
"""
from __future__ import annotations

from tinytrace import runtime
from tinytrace.api.program import Program
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import is_float
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from tinytrace.core.kinds import IndexMap, Scalar
from tinytrace.runtime.failures import CompileError, StrictError

LARGE = 1 << 20
"""Bytes of the largest array from which a function is worth compiling."""


def is_worth_compiling(jaxpr: Jaxpr) -> bool:
    """Does the function work on large arrays, and do all compilers and NumPy give the same bits?"""
    avals = [v.aval for v in (*jaxpr.invars, *jaxpr.outvars)]
    return max((aval.nbytes for aval in avals), default=0) >= LARGE and all(map(_same_bits, jaxpr.eqns))


def _same_bits(eqn: JaxprEqn) -> bool:
    inner = eqn.params.get("jaxpr")
    if isinstance(inner, ClosedJaxpr):
        return all(map(_same_bits, inner.jaxpr.eqns))
    in_avals, out_avals = [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars]
    if any(map(_is_half, (*in_avals, *out_avals))) or eqn.primitive.multiple_results:
        return False
    kind = eqn.primitive.lower(in_avals, out_avals, **eqn.params)
    return isinstance(kind, IndexMap) or (isinstance(kind, Scalar) and not kind.operation.calls)


def _is_half(aval: ShapedArray) -> bool:
    return is_float(aval.dtype) and aval.dtype.itemsize < 4


def compiled(closed: ClosedJaxpr) -> Program | None:
    """Return the program of a function that is worth compiling; None where there is no compiler, or it fails."""
    if not is_worth_compiling(closed.jaxpr):
        return None
    program = Program(closed, exact=True)
    try:
        runtime.compiler.find_command()  # nobody asked for a compiler: without one NumPy goes on, and nothing is said
        return program if program.executable is not None else None
    except (CompileError, StrictError):
        return None
