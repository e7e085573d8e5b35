"""What an equation is to the code generator: the kind that its room answers, or one of two that kinds turn into.

A scatter of windows whose places are known now is a `Window`: an expression like a pad, not an update. A reduction
that leaves a short last dimension is a `Spread`: a few reductions side by side, each with one result per row, so that
the sum of forces on n bodies in space is three sums of n terms in one loop and not n sums of rows of three.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from tinytrace.codegen.ir.arithmetic import constant_of, index_of, terms_of
from tinytrace.codegen.ir.nodes import Node, axis
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import is_complex, is_inexact
from tinytrace.core.jaxpr import JaxprEqn, Var
from tinytrace.core.kinds import (
    Contraction,
    Gather,
    IndexMap,
    Kind,
    Reduction,
    Routine,
    Scalar,
    Scatter,
    kind_of,
)
from tinytrace.records import NamedTuple

WRITTEN_OUT = 4
"""Dimensions of at most this size are written out: no loop runs over them."""
ROW_WRITTEN_OUT = 8
"""The same for rows of integers, which are no faster as a vector whose lanes are to be added."""
MOST_CUTS = 3
"""A loop is cut at so many places at most, where what it computes changes: `passes/index_set_splitting.py`."""
LONG = 16
"""A sum of fewer terms than this is not worth spreading."""
PART = 4
"""A window that covers at least this part (one fourth) of an array is computed with it, in one loop."""


class Window(NamedTuple):
    """`out[i] = combine(operand[i], updates[i - start])` where that lies inside the updates, else `operand[i]`.

    `dims[d]` is the dimension of the updates that runs along dimension d of the operand, or None.
    """

    combine: str
    updates: int
    starts: tuple[int, ...]
    dims: tuple[int | None, ...]


class Spread(NamedTuple):
    """The results of `parts`, reductions of slices, side by side in a last dimension."""

    reduction: Reduction
    parts: tuple[Var, ...]


Lowered: TypeAlias = Kind | Window | Spread


def lowered(eqn: JaxprEqn) -> Lowered:
    """Return what an equation is, as far as it can be said from the equation alone."""
    kind = kind_of(eqn)
    real = isinstance(kind, Contraction) or (isinstance(kind, Routine) and not kind.takes_complex)
    if real and any(is_complex(v.aval.dtype) for v in (*eqn.invars, *eqn.outvars)):
        raise NotImplementedError(f"{eqn.primitive} of complex numbers is not implemented in tinytrace")
    return _spread(eqn, kind) or kind if isinstance(kind, Reduction) else kind


def is_map(kind: Lowered, eqn: JaxprEqn) -> bool:
    """Does this kind say one element of the result, without a loop?"""
    if isinstance(kind, Reduction):
        return is_short(kind, eqn)
    return isinstance(kind, (Scalar, IndexMap, Gather, Window, Spread))


def is_short(kind: Reduction, eqn: JaxprEqn) -> bool:
    """Is this a reduction of so few elements that it is written out?"""
    operand = eqn.invars[0].aval
    most = WRITTEN_OUT if is_inexact(operand.dtype) or operand.ndim - 1 not in kind.axes else ROW_WRITTEN_OUT
    return 0 < math.prod(operand.shape[a] for a in kind.axes) <= most and not kind.combine.startswith("arg")


def _spread(eqn: JaxprEqn, kind: Reduction) -> Spread | None:
    operand, out = eqn.invars[0].aval, eqn.outvars[0].aval
    terms = math.prod(operand.shape[a] for a in kind.axes)
    if not out.shape or not 1 < out.shape[-1] <= WRITTEN_OUT or operand.ndim - 1 in kind.axes or terms < LONG \
            or kind.combine.startswith("arg"):
        return None
    return Spread(kind, tuple(Var(ShapedArray(out.shape[:-1], out.dtype)) for _ in range(out.shape[-1])))


def window(eqn: JaxprEqn, kind: Scatter, target: Sequence[Node], guard: Node | None) -> Window | None:
    """Return a scatter as a window, if `target`, the place of an update, is a known distance from its own index."""
    operand, updates = eqn.invars[0].aval, eqn.invars[kind.updates].aval
    if PART * updates.size < operand.size or (guard is not None and constant_of(guard) != 1):
        return None
    axes = {axis(f"i{k}", size): k for k, size in enumerate(updates.shape) if size != 1}
    starts: list[int] = []
    dims: list[int | None] = []
    for position in target:
        start, terms = terms_of(index_of(position))
        if len(terms) > 1 or any(factor != 1 or node not in axes for node, factor in terms):
            return None
        starts.append(start)
        dims.append(axes[terms[0][0]] if terms else None)
    used = [d for d in dims if d is not None]
    if sorted(used) != sorted(axes.values()):
        return None
    inside = all(start >= 0 and start + (updates.shape[d] if d is not None else 1) <= size
                 for start, d, size in zip(starts, dims, operand.shape, strict=True))
    return Window(kind.combine, kind.updates, tuple(starts), tuple(dims)) if inside else None


