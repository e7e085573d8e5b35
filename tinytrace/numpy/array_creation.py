"""Arrays from values: array, asarray, zeros, ones, full, and copies of another array's shape."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace._dispatch import FastCallable, array_copied, current_epoch
from tinytrace.api import devices
from tinytrace.api.library import hands_back, known_by, remembered
from tinytrace.core.array import Array, array_from_host, array_of_own
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import (
    BOOL,
    FLOAT0,
    canonicalize_dtype,
    dtype_of,
    is_complex,
    is_weak,
    result_type_and_weak,
)
from tinytrace.core.placements import placed_as
from tinytrace.core.trace import Tracer, is_eager
from tinytrace.core.trees import tree_leaves, tree_map
from tinytrace.numpy import filled
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    as_array,
    broadcast_to,
    check_arraylike,
    convert,
    float_dtype,
    shape_tuple,
    user_dtype,
    with_array,
)
from tinytrace.primitives.conversion import copy as lax_copy
from tinytrace.primitives.elementwise import const_like
from tinytrace.primitives.placement import device_put


def array(object: Any, dtype: DTypeLike = None, copy: bool = True, order: str | None = "K", ndmin: int = 0, *,
          device: Any = None) -> Value:
    """Return an array of a number, a NumPy array, or nested lists of numbers and arrays.

    Raises: TypeError for what is no number; ValueError for lists of unequal lengths; OverflowError for an integer that
    does not fit.

    >>> jnp.array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.array.html.
    """
    if order is not None and order != "K":
        raise NotImplementedError("Only implemented for order='K'")
    if type(object) is Array and dtype is None and copy and not ndmin:
        return placed_copy(object) if device is None else devices.created_at(_copied(object), device)
    weak_type = dtype is None and is_weak(object)
    dtype = user_dtype(dtype, "array")
    same_type = isinstance(object, np.ndarray) and (dtype is None or dtype == object.dtype)  # float64 == None in NumPy
    if same_type and not copy and ndmin <= object.ndim:
        return devices.created_at(as_array(object) if is_eager() else device_put(object), device)
    if hasattr(object, "__jax_array__"):
        object = object.__jax_array__()
    if dtype is None and type(object) is int and dtype_of(object) == np.int32 and not -2 ** 31 <= object < 2 ** 31:
        raise OverflowError(f"Python int {object} too large to convert to int32")
    if isinstance(object, (Array, Tracer)):
        result = convert(lax_copy(object) if copy else with_array(object), dtype or object.dtype, weak_type)
    else:
        result = _from_python(object, dtype, weak_type)
    if ndmin > np.ndim(result):
        result = lax.expand_dims(result, tuple(range(ndmin - np.ndim(result))))
    if copy and type(object) is type(result) is Array:
        placed_as(result, object)
    return devices.created_at(result, device)


_copied = remembered()(lax_copy)
COPIED_AT_ONCE = 1 << 16
"""Bytes of the largest array for whose copy nobody is asked; the copy of a larger one lets other threads run."""


class _Copies(FastCallable):
    """Copies of arrays, those of small ones in C once their type is known."""

    def __init__(self) -> None:
        self._configure(_Copies._first_call, (), ())

    def _first_call(self, x: Array) -> Value:
        if is_eager() and x.nbytes <= COPIED_AT_ONCE:
            self._learn((x,), {}, array_copied, current_epoch())
        return _copied(x)


_copies = _Copies()


def placed_copy(x: Array) -> Value:
    """Return a copy that lies where `x` does, a tracer while tracing."""
    copied = _copies(x)
    return placed_as(copied, x) if type(copied) is Array else copied


def _from_python(object: Any, dtype: Any, weak_type: bool) -> Value:
    """Make an array of a number, a NumPy array or a nested list."""
    object = tree_map(lambda leaf: leaf.__jax_array__() if hasattr(leaf, "__jax_array__") else leaf, object)
    leaves = _checked_leaves(object)
    if dtype is None:
        dtype = result_type_and_weak(*leaves)[0] if leaves else float_dtype()
    if any(isinstance(leaf, (Array, Tracer)) for leaf in leaves):
        return _stacked([asarray(element, dtype=dtype) for element in object])
    with np.errstate(over="ignore"):  # an integer beyond the floats is infinite
        value = np.asarray(object, dtype=dtype)
    if is_eager() and not weak_type and not isinstance(object, (list, tuple)):
        aval = ShapedArray(value.shape, canonicalize_dtype(dtype))
        return array_from_host(value.astype(aval.dtype, copy=False), aval)
    return lax.convert_element_type_p.bind(value, new_dtype=dtype, weak_type=weak_type)


def _checked_leaves(object: Any) -> list[Any]:
    leaves = tree_leaves(object, is_leaf=lambda x: x is None)
    if any(leaf is None for leaf in leaves):
        warnings.warn("None encountered in jnp.array(); this is currently treated as NaN. In the future this will "
                      "result in an error.", FutureWarning, stacklevel=4)
    result = []
    for leaf in leaves:
        if leaf is None:
            continue
        if not hasattr(leaf, "dtype") and not isinstance(leaf, (bool, int, float, complex)):
            leaf = np.asarray(leaf)
        if isinstance(leaf, (np.ndarray, np.generic)) and (
                leaf.dtype.kind in "USOM" or (leaf.dtype.names is not None and leaf.dtype != FLOAT0)):
            shown = leaf.item() if leaf.ndim == 0 else leaf
            raise TypeError(f"Value '{shown}' with dtype {leaf.dtype} is not a valid JAX array type. Only arrays of "
                            "numeric types are supported by JAX.")
        result.append(leaf)
    return result


def _stacked(arrays: Sequence[Value]) -> Value:
    """Stack arrays of one dtype along a new first axis."""
    if len({x.shape for x in arrays}) > 1:
        raise ValueError("All input arrays must have the same shape.")
    return concatenated([lax.expand_dims(x, (0,)) for x in arrays], 0)


def concatenated(arrays: Sequence[Value], axis: int) -> Value:
    """Concatenate arrays of one dtype, sixteen at a time, as JAX does."""
    while len(arrays) > 1:
        arrays = [lax.concatenate(arrays[i:i + 16], axis) for i in range(0, len(arrays), 16)]
    return arrays[0]


@hands_back
def asarray(a: Any, dtype: DTypeLike = None, order: str | None = None, *, copy: bool | None = None,
            device: Any = None) -> Value:
    """Return `a` as an array; an array of the right dtype is returned as it is.

    >>> jnp.asarray([1, 2])
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.asarray.html.
    """
    if dtype is None and type(a) is Array and order is None and copy is None and device is None:
        return a
    if dtype is None and device is None and order in (None, "K") and is_eager() \
            and (type(a) is float or (type(a) is int and -2 ** 31 <= a < 2 ** 31)):
        aval = aval_of(a)
        return array_of_own(np.array(a, aval.dtype), aval)
    return array(a, dtype=user_dtype(dtype, "asarray"), copy=bool(copy), order=order, device=device)


def copy(a: ArrayLike, order: str | None = None) -> Value:
    """Return a copy of `a`.

    >>> jnp.copy(jnp.array([1, 2]))
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.copy.html.
    """
    if type(a) is Array and order in (None, "K"):
        return placed_copy(a)
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


@remembered("copy", "device", static_argnums=(1,), elementwise=True)
def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Value:
    """Return `x` converted to `dtype`: floats truncate to integers, and saturate.

    >>> jnp.astype(jnp.array([1.5, 2.5]), jnp.int32)
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.astype.html.
    """
    check_arraylike("astype", x)
    dtype = float_dtype() if dtype is None else user_dtype(dtype, "astype")
    x = asarray(x)
    if is_complex(x.dtype) and dtype == BOOL:
        x = lax.ne(x, const_like(x, 0))
    result = _real_part_converted(x, dtype) if is_complex(x.dtype) and not is_complex(dtype) else \
        lax.convert_element_type(x, dtype)
    return lax_copy(result) if copy else result


def _real_part_converted(x: Value, dtype: Any) -> Value:
    warnings.warn("Casting from complex to real dtypes will soon raise a ValueError. Please first use jnp.real or "
                  "jnp.imag to take the real/imaginary component of your input.", DeprecationWarning, stacklevel=4)
    with warnings.catch_warnings():  # of this alone: it changes the filters of all threads
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)  # that has been said
        return lax.convert_element_type(x, dtype)


# --- filled arrays ---------------------------------------------------------------------------------------------

@known_by(filled.zeros)
def zeros(shape: Any, dtype: DTypeLike = None, *, device: Any = None) -> Value:
    """Return zeros.

    >>> jnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.zeros.html.
    """
    result = filled.zeros(shape, dtype)
    return result if device is None else devices.created_at(result, device)


@known_by(filled.ones)
def ones(shape: Any, dtype: DTypeLike = None, *, device: Any = None) -> Value:
    """Return ones.

    >>> jnp.ones(3, jnp.int32)
    Array([1, 1, 1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.ones.html.
    """
    result = filled.ones(shape, dtype)
    return result if device is None else devices.created_at(result, device)


@known_by(filled.empty)
def empty(shape: Any, dtype: DTypeLike = None, *, device: Any = None) -> Value:
    """Return zeros: no memory is left undefined here.

    >>> jnp.empty(2)
    Array([0., 0.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.empty.html.
    """
    result = filled.empty(shape, dtype)
    return result if device is None else devices.created_at(result, device)


def full(shape: Any, fill_value: ArrayLike, dtype: DTypeLike = None, *, device: Any = None) -> Value:
    """Return an array that is `fill_value` everywhere.

    >>> jnp.full((2,), 7)
    Array([7, 7], dtype=int32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.full.html.
    """
    if device is None and dtype is None and type(fill_value) in (int, float, bool):
        return lax.full(shape if type(shape) is tuple else shape_tuple(shape), fill_value)
    dtype = user_dtype(dtype, "full")
    check_arraylike("full", fill_value)
    if np.ndim(fill_value) == 0:
        return devices.created_at(lax.full(shape_tuple(shape), fill_value, dtype), device)
    return devices.created_at(device_put(broadcast_to(asarray(fill_value, dtype=dtype), shape)), device)


@remembered("dtype", "shape", "device")
def zeros_like(a: ArrayLike, dtype: DTypeLike = None, shape: Any = None, *, device: Any = None) -> Value:
    """Return zeros of the shape and dtype of `a`, unless given.

    >>> jnp.zeros_like(jnp.array([1, 2]))
    Array([0, 0], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.zeros_like.html.
    """
    return _filled_like("zeros_like", a, 0, dtype, shape)


@remembered("dtype", "shape", "device")
def ones_like(a: ArrayLike, dtype: DTypeLike = None, shape: Any = None, *, device: Any = None) -> Value:
    """Return ones of the shape and dtype of `a`, unless given.

    >>> jnp.ones_like(jnp.array([1, 2]))
    Array([1, 1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.ones_like.html.
    """
    return _filled_like("ones_like", a, 1, dtype, shape)


@remembered("dtype", "shape", "device")
def empty_like(prototype: ArrayLike, dtype: DTypeLike = None, shape: Any = None, *, device: Any = None) -> Value:
    """Return zeros of the shape and dtype of `prototype`, unless given.

    >>> jnp.empty_like(jnp.array([1, 2]))
    Array([0, 0], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.empty_like.html.
    """
    return _filled_like("empty_like", prototype, 0, dtype, shape)


def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike = None, shape: Any = None, *,
              device: Any = None) -> Value:
    """Return an array of the shape and dtype of `a`, unless given, that is `fill_value` everywhere.

    >>> jnp.full_like(jnp.array([1, 2]), 7)
    Array([7, 7], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.full_like.html.
    """
    if type(fill_value) not in (int, float, bool):
        check_arraylike("full_like", 0 if _is_duck_array(a) else a, fill_value)
    if type(fill_value) in (int, float, bool) or np.ndim(fill_value) == 0:
        return devices.created_at(_filled_like("full_like", a, fill_value, dtype, shape), device)
    return devices.created_at(_full_like_array(a, fill_value, user_dtype(dtype, "full_like"), shape), device)


@remembered("dtype", "shape", static_argnums=(2, 3))
def _full_like_array(a: ArrayLike, fill_value: ArrayLike, dtype: Any, shape: Any) -> Value:
    filled = asarray(fill_value, dtype=dtype or dtype_of(a))
    return device_put(broadcast_to(filled, np.shape(a) if shape is None else shape))


def _filled_like(function: str, a: Any, value: Any, dtype: Any, shape: Any) -> Value:
    if not _is_duck_array(a):
        check_arraylike(function, a)
    return lax.full_like(a, value, user_dtype(dtype, function), None if shape is None else shape_tuple(shape))


def _is_duck_array(a: Any) -> bool:
    """Has `a` a shape and a dtype (a ShapeDtypeStruct, say)?"""
    return hasattr(a, "shape") and hasattr(a, "dtype")
