"""Constant folding: an equation on numbers alone is computed now, by its own NumPy meaning.

An array that is one number everywhere is such a number, where every element is computed alike and rounded once at most:

    b:u64[1] = broadcast_in_dim 10;  c:u64[1] = broadcast_in_dim 0
    d:u64[1] = sub b c                                                     d:u64[1] = broadcast_in_dim 10
    e:u64[9] = broadcast_in_dim[shape=(9,)] d                              e:u64[9] = broadcast_in_dim[shape=(9,)] 10

So what is divided by it is divided by a number that the compiler knows; and what surrounds an array that is padded,
which is read out of a table of such numbers, is the same on all sides: its edges are one loop, where they would be
several.
"""
from __future__ import annotations

import numpy as np

from tinytrace.core.dtypes import FLOAT0, KeyType
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinytrace.core.kinds import Expr, IndexMap, Scalar, kind_of
from tinytrace.passes.substitution import Substitution
from tinytrace.primitives.broadcasting import broadcast_in_dim_p


def fold(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with equations on literals, and on arrays full of one, replaced by their values."""
    replaced = Substitution()
    full: dict[Atom, Literal] = {}
    eqns: list[JaxprEqn] = []
    for eqn in closed.jaxpr.eqns:
        eqn = replaced.in_equation(eqn)
        value = _value_of(eqn)
        if value is not None:
            replaced.update([(eqn.outvars[0], value)])
            continue
        eqn, value = _filled(eqn, full)
        if value is not None:
            replaced.update([(eqn.outvars[0], value)])
            continue
        if eqn.primitive is broadcast_in_dim_p and isinstance(eqn.invars[0], Literal):
            full[eqn.outvars[0]] = eqn.invars[0]
        eqns.append(eqn)
    outvars = [replaced[x] for x in closed.jaxpr.outvars]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)


def _value_of(eqn: JaxprEqn) -> Literal | None:
    """Return the number that an equation computes, if it does not depend on anything."""
    for x in eqn.invars:
        if not isinstance(x, Literal):
            return None
    if (eqn.effects or len(eqn.outvars) != 1 or eqn.primitive.multiple_results or not eqn.invars
            or any(True for _ in subjaxprs(eqn.params))):
        return None
    aval = eqn.outvars[0].aval
    dtypes = [x.aval.dtype for x in (*eqn.invars, *eqn.outvars)]
    if aval.shape or any(isinstance(dtype, KeyType) or dtype == FLOAT0 for dtype in dtypes):
        return None
    with np.errstate(all="ignore"):
        operands = [np.asarray(x.val, x.aval.dtype) for x in eqn.invars if isinstance(x, Literal)]
        result = np.asarray(eqn.primitive.impl(*operands, **eqn.params), aval.dtype)
    return Literal(result[()], aval)


def _filled(eqn: JaxprEqn, full: dict[Atom, Literal]) -> tuple[JaxprEqn, Literal | None]:
    """Return the equation that fills an array with the number that all elements of the result are; else `eqn`.

    And that number, where it is the whole result.
    """
    numbers = [x if isinstance(x, Literal) else full.get(x) for x in eqn.invars]
    aval = eqn.outvars[0].aval if len(eqn.outvars) == 1 and None not in numbers and eqn.invars else None
    if aval is None or full.keys().isdisjoint(eqn.invars):
        return eqn, None
    number = _number_of(eqn, [x for x in numbers if x is not None])
    if number is None or not aval.shape:
        return eqn, None if number is None else Literal(number.val, aval)
    filling = {"shape": aval.shape, "broadcast_dimensions": ()}
    return eqn.replace(primitive=broadcast_in_dim_p, invars=[number], params=filling), None


def _number_of(eqn: JaxprEqn, numbers: list[Literal]) -> Literal | None:
    """Return what all elements of a result are, where those of each operand are one number."""
    kind, aval = kind_of(eqn), eqn.outvars[0].aval
    if eqn.primitive is broadcast_in_dim_p or (isinstance(kind, IndexMap) and _only_moves(kind, aval.ndim)):
        bits = {np.asarray(x.val, x.aval.dtype).tobytes() for x in numbers}
        return numbers[0] if len(bits) == 1 and all(x.aval.dtype == aval.dtype for x in numbers) else None
    if isinstance(kind, Scalar) and kind.operation.is_exact and aval.shape:
        return _value_of(eqn.replace(invars=numbers, outvars=[Var(aval.update(shape=()))]))
    return None


def _only_moves(kind: IndexMap, ndim: int) -> bool:
    """Is each element of a result one of an operand's, whatever its place is?"""
    place = tuple(Expr("index", (k,)) for k in range(ndim))
    found = [kind.element(place, lambda operand, at: Expr("read", (operand,)))]
    while found:
        expr = found.pop()
        if expr.op == "where":
            found += expr.args[1:]
        elif expr.op != "read":
            return False
    return True
