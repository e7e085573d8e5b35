"""Steps that fold: cumulative extrema, folds with a function, windows, convolutions, and the derivatives of windows."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from tinytrace.testing.random_programs import Block, draw_from
from tinytrace.testing.steps.choice import can_round, choose, choose_or_add
from tinytrace.testing.values import BOOL, INT32, Value


def running_extremum(draw: st.DrawFn, block: Block) -> Value | None:
    """`cummax`, `cummin`, and `cumlogsumexp` of tame floats."""
    x = choose(draw, block, lambda v: len(v.shape) > 0 and v.dtype != BOOL and v.size > 0)
    if x is None:
        return None
    axis = draw(st.integers(0, len(x.shape) - 1))
    if can_round(block, x) and draw(st.booleans()):
        error = x.error + x.epsilon * (x.bound + 2)
        return block.add(f"lax.cumlogsumexp({x.name}, {axis})", x.shape, x.dtype, x.bound + 3, error)
    if x.is_float and block.exact_only:
        return None
    name = draw_from(draw, ["cummax", "cummin"])
    error = max(x.error, float(np.finfo(x.dtype).tiny)) if x.is_float else 0.0  # either zero may stand for both
    return block.add(f"lax.{name}({x.name}, {axis})", x.shape, x.dtype, x.bound, error)


def folding(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.reduce` of integers with a function that is an operation, or with any other."""
    x = choose_or_add(draw, block, lambda v: v.dtype == INT32 and len(v.shape) > 0, (4,), "int32")
    if x is None:
        return None
    axis = draw(st.integers(0, len(x.shape) - 1))
    functions = ["lax.bitwise_xor", "lax.bitwise_and", "lax.bitwise_or", "lambda x_, y_: x_ * 2 - y_"]
    function = draw_from(draw, functions)
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return block.add(f"lax.reduce({x.name}, jnp.int32(0), {function}, ({axis},))", shape, INT32, math.inf)


def window_folding(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.reduce_window` of integers along one axis."""
    x = choose_or_add(draw, block, lambda v: v.dtype == INT32 and len(v.shape) == 1 and v.size > 1, (4,), "int32")
    if x is None:
        return None
    initial, function = draw_from(draw, [
        ("0", "lax.add"), ("-2147483648", "lax.max"), ("2147483647", "lax.min"), ("0", "lambda x_, y_: x_ * 2 - y_")])
    text = f"lax.reduce_window({x.name}, np.int32({initial}), {function}, (2,), (1,), 'SAME')"
    return block.add(text, x.shape, INT32, math.inf)


def window_derivative(draw: st.DrawFn, block: Block) -> Value | None:
    """The derivative of a maximum over windows, forwards and backwards, of distinct numbers."""
    if block.depth:
        return None
    size = draw(st.integers(2, 5))
    largest = "lambda x_: lax.reduce_window(x_, -jnp.inf, lax.max, (2,), (1,), 'VALID')"
    numbers = f"jnp.arange({size}, dtype='float32') * {draw_from(draw, [1.0, -0.5])}"
    if draw(st.booleans()):
        text = f"jax.jvp({largest}, ({numbers},), (jnp.ones({size}),))[1]"
        return block.add(text, (size - 1,), np.dtype("float32"), 1.0)
    text = f"jax.vjp({largest}, {numbers})[1](jnp.ones({size - 1}))[0]"
    return block.add(text, (size,), np.dtype("float32"), 2.0)


def window_scattering(draw: st.DrawFn, block: Block) -> Value | None:
    """What chooses an element of each window by a jaxpr: of new numbers, for it has neither derivative nor batches."""
    if block.depth:
        return None
    count, sign = draw(st.integers(1, 3)), draw_from(draw, [1, -1])
    prefer, put = draw_from(draw, ["lax.ge", "lax.lt"]), draw_from(draw, ["lax.add", "lambda x_, y_: x_ * 2 - y_"])
    numbers = "(jnp.int32(0), jnp.int32(0)).jaxpr"
    text = (f"lax.select_and_scatter_p.bind(jnp.arange({2 * count}) * {sign}, jnp.arange({count}), jnp.int32(1), "
            f"select_jaxpr=jax.make_jaxpr({prefer}){numbers}, select_consts=(), "
            f"scatter_jaxpr=jax.make_jaxpr({put}){numbers}, scatter_consts=(), "
            "window_dimensions=(2,), window_strides=(2,), padding=((0, 0),))")
    return block.add(text, (2 * count,), INT32, math.inf)


def convolution(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.conv_general_dilated` of two new arguments."""
    if block.depth:
        return None
    width, stride = draw(st.integers(3, 6)), draw(st.integers(1, 2))
    x = block.argument(draw, (1, 2, width), np.dtype("float32"), tame=True)
    y = block.argument(draw, (2, 2, 3), np.dtype("float32"), tame=True)
    text = f"lax.conv_general_dilated({x.name}, {y.name}, ({stride},), 'SAME')"
    bound = 6 * x.bound * y.bound
    return block.add(text, (1, 2, -(-width // stride)), x.dtype, bound, 6 * x.epsilon * bound)


def window_patches(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.reduce_window` with a product of integers: the elements of each window side by side."""
    x = choose_or_add(draw, block, lambda v: v.dtype == INT32 and len(v.shape) == 2 and v.size > 1, (2, 3), "int32")
    if x is None:
        return None
    text = f"lax.reduce_window({x.name}, np.int32(1), lax.mul, (1, 2), (1, 1), 'SAME')"
    return block.add(text, x.shape, INT32, math.inf)


def largest_of_all(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.top_k`, or `lax.approx_max_k` of floats, along the last axis of exact values."""
    x = choose(draw, block, lambda v: len(v.shape) > 0 and v.is_exact and v.dtype != BOOL and v.shape[-1] > 0)
    if x is None:
        return None
    k = draw(st.integers(1, x.shape[-1]))
    function = draw_from(draw, ["lax.top_k", "lax.approx_max_k"]) if x.is_float else "lax.top_k"
    return block.add(f"{function}({x.name}, {k})[0]", (*x.shape[:-1], k), x.dtype, x.bound, x.error)


def scattering(draw: st.DrawFn, block: Block) -> Value | None:
    """`x.at[i].subtract(y)`, `multiply` of integers."""
    x = choose_or_add(draw, block, lambda v: len(v.shape) > 0 and 0 not in v.shape and v.is_int, (4,), "int32")
    if x is None:
        return None
    y = choose_or_add(draw, block, lambda v: v.dtype == x.dtype and v.shape == x.shape[1:], x.shape[1:], x.dtype.name)
    if y is None:
        return None
    if draw(st.booleans()):
        start = ", ".join([str(draw(st.integers(-1, 3))), *["0"] * (len(x.shape) - 1)])
        return block.add(f"lax.dynamic_update_slice({x.name}, {x.name}[:1], ({start},))", x.shape, x.dtype, math.inf)
    text = draw_from(draw, [
        "multiply({})", "subtract({})", "multiply({}, unique_indices=True)", "min({})", "max({})"]).format(y.name)
    return block.add(f"{x.name}.at[{draw(st.integers(-7, 7))}].{text}", x.shape, x.dtype, math.inf)
