"""Steps that move elements: reshaping, slicing, joining, padding, indexing, sorting."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from tinytrace.testing.random_programs import Block, draw_from
from tinytrace.testing.steps.choice import MAX_SIZE, choose, same
from tinytrace.testing.values import BOOL, INT32, Value


def reshaping(draw: st.DrawFn, block: Block) -> Value | None:
    """`reshape`, `transpose`, `expand_dims`, `squeeze`, `broadcast_to`, `flip`."""
    x = choose(draw, block, lambda v: True)
    assert x is not None
    rank = len(x.shape)
    kind = draw_from(draw, ["ravel", "transpose", "expand", "squeeze", "broadcast", "flip"])
    if kind == "ravel":
        shape = draw_from(draw, [(x.size,), (1, x.size), (x.size, 1)])
        return same(block, x, f"jnp.reshape({x.name}, {shape})", shape)
    if kind == "transpose":
        order = draw(st.permutations(range(rank)))
        return same(block, x, f"jnp.transpose({x.name}, {tuple(order)})", tuple(x.shape[i] for i in order))
    if kind == "expand" and rank < 4:
        axis = draw(st.integers(0, rank))
        return same(block, x, f"jnp.expand_dims({x.name}, {axis})", (*x.shape[:axis], 1, *x.shape[axis:]))
    if kind == "squeeze" and 1 in x.shape:
        axis = x.shape.index(1)
        return same(block, x, f"jnp.squeeze({x.name}, {axis})", (*x.shape[:axis], *x.shape[axis + 1 :]))
    if kind == "broadcast" and rank < 4 and 3 * x.size <= MAX_SIZE:
        shape = (draw(st.integers(0, 3)), *x.shape)
        return same(block, x, f"jnp.broadcast_to({x.name}, {shape})", shape)
    if kind == "flip" and rank:
        return same(block, x, f"jnp.flip({x.name}, {draw(st.integers(0, rank - 1))})", x.shape)
    return None


def slicing(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.slice` with strides, and `dynamic_slice` at an index that may lie outside."""
    x = choose(draw, block, lambda v: len(v.shape) > 0)
    if x is None:
        return None
    starts = [draw(st.just(0) | st.integers(0, side)) for side in x.shape]
    limits = [draw(st.just(side) | st.integers(start, side)) for start, side in zip(starts, x.shape, strict=True)]
    index = choose(draw, block, lambda v: v.dtype == INT32 and v.shape == ())
    if index is not None and draw(st.booleans()):
        sizes = tuple(limit - start for start, limit in zip(starts, limits, strict=True))
        indices = ", ".join([index.name] * len(sizes))
        return same(block, x, f"lax.dynamic_slice({x.name}, ({indices},), {sizes})", sizes)
    strides = [draw(st.integers(1, 3)) for _ in x.shape]
    shape = tuple(len(range(*bounds)) for bounds in zip(starts, limits, strides, strict=True))
    return same(block, x, f"lax.slice({x.name}, {tuple(starts)}, {tuple(limits)}, {tuple(strides)})", shape)


def joining(draw: st.DrawFn, block: Block) -> Value | None:
    """`concatenate` of two values that agree in all axes but one."""
    x = choose(draw, block, lambda v: len(v.shape) > 0 and 2 * v.size <= MAX_SIZE)
    if x is None:
        return None
    axis = draw(st.integers(0, len(x.shape) - 1))

    def fits(v: Value) -> bool:
        rest = [*v.shape[:axis], *v.shape[axis + 1 :]] == [*x.shape[:axis], *x.shape[axis + 1 :]]
        return v.dtype == x.dtype and len(v.shape) == len(x.shape) and rest and v.size + x.size <= MAX_SIZE

    y = choose(draw, block, fits)
    assert y is not None
    shape = (*x.shape[:axis], x.shape[axis] + y.shape[axis], *x.shape[axis + 1 :])
    text = f"jnp.concatenate([{x.name}, {y.name}], {axis})"
    return block.add(text, shape, x.dtype, max(x.bound, y.bound), max(x.error, y.error))


def padding(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.pad` with zeros before, after and between the elements; negative at the edges too."""
    x = choose(draw, block, lambda v: len(v.shape) > 0)
    if x is None:
        return None
    config, shape = [], []
    for side in x.shape:
        low, high, between = (draw(st.integers(least, 2)) for least in (-1, -1, 0))
        config.append((low, high, between))
        shape.append(low + side + high + between * max(0, side - 1))
    if min(shape) < 0 or math.prod(shape) > MAX_SIZE:
        return None
    return same(block, x, f"lax.pad({x.name}, jnp.zeros((), {x.name}.dtype), {tuple(config)})", tuple(shape))


def counting(draw: st.DrawFn, block: Block) -> Value | None:
    """`arange`."""
    length = draw(st.integers(0, 5))
    return block.add(f"jnp.arange({length})", (length,), INT32, 5.0)


def indexing(draw: st.DrawFn, block: Block) -> Value | None:
    """`x[i]` with a number or an array of numbers; those out of range are moved to the nearest element."""
    x = choose(draw, block, lambda v: len(v.shape) > 0 and 0 not in v.shape)
    if x is None:
        return None
    index = choose(draw, block, lambda v: v.dtype == INT32 and v.size * x.size <= MAX_SIZE)
    if index is None or draw(st.booleans()):
        i = draw(st.integers(-x.shape[0], x.shape[0] - 1))
        return same(block, x, f"{x.name}[{i}]", x.shape[1:])
    return same(block, x, f"{x.name}[{index.name}]", (*index.shape, *x.shape[1:]))


def updating(draw: st.DrawFn, block: Block) -> Value | None:
    """`x.at[i].set(y)`, and `add`, `max`, `min` of integers; what is out of range changes nothing."""
    x = choose(draw, block, lambda v: len(v.shape) > 0 and 0 not in v.shape and v.dtype != BOOL)
    if x is None:
        return None
    y = choose(draw, block, lambda v: v.dtype == x.dtype and v.shape == x.shape[1:])
    if y is None:
        return None
    index = choose(draw, block, lambda v: v.dtype == INT32 and v.shape == ())
    place = index.name if index is not None and draw(st.booleans()) else str(draw(st.integers(-7, 7)))
    method = draw_from(draw, ["set", "add", "max", "min"]) if x.is_int else "set"
    text = f"{x.name}.at[{place}].{method}({y.name})"
    return block.add(text, x.shape, x.dtype, max(x.bound, y.bound), max(x.error, y.error))


def sorting(draw: st.DrawFn, block: Block) -> Value | None:
    """`sort` and `argsort` along an axis: NaN last, equal elements in their order."""
    x = choose(draw, block, lambda v: len(v.shape) > 0 and v.is_exact)
    if x is None:
        return None
    axis = draw(st.integers(0, len(x.shape) - 1))
    if draw(st.booleans()):
        return block.add(f"jnp.argsort({x.name}, {axis})", x.shape, INT32, float(x.shape[axis]))
    return same(block, x, f"jnp.sort({x.name}, {axis})", x.shape)
