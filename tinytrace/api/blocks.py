"""Elementwise functions, compiled once for arrays of every shape: as a program on a block of 64 elements.

An element's result depends on no other element, nor on where it stands: the loop of a block gives the bits that the
loop over the whole array gives. So `jnp.tanh` of a new shape starts no compiler. csrc/entry.c walks over the blocks;
the last elements are filled up to a block by copies of the last of them.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tinytrace.api.exactness import kind_or_none
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Call, Scalar
from tinytrace.primitives.broadcasting import broadcast_in_dim, broadcast_in_dim_p
from tinytrace.transforms.staging import trace_to_closed_jaxpr

BLOCK = 64
"""Elements: whole vectors on every CPU, and cheap enough for a scalar."""


class Blocks(NamedTuple):
    """How a program on blocks answers calls on larger arrays."""

    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    """Of the call; those of the program have BLOCK elements, or are scalars."""
    elements: int
    """How many there are in a call."""


def on_blocks(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, Blocks] | None:
    """Return an elementwise program as one on blocks, and how to use it; None for a program that is not elementwise.

    All that is not scalar must have one shape.

    >>> from tinytrace import make_jaxpr
    >>> import tinytrace.numpy as jnp
    >>> on_blocks(make_jaxpr(jnp.tanh)(jnp.ones((2, 3))))[0]
    { lambda ; a:f32[64]. let b:f32[64] = tanh a in (b,) }
    """
    shapes = {aval.shape for aval in (*closed.in_avals, *closed.out_avals) if aval.shape}
    if len(shapes) > 1 or not closed.in_avals or any(aval.shape for aval in map(aval_of, closed.consts)):
        return None
    shape = shapes.pop() if shapes else ()
    if any(aval.shape != shape for aval in closed.out_avals) or not _is_elementwise(closed.jaxpr, shape):
        return None
    in_avals = [aval.update(shape=(BLOCK,)) if aval.shape == shape else aval for aval in closed.in_avals]
    program = trace_to_closed_jaxpr(lambda *xs: _evaluated(closed.jaxpr, closed.consts, xs, shape), in_avals)
    if any(aval.shape != (BLOCK,) for aval in program.out_avals):
        return None
    return program, Blocks(tuple(closed.in_avals), tuple(closed.out_avals), math.prod(shape))


def _is_elementwise(jaxpr: Jaxpr, shape: tuple[int, ...]) -> bool:
    for eqn in jaxpr.eqns:
        inner = _called(eqn)
        if inner is not None:
            if not _is_elementwise(inner.jaxpr, shape):
                return False
            continue
        shapes = {v.aval.shape for v in (*eqn.invars, *eqn.outvars)}
        if not shapes <= {(), shape} or not (_is_filling(eqn) or isinstance(kind_or_none(eqn), Scalar)):
            return False
    return True


def _called(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """Return the program that an equation stands for, a composite operation's included."""
    kind = kind_or_none(eqn)
    return kind.jaxpr if isinstance(kind, Call) else None


def _is_filling(eqn: JaxprEqn) -> bool:
    """Does the equation make an array of a scalar?"""
    return eqn.primitive is broadcast_in_dim_p and len(eqn.invars) == 1 and not eqn.invars[0].aval.shape


def _evaluated(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """Run the equations on blocks instead of arrays of `shape`, and those that they call."""
    env: dict[Var, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(atom: Atom) -> Any:
        return atom.val if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        operands = list(map(read, eqn.invars))
        inner = _called(eqn)
        if inner is not None:
            results = _evaluated(inner.jaxpr, inner.consts, operands, shape)
        elif _is_filling(eqn):
            results = [_filled(operands[0])]
        else:
            if not shape and any(aval_of(x).shape for x in operands):
                operands = list(map(_filled, operands))  # what was a scalar among scalars is one among blocks
            out = eqn.primitive.bind(*operands, **eqn.params)
            results = list(out) if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _filled(x: Any) -> Any:
    return x if aval_of(x).shape else broadcast_in_dim(x, (BLOCK,), ())
