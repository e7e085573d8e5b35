"""Steps that make one element of many: sums, extrema, positions, products of matrices, running sums."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from tinytrace.testing.random_programs import Block, draw_from
from tinytrace.testing.steps.choice import can_round, choose, choose_or_add
from tinytrace.testing.values import BOOL, INT32, LARGE, Shape, Value


def reduced(draw: st.DrawFn, x: Value) -> tuple[str, Shape, int]:
    """Some axes to reduce, as text; the shape that is left; how many elements become one."""
    axes = draw(st.lists(st.integers(0, len(x.shape) - 1), min_size=1, unique=True)) if x.shape else []
    text = f", {tuple(sorted(axes))}" if axes else ""
    left = tuple(side for i, side in enumerate(x.shape) if axes and i not in axes)
    return text, left, math.prod(x.shape[i] for i in axes)


def summation(draw: st.DrawFn, block: Block) -> Value | None:
    """`sum`, and `prod` of integers."""
    x = choose(draw, block, lambda v: can_round(block, v) or v.is_int or v.dtype == BOOL)
    if x is None:
        return None
    axes, shape, count = reduced(draw, x)
    if x.is_float:
        error = count * (x.error + x.epsilon * count * x.bound)
        return block.add(f"jnp.sum({x.name}{axes})", shape, x.dtype, count * x.bound, error)
    dtype = np.dtype("uint32") if x.dtype.kind == "u" else INT32
    return block.add(f"jnp.{draw_from(draw, ['sum', 'prod'])}({x.name}{axes})", shape, dtype, math.inf)


def largest(draw: st.DrawFn, block: Block) -> Value | None:
    """`max` and `min` over axes; of floats, either zero may stand for both."""
    x = choose(draw, block, lambda v: v.size > 0 and (v.is_int or (v.is_float and not block.exact_only)))
    if x is None:
        return None
    axes, shape, _ = reduced(draw, x)
    text = f"jnp.{draw_from(draw, ['max', 'min'])}({x.name}{axes})"
    error = max(x.error, np.finfo(x.dtype).tiny) if x.is_float else 0.0
    return block.add(text, shape, x.dtype, x.bound, float(error))


def truth(draw: st.DrawFn, block: Block) -> Value | None:
    """`any` and `all`."""
    x = choose(draw, block, lambda v: v.dtype == BOOL)
    if x is None:
        return None
    axes, shape, _ = reduced(draw, x)
    return block.add(f"jnp.{draw_from(draw, ['any', 'all'])}({x.name}{axes})", shape, BOOL, 1.0)


def position(draw: st.DrawFn, block: Block) -> Value | None:
    """`argmax` and `argmin` along one axis of exact values."""
    x = choose(draw, block, lambda v: v.is_exact and v.dtype != BOOL and len(v.shape) > 0 and 0 not in v.shape)
    if x is None:
        return None
    axis = draw(st.integers(0, len(x.shape) - 1))
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    name = draw_from(draw, ["argmax", "argmin"])
    return block.add(f"jnp.{name}({x.name}, {axis})", shape, INT32, 5.0)


def contraction(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.dot_general` over the last axis of one value and the first of the other."""
    x = choose(draw, block, lambda v: len(v.shape) in (1, 2) and (can_round(block, v) or v.is_int))
    if x is None:
        return None
    y = choose(
        draw,
        block,
        lambda v: v.dtype == x.dtype and len(v.shape) in (1, 2) and v.shape[0] == x.shape[-1]
        and (v.is_int or can_round(block, v)),
    )
    if y is None:
        return None
    count, shape = x.shape[-1], (*x.shape[:-1], *y.shape[1:])
    text = f"lax.dot_general({x.name}, {y.name}, ((({len(x.shape) - 1},), (0,)), ((), ())))"
    bound = count * x.bound * y.bound
    if x.is_int:
        return block.add(text, shape, x.dtype, math.inf)
    if bound > LARGE:
        return None
    error = count * (x.error * (y.bound + y.error) + y.error * x.bound) + x.epsilon * count * max(bound, 1.0)
    return block.add(text, shape, x.dtype, bound, error)


def running_product(draw: st.DrawFn, block: Block) -> Value | None:
    """`cumprod` of integers."""
    x = choose_or_add(draw, block, lambda v: len(v.shape) > 0 and v.dtype == INT32, (3,), "int32")
    if x is None:
        return None
    return block.add(f"jnp.cumprod({x.name}, {draw(st.integers(0, len(x.shape) - 1))})", x.shape, x.dtype, math.inf)


def running(draw: st.DrawFn, block: Block) -> Value | None:
    """`cumsum` along an axis, of integers `cumprod` too."""
    x = choose(draw, block, lambda v: len(v.shape) > 0 and (v.dtype == INT32 or can_round(block, v)))
    if x is None:
        return None
    axis = draw(st.integers(0, len(x.shape) - 1))
    if x.is_int:
        name = draw_from(draw, ["cumsum", "cumprod"])
        return block.add(f"jnp.{name}({x.name}, {axis})", x.shape, x.dtype, math.inf)
    count = max(1, x.shape[axis])
    error = count * (x.error + x.epsilon * count * x.bound)
    return block.add(f"jnp.cumsum({x.name}, {axis})", x.shape, x.dtype, count * x.bound, error)
