"""Other shapes for the same elements: reshape, ravel, transpose, squeeze, expand_dims and their kin."""
from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import inline_jit, library_jit, remembered
from tinytrace.core.array import Array
from tinytrace.core.avals import canonicalize_shape
from tinytrace.numpy.array_creation import array, asarray
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    concrete,
    concrete_index,
    warn_unless_arraylike,
)


@remembered("shape", "order", "newshape", "copy")
def reshape(a: ArrayLike, shape: Any = None, order: str = "C", *, newshape: Any = None,
            copy: bool | None = None) -> Value:
    """Give the elements of `a` another shape; one size may be -1, for what is left.

    Raises: TypeError when the number of elements does not fit.

    >>> jnp.reshape(jnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.reshape.html.
    """
    check_arraylike("reshape", a)
    if newshape is not None:
        if shape is not None:
            raise ValueError("jnp.reshape received both `shape` and `newshape` arguments. Note that using `newshape` "
                             "is deprecated, please only use `shape` instead.")
        warnings.warn("The newshape argument of jax.numpy.reshape is deprecated. Please use the shape argument "
                      "instead.", DeprecationWarning, stacklevel=3)
        shape = newshape
    elif shape is None:
        raise TypeError("jnp.shape requires passing a `shape` argument, but none was given.")
    if isinstance(a, np.ndarray):
        return asarray(np.reshape(a, shape, order))  # type: ignore[call-overload]
    return reshape_array(asarray(a), shape, order)


@remembered("shape", "order")
def reshape_array(a: Value, shape: Any, order: str = "C") -> Value:
    """`reshape` for an array or tracer."""
    sizes = _complete_shape(a, shape)
    if order == "C":
        return lax.reshape(a, sizes)
    if order == "F":
        return transpose(lax.reshape(a, sizes[::-1], tuple(range(a.ndim))[::-1]))
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


def _complete_shape(a: Value, shape: Any) -> tuple[int, ...]:
    """Return `shape` with the size in place of -1; raises TypeError when the elements do not fill it."""
    sizes = canonicalize_shape(shape if np.iterable(shape) else [shape])
    if sizes.count(-1) > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {shape}")
    if -1 in sizes:
        place = sizes.index(-1)
        known = math.prod(sizes[:place] + sizes[place + 1:])
        if known == 0 or a.size % known:
            raise TypeError(f"cannot reshape array of shape {a.shape} (size {a.size}) into shape {shape} because the "
                            f"product of specified axis sizes ({known}) does not evenly divide {a.size}")
        return (*sizes[:place], a.size // known, *sizes[place + 1:])
    if a.size != math.prod(sizes):
        raise TypeError(f"cannot reshape array of shape {a.shape} (size {a.size}) into shape {shape} (size "
                        f"{math.prod(sizes)})")
    return sizes


@inline_jit("order")
def ravel(a: ArrayLike, order: str = "C") -> Value:
    """Return the elements in one dimension.

    >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
    Array([1, 2, 3, 4], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.ravel.html.
    """
    check_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    if isinstance(a, np.ndarray):  # an operand as any other, where `reshape` asks NumPy
        return reshape_array(a, (a.size,), order)
    return reshape(a, (np.size(a),), order)


# --- the order of axes -----------------------------------------------------------------------------------------

@remembered("axes")
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Value:
    """Permute the axes; reverse their order when none are given.

    >>> jnp.transpose(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.transpose.html.
    """
    check_arraylike("transpose", a)
    ndim = np.ndim(a)
    return lax.transpose(a, tuple(range(ndim))[::-1] if axes is None else canonicalize_axes(axes, ndim))


def permute_dims(a: ArrayLike, /, axes: tuple[int, ...]) -> Value:
    """Permute the axes.

    >>> jnp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape
    (3, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.permute_dims.html.
    """
    check_arraylike("permute_dims", a)
    ndim = np.ndim(a)
    return lax.transpose(a, [axis + ndim if -ndim <= axis < 0 else axis for axis in axes])


@remembered()
def matrix_transpose(x: ArrayLike, /) -> Value:
    """Exchange the last two axes.

    >>> jnp.matrix_transpose(jnp.ones((4, 2, 3))).shape
    (4, 3, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.matrix_transpose.html.
    """
    check_arraylike("matrix_transpose", x)
    ndim = np.ndim(x)
    if ndim < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={ndim}")
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


@inline_jit("axis1", "axis2")
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Value:
    """Exchange two axes.

    >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.swapaxes.html.
    """
    check_arraylike("swapaxes", a)
    order = np.arange(np.ndim(a))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return lax.transpose(a, order.tolist())


@remembered("source", "destination")
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Value:
    """Move axes to other places and keep the order of the others.

    >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.moveaxis.html.
    """
    check_arraylike("moveaxis", a)
    return _moveaxis(asarray(a), source=index_tuple(source), destination=index_tuple(destination))


@inline_jit("source", "destination")
def _moveaxis(a: Value, source: tuple[int, ...], destination: tuple[int, ...]) -> Value:
    source = canonicalize_axes(source, a.ndim)
    destination = canonicalize_axes(destination, a.ndim)
    if len(source) != len(destination):
        raise ValueError(f"Inconsistent number of elements: {len(source)} vs {len(destination)}")
    order = [axis for axis in range(a.ndim) if axis not in source]
    for place, axis in sorted(zip(destination, source, strict=True)):
        order.insert(place, axis)
    return lax.transpose(a, order)


@library_jit("axis", "start")
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Value:
    """Move `axis` back to before place `start`.

    >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)

    See https://numpy.org/doc/stable/reference/generated/numpy.rollaxis.html.
    """
    check_arraylike("rollaxis", a)
    start = concrete_index(start, "'start' argument of jnp.rollaxis()")
    ndim = np.ndim(a)
    axis = canonicalize_axis(axis, ndim)
    if not -ndim <= start <= ndim:
        raise ValueError(f"start={start!r} must satisfy {-ndim}<=start<={ndim}")
    if start < 0:
        start += ndim
    return moveaxis(a, axis, start - 1 if start > axis else start)


def index_tuple(x: Any) -> tuple[int, ...]:
    """Return an int or a sequence of them as a tuple."""
    x = concrete(x, "expected a static index or sequence of indices.")
    try:
        return (operator.index(x),)
    except TypeError:
        return tuple(map(operator.index, x))


# --- axes of size one ------------------------------------------------------------------------------------------

@remembered("axis")
def squeeze(a: ArrayLike, axis: Any = None) -> Value:
    """Drop axes of size one: all of them, or those in `axis`.

    >>> jnp.squeeze(jnp.ones((1, 3, 1))).shape
    (3,)

    See https://numpy.org/doc/stable/reference/generated/numpy.squeeze.html.
    """
    check_arraylike("squeeze", a)
    return _squeeze(asarray(a), axis=None if axis is None else index_tuple(axis))


@inline_jit("axis")
def _squeeze(a: Value, axis: tuple[int, ...] | None) -> Value:
    return lax.squeeze(a, [i for i, size in enumerate(a.shape) if size == 1] if axis is None else axis)


@remembered("axis")
def expand_dims(a: ArrayLike, axis: Any) -> Value:
    """Insert axes of size one at the places that they have in the result.

    >>> jnp.expand_dims(jnp.ones(3), 0).shape
    (1, 3)

    See https://numpy.org/doc/stable/reference/generated/numpy.expand_dims.html.
    """
    check_arraylike("expand_dims", a)
    return lax.expand_dims(a, index_tuple(axis))


@library_jit()
def atleast_1d(*arys: ArrayLike) -> Any:
    """Return arrays with one dimension at least.

    >>> jnp.atleast_1d(3.0)
    Array([3.], dtype=float32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.atleast_1d.html.
    """
    warn_unless_arraylike("atleast_1d", *arys)
    return _one_or_list([array(x, copy=False, ndmin=1) for x in arys])


@library_jit()
def atleast_2d(*arys: ArrayLike) -> Any:
    """Return arrays with two dimensions at least; new ones come first.

    >>> jnp.atleast_2d(jnp.array([1, 2]))
    Array([[1, 2]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.atleast_2d.html.
    """
    warn_unless_arraylike("atleast_2d", *arys)
    return _one_or_list([array(x, copy=False, ndmin=2) for x in arys])


@library_jit()
def atleast_3d(*arys: ArrayLike) -> Any:
    """Return arrays with three dimensions at least: f32[n] becomes f32[1, n, 1], f32[n, m] becomes f32[n, m, 1].

    >>> jnp.atleast_3d(jnp.array([1, 2])).shape
    (1, 2, 1)

    See https://numpy.org/doc/stable/reference/generated/numpy.atleast_3d.html.
    """
    warn_unless_arraylike("atleast_3d", *arys)
    if len(arys) > 1:
        return [atleast_3d(x) for x in arys]
    x = asarray(arys[0])
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(x.ndim)
    return x if new is None else lax.expand_dims(x, new)


def _one_or_list(arrays: list[Value]) -> Any:
    return arrays[0] if len(arrays) == 1 else arrays


# --- what is asked of shapes -------------------------------------------------------------------------------------

def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array, a number or nested lists.

    >>> jnp.shape(jnp.ones((2, 3)))
    (2, 3)

    See https://numpy.org/doc/stable/reference/generated/numpy.shape.html.
    """
    return a.shape if type(a) is Array else np.shape(a)


def ndim(a: Any) -> int:
    """Return the number of dimensions of an array, a number or nested lists.

    >>> jnp.ndim(jnp.ones((2, 3)))
    2

    See https://numpy.org/doc/stable/reference/generated/numpy.ndim.html.
    """
    return a.ndim if type(a) is Array else np.ndim(a)


def size(a: Any, axis: int | None = None) -> int:
    """Return the number of elements, or that along `axis`.

    >>> jnp.size(jnp.ones((2, 3)), 1)
    3

    See https://numpy.org/doc/stable/reference/generated/numpy.size.html.
    """
    return a.size if type(a) is Array and axis is None else np.size(a, axis)


def iterable(y: Any) -> bool:
    """Can `y` be iterated over? An array can if it has a dimension.

    >>> jnp.iterable(jnp.ones(3)), jnp.iterable(2.0)
    (True, False)

    See https://numpy.org/doc/stable/reference/generated/numpy.iterable.html.
    """
    return bool(y.shape) if type(y) is Array else np.iterable(y)
