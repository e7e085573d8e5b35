"""Cutting out or overwriting a block at a position that is data: dynamic_slice and dynamic_update_slice.

A block always lies inside the array: starts are clamped, so that it is moved rather than cut.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.core.avals import ShapedArray, canonicalize_shape
from tinytrace.core.dtypes import dtype_of, is_integer, is_unsigned, is_weak
from tinytrace.core.kinds import Expr, Gather, Index, Kind, Scatter, clamp
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.arithmetic import add
from tinytrace.primitives.broadcasting import broadcast, broadcast_in_dim, expand_dims, squeeze
from tinytrace.primitives.checks import check_same_dtypes, without
from tinytrace.primitives.comparison import lt
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import full
from tinytrace.primitives.duals import instantiate
from tinytrace.primitives.elementwise import zero_like
from tinytrace.primitives.gathering import gather_p
from tinytrace.primitives.indexing import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from tinytrace.primitives.scattering import scatter_p
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import NDArray

Ints: TypeAlias = tuple[int, ...]


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Any) -> Any:
    """Cut out the block of `slice_sizes` that begins at `start_indices`, scalars that may be traced.

    Negative starts count from the end; a block that would reach over the end is moved inside.
    Raises: TypeError or ValueError when ranks or sizes do not fit.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.dynamic_slice.html.

    >>> dynamic_slice(np.float32([1, 2, 3, 4]), (3,), (2,))
    Array([3., 4.], dtype=float32)
    """
    return dynamic_slice_p.bind(operand, *_starts(operand, start_indices),
                                slice_sizes=canonicalize_shape(slice_sizes))


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """Cut out along `axis` only.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.dynamic_slice_in_dim.html.
    """
    sizes = list(np.shape(operand))
    sizes[int(axis)] = operator.index(slice_size)
    return dynamic_slice(operand, _start_along(operand, start_index, axis), sizes)


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """Take position `index` of `axis`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.dynamic_index_in_dim.html.
    """
    result = dynamic_slice_in_dim(operand, index, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """Return `operand` with the block that begins at `start_indices` replaced by `update`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.dynamic_update_slice.html.

    >>> dynamic_update_slice(np.float32([1, 2, 3, 4]), np.float32([8, 9]), (1,))
    Array([1., 8., 9., 4.], dtype=float32)
    """
    return dynamic_update_slice_p.bind(operand, update, *_starts(operand, start_indices))


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """Replace a block along `axis` only."""
    return dynamic_update_slice(operand, update, _start_along(operand, start_index, axis))


def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int) -> Any:
    """Replace position `index` of `axis`; `update` may lack that dimension."""
    if np.ndim(update) != np.ndim(operand):
        update = expand_dims(update, (int(axis),))
    return dynamic_update_slice_in_dim(operand, update, index, axis)


def _start_along(operand: Any, start: Any, axis: int) -> list[Any]:
    """Return starts that are 0 but along `axis`; the zeros have the type of `start`."""
    dtype = dtype_of(start)
    # An array, not a number, unless `start` is weak: JAX wraps it like a traced start, and its jaxprs show that.
    zero: Any = 0 if is_weak(start) and dtype == dtype_of(0) else np.zeros((), dtype)
    starts = [zero] * np.ndim(operand)
    starts[int(axis)] = start
    return starts


def _starts(operand: Any, start_indices: Any) -> list[Any]:
    """Return the starts as scalars of their dtype, with those below 0 counted from the end."""
    shape = np.shape(operand)
    if len(start_indices) != len(shape):
        raise ValueError(f"Length of slice indices must match number of operand dimensions ({len(start_indices)} vs "
                         f"{shape})")
    if not isinstance(start_indices, (tuple, list)):
        if start_indices.ndim != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {start_indices.shape}")
        start_indices = list(start_indices)
    return [_wrapped(start, size) for start, size in zip(start_indices, shape, strict=True)]


def _wrapped(start: Any, size: int) -> Any:
    dtype = dtype_of(start)
    if is_unsigned(dtype):
        return start
    if isinstance(start, (int, np.integer)):
        return np.array(start + size if start < 0 else start).astype(dtype)
    below = start < 0 if isinstance(start, np.ndarray) else lt(start, np.array(0, dtype))
    from_end = add(convert_element_type(start, dtype), np.array(size, dtype))
    return select(below, from_end, start)


# --- rooms -----------------------------------------------------------------------------------------------------

class DynamicSlice(Primitive):
    """`dynamic_slice[slice_sizes=(2,)] x: f32[n] i: i32[]` is f32[2]."""

    name = "dynamic_slice"
    reads = slice(1, None)

    def abstract_eval(self, x: ShapedArray, *starts: ShapedArray, slice_sizes: Ints) -> ShapedArray:
        if x.ndim != len(starts):
            raise TypeError("dynamic_slice start_indices must have length equal to the number of dimensions of the "
                            f"operand, got indices {list(starts)} for operand shape {x.shape}.")
        if len(starts) != len(slice_sizes):
            raise TypeError("dynamic_slice slice_sizes must have the same length as start_indices, got start_indices "
                            f"length {len(starts)} and slice_sizes {slice_sizes}.")
        if not all(map(operator.ge, x.shape, slice_sizes)):
            raise TypeError("slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
                            f"{slice_sizes} for operand shape {x.shape}.")
        if not all(size >= 0 for size in slice_sizes):
            raise TypeError("slice slice_sizes must be greater than or equal to zero, got slice_sizes of "
                            f"{slice_sizes}.")
        if any(start.ndim != 0 for start in starts):
            raise TypeError(f"start_indices arguments to dynamic_slice must be scalars,  got indices {list(starts)}")
        _check_start_dtypes("dynamic_slice must be integers of the same type, got:", starts)
        return x.update(shape=slice_sizes)

    def impl(self, x: NDArray, *starts: NDArray, slice_sizes: Ints) -> NDArray:
        return x[_block(x.shape, starts, slice_sizes)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, slice_sizes: Ints) -> tuple[Any, Any]:
        x, *starts = primals
        out_dot = self.bind(tangents[0], *starts, slice_sizes=slice_sizes)
        return self.bind(x, *starts, slice_sizes=slice_sizes), out_dot

    def transpose(self, ct: Any, x: Any, *starts: Any, slice_sizes: Ints) -> Sequence[Any]:
        zeros = full(x.aval.shape, 0, x.aval.dtype)
        return [dynamic_update_slice_p.bind(zeros, ct, *starts), *[None] * len(starts)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, slice_sizes: Ints) -> tuple[Any, Any]:
        (x, *starts), (dim, *start_dims) = args, dims
        axes = tuple(range(len(slice_sizes)))
        indices, indices_dim = _stacked(starts, start_dims)
        return gather_p.batch((x, indices), (dim, indices_dim),
                              dimension_numbers=GatherDimensionNumbers(axes, (), axes), slice_sizes=slice_sizes,
                              unique_indices=True, indices_are_sorted=True, mode=GatherScatterMode.PROMISE_IN_BOUNDS,
                              fill_value=None)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, slice_sizes: Ints) -> Kind:
        shape = in_avals[0].shape
        return Gather(lambda i, read: read(0, tuple(
            clamp(read(1 + axis, ()), 0, shape[axis] - slice_sizes[axis]) + i[axis] for axis in range(len(shape)))))


class DynamicUpdateSlice(Primitive):
    """`dynamic_update_slice x: f32[n] update: f32[m] i: i32[]` is f32[n]."""

    name = "dynamic_update_slice"
    reads = slice(2, None)

    def abstract_eval(self, x: ShapedArray, update: ShapedArray, *starts: ShapedArray) -> ShapedArray:
        if x.ndim != update.ndim:
            raise TypeError("dynamic_update_slice update must have the same rank as operand, got update shape "
                            f"{update.shape} for operand shape {x.shape}.")
        if x.ndim != len(starts):
            raise TypeError("dynamic_update_slice start_indices must have length equal to the rank of operand, got "
                            f"indices {list(starts)} for operand shape {x.shape}.")
        if not all(map(operator.ge, x.shape, update.shape)):
            raise TypeError("dynamic_update_slice update shape must be smaller than operand shape, got update shape "
                            f"{update.shape} for operand shape {x.shape}.")
        if any(start.ndim != 0 for start in starts):
            raise TypeError("start_indices arguments to dynamic_update_slice must be scalars, got indices "
                            f"{list(starts)}")
        check_same_dtypes("dynamic_update_slice", x, update)
        _check_start_dtypes("dynamic_update_slice must be integers of the same type, got", starts)
        return x.update(weak_type=all(aval.weak_type for aval in (x, update, *starts)))

    def impl(self, x: NDArray, update: NDArray, *starts: NDArray) -> NDArray:
        out = np.array(x)
        out[_block(x.shape, starts, update.shape)] = update
        return out

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (x, update, *starts), (x_dot, update_dot, *_) = primals, tangents
        out = self.bind(x, update, *starts)
        if type(x_dot) is Zero and type(update_dot) is Zero:
            return out, Zero.from_primal_value(out)
        return out, self.bind(instantiate(x_dot), instantiate(update_dot), *starts)

    def transpose(self, ct: Any, x: Any, update: Any, *starts: Any) -> Sequence[Any]:
        shape = update.aval.shape if is_undefined_primal(update) else np.shape(update)
        x_ct = update_ct = None
        zeros = broadcast(zero_like(ct), shape)
        if is_undefined_primal(x):  # what was overwritten had no influence
            x_ct = self.bind(ct, zeros, *starts)
        if is_undefined_primal(update):
            update_ct = dynamic_slice_p.bind(ct, *starts, slice_sizes=shape)
        return [x_ct, update_ct, *[None] * len(starts)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, Any]:
        (x, update, *starts), (dim, update_dim, *start_dims) = args, dims
        shape = np.shape(update) if update_dim is None else without(np.shape(update), (update_dim,))
        axes = tuple(range(len(shape)))
        indices, indices_dim = _stacked(starts, start_dims)
        return scatter_p.batch((x, indices, update), (dim, indices_dim, update_dim),
                               dimension_numbers=ScatterDimensionNumbers(axes, (), axes), indices_are_sorted=True,
                               unique_indices=True, mode=GatherScatterMode.CLIP, update_jaxpr=None, update_consts=())

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> Kind:
        shape, window = in_avals[0].shape, in_avals[1].shape

        def target(i: Index, read: Any) -> tuple[Sequence[Expr], None]:
            return [clamp(read(2 + axis, ()), 0, size - width) + i[axis]
                    for axis, (size, width) in enumerate(zip(shape, window, strict=True))], None

        return Scatter("set", 1, target)


dynamic_slice_p = DynamicSlice()
dynamic_update_slice_p = DynamicUpdateSlice()


def _block(shape: Ints, starts: Sequence[NDArray], sizes: Ints) -> tuple[slice, ...]:
    clamped = [min(max(int(start), 0), size - width) for start, size, width in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(start, start + width) for start, width in zip(clamped, sizes, strict=True))


def _stacked(starts: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, int | None]:
    """Return the starts as the rows of one index array, and its batch dimension."""
    if not starts:
        return np.zeros(0, np.int32), None
    size = next((np.shape(x)[dim] for x, dim in zip(starts, dims, strict=True) if dim is not None), None)
    if size is None:
        return concatenate([broadcast(x, (1,)) for x in starts], 0), None
    return concatenate([broadcast_in_dim(x, (size, 1), () if dim is None else (0,))
                        for x, dim in zip(starts, dims, strict=True)], 1), 0


def _check_start_dtypes(rule: str, starts: Sequence[ShapedArray]) -> None:
    if any(start.dtype != starts[0].dtype or not is_integer(start.dtype) for start in starts):
        raise TypeError(f"index arguments to {rule} {', '.join(start.dtype.name for start in starts)}")
