"""Of all pairs that are compared to see which elements are among others, few need to be: those are looked up.

    c = eq (broadcast_in_dim x) (broadcast_in_dim y)
    d = reduce_or[axes=(1,)] c                             d = is_member[batch_dims=0] x y

The rule: one operand of the comparison changes along the reduced axes, the other does not; and there are so many
pairs that a table of the ones and a look for each of the others takes less time. The same for `ne` and `reduce_and`,
which say what is not among them. `jnp.isin`, and `(x[:, None] == y).any(1)`, are of this kind.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tinytrace.core.dtypes import BFLOAT16
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.bitwise import not_p
from tinytrace.primitives.broadcasting import broadcast_in_dim_p
from tinytrace.primitives.comparison import eq_p, ne_p
from tinytrace.primitives.membership import is_member_p
from tinytrace.primitives.reduction import reduce_and_p, reduce_or_p
from tinytrace.primitives.shaping import reshape_p, transpose_p
from tinytrace.records import NamedTuple

PAIRS_OF_AN_ELEMENT = 128
"""So many comparisons in a loop take as long as one element in a table."""
_COMPARISONS: dict[Primitive, Primitive] = {reduce_or_p: eq_p, reduce_and_p: ne_p}

Makers = dict[Var, JaxprEqn]


class Operand(NamedTuple):
    """An array that is compared, and along which axes of the comparison it changes, in their order."""

    atom: Atom
    axes: tuple[int, ...]


def look_members_up(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with comparisons of all pairs, of which a fold reads whether any is true, as looks at a table."""
    jaxpr = closed.jaxpr
    if not any(eqn.primitive in _COMPARISONS for eqn in jaxpr.eqns):
        return closed
    makers: Makers = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    uses = Counter(x for eqn in jaxpr.eqns for x in eqn.invars if isinstance(x, Var))
    uses.update(x for x in jaxpr.outvars if isinstance(x, Var))
    eqns = [new for eqn in jaxpr.eqns for new in _looked_up(eqn, makers, uses) or [eqn]]
    return ClosedJaxpr(jaxpr.replace(eqns=eqns), closed.consts)


def _looked_up(fold: JaxprEqn, makers: Makers, uses: Counter[Var]) -> list[JaxprEqn]:
    """Return the equations that stand for a fold of a comparison; none if it stays."""
    pairs = fold.invars[0] if fold.primitive in _COMPARISONS else None
    compared = makers.get(pairs) if isinstance(pairs, Var) and uses[pairs] == 1 else None
    if compared is None or compared.primitive is not _COMPARISONS[fold.primitive]:
        return []
    shape, folded = compared.outvars[0].aval.shape, set(fold.params["axes"])
    a, b = (_operand(x, shape, makers) for x in compared.invars)
    for x, y in ((a, b), (b, a)):
        if _is_comparable(y.atom) and folded.isdisjoint(x.axes) and not folded.isdisjoint(y.axes) \
                and _is_faster(x, y, shape, folded):
            return _equations(fold, x, y, shape, folded)
    return []


def _operand(x: Atom, shape: tuple[int, ...], makers: Makers) -> Operand:
    """Return what an operand of a comparison is before it is repeated."""
    axes = tuple(range(len(shape))) if x.aval.ndim else ()
    while isinstance(x, Var) and x in makers and (maker := makers[x]).primitive is broadcast_in_dim_p:
        axes = tuple(axes[k] for k in maker.params["broadcast_dimensions"])
        x = maker.invars[0]
    return Operand(x, tuple(axis for axis, size in zip(axes, x.aval.shape, strict=True) if size > 1))


def _is_comparable(x: Atom) -> bool:
    return isinstance(x, Var) and (x.aval.dtype.kind in "biufc" or x.aval.dtype == BFLOAT16)


def _is_faster(x: Operand, y: Operand, shape: tuple[int, ...], folded: set[int]) -> bool:
    n = math.prod(shape[axis] for axis in x.axes if axis not in y.axes)
    m = math.prod(shape[axis] for axis in y.axes if axis in folded)
    return n * m >= PAIRS_OF_AN_ELEMENT * (n + m)


def _equations(fold: JaxprEqn, x: Operand, y: Operand, shape: tuple[int, ...], folded: set[int]) -> list[JaxprEqn]:
    """Return `x` as [lines..., elements...], `y` as [lines..., members...], the look, and its result as the fold's."""
    kept = [axis for axis in range(len(shape)) if axis not in folded]
    lines = [axis for axis in kept if axis in y.axes]
    rest = [axis for axis in kept if axis not in y.axes]
    eqns: list[JaxprEqn] = []
    elements = _arranged(x, [*lines, *rest], shape, fold, eqns)
    members = _arranged(y, [*lines, *(axis for axis in y.axes if axis in folded)], shape, fold, eqns)
    order = [*lines, *rest]
    found = _step(is_member_p, [elements, members], {"batch_dims": len(lines)}, fold, eqns)
    found = _step(transpose_p, [found], {"permutation": tuple(order.index(axis) for axis in kept)}, fold, eqns)
    if fold.primitive is reduce_and_p:
        _step(not_p, [found], {}, fold, eqns)
    eqns[-1] = eqns[-1].replace(outvars=fold.outvars)
    return eqns


def _arranged(x: Operand, order: Sequence[int], shape: tuple[int, ...], fold: JaxprEqn, eqns: list[JaxprEqn]) -> Atom:
    """Return an operand with these axes, repeated along those where it does not change."""
    axes = [axis for axis in order if axis in x.axes]
    sizes = tuple(shape[axis] for axis in x.axes)
    atom = _step(reshape_p, [x.atom], {"new_sizes": sizes, "dimensions": None}, fold, eqns)
    atom = _step(transpose_p, [atom], {"permutation": tuple(x.axes.index(axis) for axis in axes)}, fold, eqns)
    params = {"shape": tuple(shape[axis] for axis in order),
              "broadcast_dimensions": tuple(order.index(axis) for axis in axes)}
    return _step(broadcast_in_dim_p, [atom], params, fold, eqns)


def _step(primitive: Any, operands: list[Atom], params: dict[str, Any], fold: JaxprEqn, eqns: list[JaxprEqn]) -> Atom:
    """Return a result of an equation that is added, unless it changes nothing."""
    x = operands[0]
    result = primitive.abstract_eval(*(x.aval for x in operands), **params)
    moves = list(params.get("permutation", ())) != sorted(params.get("permutation", ()))
    if primitive is not is_member_p and primitive is not not_p and result.shape == x.aval.shape and not moves:
        return x
    out = Var(result)
    eqns.append(fold.replace(primitive=primitive, invars=operands, outvars=[out], params=params))
    return out
