"""Cutting a block out of an array, and its transpose, padding: slice and pad, at positions known while tracing."""
from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.kinds import Expr, Index, IndexMap, IntLike, Kind, all_of, as_expr, where
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import is_undefined_primal
from tinytrace.primitives.arithmetic import sub
from tinytrace.primitives.broadcasting import broadcast, broadcast_in_dim, reduce_sum, squeeze
from tinytrace.primitives.checks import check_shapelike, inserted
from tinytrace.primitives.duals import instantiate
from tinytrace.primitives.elementwise import const_like, zero_like
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import NDArray, Rearrangement

Ints: TypeAlias = tuple[int, ...]
PaddingConfig: TypeAlias = Sequence[tuple[int, int, int]]


def slice(operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int],
          strides: Sequence[int] | None = None) -> Any:
    """Take the elements from `start_indices` up to `limit_indices`, every `strides`-th of them.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.slice.html.
    """
    return slice_p.bind(operand, start_indices=tuple(start_indices), limit_indices=tuple(limit_indices),
                        strides=None if strides is None else tuple(strides))


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1,
                 axis: int = 0) -> Any:
    """Slice along `axis` only; negative indices count from the end, None is the end.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.slice_in_dim.html.
    """
    return slice_p.bind(operand, **window_in_dim(operand, start_index, limit_index, stride, axis))


def window_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1,
                  axis: int = 0) -> dict[str, Ints]:
    """Return the parameters of the slice that `slice_in_dim` takes."""
    shape, axis = np.shape(operand), int(axis)
    size = shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = size if limit_index is None else operator.index(limit_index)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = start + size if start < 0 else start
    limits[axis] = limit + size if limit < 0 else limit
    strides[axis] = operator.index(stride)
    return {"start_indices": tuple(starts), "limit_indices": tuple(limits), "strides": tuple(strides)}


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """Take position `index` of `axis`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.index_in_dim.html.
    """
    index, axis = operator.index(index), int(axis)
    size = np.shape(operand)[axis]
    position = index + size if index < 0 else index
    if not 0 <= position < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    result = slice_in_dim(operand, position, position + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


def pad(operand: Any, padding_value: Any, padding_config: PaddingConfig) -> Any:
    """Put `padding_value` before, after and between the elements: (low, high, interior) for each dimension.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.pad.html.
    """
    return pad_p.bind(operand, padding_value, padding_config=tuple(padding_config))


# --- rooms -----------------------------------------------------------------------------------------------------

class Slice(Rearrangement):
    """`slice[limit_indices=(4,) start_indices=(1,) strides=None] x: f32[n]` is f32[3]."""

    name = "slice"

    def abstract_eval(self, x: ShapedArray, *, start_indices: Ints, limit_indices: Ints,
                      strides: Ints | None) -> ShapedArray:
        check_shapelike("slice", "start_indices", start_indices)
        check_shapelike("slice", "limit_indices", limit_indices)
        if x.ndim != len(start_indices):
            raise TypeError("slice start_indices must have length equal to the number of dimensions of the operand, "
                            f"got indices {start_indices} for operand shape {x.shape}.")
        if len(start_indices) != len(limit_indices):
            raise TypeError("slice limit_indices must have the same length as start_indices, "
                            f"got start_indices {start_indices} and limit_indices {limit_indices}.")
        if not all(map(operator.ge, x.shape, limit_indices)):
            raise TypeError("slice limit_indices must be less than or equal to operand shape, "
                            f"got limit_indices {limit_indices} for operand shape {x.shape}.")
        if not all(map(operator.ge, limit_indices, start_indices)):
            raise TypeError("slice limit_indices must be greater than or equal to start_indices, "
                            f"got start_indices {start_indices} and limit_indices {limit_indices}.")
        sizes = tuple(map(operator.sub, limit_indices, start_indices))
        if strides is None or strides == (1,) * x.ndim:
            return x.update(shape=sizes)
        check_shapelike("slice", "strides", strides)
        if len(strides) != x.ndim:
            raise TypeError("slice strides must have length equal to the number of dimensions of the operand, "
                            f"got strides {strides} for operand shape {x.shape}.")
        if 0 in strides:
            raise TypeError(f"slice strides must be positive, got {strides}")
        return x.update(shape=tuple(-(-size // stride) for size, stride in zip(sizes, strides, strict=True)))

    def impl(self, x: NDArray, *, start_indices: Ints, limit_indices: Ints, strides: Ints | None) -> NDArray:
        steps = strides or (1,) * x.ndim
        return x[tuple(builtins.slice(*window) for window in zip(start_indices, limit_indices, steps, strict=True))]

    def transpose(self, ct: Any, x: Any, *, start_indices: Ints, limit_indices: Ints,
                  strides: Ints | None) -> Sequence[Any]:
        shape = x.aval.shape
        steps = strides or (1,) * len(shape)
        ends = limit_indices
        if any(step != 1 for step in steps):  # where the elements taken end, which may be before the limit
            ends = tuple(start + (0 if size == 0 else 1 + (size - 1) * step)
                         for start, size, step in zip(start_indices, np.shape(ct), steps, strict=True))
        config = [(start, size - end, step - 1)
                  for start, size, end, step in zip(start_indices, shape, ends, steps, strict=True)]
        return [pad(ct, const_like(ct, 0), config)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, start_indices: Ints, limit_indices: Ints,
              strides: Ints | None) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return slice(x, inserted(start_indices, dim, 0), inserted(limit_indices, dim, np.shape(x)[dim]),
                     None if strides is None else inserted(strides, dim, 1)), dim

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, start_indices: Ints,
              limit_indices: Ints, strides: Ints | None) -> Kind:
        steps = strides or (1,) * in_avals[0].ndim
        return IndexMap(lambda i, read: read(0, tuple(
            k * step + start for k, step, start in zip(i, steps, start_indices, strict=True))))


class Pad(Primitive):
    """`pad[padding_config=((1, 2, 0),)] x: f32[n] value: f32[]` is f32[n+3]; negative low or high cuts off."""

    name = "pad"

    def abstract_eval(self, x: ShapedArray, value: ShapedArray, *, padding_config: PaddingConfig) -> ShapedArray:
        if len(padding_config) != x.ndim:
            raise ValueError("length of padding_config must equal the number of axes of operand, got padding_config "
                             f"{padding_config} for operand shape {x.shape}")
        if not all(interior >= 0 for _, _, interior in padding_config):
            raise ValueError("interior padding in padding_config must be nonnegative, "
                             f"got padding_config {padding_config}")
        shape = tuple(low + high + dilated(size, interior)
                      for size, (low, high, interior) in zip(x.shape, padding_config, strict=True))
        if not all(size >= 0 for size in shape):
            raise ValueError(f"Dimension size after padding is not at least 0, got result shape {shape}, for "
                             f"padding_config {padding_config} and operand shape {x.shape}")
        if x.dtype != value.dtype:
            raise TypeError("pad operand and padding_value must be same dtype: "
                            f"got {x.dtype.name} and {value.dtype.name}.")
        return ShapedArray(shape, x.dtype, x.weak_type and value.weak_type)

    def impl(self, x: NDArray, value: NDArray, *, padding_config: PaddingConfig) -> NDArray:
        shape = [low + high + dilated(size, interior)
                 for size, (low, high, interior) in zip(x.shape, padding_config, strict=True)]
        out = np.full(shape, value, x.dtype)
        taken, places = [], []
        for size, out_size, (low, _, interior) in zip(x.shape, shape, padding_config, strict=True):
            step = interior + 1
            first = max(0, -(low // step))  # the first and one past the last element that land inside
            last = max(first, min(size, -((low - out_size) // step)))
            taken.append(builtins.slice(first, last))
            places.append(builtins.slice(low + first * step, low + last * step, step) if last > first
                          else builtins.slice(0, 0))
        out[tuple(places)] = x[tuple(taken)]
        return out

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, padding_config: PaddingConfig) -> tuple[Any, Any]:
        return (pad_p.bind(*primals, padding_config=padding_config),
                pad_p.bind(*map(instantiate, tangents), padding_config=padding_config))

    def transpose(self, ct: Any, x: Any, value: Any, *, padding_config: PaddingConfig) -> Sequence[Any]:
        unpadded = pad(ct, np.array(0, ct.dtype)[()], tuple((-low, -high, 0) for low, high, _ in padding_config))
        ct_x = slice(unpadded, (0,) * unpadded.ndim, unpadded.shape, tuple(c + 1 for _, _, c in padding_config))
        if not is_undefined_primal(value):
            return [ct_x, None]
        axes = tuple(range(ct.ndim))
        return [ct_x if is_undefined_primal(x) else None, sub(reduce_sum(ct, axes), reduce_sum(ct_x, axes))]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *,
              padding_config: PaddingConfig) -> tuple[Any, Any]:
        (x, value), (dim, value_dim) = args, dims
        if dim is None:
            x, dim = broadcast(x, (np.shape(value)[value_dim],)), 0
        config = inserted(tuple(padding_config), dim, (0, 0, 0))
        if value_dim is None:
            return pad(x, value, config), dim
        padded = pad(x, zero_like(x), config)
        is_operand = pad(broadcast(np.bool_(True), np.shape(x)), np.bool_(False), config)
        return select(is_operand, padded, broadcast_in_dim(value, np.shape(padded), (dim,))), dim

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              padding_config: PaddingConfig) -> Kind:
        shape = in_avals[0].shape

        def element(i: Index, read: Any) -> Expr:
            guards: list[Expr] = []
            position: list[IntLike] = []
            for k, size, (low, high, interior) in zip(i, shape, padding_config, strict=True):
                j, step = k - low, interior + 1
                if low > 0:
                    guards.append(j >= 0)
                if high > 0:
                    guards.append(j < dilated(size, interior))
                if step > 1:
                    guards.append((j % step).equals(0))
                position.append(j // step)
            inside = all_of(guards) if 0 not in shape else as_expr(0)
            return where(inside, read(0, position), read(1, ()))

        return IndexMap(element)


slice_p = Slice()
pad_p = Pad()


def dilated(size: int, interior: int) -> int:
    """Return how many places `size` elements take with `interior` places between any two.

    >>> dilated(3, 2)
    7
    """
    return 0 if size == 0 else size + (size - 1) * interior
