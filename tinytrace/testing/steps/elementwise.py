"""Elementwise steps: arithmetic, comparison, selection, conversion, smooth functions."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from tinytrace.testing.random_programs import Block, draw_from
from tinytrace.testing.steps.choice import broadcast, can_round, choose, choose_or_add, pair
from tinytrace.testing.values import BOOL, FLOAT32, LARGE, TAME, Value


def exact_unary(draw: st.DrawFn, block: Block) -> Value | None:
    """Functions of one argument that are computed without rounding, or rounded the same way by everyone."""
    x = choose(draw, block, lambda v: v.dtype != BOOL)
    if x is None:
        return None
    if x.dtype.kind == "u":
        return block.add(draw_from(draw, ["~{}", "jnp.sign({})"]).format(x.name), x.shape, x.dtype, math.inf)
    texts = ["-{}", "abs({})", "jnp.sign({})"] if x.is_exact else ["-{}", "abs({})"]
    texts += ["~{}"] if x.is_int else ["jnp.floor({})", "jnp.ceil({})", "jnp.sqrt({})"] if x.is_exact else []
    text = draw_from(draw, texts).format(x.name)
    bound = x.bound if x.is_int else max(x.bound + 1, 1.0)
    return block.add(text, x.shape, x.dtype, bound, x.error)


def rounding_unary(draw: st.DrawFn, block: Block) -> Value | None:
    """Smooth functions that every implementation rounds in its own way, with slopes of at most 1."""
    x = choose(draw, block, lambda v: can_round(block, v))
    if x is None:
        return None
    name = draw_from(draw, ["jnp.sin", "jnp.cos", "jnp.tanh", "lax.logistic", "exp"])
    error = x.error + x.epsilon * max(1.0, x.bound)
    if name == "exp":
        text = f"jnp.exp(jnp.minimum({x.name}, 2))"
        return block.add(text, x.shape, x.dtype, 8.0, 8 * error)
    return block.add(f"{name}({x.name})", x.shape, x.dtype, 1.5, error)


def not_(draw: st.DrawFn, block: Block) -> Value | None:
    """Negation of truth values."""
    x = choose(draw, block, lambda v: v.dtype == BOOL)
    return x and block.add(f"~{x.name}", x.shape, BOOL, 1.0)


def arithmetic(draw: st.DrawFn, block: Block) -> Value | None:
    """`+ - *`, also with a Python number."""
    operands = pair(draw, block, lambda v: v.dtype != BOOL)
    if operands is None:
        return None
    x, y, shape = operands
    if draw(st.booleans()):
        number = draw_from(draw, [0, 1, 2, 7] if x.is_int else [0.0, 1.0, 0.5, -2.0, 1.4142135, 0.1234567])
        y = Value(repr(number), (), x.dtype, abs(float(number)))
        shape = x.shape
    operator = draw_from(draw, ["+", "-", "*"])
    bound = x.bound * y.bound if operator == "*" else x.bound + y.bound
    error = x.error * (y.bound + y.error) + y.error * x.bound if operator == "*" else x.error + y.error
    if x.is_int:
        return block.add(f"{x.name} {operator} {y.name}", shape, x.dtype, math.inf)
    if x.is_exact and y.is_exact and not block.contraction:
        return block.add(f"{x.name} {operator} {y.name}", shape, x.dtype, math.inf if math.isnan(bound) else bound)
    if bound > LARGE or block.exact_only:
        return None
    return block.add(f"{x.name} {operator} {y.name}", shape, x.dtype, bound, error + x.epsilon * bound)


def product_and_sum(draw: st.DrawFn, block: Block) -> Value | None:
    """A product and what is added to it or taken from it, which compiled programs may compute with one rounding."""
    x = choose_or_add(draw, block, lambda v: v.dtype == FLOAT32 and can_round(block, v), (3,), "float32")
    if x is None:
        return None
    text = draw_from(draw, ["{0} * {0} + {0}", "{0} * {0} - {0}", "{0} - {0} * {0}"]).format(x.name)
    bound = x.bound * x.bound + x.bound
    return block.add(text, x.shape, x.dtype, bound, x.error * (2 * x.bound + x.error + 1) + 2 * x.epsilon * bound)


def with_number(draw: st.DrawFn, block: Block) -> Value | None:
    """A float and a number that changes little: zeros, one, minus one; and a choice between the two, NaN among them."""
    x = choose(draw, block, lambda v: v.is_float and v.is_exact)
    if x is None:
        return None
    text = draw_from(draw, WITH_NUMBER).format(x.name)
    return block.add(text, x.shape, x.dtype, math.inf if "/" in text else max(x.bound, 2.0))


WITH_NUMBER = [
    "{0} + 0.0", "{0} * 0.0", "{0} * jnp.zeros_like({0})", "{0} - 0.0", "0.0 - {0}", "{0} * 1.0", "{0} / 1.0",
    "{0} * -1.0", "jnp.where({0} > 0, 1.4142135, {0})", "jnp.where({0} > 0, {0}, -0.0)",
    "jnp.where({0} < 1e-3, {0}, 1e-3)", "jnp.maximum({0}, 0.1234567)", "jnp.where({0} < 0, jnp.nan, {0})",
]  # fmt: skip


def power(draw: st.DrawFn, block: Block) -> Value | None:
    """A small integer power."""
    x = choose(draw, block, lambda v: v.is_int or can_round(block, v))
    if x is None:
        return None
    n = draw(st.integers(0, 4))
    bound = max(x.bound, 1.0) ** n
    if x.is_int:
        return block.add(f"{x.name} ** {n}", x.shape, x.dtype, math.inf)
    if bound > LARGE:
        return None
    error = n * bound * (x.error + x.epsilon)
    return block.add(f"{x.name} ** {n}", x.shape, x.dtype, bound, error)


def division(draw: st.DrawFn, block: Block) -> Value | None:
    """Division of exact values: by zero too, and for integers the smallest one by -1."""
    operands = pair(draw, block, lambda v: v.dtype != BOOL and v.is_exact)
    if operands is None:
        return None
    x, y, shape = operands
    if x.is_float:
        return block.add(f"{x.name} / {y.name}", shape, x.dtype, math.inf)
    if x.shape == y.shape:
        name = draw_from(draw, ["lax.div", "lax.rem", "jnp.floor_divide", "jnp.remainder"])
    else:
        name = draw_from(draw, ["jnp.floor_divide", "jnp.remainder"])
    return block.add(f"{name}({x.name}, {y.name})", shape, x.dtype, math.inf)


def extremum(draw: st.DrawFn, block: Block) -> Value | None:
    """`maximum` and `minimum`, and `clip` between two numbers."""
    operands = pair(draw, block, lambda v: v.dtype != BOOL)
    if operands is None:
        return None
    x, y, shape = operands
    if x.is_float and draw(st.booleans()):
        return block.add(f"jnp.clip({x.name}, {-TAME}, {TAME})", x.shape, x.dtype, TAME, x.error)
    name = draw_from(draw, ["jnp.maximum", "jnp.minimum"])
    error = max(x.error, y.error)
    return block.add(f"{name}({x.name}, {y.name})", shape, x.dtype, max(x.bound, y.bound), error)


def bitwise(draw: st.DrawFn, block: Block) -> Value | None:
    """`& | ^` and shifts, by too many bits too."""
    operands = pair(draw, block, lambda v: not v.is_float)
    if operands is None:
        return None
    x, y, shape = operands
    if x.is_int and x.shape == y.shape and draw(st.booleans()):
        shift = draw_from(draw, ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
        return block.add(f"lax.{shift}({x.name}, {y.name})", shape, x.dtype, math.inf)
    return block.add(f"{x.name} {draw_from(draw, '&|^')} {y.name}", shape, x.dtype, math.inf)


def comparison(draw: st.DrawFn, block: Block) -> Value | None:
    """`< <= == != >= >` of exact values."""
    operands = pair(draw, block, lambda v: v.is_exact)
    if operands is None:
        return None
    x, y, shape = operands
    operator = draw_from(draw, ["<", "<=", "==", "!=", ">=", ">"])
    return block.add(f"{x.name} {operator} {y.name}", shape, BOOL, 1.0)


def selection(draw: st.DrawFn, block: Block) -> Value | None:
    """`where` with an exact condition."""
    operands = pair(draw, block, lambda v: True)
    if operands is None:
        return None
    x, y, shape = operands
    condition = choose(draw, block, lambda v: v.dtype == BOOL and broadcast(v.shape, shape) is not None)
    if condition is None:
        return None
    shape = broadcast(condition.shape, shape) or ()
    text = f"jnp.where({condition.name}, {x.name}, {y.name})"
    return block.add(text, shape, x.dtype, max(x.bound, y.bound), max(x.error, y.error))


def conversion(draw: st.DrawFn, block: Block) -> Value | None:
    """`astype` of exact values: saturating from float to int, wrapping between ints."""
    x = choose(draw, block, lambda v: v.is_exact)
    if x is None:
        return None
    dtype = np.dtype(draw_from(draw, ["float32", "int32", "bool", "uint8", "int8"]))
    return block.add(f"{x.name}.astype('{dtype.name}')", x.shape, dtype, math.inf)
