"""Which functions have one right answer, so that it cannot be told who has computed it.

A machine instruction and a NumPy loop give the same bits for what moves elements, compares or chooses them, for
integers, and for one sum, product, quotient or square root of floats, which IEEE 754 rounds correctly. Two roundings
in a row are another matter: a compiler may fuse them (`a * b + c` is rounded once). So do sums over axes, products of
matrices, and functions such as `sin`, whose last digits depend on who computes them.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.core.dtypes import FLOAT0, DType, is_float, is_inexact, part_dtype
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Call, Contraction, Gather, IndexMap, Kind, Reduction, Scalar, Scan1D, Scatter, kind_of
from tinytrace.core.primitive import Primitive
from tinytrace.core.storage_types import computed_type
from tinytrace.passes.wider_types import in_wider_types
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.sorting import sort_p, top_k_p
from tinytrace.util import cache_by_jaxpr_anywhere

MOVES: frozenset[Primitive] = frozenset({sort_p, top_k_p})
"""Operations on floats that are no index maps, and whose results are operands all the same."""


@cache_by_jaxpr_anywhere
def has_one_answer(jaxpr: Jaxpr) -> bool:
    """Is nothing that `jaxpr` computes rounded twice, or rounded in a way that is not defined to the bit?"""
    return not jaxpr.effects and _rounded(jaxpr, [False] * len(jaxpr.invars)) is not None


def _rounded(jaxpr: Jaxpr, inputs: Sequence[bool]) -> list[bool] | None:
    """Say of each output whether it has been rounded, given that of the inputs; None if something is rounded twice."""
    rounded: dict[Var, bool] = dict(zip(jaxpr.invars, inputs, strict=True))
    rounded.update(dict.fromkeys(jaxpr.constvars, False))
    for eqn in jaxpr.eqns:
        operands = [not isinstance(x, Literal) and rounded[x] for x in eqn.invars]
        inner = called_program(eqn)
        results = _rounded(inner.jaxpr, operands) if inner is not None else _after(eqn, operands)
        if results is None:
            return None
        rounded.update(zip(eqn.outvars, results, strict=True))
    return [not isinstance(x, Literal) and rounded[x] for x in jaxpr.outvars]


def called_program(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """Return the program that an equation stands for, None if it is an operation of its own."""
    if (wider := in_wider_types(eqn)) is not None:
        return wider
    kind = kind_or_none(eqn)
    return kind.jaxpr if isinstance(kind, Call) and not eqn.primitive.composite else None


def kind_or_none(eqn: JaxprEqn) -> Kind | None:
    """Return what an equation is to the code generator, None if it is nothing."""
    try:
        return kind_of(eqn)
    except NotImplementedError:
        return None


def is_defined(eqn: JaxprEqn) -> bool:
    """Is the result of an operation the same whoever computes it, if it is rounded at most once?"""
    return _rounds(eqn) is not None


def _after(eqn: JaxprEqn, operands: Sequence[bool]) -> list[bool] | None:
    once = _rounds(eqn)
    if once is None or (once and any(operands)):
        return None
    return [(once or any(operands)) and is_inexact(v.aval.dtype) for v in eqn.outvars]


def _rounds(eqn: JaxprEqn) -> bool | None:
    """Say whether an operation rounds; None if its results depend on who computes them."""
    primitive, kind, params, in_avals = eqn.primitive, kind_or_none(eqn), eqn.params, [v.aval for v in eqn.invars]
    if any(aval.dtype == FLOAT0 for aval in in_avals):
        return None
    floats = any(is_inexact(aval.dtype) for aval in in_avals)
    match kind:
        case IndexMap() | Gather():
            return False
        case Scatter():
            return False if kind.combine == "set" or not floats else None
        case Reduction():
            return False if not floats or kind.combine in ("argmax", "argmin") else None
        case Scan1D() | Contraction():
            return None if floats else False
        case Scalar() if primitive is convert_element_type_p:
            return _conversion(in_avals[0].dtype, params["new_dtype"])
        case Scalar() if kind.operation.is_exact:
            return kind.operation.ulp != 0
        case Scalar():
            return None if floats else False
    return False if primitive in MOVES else None


def _conversion(old: DType, new: DType) -> bool | None:
    """Halves are reached through float32, here and there, but not by everybody."""
    old, new = part_dtype(old), part_dtype(new)
    if computed_type(old) in (new, computed_type(new)):
        return False
    if not is_float(new) or new.itemsize >= 4:
        return is_float(new) and is_float(old) and new.itemsize < old.itemsize
    return True if is_float(old) and old.itemsize <= 4 else None
