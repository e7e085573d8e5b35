"""A sorted line of which a few neighbours are read is not sorted: they are selected.

    b = sort[dimension=0] a                    b = order_statistics[first=499 count=2] a
    c = gather b 499;  d = gather b 500        c = gather b 0;  d = gather b 1

The rule: every user of the sorted array reads it by a slice, or by a gather at one place of the sorted axis that is
known, all within a small part of the line; and lines are long. Medians, quantiles, minima of several are of this kind.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.dtypes import is_complex
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.primitives.broadcasting import broadcast_in_dim_p
from tinytrace.primitives.gathering import gather_p
from tinytrace.primitives.order_statistics import order_statistics_p
from tinytrace.primitives.shaping import transpose_p
from tinytrace.primitives.slicing import slice_p
from tinytrace.primitives.sorting import sort_p

SHORTEST = 512
"""Shorter lines are sorted."""
PART = 16
"""What is read has to lie within one of so many parts of a line."""

Makers = dict[Var, JaxprEqn]


def select_from_sorts(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with sorts of which few neighbours are read as selections of these."""
    jaxpr = closed.jaxpr
    sorts = [eqn for eqn in jaxpr.eqns if eqn.primitive is sort_p and _may_select(eqn)]
    if not sorts:
        return closed
    makers: Makers = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    changed: dict[JaxprEqn, list[JaxprEqn]] = {}
    for eqn in sorts:
        changed.update(_selected(eqn, jaxpr, makers))
    eqns = [new for eqn in jaxpr.eqns for new in changed.get(eqn, [eqn])]
    return ClosedJaxpr(jaxpr.replace(eqns=eqns), closed.consts)


def _may_select(eqn: JaxprEqn) -> bool:
    x = eqn.invars[0].aval
    return len(eqn.invars) == 1 and not is_complex(x.dtype) and x.shape[eqn.params["dimension"]] >= SHORTEST


def _selected(eqn: JaxprEqn, jaxpr: Jaxpr, makers: Makers) -> dict[JaxprEqn, list[JaxprEqn]]:
    """Return what becomes of a sort and of those who read it; nothing if it stays."""
    result, dimension = eqn.outvars[0], eqn.params["dimension"]
    readers = [user for user in jaxpr.eqns if result in user.invars]
    spans = [_span(user, result, dimension, makers) for user in readers]
    if not readers or result in jaxpr.outvars or None in spans:
        return {}
    first, end = min(span[0] for span in spans), max(span[1] for span in spans)  # type: ignore[index]
    shape = result.aval.shape
    if (end - first) * PART > shape[dimension]:
        return {}
    rest = [k for k in range(len(shape)) if k != dimension]
    order = (*rest, dimension)
    back = tuple(order.index(k) for k in range(len(shape)))
    few = Var(result.aval.update(shape=tuple(end - first if k == dimension else n for k, n in enumerate(shape))))
    steps = _steps(eqn, few, [(transpose_p, {"permutation": order}),
                              (order_statistics_p, {"first": first, "count": end - first}),
                              (transpose_p, {"permutation": back})])
    return {eqn: steps} | {user: _moved(user, few, dimension, first, makers) for user in readers}


def _steps(eqn: JaxprEqn, result: Var, wanted: Sequence[tuple[Any, dict[str, Any]]]) -> list[JaxprEqn]:
    """Return equations that lead from the operand of `eqn` to `result`, but for transposes that move nothing."""
    needed = [(primitive, params) for primitive, params in wanted
              if primitive is not transpose_p or list(params["permutation"]) != sorted(params["permutation"])]
    eqns: list[JaxprEqn] = []
    x: Atom = eqn.invars[0]
    for k, (primitive, params) in enumerate(needed):
        out = result if k == len(needed) - 1 else Var(primitive.abstract_eval(x.aval, **params))
        eqns.append(eqn.replace(primitive=primitive, invars=[x], outvars=[out], params=params))
        x = out
    return eqns


def _span(user: JaxprEqn, result: Var, dimension: int, makers: Makers) -> tuple[int, int] | None:
    """Return from where to where an equation reads `result` along an axis; None if that is not known."""
    if user.primitive is slice_p:
        return user.params["start_indices"][dimension], user.params["limit_indices"][dimension]
    if user.primitive is not gather_p or user.invars[0] is not result:
        return None
    numbers, size = user.params["dimension_numbers"], user.params["slice_sizes"][dimension]
    place = _number(user.invars[1], makers)
    if tuple(numbers.start_index_map) != (dimension,) or place is None \
            or not 0 <= place <= result.aval.shape[dimension] - size:
        return None
    return place, place + size


def _number(atom: Atom, makers: Makers) -> int | None:
    """Return the number that an array of indices is full of."""
    maker = makers.get(atom) if isinstance(atom, Var) else None
    if maker is None or maker.primitive is not broadcast_in_dim_p or not isinstance(maker.invars[0], Literal):
        return None
    return int(np.asarray(maker.invars[0].val))


def _moved(user: JaxprEqn, few: Var, dimension: int, first: int, makers: Makers) -> list[JaxprEqn]:
    """Return the equations that read what `user` read, of places that are counted from `first` on."""
    if user.primitive is slice_p:
        moved = {key: tuple(n - first * (k == dimension) for k, n in enumerate(user.params[key]))
                 for key in ("start_indices", "limit_indices")}
        return [user.replace(invars=[few], params={**user.params, **moved})]
    indices = user.invars[1]
    assert isinstance(indices, Var)
    maker = makers[indices]
    number = maker.invars[0]
    assert isinstance(number, Literal)
    place = Literal(np.asarray(np.asarray(number.val) - first, number.aval.dtype)[()], number.aval)
    there = Var(indices.aval)
    return [maker.replace(invars=[place], outvars=[there]), user.replace(invars=[few, there])]
