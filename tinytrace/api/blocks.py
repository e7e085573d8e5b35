"""Elementwise functions, compiled once for arrays of every shape: as a program on a block of 512 bytes.

An element's result depends on no other element, nor on where it stands: the loop of a block gives the bits that the
loop over the whole array gives. So `jnp.tanh` of a new shape starts no compiler, and since its definition says that it
is elementwise, it is not traced anew either (`any_shape`). csrc/calls.c walks over the blocks; the last of them begins
among elements that have been computed already, and fewer elements than a block are filled up with copies of the last.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace._dispatch import FastEntry
from tinytrace.api.exactness import kind_or_none
from tinytrace.codegen.ir.cost import even_chunks
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Call, Scalar
from tinytrace.primitives.broadcasting import broadcast_in_dim, broadcast_in_dim_p
from tinytrace.records import NamedTuple
from tinytrace.transforms.staging import trace_to_closed_jaxpr

BLOCK_BYTES = 512
"""Of the widest array on a block: vectors enough to be worth a call, and cheap enough for a scalar."""


class EntryOnBlocks(NamedTuple):
    """What calls of a program on blocks have in common, whatever the number of their elements."""

    owner: Any
    """Keeps the program alive."""
    address: int
    """Of its machine code."""
    inputs: tuple[tuple[int, int, int, int, int], ...]
    """As `FastEntry` takes them, of one block."""
    steps: tuple[int, ...]
    """Bytes of a block of each input and output; 0: a scalar, which every block sees."""
    outputs: tuple[tuple[int, int, Any], ...]
    unflatten: Callable[[list[Any]], Any] | None
    nanoseconds: float
    """What a block is estimated to take."""
    block: int
    """Its elements."""

    def at(self, elements: int, out_avals: tuple[ShapedArray, ...]) -> FastEntry:
        """Return what answers calls on so many elements."""
        inputs = tuple([(*given[:3], elements * step // self.block, elements) if step else given
                        for given, step in zip(self.inputs, self.steps, strict=False)])
        sizes = tuple([elements * step // self.block for step in self.steps[len(inputs):]])
        return FastEntry(self.owner, self.address, 0, inputs, sizes, self.outputs, out_avals, self.unflatten,
                         (self.block, elements, self.steps, self.grain(elements)))

    def grain(self, elements: int) -> int:
        """Return how many blocks of a call on so many elements a thread takes at least; 0: the caller's takes all.

        What is worth spreading is what it is in a program of its own: the estimate alone decides.
        """
        blocks = elements // self.block
        chunks = even_chunks(blocks * self.nanoseconds)
        return -(-blocks // chunks) if chunks > 1 else 0


def on_blocks(closed: ClosedJaxpr) -> ClosedJaxpr | None:
    """Return an elementwise program as one on blocks; None for a program that is not elementwise.

    All that is not scalar must have one shape.

    >>> from tinytrace import make_jaxpr
    >>> import tinytrace.numpy as jnp
    >>> on_blocks(make_jaxpr(jnp.tanh)(jnp.ones((2, 3))))
    { lambda ; a:f32[128]. let b:f32[128] = tanh a in (b,) }
    """
    shapes = {aval.shape for aval in (*closed.in_avals, *closed.out_avals) if aval.shape}
    if len(shapes) > 1 or not closed.in_avals or any(aval.shape for aval in map(aval_of, closed.consts)):
        return None
    shape = shapes.pop() if shapes else ()
    if any(aval.shape != shape for aval in closed.out_avals) or not _is_elementwise(closed.jaxpr, shape):
        return None
    block = (elements_of_a_block(closed),)
    in_avals = [aval.update(shape=block) if aval.shape == shape else aval for aval in closed.in_avals]
    program = trace_to_closed_jaxpr(lambda *xs: _evaluated(closed.jaxpr, closed.consts, xs, shape, block), in_avals)
    if any(aval.shape != block for aval in program.out_avals):
        return None
    return program


def elements_of_a_block(closed: ClosedJaxpr) -> int:
    """Return how many elements an elementwise program is to run on at once."""
    return BLOCK_BYTES // max(aval.dtype.itemsize for aval in (*closed.in_avals, *closed.out_avals))


def _is_elementwise(jaxpr: Jaxpr, shape: tuple[int, ...]) -> bool:
    for eqn in jaxpr.eqns:
        inner = _called(eqn)
        if inner is not None:
            if not _is_elementwise(inner.jaxpr, shape):
                return False
            continue
        shapes = {v.aval.shape for v in (*eqn.invars, *eqn.outvars)}
        if not shapes <= {(), shape} or not (is_filling(eqn) or isinstance(kind_or_none(eqn), Scalar)):
            return False
    return True


def _called(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """Return the program that an equation stands for, a composite operation's included."""
    kind = kind_or_none(eqn)
    return kind.jaxpr if isinstance(kind, Call) else None


def is_filling(eqn: JaxprEqn) -> bool:
    """Does the equation make an array of a scalar?"""
    return eqn.primitive is broadcast_in_dim_p and len(eqn.invars) == 1 and not eqn.invars[0].aval.shape


def _evaluated(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], shape: tuple[int, ...],
               block: tuple[int, ...]) -> list[Any]:
    """Run the equations on blocks instead of arrays of `shape`, and those that they call."""
    env: dict[Var, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(atom: Atom) -> Any:
        return atom.val if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        operands = list(map(read, eqn.invars))
        inner = _called(eqn)
        if inner is not None:
            results = _evaluated(inner.jaxpr, inner.consts, operands, shape, block)
        elif is_filling(eqn):
            results = [_filled(operands[0], block)]
        else:
            if not shape and any(aval_of(x).shape for x in operands):
                operands = [_filled(x, block) for x in operands]  # what was a scalar among scalars is one among blocks
            out = eqn.primitive.bind(*operands, **eqn.params)
            results = list(out) if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _filled(x: Any, block: tuple[int, ...]) -> Any:
    return x if aval_of(x).shape else broadcast_in_dim(x, block, ())
