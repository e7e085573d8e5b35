"""Steps with a function inside: branches and loops. Loops hold exact steps only: errors would grow with each turn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hypothesis import strategies as st

from tinytrace.testing.random_programs import Block, Step, draw_steps
from tinytrace.testing.steps.arrays import reshaping, slicing
from tinytrace.testing.steps.choice import MAX_SIZE, choose
from tinytrace.testing.steps.elementwise import (
    arithmetic,
    bitwise,
    comparison,
    exact_unary,
    extremum,
    selection,
)
from tinytrace.testing.steps.reductions import largest
from tinytrace.testing.values import BOOL, INT32, Value

LOOP_STEPS: list[Step] = [
    exact_unary, arithmetic, extremum, bitwise, comparison, selection, reshaping, slicing, largest,
]  # fmt: skip


def body(draw: st.DrawFn, block: Block, inputs: Sequence[Value], carry: Value, exact_only: bool) -> tuple[Block, Value]:
    """A nested function of `inputs` with a result of the type of `carry`."""
    inner = block.inner(inputs, exact_only)
    draw_steps(draw, inner, LOOP_STEPS, draw(st.integers(0, 3)))
    result = choose(draw, inner, lambda v: (v.shape, v.dtype) == (carry.shape, carry.dtype))
    assert result is not None  # the carry itself
    return inner, result


def fresh(block: Block, like: Value) -> Value:
    """The parameter of a nested function that stands for `like`: exact inside, of unknown size."""
    return Value(next(block.names), like.shape, like.dtype)


def branching(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.cond` on an exact scalar, or on whether there is a truth in an exact array."""
    condition = choose(draw, block, lambda v: v.dtype == BOOL and v.shape == ()) or _any(draw, block)
    x = choose(draw, block, lambda v: True)
    if condition is None or x is None or block.depth > 1:
        return None
    names, values = [], []
    for _ in range(2):
        parameter = Value(next(block.names), x.shape, x.dtype, x.bound, x.error)
        inner, result = body(draw, block, [parameter], x, block.exact_only)
        names.append(next(block.names))
        values.append(result)
        block.define(names[-1], inner, [parameter], result.name)
    text = f"lax.cond({condition.name}, {names[0]}, {names[1]}, {x.name})"
    return block.add(text, x.shape, x.dtype, max(v.bound for v in values), max(v.error for v in values))


def _any(draw: st.DrawFn, block: Block) -> Value | None:
    """A truth of no axes, which few programs have otherwise."""
    x = choose(draw, block, lambda v: v.is_exact)
    return x and block.add(f"jnp.any({x.name})", (), BOOL, 1.0)


def counted_loop(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.fori_loop`."""
    x = choose(draw, block, lambda v: v.is_exact)
    if x is None or block.depth > 1:
        return None
    counter, carry = Value(next(block.names), (), INT32, 5.0), fresh(block, x)
    inner, result = body(draw, block, [counter, carry], x, True)
    name = next(block.names)
    block.define(name, inner, [counter, carry], result.name)
    return block.add(f"lax.fori_loop(0, {draw(st.integers(0, 4))}, {name}, {x.name})", x.shape, x.dtype, math.inf)


def while_loop(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.while_loop` that a counter in its carry ends."""
    x = choose(draw, block, lambda v: v.is_exact)
    if x is None or block.depth > 1:
        return None
    counter, carry = Value(next(block.names), (), INT32, 5.0), fresh(block, x)
    inner, result = body(draw, block, [counter, carry], x, True)
    name = next(block.names)
    inner.lines.insert(0, f"{counter.name}, {carry.name} = {name}_carry")
    parameter = Value(f"{name}_carry", (), INT32)
    block.define(name, inner, [parameter], f"({counter.name} + 1, {result.name})")
    turns = draw(st.integers(0, 4))
    text = f"lax.while_loop(lambda carry: carry[0] < {turns}, {name}, (jnp.int32(0), {x.name}))[1]"
    return block.add(text, x.shape, x.dtype, math.inf)


def scanning(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.scan` over the first axis of one value, with another as the carry; the last carry or the stack."""
    x = choose(draw, block, lambda v: v.is_exact)
    xs = choose(draw, block, lambda v: v.is_exact and len(v.shape) > 0)
    if x is None or xs is None or block.depth > 1 or x.size * xs.shape[0] > MAX_SIZE:
        return None
    carry, item = fresh(block, x), Value(next(block.names), xs.shape[1:], xs.dtype)
    inner, result = body(draw, block, [carry, item], x, True)
    name = next(block.names)
    block.define(name, inner, [carry, item], f"({result.name}, {result.name})")
    reverse = draw(st.booleans())
    which = draw(st.integers(0, 1))
    shape = (xs.shape[0], *x.shape) if which else x.shape
    text = f"lax.scan({name}, {x.name}, {xs.name}, reverse={reverse})[{which}]"
    return block.add(text, shape, x.dtype, math.inf)
