"""What the steps share: choosing operands that fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from tinytrace.testing.random_programs import Block, draw_from
from tinytrace.testing.values import Shape, Value

MAX_SIZE = 4096
"""No value of a random program has more elements."""


def choose(draw: st.DrawFn, block: Block, fits: Callable[[Value], bool]) -> Value | None:
    """One of the values at hand that fits, the newest first when shrinking."""
    fitting = [value for value in reversed(block.values) if fits(value)]
    return draw_from(draw, fitting) if fitting else None


def choose_or_add(draw: st.DrawFn, block: Block, fits: Callable[[Value], bool], shape: Shape, dtype: str
                  ) -> Value | None:
    """One of the values at hand that fits, or else a new tame argument of the program, where there may be one."""
    found = choose(draw, block, fits)
    return block.argument(draw, shape, np.dtype(dtype), tame=True) if found is None and not block.depth else found


def can_round(block: Block, value: Value) -> bool:
    """Whether a step with rounding may follow."""
    return value.is_tame and not block.exact_only


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


def same(block: Block, x: Value, text: str, shape: Shape) -> Value:
    """Appends a step whose elements are elements of `x`, or zero."""
    return block.add(text, shape, x.dtype, x.bound, x.error)


