"""Checks that several rooms share: axes, shapes and dtypes of operands, with JAX's words."""
from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray
from tinytrace.core.trace import Tracer

_NUMPY_NAMES = {"abs": "fabs", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
                "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "div": "divide", "eq": "equal",
                "max": "maximum", "min": "minimum", "mul": "multiply", "ne": "not_equal", "neg": "negative",
                "pow": "float_power", "select": "where", "shift_left": "left_shift", "sub": "subtract",
                "shift_right_logical": "right_shift", "shift_right_arithmetic": "right_shift"}
_SAME_NAMES = frozenset([
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "concatenate", "cos", "cosh", "exp", "expm1",
    "floor", "log", "log1p", "nextafter", "round", "sign", "sin", "sinh", "sqrt", "tan", "tanh"])


def is_array(x: Any) -> bool:
    """Is `x` an Array or a tracer, so that a function that changes nothing may return it as it is?"""
    return isinstance(x, (Array, Tracer))


def canonicalize_axis(axis: Any, ndim: int) -> int:
    """Return `axis` counted from the front; raises ValueError when an array of `ndim` dimensions has no such axis.

    >>> canonicalize_axis(-1, 3)
    2
    """
    position: int = operator.index(axis)
    if not -ndim <= position < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return position + ndim if position < 0 else position


def remaining(ndim: int, *removed: Iterable[int]) -> tuple[int, ...]:
    """Return the axes of an array of `ndim` dimensions that are in none of `removed`.

    >>> remaining(4, (0,), (2,))
    (1, 3)
    """
    gone = frozenset(axis for axes in removed for axis in axes)
    return tuple(axis for axis in range(ndim) if axis not in gone)


def without(items: Sequence[Any], axes: Iterable[int]) -> tuple[Any, ...]:
    """Return `items` (a shape, say) without those at `axes`."""
    return tuple(items[i] for i in remaining(len(items), axes))


def inserted(items: Sequence[Any], position: int, item: Any) -> tuple[Any, ...]:
    """Return `items` with `item` put in at `position`."""
    return (*items[:position], item, *items[position:])


def shifted(axes: Iterable[int], batch_dim: int) -> tuple[int, ...]:
    """Return where `axes` lie once a batch dimension stands at `batch_dim`.

    >>> shifted((0, 1, 2), 1)
    (0, 2, 3)
    """
    return tuple(axis + (axis >= batch_dim) for axis in axes)


def check_shapelike(function: str, argument: str, sizes: Any, positive: bool = False) -> None:
    """Raise TypeError unless `sizes` is a sequence of non-negative (or positive) integers."""
    if not isinstance(sizes, (tuple, list, np.ndarray)):
        raise TypeError(f"{function} {argument} must be of type tuple/list/ndarray, got {type(sizes)}.")
    if any(not hasattr(size, "__index__") for size in sizes):
        raise TypeError(f"{function} {argument} must have every element be an integer type, got "
                        f"{tuple(map(type, sizes))}.")
    if any(size < positive for size in sizes):
        bound = "strictly positive" if positive else "nonnegative"
        raise TypeError(f"{function} {argument} must have every element be {bound}, got {sizes}.")


def check_same_dtypes(name: str, *avals: ShapedArray) -> None:
    """Raise TypeError unless all operands of `name` have one dtype; tells of the numpy function that promotes."""
    if any(aval.dtype != avals[0].dtype for aval in avals[1:]):
        tip = _NUMPY_NAMES.get(name, name if name in _SAME_NAMES else None)
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {', '.join(a.dtype.name for a in avals)}."
            + (f" (Tip: jnp.{tip} is a similar function that does automatic type promotion on inputs)." if tip else ""))
