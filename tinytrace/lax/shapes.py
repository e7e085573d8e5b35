"""Shapes as values: what several shapes broadcast to, what is left of one by windows."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import VaryingSize, canonicalize_shape
from tinytrace.core.dtypes import dtype_of
from tinytrace.core.numpy_calls import broadcast_shape


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that arrays of `shapes` have after broadcasting.

    Raises: ValueError when sizes disagree.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.broadcast_shapes.html.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    result = broadcast_shape(*shapes)
    if any(size not in (1, common) for shape in shapes
           for size, common in zip(shape[::-1], result[::-1], strict=False)):
        shapes = tuple(map(_non_negative, shapes))
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={[tuple(shape) for shape in shapes]}")
    if all(isinstance(size, VaryingSize) or (type(size) is int and size >= 0) for size in result):
        return result
    return broadcast_shapes(*map(_non_negative, shapes))


def _non_negative(shape: Sequence[int]) -> tuple[int, ...]:
    sizes = canonicalize_shape(shape)
    if any(size < 0 for size in sizes):
        raise TypeError("Only non-negative indices are allowed when broadcasting static shapes, but got shape "
                        f"{sizes}.")
    return sizes


def reduce_window_shape_tuple(operand_shape: Sequence[int], window_dimensions: Sequence[int],
                              window_strides: Sequence[int], padding: Sequence[tuple[int, int]],
                              base_dilation: Sequence[int] | None = None,
                              window_dilation: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the shape of the result of `reduce_window` with these parameters.

    >>> reduce_window_shape_tuple((10, 10), (3, 3), (2, 2), [(1, 1), (0, 0)])
    (5, 4)
    """
    if base_dilation is not None:
        operand_shape = _dilated(operand_shape, base_dilation)
    if window_dilation is not None:
        window_dimensions = _dilated(window_dimensions, window_dilation)
    padded = [n + low + high for n, (low, high) in zip(operand_shape, padding, strict=True)]
    return tuple(max((n - window) // stride + 1, 0) if n >= window else 0
                 for n, window, stride in zip(padded, window_dimensions, window_strides, strict=True))


def _dilated(shape: Sequence[int], dilation: Sequence[int]) -> list[int]:
    return [n and (n - 1) * step + 1 for n, step in zip(shape, dilation, strict=True)]


def dtype(x: Any) -> np.dtype[Any]:
    """Return the dtype of an array of `x`, a value or a dtype; of NumPy's classes of scalars the dtype that they name.

    >>> dtype(1.0)
    dtype('float32')
    """
    return np.dtype(x) if isinstance(x, type) and issubclass(x, np.generic) else dtype_of(x)
