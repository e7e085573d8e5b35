"""What asks for each element whether there is one, as a pad does: no gather reads much of it before it is there.

Where a gather reads depends on data, so no loop can be cut at the edges, and each element would be asked for: random
crops of images that were padded take a quarter of the time when the padded images are kept.
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


def has_guard(eqn: JaxprEqn, kind: Lowered) -> bool:
    """Does an equation that moves elements ask of each whether there is one?"""
    if not isinstance(kind, IndexMap):
        return False
    axes = domain_axes(eqn.outvars[0].aval.shape)
    element = kind.element(wrapped(axes), reader(eqn, lambda atom, at: local("", atom.aval.dtype)))
    return element.op == "where"
