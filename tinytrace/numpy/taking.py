"""Elements at given positions: take and take_along_axis."""
from __future__ import annotations

import operator
from typing import Any

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import INT32, is_integer
from tinytrace.numpy.arithmetic import mod
from tinytrace.numpy.array_creation import full_like, zeros
from tinytrace.numpy.index_parsing import normalized
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import ArrayLike, Value, as_array, canonicalize_axis, check_arraylike
from tinytrace.numpy.shapes import ravel
from tinytrace.primitives.elementwise import const_like


def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: None = None, mode: str | None = None,
         unique_indices: bool = False, indices_are_sorted: bool = False, fill_value: Any = None) -> Value:
    """Return the layers of `a` at `indices` along `axis`, of the flattened array when None.

    mode: what an index out of range gives: `fill_value` (nan when not given; "fill", the default), the nearest layer
    ("clip"), or the one that it wraps around to ("wrap").

    >>> jnp.take(jnp.array([10, 20, 30]), jnp.array([2, 0]))
    Array([30, 10], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.take.html.
    """
    return _take(a, indices, None if axis is None else operator.index(axis), out, mode, unique_indices=unique_indices,
                 indices_are_sorted=indices_are_sorted, fill_value=fill_value)


@library_jit("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value")
def _take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: None = None, mode: str | None = None,
          unique_indices: bool = False, indices_are_sorted: bool = False, fill_value: Any = None) -> Value:
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.take is not supported.")
    check_arraylike("take", a, indices)
    indices = as_array(indices)
    a = ravel(a) if axis is None else as_array(a)
    axis = canonicalize_axis(axis or 0, a.ndim)
    size = a.shape[axis]
    indices, gather_mode = _bring_into_range(indices, size, mode)
    sizes = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1:])
    if size == 0 and indices.size:
        raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
    if indices.size == 0 or size == 0:
        return full_like(a, 0, shape=sizes)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(axis + indices.ndim, a.ndim + indices.ndim - 1)),
        collapsed_slice_dims=(axis,), start_index_map=(axis,))
    return lax.gather(a, indices[..., None], numbers, (*a.shape[:axis], 1, *a.shape[axis + 1:]), mode=gather_mode,
                      unique_indices=unique_indices, indices_are_sorted=indices_are_sorted, fill_value=fill_value)


def _bring_into_range(indices: Value, size: int, mode: str | None) -> tuple[Value, lax.GatherScatterMode]:
    if mode is None or mode == "fill":
        return choose_where(indices < 0, indices + size, indices), lax.GatherScatterMode.FILL_OR_DROP
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    if mode == "wrap":
        return mod(indices, const_like(indices, size)), lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if mode == "clip":
        return indices, lax.GatherScatterMode.CLIP
    raise ValueError(f"Invalid mode '{mode}' for np.take")


@library_jit("axis", "mode", "fill_value")
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None, mode: Any = None,
                    fill_value: Any = None) -> Value:
    """Return, for each row of `arr` along `axis`, the elements at its own row of `indices`.

    >>> jnp.take_along_axis(jnp.array([[1, 2], [3, 4]]), jnp.array([[1], [0]]), axis=1)
    Array([[2],
           [3]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.take_along_axis.html.
    """
    check_arraylike("take_along_axis", arr, indices)
    a, indices = as_array(arr), as_array(indices)
    if not is_integer(indices.dtype):
        raise TypeError(f"take_along_axis indices must be of integer type, got {indices.dtype}")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(f"take_along_axis indices must be 1D if axis=None, got shape {indices.shape}")
        a, axis = ravel(a), 0
    if a.ndim != indices.ndim:
        raise ValueError("indices and arr must have the same number of dimensions; "
                         f"{indices.ndim} vs. {a.ndim}")
    axis = canonicalize_axis(axis, a.ndim)
    indices = lax.convert_element_type(indices, INT32)
    row_shape = (*a.shape[:axis], 1, *a.shape[axis + 1:])
    out_shape = lax.broadcast_shapes(indices.shape, row_shape)
    if a.shape[axis] == 0:
        return zeros(out_shape, a.dtype)
    return _gather_along(a, indices, axis, row_shape, out_shape, "fill" if mode is None else mode, fill_value)


def _gather_along(a: Value, indices: Value, axis: int, row_shape: tuple[int, ...], out_shape: tuple[int, ...],
                  mode: Any, fill_value: Any) -> Value:
    """Gather with every axis either whole (indices do not differ along it), batched, or computed."""
    position_shape = (*[n for i, n in enumerate(out_shape) if i == axis or indices.shape[i] != 1], 1)
    positions, sizes, place = [], [], 0
    offset, collapsed, batched, batched_in_indices = [], [], [], []
    for i in range(a.ndim):
        if i != axis and indices.shape[i] == 1:
            offset.append(i)
            sizes.append(row_shape[i])
            continue
        sizes.append(min(1, row_shape[i]))
        if i == axis:
            positions.append(lax.reshape(normalized(indices, a.shape[axis]), position_shape))
            collapsed.append(i)
        elif row_shape[i] == 1:
            positions.append(zeros(position_shape, dtype=INT32))
            collapsed.append(i)
        else:
            batched.append(i)
            batched_in_indices.append(place)
        place += 1
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(offset), collapsed_slice_dims=tuple(collapsed), start_index_map=tuple(collapsed),
        operand_batching_dims=tuple(batched), start_indices_batching_dims=tuple(batched_in_indices))
    return lax.gather(a, lax.concatenate(positions, place), numbers, tuple(sizes), mode=mode, fill_value=fill_value)
