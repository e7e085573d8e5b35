"""The steps that random programs are made of, one function for each family of operations.

A step looks at the values at hand, draws operands and parameters that fit, and appends its line together with what is
known of the result: type, bound and error. Where nothing fits it answers None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from tinytrace.testing.programs import Block, Step, draw_steps
from tinytrace.testing.values import BOOL, INT32, LARGE, TAME, Shape, Value

MAX_SIZE = 4096


def choose(draw: st.DrawFn, block: Block, fits: Callable[[Value], bool]) -> Value | None:
    """One of the values at hand that fits, the newest first when shrinking."""
    fitting = [value for value in reversed(block.values) if fits(value)]
    return draw(st.sampled_from(fitting)) if fitting else None


def can_round(block: Block, value: Value) -> bool:
    """Whether a step with rounding may follow."""
    return value.is_tame and not block.exact_only


# --- elementwise -------------------------------------------------------------------------------------------------


def exact_unary(draw: st.DrawFn, block: Block) -> Value | None:
    """Functions of one argument that are computed without rounding, or rounded the same way by everyone."""
    x = choose(draw, block, lambda v: v.dtype != BOOL)
    if x is None:
        return None
    if x.dtype.kind == "u":
        return block.add(draw(st.sampled_from(["~{}", "jnp.sign({})"])).format(x.name), x.shape, x.dtype, math.inf)
    texts = ["-{}", "abs({})", "jnp.sign({})"] if x.is_exact else ["-{}", "abs({})"]
    texts += ["~{}"] if x.is_int else ["jnp.floor({})", "jnp.ceil({})", "jnp.sqrt({})"] if x.is_exact else []
    text = draw(st.sampled_from(texts)).format(x.name)
    bound = x.bound if x.is_int else max(x.bound + 1, 1.0)
    return block.add(text, x.shape, x.dtype, bound, x.error)


def rounding_unary(draw: st.DrawFn, block: Block) -> Value | None:
    """Smooth functions that every implementation rounds in its own way, with slopes of at most 1."""
    x = choose(draw, block, lambda v: can_round(block, v))
    if x is None:
        return None
    name = draw(st.sampled_from(["jnp.sin", "jnp.cos", "jnp.tanh", "lax.logistic", "exp"]))
    error = x.error + x.epsilon * max(1.0, x.bound)
    if name == "exp":
        text = f"jnp.exp(jnp.minimum({x.name}, 2))"
        return block.add(text, x.shape, x.dtype, 8.0, 8 * error)
    return block.add(f"{name}({x.name})", x.shape, x.dtype, 1.5, error)


def not_(draw: st.DrawFn, block: Block) -> Value | None:
    """Negation of truth values."""
    x = choose(draw, block, lambda v: v.dtype == BOOL)
    return x and block.add(f"~{x.name}", x.shape, BOOL, 1.0)


def pair(draw: st.DrawFn, block: Block, fits: Callable[[Value], bool]) -> tuple[Value, Value, Shape] | None:
    """Two values of one dtype whose shapes broadcast, and the shape that they broadcast to."""
    x = choose(draw, block, fits)
    if x is None:
        return None
    y = choose(draw, block, lambda v: fits(v) and v.dtype == x.dtype and broadcast(x.shape, v.shape) is not None)
    assert y is not None  # x itself fits
    shape = broadcast(x.shape, y.shape)
    assert shape is not None
    return x, y, shape


def broadcast(x: Shape, y: Shape) -> Shape | None:
    """The shape that two shapes broadcast to, None if they do not."""
    try:
        return np.broadcast_shapes(x, y)
    except ValueError:
        return None


def arithmetic(draw: st.DrawFn, block: Block) -> Value | None:
    """`+ - *`, also with a Python number."""
    operands = pair(draw, block, lambda v: v.dtype != BOOL)
    if operands is None:
        return None
    x, y, shape = operands
    if draw(st.booleans()):
        number = draw(st.sampled_from([0, 1, 2, 7] if x.is_int else [0.0, 1.0, 0.5, -2.0]))
        y = Value(repr(number), (), x.dtype, abs(float(number)))
        shape = x.shape
    operator = draw(st.sampled_from(["+", "-", "*"]))
    bound = x.bound * y.bound if operator == "*" else x.bound + y.bound
    error = x.error * (y.bound + y.error) + y.error * x.bound if operator == "*" else x.error + y.error
    if x.is_int:
        return block.add(f"{x.name} {operator} {y.name}", shape, x.dtype, math.inf)
    if x.is_exact and y.is_exact and not block.contraction:
        return block.add(f"{x.name} {operator} {y.name}", shape, x.dtype, math.inf if math.isnan(bound) else bound)
    if bound > LARGE or block.exact_only:
        return None
    return block.add(f"{x.name} {operator} {y.name}", shape, x.dtype, bound, error + x.epsilon * bound)


def division(draw: st.DrawFn, block: Block) -> Value | None:
    """Division of exact values: by zero too, and for integers the smallest one by -1."""
    operands = pair(draw, block, lambda v: v.dtype != BOOL and v.is_exact)
    if operands is None:
        return None
    x, y, shape = operands
    if x.is_float:
        return block.add(f"{x.name} / {y.name}", shape, x.dtype, math.inf)
    if x.shape == y.shape:
        name = draw(st.sampled_from(["lax.div", "lax.rem", "jnp.floor_divide", "jnp.remainder"]))
    else:
        name = draw(st.sampled_from(["jnp.floor_divide", "jnp.remainder"]))
    return block.add(f"{name}({x.name}, {y.name})", shape, x.dtype, math.inf)


def extremum(draw: st.DrawFn, block: Block) -> Value | None:
    """`maximum` and `minimum`, and `clip` between two numbers."""
    operands = pair(draw, block, lambda v: v.dtype != BOOL)
    if operands is None:
        return None
    x, y, shape = operands
    if x.is_float and draw(st.booleans()):
        return block.add(f"jnp.clip({x.name}, {-TAME}, {TAME})", x.shape, x.dtype, TAME, x.error)
    name = draw(st.sampled_from(["jnp.maximum", "jnp.minimum"]))
    error = max(x.error, y.error)
    return block.add(f"{name}({x.name}, {y.name})", shape, x.dtype, max(x.bound, y.bound), error)


def bitwise(draw: st.DrawFn, block: Block) -> Value | None:
    """`& | ^` and shifts, by too many bits too."""
    operands = pair(draw, block, lambda v: not v.is_float)
    if operands is None:
        return None
    x, y, shape = operands
    if x.is_int and x.shape == y.shape and draw(st.booleans()):
        shift = draw(st.sampled_from(["shift_left", "shift_right_logical", "shift_right_arithmetic"]))
        return block.add(f"lax.{shift}({x.name}, {y.name})", shape, x.dtype, math.inf)
    return block.add(f"{x.name} {draw(st.sampled_from('&|^'))} {y.name}", shape, x.dtype, math.inf)


def comparison(draw: st.DrawFn, block: Block) -> Value | None:
    """`< <= == != >= >` of exact values."""
    operands = pair(draw, block, lambda v: v.is_exact)
    if operands is None:
        return None
    x, y, shape = operands
    operator = draw(st.sampled_from(["<", "<=", "==", "!=", ">=", ">"]))
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
    dtype = np.dtype(draw(st.sampled_from(["float32", "int32", "bool", "uint8", "int8"])))
    return block.add(f"{x.name}.astype('{dtype.name}')", x.shape, dtype, math.inf)


# --- shapes ------------------------------------------------------------------------------------------------------


def same(block: Block, x: Value, text: str, shape: Shape) -> Value:
    """Appends a step whose elements are elements of `x`, or zero."""
    return block.add(text, shape, x.dtype, x.bound, x.error)


def reshaping(draw: st.DrawFn, block: Block) -> Value | None:
    """`reshape`, `transpose`, `expand_dims`, `squeeze`, `broadcast_to`, `flip`."""
    x = choose(draw, block, lambda v: True)
    assert x is not None
    rank = len(x.shape)
    kind = draw(st.sampled_from(["ravel", "transpose", "expand", "squeeze", "broadcast", "flip"]))
    if kind == "ravel":
        shape = draw(st.sampled_from([(x.size,), (1, x.size), (x.size, 1)]))
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
    starts = [draw(st.integers(0, side)) for side in x.shape]
    limits = [draw(st.integers(start, side)) for start, side in zip(starts, x.shape, strict=True)]
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


# --- reductions --------------------------------------------------------------------------------------------------


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
    return block.add(f"jnp.{draw(st.sampled_from(['sum', 'prod']))}({x.name}{axes})", shape, dtype, math.inf)


def largest(draw: st.DrawFn, block: Block) -> Value | None:
    """`max` and `min` over axes; of floats, either zero may stand for both."""
    x = choose(draw, block, lambda v: v.size > 0 and (v.is_int or (v.is_float and not block.exact_only)))
    if x is None:
        return None
    axes, shape, _ = reduced(draw, x)
    text = f"jnp.{draw(st.sampled_from(['max', 'min']))}({x.name}{axes})"
    error = max(x.error, np.finfo(x.dtype).tiny) if x.is_float else 0.0
    return block.add(text, shape, x.dtype, x.bound, float(error))


def truth(draw: st.DrawFn, block: Block) -> Value | None:
    """`any` and `all`."""
    x = choose(draw, block, lambda v: v.dtype == BOOL)
    if x is None:
        return None
    axes, shape, _ = reduced(draw, x)
    return block.add(f"jnp.{draw(st.sampled_from(['any', 'all']))}({x.name}{axes})", shape, BOOL, 1.0)


def position(draw: st.DrawFn, block: Block) -> Value | None:
    """`argmax` and `argmin` along one axis of exact values."""
    x = choose(draw, block, lambda v: v.is_exact and v.dtype != BOOL and len(v.shape) > 0 and 0 not in v.shape)
    if x is None:
        return None
    axis = draw(st.integers(0, len(x.shape) - 1))
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    name = draw(st.sampled_from(["argmax", "argmin"]))
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


# --- control flow ------------------------------------------------------------------------------------------------


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
    """`lax.cond` on an exact scalar."""
    condition = choose(draw, block, lambda v: v.dtype == BOOL and v.shape == ())
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


PLAIN_STEPS: list[Step] = [
    exact_unary, rounding_unary, not_, arithmetic, division, extremum, bitwise, comparison, selection, conversion,
    reshaping, slicing, joining, padding, counting, summation, largest, truth, position, contraction,
]  # fmt: skip
LOOP_STEPS: list[Step] = [
    exact_unary, arithmetic, extremum, bitwise, comparison, selection, reshaping, slicing, largest,
]  # fmt: skip
CONTROL_STEPS: list[Step] = [branching, counted_loop, while_loop, scanning]
ALL_STEPS: list[Step] = [*PLAIN_STEPS, *CONTROL_STEPS]

