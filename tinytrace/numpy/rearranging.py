"""The same elements in another order, or several times: flip, roll, rot90, repeat, tile, delete, insert."""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_discrete, is_integer
from tinytrace.numpy.arithmetic import remainder
from tinytrace.numpy.array_creation import array, asarray, full, ones, zeros, zeros_like
from tinytrace.numpy.cumulative import cumsum
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Axis,
    Value,
    broadcast_to,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    concrete,
    concrete_index,
    shape_tuple,
)
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.reductions import static_axis
from tinytrace.numpy.searching import clip, nonzero
from tinytrace.numpy.shapes import index_tuple, moveaxis, ravel, reshape, transpose
from tinytrace.numpy.sorting import argsort, sort
from tinytrace.numpy.taking import take


@remembered("axis")
def flip(m: ArrayLike, axis: Axis = None) -> Value:
    """Reverse the order of elements along `axis`, all axes when None.

    >>> jnp.flip(jnp.array([1, 2, 3]))
    Array([3, 2, 1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.flip.html.
    """
    check_arraylike("flip", m)
    return _flip(asarray(m), static_axis(axis))


@library_jit("axis")
def _flip(m: Value, axis: Any = None) -> Value:
    axes = range(m.ndim) if axis is None else index_tuple(axis)
    return lax.rev(m, canonicalize_axes(axes, m.ndim))


@remembered()
def fliplr(m: ArrayLike) -> Value:
    """Reverse the order of columns.

    >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fliplr.html.
    """
    check_arraylike("fliplr", m)
    return _flip(asarray(m), 1)


@remembered()
def flipud(m: ArrayLike) -> Value:
    """Reverse the order of rows.

    >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.flipud.html.
    """
    check_arraylike("flipud", m)
    return _flip(asarray(m), 0)


@library_jit("k", "axes")
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Value:
    """Turn an array by `k` quarters of a circle in the plane of two axes.

    >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.rot90.html.
    """
    check_arraylike("rot90", m)
    ndim = np.ndim(m)
    if ndim < 2:
        raise ValueError("rot90 requires its first argument to have ndim at least two, but got first argument of "
                         f"shape {np.shape(m)}, which has ndim {ndim}")
    first, second = canonicalize_axes(axes, ndim)
    if first == second:
        raise ValueError("Axes must be different")
    k = k % 4
    if k == 0:
        return asarray(m)
    if k == 2:
        return flip(flip(m, first), second)
    order = list(range(ndim))
    order[first], order[second] = order[second], order[first]
    return transpose(flip(m, second), order) if k == 1 else flip(transpose(m, order), second)


def roll(a: ArrayLike, shift: Any, axis: Axis = None) -> Value:
    """Shift elements along `axis`; those that leave at the end come in at the beginning.

    >>> jnp.roll(jnp.array([1, 2, 3]), 1)
    Array([3, 1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.roll.html.
    """
    check_arraylike("roll", a)
    arr = asarray(a)
    if axis is None:
        return roll(arr.ravel(), shift, 0).reshape(arr.shape)
    axes = canonicalize_axes(index_tuple(axis), arr.ndim)
    try:
        shifts = index_tuple(shift)
    except TypeError:
        return _roll_dynamic(arr, asarray(shift), axes)
    return _roll_static(arr, shifts, axes)


@library_jit("shift", "axis")
def _roll_static(a: Value, shift: tuple[int, ...], axis: tuple[int, ...]) -> Value:
    for ax, s in zip(*map(np.ravel, np.broadcast_arrays(axis, shift)), strict=True):
        if a.shape[ax] == 0:
            continue
        i = int(-s % a.shape[ax])
        a = lax.concatenate([lax.slice_in_dim(a, i, a.shape[ax], axis=int(ax)),
                             lax.slice_in_dim(a, 0, i, axis=int(ax))], int(ax))
    return a


@library_jit("axis")
def _roll_dynamic(a: Value, shift: Value, axis: tuple[int, ...]) -> Value:
    shape = lax.broadcast_shapes(shift.shape, np.shape(axis))
    if len(shape) != 1:
        raise ValueError("'shift' and 'axis' arguments to roll must be scalars or 1D arrays")
    for x, i in zip(broadcast_to(shift, shape), np.broadcast_to(axis, shape), strict=True):
        size = array(a.shape[i], dtype=np.int32)
        x = remainder(lax.convert_element_type(x, np.int32), lax.max(size, np.int32(1)))
        a = lax.dynamic_slice_in_dim(lax.concatenate((a, a), int(i)), size - x, a.shape[i], axis=int(i))
    return a


# --- repetition ------------------------------------------------------------------------------------------------

@remembered("reps")
def tile(A: ArrayLike, reps: Any) -> Value:
    """Repeat the whole array `reps` times along each axis.

    >>> jnp.tile(jnp.array([1, 2]), 2)
    Array([1, 2, 1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.tile.html.
    """
    check_arraylike("tile", A)
    times = shape_tuple(reps)
    shape = (1,) * (len(times) - np.ndim(A)) + np.shape(A)
    times = (1,) * (len(shape) - len(times)) + times
    spread = broadcast_to(reshape(A, tuple([j for size in shape for j in (1, size)])),
                          tuple([k for pair in zip(times, shape, strict=True) for k in pair]))
    return reshape(spread, tuple(size * n for size, n in zip(shape, times, strict=True)))


def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None, *,
           total_repeat_length: int | None = None) -> Value:
    """Repeat each element `repeats` times along `axis`, of the flattened array when None.

    `repeats` may count for each element; while tracing, `total_repeat_length` must then say how long the result is.

    >>> jnp.repeat(jnp.array([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.repeat.html.
    """
    if type(a) is Array and a.ndim and type(repeats) is int and total_repeat_length is None:
        return _repeat_array(a, repeats, axis)
    check_arraylike("repeat", a)
    check_arraylike("repeat", repeats)
    arr = ravel(a) if axis is None else asarray(a)
    axis = 0 if axis is None else concrete_index(axis, "'axis' argument of jnp.repeat()")
    if total_repeat_length is None:
        repeats = concrete(repeats, "When jit-compiling jnp.repeat, the total number of repeats must be static. To fix "
                                    "this, either specify a static value for `repeats`, or pass a static value to "
                                    "`total_repeat_length`.")
        if np.ndim(repeats) == 0 and arr.ndim != 0:
            return _repeat_all(arr, operator.index(repeats), canonicalize_axis(axis, arr.ndim))
        repeats = np.ravel(np.asarray(repeats))
        if arr.ndim:
            repeats = np.broadcast_to(repeats, (arr.shape[axis],))
        total_repeat_length = int(np.sum(repeats))
    else:
        repeats = ravel(repeats)
        if arr.ndim:
            repeats = broadcast_to(repeats, (arr.shape[axis],))
    if arr.ndim == 0:
        if np.shape(repeats) != (1,):
            raise ValueError("`repeat` with a scalar parameter `a` is only implemented for scalar values of the "
                             "parameter `repeats`.")
        return full((total_repeat_length,), arr)
    if total_repeat_length == 0:
        return reshape(array([], dtype=arr.dtype), (*arr.shape[:axis], 0, *arr.shape[axis + 1:]))
    return arr if arr.shape[axis] == 0 else _repeat_each(arr, repeats, axis, total_repeat_length)


@remembered("repeats", "axis")
def _repeat_array(a: Value, repeats: int, axis: int | None) -> Value:
    arr = ravel(a) if axis is None else a
    axis = 0 if axis is None else concrete_index(axis, "'axis' argument of jnp.repeat()")
    return _repeat_all(arr, repeats, canonicalize_axis(axis, arr.ndim))


def _repeat_all(a: Value, repeats: int, axis: int) -> Value:
    shape = (*a.shape[:axis + 1], repeats, *a.shape[axis + 1:])
    spread = lax.broadcast_in_dim(a, shape, [i for i in range(len(shape)) if i != axis + 1])
    return reshape(spread, (*a.shape[:axis], a.shape[axis] * repeats, *a.shape[axis + 1:]))


def _repeat_each(a: Value, repeats: Any, axis: int, total: int) -> Value:
    """Mark where each element's block begins, and let a running sum say which element stands where."""
    starts = cumsum(roll(repeats, shift=1).at[0].set(0))
    marks = zeros([total], dtype=np.int32).at[starts].add(1)
    return take(a, cumsum(marks) - 1, axis=axis)


@library_jit("new_shape")
def resize(a: ArrayLike, new_shape: Any) -> Value:
    """Return an array of `new_shape`, filled with repetitions of `a`.

    >>> jnp.resize(jnp.array([1, 2, 3]), (2, 2))
    Array([[1, 2],
           [3, 1]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.resize.html.
    """
    check_arraylike("resize", a)
    new_shape = index_tuple(new_shape)
    if any(size < 0 for size in new_shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    arr, size = ravel(a), math.prod(new_shape)
    if arr.size == 0 or size == 0:
        return zeros_like(arr, shape=new_shape)
    return reshape(tile(arr, -(-size // arr.size))[:size], new_shape)


# --- deletion and insertion ------------------------------------------------------------------------------------

def delete(arr: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Value:
    """Return `arr` without the elements at index, slice, mask or indices `obj` along `axis`.

    >>> jnp.delete(jnp.array([1, 2, 3]), 1)
    Array([1, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.delete.html.
    """
    if type(arr) is Array and type(obj) is int:
        return _without(arr, obj, axis)
    check_arraylike("delete", arr)
    a = ravel(arr) if axis is None else asarray(arr)
    axis = canonicalize_axis(axis or 0, a.ndim)
    before = (slice(None),) * axis
    try:
        index = canonicalize_axis(operator.index(obj), a.shape[axis])
    except TypeError:
        pass
    else:
        return _without(a, index, axis)
    if isinstance(obj, slice):
        obj, assume_unique_indices = arange(a.shape[axis])[obj], True
    check_arraylike("delete", a, obj)
    if assume_unique_indices and is_integer(aval_of(obj).dtype):
        return a[(*before, _kept_indices(asarray(obj).ravel(), a.shape[axis]))]
    removed = np.asarray(concrete(obj, "'obj' array argument of jnp.delete()"))
    if removed.dtype == bool and removed.shape != (a.shape[axis],):
        raise ValueError("np.delete(arr, obj): for boolean indices, obj must be one-dimensional with length matching "
                         "specified axis.")
    if not is_discrete(removed.dtype):
        raise ValueError(f"np.delete(arr, obj): got obj.dtype={removed.dtype}; must be integer or bool.")
    kept = np.ones(a.shape[axis], dtype=bool)
    kept[removed] = False
    return a[(*before, kept)]


@remembered("index", "axis")
def _without(x: Value, index: int, axis: int | None) -> Value:
    a = ravel(x) if axis is None else x
    axis = canonicalize_axis(axis or 0, a.ndim)
    index, before = canonicalize_axis(index, a.shape[axis]), (slice(None),) * axis
    return concatenate([a[(*before, slice(0, index))], a[(*before, slice(index + 1, None))]], axis=axis)


def _kept_indices(removed: Value, size: int) -> Value:
    """Return the indices below `size` that are not in `removed`, which are distinct: their number is known."""
    removed = sort(clip(choose_where(removed < 0, removed + size, removed), 0, size))
    removed = removed - arange(len(removed))
    kept = arange(size - removed.size)
    return kept + (kept[None, :] >= removed[:, None]).sum(0)


@remembered("axis")
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Value:
    """Return `arr` with `values` put in before the elements at `obj` along `axis`.

    >>> jnp.insert(jnp.array([1, 2, 3]), 1, 9)
    Array([1, 9, 2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.insert.html.
    """
    check_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    a, values = asarray(arr), asarray(values)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(concrete(axis, "axis argument of jnp.insert()"), a.ndim)
    places = _insertion_places(obj, a.shape[axis])
    values = array(values, ndmin=a.ndim, dtype=a.dtype, copy=False)
    if places.size == 1:
        place = ravel(places)[0]
        if places.ndim == 0:
            values = moveaxis(values, 0, axis)
        places = full(values.shape[axis], place)
    before, n = (slice(None),) * axis, a.shape[axis]
    added, = lax.broadcast_shapes(places.shape, (values.shape[axis],))
    out = zeros_like(a, shape=(*a.shape[:axis], n + added, *a.shape[axis + 1:]))
    places = clip(choose_where(places < 0, places + n, places), 0, n)
    new = places.at[argsort(places)].add(arange(added, dtype=places.dtype))
    is_old = ones(n + added, dtype=bool).at[new].set(False)
    old = nonzero(is_old, size=n)[0]
    return out.at[(*before, new)].set(values).at[(*before, old)].set(a)


def _insertion_places(obj: Any, size: int) -> Value:
    places = arange(*obj.indices(size)) if isinstance(obj, slice) else asarray(obj)
    if places.ndim > 1:
        raise ValueError(f"jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; got {obj}")
    if is_integer(places.dtype):
        return places
    if places.size == 0 and not isinstance(obj, Array):
        return places.astype(int)
    raise ValueError(f"jnp.insert(): index array must be integer typed; got {obj}")
