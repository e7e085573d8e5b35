"""Where what moves elements, or repeats them, reads an array: at which of its elements, and how often."""
from __future__ import annotations

import math
from collections.abc import Hashable, Iterable

from tinytrace.codegen.ir.arithmetic import terms_of
from tinytrace.codegen.ir.nodes import Node, local
from tinytrace.codegen.plan.elements import Index, aligned, domain_axes, reader, wrapped
from tinytrace.codegen.plan.lowering import MOST_CUTS, Lowered
from tinytrace.core.jaxpr import Atom, JaxprEqn, Var
from tinytrace.core.kinds import Gather, IndexMap, Scalar

LONG_ROW = 64
"""Elements of what is joined that are computed where they go: a loop over so many is worth cutting from the others."""
FEW = 16
"""A gather that reads fewer than this part of an array computes what it reads."""
GATHERED = 4
"""Bytes of elements that CPUs gather in vectors; shorter ones are read one by one, at places computed before."""


def moved_from(eqn: JaxprEqn, kind: IndexMap, x: Var) -> tuple[Node, ...]:
    """Return at which elements of `x` a loop over the result reads it; () if these are its own.

    What is read at two distances, as by the pads of a stencil's gradient, is computed at each of them. What is joined
    along an axis of which it has one element, as the rows and columns are at which a gather reads, is at its own.
    """
    shape = eqn.outvars[0].aval.shape
    found = _read_at(eqn, kind, x, domain_axes(shape))
    is_joined = sum(bool(operand.aval.shape) for operand in eqn.invars) > 1 and x.aval.ndim == len(shape)
    own = [i for i, size in zip(domain_axes(shape), x.aval.shape if is_joined else shape, strict=True) if size != 1]
    at = [i for i, size in zip(found, x.aval.shape, strict=False) if size != 1]
    return () if len(found) == x.aval.ndim and at == own else tuple(found)


def needs_again(eqn: JaxprEqn, kind: Lowered, x: Var, loops: Iterable[tuple[tuple[int, ...], Hashable]]) -> bool:
    """Does a loop over the result need elements of `x` again and again, and in its innermost loop?

    Not if the loops that read the result have no more turns than `x` has elements: a gather takes from each row of
    joined places the first and the second, and which of the joined arrays has it is known.
    """
    shape = eqn.outvars[0].aval.shape
    if isinstance(kind, Gather) and x is eqn.invars[0]:  # few elements, one by one, are less than all side by side
        return FEW * eqn.outvars[0].aval.size > x.aval.size
    if isinstance(kind, Gather):  # a place, which is a row of numbers, is that of one element, or of several
        if eqn.outvars[0].aval.dtype.itemsize < GATHERED:
            return True
        return eqn.outvars[0].aval.size * x.aval.shape[-1] > x.aval.size if x.aval.shape else False
    if eqn.outvars[0].aval.size <= x.aval.size or all(math.prod(loop) <= x.aval.size for loop, _ in loops):
        return False
    axes = domain_axes(shape)
    last = next((a for a in reversed(axes) if a.op == "axis"), None)
    found: list[Node] = []
    if isinstance(kind, IndexMap):
        found = _read_at(eqn, kind, x, axes)
    elif isinstance(kind, Scalar):
        found = list(aligned(axes, eqn.outvars[0].aval, x.aval))
    return any(last in node.axes for node in found) and not _is_joined(eqn, axes, found, x)


def _read_at(eqn: JaxprEqn, kind: IndexMap, x: Var, axes: Index) -> list[Node]:
    """Return the index of each element of `x` that is read for the element of the result at `axes`."""
    found: list[Node] = []

    def read(atom: Atom, at: Index) -> Node:
        found.extend(at if atom is x else ())
        return local(str(id(atom)), atom.aval.dtype)

    kind.element(wrapped(axes), reader(eqn, read))
    return found


def _is_joined(eqn: JaxprEqn, axes: Index, at: list[Node], x: Var) -> bool:
    """Is each element of `x` one element of the result, in rows so long that the loop over the result is cut?"""
    if len(eqn.invars) > MOST_CUTS + 1 or len(at) != x.aval.ndim or x.aval.shape[-1] < LONG_ROW:
        return False
    alone = {terms[0][0] for _, terms in map(terms_of, at) if len(terms) == 1 and abs(terms[0][1]) == 1}
    return all(i in alone for i in axes if i.op == "axis")
