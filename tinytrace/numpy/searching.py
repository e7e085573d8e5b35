"""Choosing elements: where, clip, select, choose; and finding those that are not zero: nonzero and its kin."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import BOOL, is_integer
from tinytrace.core.trace import is_eager
from tinytrace.numpy.array_creation import array, asarray, zeros
from tinytrace.numpy.classification import iscomplexobj
from tinytrace.numpy.comparison import maximum, minimum
from tinytrace.numpy.cumulative import cumsum
from tinytrace.numpy.joining import stack, vstack
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.positions import argmax
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    broadcast_arrays,
    check_arraylike,
    concrete,
    concrete_index,
    int_dtype,
    promote_dtypes,
)
from tinytrace.numpy.ranges import arange, indices
from tinytrace.numpy.reductions import any as reduce_any
from tinytrace.numpy.shapes import atleast_1d, expand_dims, moveaxis, ravel, transpose
from tinytrace.numpy.sorting import argsort


def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /, *, size: int | None = None,
          fill_value: Any = None) -> Any:
    """Return `x` where `condition` is true and `y` elsewhere; with one argument `nonzero(condition)`.

    >>> jnp.where(jnp.array([True, False]), 1, 2)
    Array([1, 2], dtype=int32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.where.html.
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError("size and fill_value arguments cannot be used in three-term where function.")
    return choose_where(condition, x, y)


@library_jit(elementwise=True)
def clip(arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None, *,
         a: ArrayLike | None = None, a_min: ArrayLike | None = None, a_max: ArrayLike | None = None) -> Value:
    """Return `arr` with each element raised to `min` and lowered to `max`.

    >>> jnp.clip(jnp.array([-1, 2, 9]), 0, 5)
    Array([0, 2, 5], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.clip.html.
    """
    arr = a if arr is None else arr
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    if not (a is None and a_min is None and a_max is None):
        warnings.warn("Passing arguments 'a', 'a_min' or 'a_max' to jax.numpy.clip is deprecated. Please use 'arr', "
                      "'min' or 'max' respectively instead.", DeprecationWarning, stacklevel=6)
    min, max = a_min if min is None else min, a_max if max is None else max
    check_arraylike("clip", arr)
    if any(iscomplexobj(x) for x in (arr, min, max)):
        raise ValueError("Clip received a complex value either through the input or the min/max keywords. Complex "
                         "values have no ordering and cannot be clipped. Please convert to a real value or array by "
                         "taking the real or imaginary components via jax.numpy.real/imag respectively.")
    if min is not None:
        arr = maximum(min, arr)
    if max is not None:
        arr = minimum(max, arr)
    return asarray(arr)


def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Value:
    """Return, element by element, the choice of the first condition that is true, or `default`.

    >>> x = jnp.arange(4)
    >>> jnp.select([x < 1, x > 2], [x, x * 10], -1)
    Array([ 0, -1, -1, 30], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.select.html.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if not condlist:
        raise ValueError("condlist must be non-empty")
    choices = promote_dtypes(default, *choicelist)
    conditions = stack(broadcast_arrays(False, *condlist))
    first = argmax(conditions.astype(bool), axis=0)
    return lax.select_n(*broadcast_arrays(first, *choices))


def choose(a: ArrayLike, choices: Any, out: None = None, mode: str = "raise") -> Value:
    """Return, element by element, the choice whose number `a` says.

    mode: what an out-of-range number means: an error ("raise", not while tracing), "wrap" or "clip".

    >>> jnp.choose(jnp.array([0, 1]), [jnp.array([1, 2]), jnp.array([3, 4])])
    Array([1, 4], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.choose.html.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.choose is not supported.")
    check_arraylike("choose", a, *choices)
    if not is_integer(aval_of(a).dtype):
        raise ValueError("`a` array must be integer typed")
    n = len(choices)
    if mode == "raise":
        which = asarray(concrete(a, "The error occurred because jnp.choose was jit-compiled with mode='raise'. Use "
                                    "mode='wrap' or mode='clip' instead."))
        if reduce_any((which < 0) | (which >= n)):
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        which = asarray(a) % n
    elif mode == "clip":
        which = clip(a, 0, n - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    which, *choices = broadcast_arrays(which, *choices)
    return array(choices)[(which, *indices(which.shape, sparse=True))]


# --- what is not zero ------------------------------------------------------------------------------------------

def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Value, ...]:
    """Return the indices of elements that are not zero, one array per axis.

    While tracing, `size` must say how many to return; missing ones are `fill_value` (0 when not given).

    >>> jnp.nonzero(jnp.array([0, 5, 7]))
    (Array([1, 2], dtype=int32),)

    See https://numpy.org/doc/stable/reference/generated/numpy.nonzero.html.
    """
    check_arraylike("nonzero", a)
    arr = asarray(a)
    if arr.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() instead.")
    if size is None and type(arr) is Array and is_eager():
        return tuple(array_from_numpy(x.astype(int_dtype()), ShapedArray(x.shape, int_dtype()))
                     for x in np.nonzero(arr._value))
    mask = arr if arr.dtype == BOOL else arr != 0
    count = int(concrete(mask.sum() if size is None else size,
                         "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero within JAX "
                         "transformations."))
    if arr.size == 0 or count == 0:
        return tuple(zeros(count, int) for _ in arr.shape)
    flat = cumsum(bincount(cumsum(mask), length=count))
    strides = np.cumprod(arr.shape[::-1])[::-1] // arr.shape
    out = tuple(flat // np.array(stride, int_dtype()) % n for stride, n in zip(strides, arr.shape, strict=True))
    if fill_value is None:
        return out
    fill = fill_value if isinstance(fill_value, tuple) else (fill_value,) * arr.ndim
    if any(np.shape(value) != () for value in fill):
        raise ValueError(f"fill_value must be a scalar or a tuple of length {arr.ndim}; got {fill_value}")
    missing = arange(count) >= mask.sum()
    return tuple(choose_where(missing, value, entry) for value, entry in zip(fill, out, strict=True))


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the indices of elements of the flattened array that are not zero.

    >>> jnp.flatnonzero(jnp.array([[0, 5], [7, 0]]))
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.flatnonzero.html.
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the indices of elements that are not zero, one row per element.

    >>> jnp.argwhere(jnp.array([[0, 5], [7, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.argwhere.html.
    """
    result = transpose(vstack(nonzero(atleast_1d(a), size=size, fill_value=fill_value)))
    if np.ndim(a) == 0:
        return result[:0].reshape(result.shape[0], 0)
    return result.reshape(result.shape[0], np.ndim(a))


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Value:
    """Return the elements of the flattened `arr` where `condition`.

    >>> jnp.extract(jnp.array([True, False]), jnp.array([1, 2]))
    Array([1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.extract.html.
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, *, size: int | None = None,
             fill_value: ArrayLike = 0, out: None = None) -> Value:
    """Return the layers of `a` along `axis` where `condition: bool[n]`; `size` of them if given.

    >>> jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
    Array([1, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.compress.html.
    """
    check_arraylike("compress", condition, a, fill_value)
    keep = asarray(condition).astype(bool)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.compress is not supported.")
    if keep.ndim != 1:
        raise ValueError("condition must be a 1D array")
    arr = ravel(a) if axis is None else moveaxis(a, axis, 0)
    keep, extra = keep[:arr.shape[0]], keep[arr.shape[0]:]
    arr = arr[:keep.shape[0]]
    if size is None:
        if reduce_any(extra):
            raise ValueError("condition contains entries that are out of bounds")
        result = arr[keep]
    elif not 0 <= size <= arr.shape[0]:
        raise ValueError("size must be positive and not greater than the size of the array axis; got "
                         f"size={size!r} for a.shape[axis]={arr.shape[0]}")
    else:
        arr = choose_where(expand_dims(keep, range(1, arr.ndim)), arr, array(fill_value, dtype=arr.dtype))
        result = arr[argsort(keep, stable=True, descending=True)][:size]
    return moveaxis(result, 0, axis or 0)


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *, length: int | None = None) -> Value:
    """Count how often each of 0, 1, 2, ... occurs in `x: i32[n]`, or sum the weights of its occurrences.

    While tracing, `length` must say how many counts to return.

    >>> jnp.bincount(jnp.array([0, 1, 1, 3]))
    Array([1, 2, 0, 1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.bincount.html.
    """
    check_arraylike("bincount", x)
    if not is_integer(aval_of(x).dtype):
        raise TypeError(f"x argument to bincount must have an integer type; got {aval_of(x).dtype}")
    if np.ndim(x) != 1:
        raise ValueError("only 1-dimensional input supported.")
    minlength = concrete_index(minlength, "The error occurred because of argument 'minlength' of jnp.bincount.")
    if length is None:
        known = asarray(concrete(x, "The error occurred because of argument 'x' of jnp.bincount. To avoid this error, "
                                    "pass a static `length` argument."))
        length = max(minlength, int(np.asarray(known).max()) + 1 if known.size else 0)
    else:
        length = concrete_index(length, "The error occurred because of argument 'length' of jnp.bincount.")
    if weights is None:
        if type(x) is Array and x.size <= FEW and is_eager() and length >= 0:
            return _counted_by_numpy(x, length)
        weights = np.array(1, dtype=int_dtype())
    elif np.shape(x) != np.shape(weights):
        raise ValueError("shape of weights must match shape of x.")
    return zeros(length, aval_of(weights).dtype).at[clip(x, 0)].add(weights, mode="drop")


FEW = 1 << 14
"""Of more elements a program counts faster than NumPy, by more than it takes to call it."""


def _counted_by_numpy(x: Array, length: int) -> Array:
    """Count outside of a trace: what is negative counts as 0, and what is `length` or more does not count."""
    places = np.maximum(x._value, 0)
    if places.size and int(places.max()) >= length:
        places = places[places < length]
    counts = np.bincount(places.astype(np.int64, copy=False), minlength=length)
    return array_from_numpy(counts.astype(int_dtype()), ShapedArray((length,), int_dtype()))
