"""Where the largest or smallest element lies: argmax and argmin."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import canonicalize_dtype, is_complex, is_integer
from tinytrace.core.primitive import refuse
from tinytrace.core.tangents import Zero
from tinytrace.primitives.broadcasting import OverAxes
from tinytrace.primitives.checks import without
from tinytrace.primitives.shaping import NDArray


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the largest element along `axis`: the first of equals, and the first NaN before all.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.argmax.html.

    >>> argmax(np.float32([1, 3, 2, 3]), 0, np.int32)
    Array(1, dtype=int32)
    """
    return argmax_p.bind(operand, axes=(axis,), index_dtype=canonicalize_dtype(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the position of the smallest element along `axis`: the first of equals, and the first NaN before all.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.argmin.html.

    >>> argmin(np.float32([2, np.nan, 1]), 0, np.int32)
    Array(1, dtype=int32)
    """
    return argmin_p.bind(operand, axes=(axis,), index_dtype=canonicalize_dtype(index_dtype))


class ArgReducer(OverAxes):
    """`argmax[axes=(0,) index_dtype=int32] x: f32[n]` is i32[]: a reduction along one axis to a position on it."""

    def __init__(self, combine: str, numpy: Callable[..., Any]) -> None:
        self.combine, self.numpy = combine, numpy
        super().__init__(combine)

    def abstract_eval(self, x: ShapedArray, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> ShapedArray:
        axis, = axes
        if is_complex(x.dtype):
            compare = "gt" if self.combine == "argmax" else "lt"
            raise TypeError(f"{compare} does not accept dtype {x.dtype.name} at position 0. Accepted dtypes at "
                            "position 0 are subtypes of integer, bool, floating.")
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if x.shape[axis] < 1:
            raise ValueError("argmin and argmax require non-empty reduced dimension. "
                             f"operand.shape={x.shape} axis={axis}")
        if not is_integer(index_dtype):
            raise TypeError(f"index_dtype must be an integer type, but got {index_dtype.name}")
        return ShapedArray(without(x.shape, axes), index_dtype)

    def impl(self, x: NDArray, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> NDArray:
        return np.asarray(self.numpy(x, axes[0])).astype(index_dtype)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = self.bind(*primals, **params)
        return out, Zero.from_primal_value(out)

    transpose = refuse("a position is not linear in the elements")


argmax_p = ArgReducer("argmax", np.argmax)
argmin_p = ArgReducer("argmin", np.argmin)
