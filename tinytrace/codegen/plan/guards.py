"""What no gather reads much of before it is there: where each element is asked for, and what is made of several arrays.

Where a gather reads depends on data, so no loop can be cut at the edges, and each element would be asked for: random
crops of images that were padded take a quarter of the time when the padded images are kept. And each array behind an
element costs a place in memory that nobody foresees: ranks of pages, of which each edge reads `(rank / degree)[v]`,
take half of the time when the quotients are kept.
"""
from __future__ import annotations

from collections.abc import Mapping

from tinytrace.codegen.ir.nodes import local
from tinytrace.codegen.plan.elements import Producer, domain_axes, reader, wrapped
from tinytrace.codegen.plan.lowering import Lowered
from tinytrace.core.jaxpr import JaxprEqn, Var
from tinytrace.core.kinds import Gather, IndexMap, Scalar

MANY = 4
"""A gather that reads this part of an array, or more, is worth keeping it."""


def is_asked_for(eqn: JaxprEqn, kind: Lowered, x: Var, producers: Mapping[Var, Producer]) -> bool:
    """Does a gather read much of `x`, and is that moved or computed of what asks whether there is an element?"""
    if not isinstance(kind, Gather) or x is not eqn.invars[0] or MANY * eqn.outvars[0].aval.size < x.aval.size:
        return False
    stack, seen = [x], {x}  # each value once, however many ways lead to it
    while stack:
        maker = producers[stack.pop()]
        if has_guard(maker.eqn, maker.kind):
            return True
        if maker.is_map and isinstance(maker.kind, (IndexMap, Scalar)):
            behind = {v for v in maker.eqn.invars if isinstance(v, Var) and v in producers and v.aval.shape} - seen
            seen |= behind
            stack += behind
    return False


def is_of_several(eqn: JaxprEqn, kind: Lowered, x: Var, producers: Mapping[Var, Producer]) -> bool:
    """Does a gather read each element of `x` twice or oftener, and is that computed of several arrays as large?"""
    if not isinstance(kind, Gather) or x is not eqn.invars[0] or eqn.outvars[0].aval.size < 2 * x.aval.size:
        return False
    found: set[Var] = set()
    stack, seen = [x], {x}
    while stack and len(found) < 2:
        for v in producers[stack.pop()].eqn.invars:
            if not isinstance(v, Var) or v in seen or 2 * v.aval.size < x.aval.size:
                continue
            seen.add(v)
            is_computed = v in producers and producers[v].is_map and isinstance(producers[v].kind, (IndexMap, Scalar))
            (stack.append if is_computed else found.add)(v)
    return len(found) > 1


def has_guard(eqn: JaxprEqn, kind: Lowered) -> bool:
    """Does an equation that moves elements ask of each whether there is one?"""
    if not isinstance(kind, IndexMap):
        return False
    axes = domain_axes(eqn.outvars[0].aval.shape)
    element = kind.element(wrapped(axes), reader(eqn, lambda atom, at: local("", atom.aval.dtype)))
    return element.op == "where"
