"""Sequences of numbers and grids: arange, linspace, meshgrid, indices, eye."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace._dispatch import array_counted
from tinytrace.api import devices
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.avals import ShapedArray, VaryingSize, canonicalize_shape
from tinytrace.core.dtypes import is_integer, result_type
from tinytrace.core.trace import is_eager
from tinytrace.numpy.arithmetic import sign
from tinytrace.numpy.array_creation import array, asarray
from tinytrace.numpy.exponential import log10
from tinytrace.numpy.joining import stack
from tinytrace.numpy.powers import power
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    broadcast_to,
    canonicalize_axis,
    check_arraylike,
    check_arraylike_or_none,
    concrete,
    concrete_index,
    convert,
    float_dtype,
    int_dtype,
    to_inexact_dtype,
    user_dtype,
)
from tinytrace.numpy.shapes import moveaxis, reshape


def arange(start: ArrayLike, stop: ArrayLike | None = None, step: ArrayLike | None = None,
           dtype: DTypeLike = None, *, device: Any = None) -> Value:
    """Count from `start` (0 when only one argument is given) to before `stop` in steps of `step`.

    >>> jnp.arange(4)
    Array([0, 1, 2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.arange.html.
    """
    numbers = _plain_range(start, stop, step) if dtype is device is None and is_eager() else None
    if numbers is not None:
        integer, count = int_dtype(), len(numbers)
        return array_counted(ShapedArray((count,), integer), numbers.start, numbers.step, count, integer.itemsize)
    dtype = user_dtype(dtype, "arange")
    if isinstance(start, VaryingSize) and stop is None and step is None:
        return lax.iota(dtype or int_dtype(), start)  # type: ignore[arg-type]
    check_arraylike("arange", start)
    check_arraylike_or_none("arange", None, stop, step)
    first = "stop" if stop is None and step is None else "start"
    start, stop, step = [concrete(x, f"It arose in the jnp.arange argument '{name}'")
                         for name, x in ((first, start), ("stop", stop), ("step", step))]
    for name, x in ((first, start), ("stop", stop), ("step", step)):
        if x is not None and np.ndim(x) != 0:
            raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={x}")
    dtype = dtype or result_type(*[x for x in (start, stop, step) if x is not None])
    if stop is None and step is None:
        counted = lax.iota(dtype, max(0, int(np.ceil(start))))
    elif step is None and start == 0:
        counted = lax.iota(dtype, max(0, int(np.ceil(stop))))
    else:
        return array(np.arange(start, stop, step, dtype), device=device)  # type: ignore[call-overload]
    return counted if device is None else devices.device_put(counted, device)


def _plain_range(start: Any, stop: Any, step: Any) -> range | None:
    """Return what small integers of Python's count; None for all others, and where NumPy has more to say."""
    if not _is_small(start) or (stop is None and step is not None) or (type(step) is int and step == 0):
        return None
    if stop is None:
        return range(start)
    step = 1 if step is None else step
    return range(start, stop, step) if _is_small(stop) and _is_small(step) else None


def _is_small(x: Any) -> bool:
    """Is `x` a Python integer that fits into an int32?"""
    return type(x) is int and -2 ** 31 <= x < 2 ** 31


def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: DTypeLike = None, axis: int = 0, *, device: Any = None) -> Any:
    """Return `num` numbers, evenly spaced from `start` to `stop` (or to before it, without `endpoint`).

    >>> jnp.linspace(0.0, 1.0, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linspace.html.
    """
    num = concrete_index(num, "'num' argument of jnp.linspace")
    axis = concrete_index(axis, "'axis' argument of jnp.linspace")
    result = _linspace(start, stop, num, endpoint, retstep, dtype, axis)
    return (devices.created_at(result[0], device), result[1]) if retstep else devices.created_at(result, device)


@library_jit("num", "endpoint", "retstep", "dtype", "axis")
def _linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False,
              dtype: DTypeLike = None, axis: int = 0) -> Any:
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    check_arraylike("linspace", start, stop)
    dtype, computed = _spaced_dtype("linspace", start, stop, dtype)
    start, stop = asarray(start, dtype=computed), asarray(stop, dtype=computed)
    shape = list(lax.broadcast_shapes(start.shape, stop.shape))
    first, last = broadcast_to(start, shape), broadcast_to(stop, shape)
    axis = len(shape) + axis + 1 if axis < 0 else axis
    expanded = [*shape[:axis], 1, *shape[axis:]]
    steps = num - 1 if endpoint else num
    if num > 1:
        delta = convert(stop - start, computed) / array(steps, dtype=computed)
        counts = [1] * len(expanded)
        counts[axis] = steps
        t = convert(reshape(lax.iota(computed, steps), counts) / array(steps, computed), computed)
        out = reshape(first, expanded) * (1 - t) + reshape(last, expanded) * t
        if endpoint:
            out = lax.concatenate([out, lax.expand_dims(last, (axis,))], canonicalize_axis(axis, out.ndim))
    elif num == 1:
        delta = asarray(np.nan if endpoint else stop - start, dtype=computed)
        out = reshape(first, expanded)
    else:
        delta = asarray(np.nan, dtype=computed)
        out = reshape(array([], dtype=dtype), [*shape[:axis], 0, *shape[axis:]])
    if is_integer(dtype) and not is_integer(out.dtype):
        out = lax.floor(out)
    result = convert(out, dtype)
    return (result, delta) if retstep else result


def _spaced_dtype(function: str, start: Any, stop: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the dtype of the result and the one to compute in."""
    dtype = user_dtype(dtype, function) or to_inexact_dtype(result_type(start, stop))
    return dtype, to_inexact_dtype(dtype)


def logspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, base: ArrayLike = 10.0,
             dtype: DTypeLike = None, axis: int = 0) -> Value:
    """Return `base` to the power of `linspace(start, stop, num)`.

    >>> jnp.logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.logspace.html.
    """
    num = concrete_index(num, "'num' argument of jnp.logspace")
    axis = concrete_index(axis, "'axis' argument of jnp.logspace")
    return _logspace(start, stop, num, endpoint, base, dtype, axis)


@library_jit("num", "endpoint", "dtype", "axis")
def _logspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, base: ArrayLike = 10.0,
              dtype: DTypeLike = None, axis: int = 0) -> Value:
    dtype, computed = _spaced_dtype("logspace", start, stop, dtype)
    check_arraylike("logspace", start, stop)
    start, stop = asarray(start, dtype=computed), asarray(stop, dtype=computed)
    exponents = linspace(start, stop, num, endpoint=endpoint, retstep=False, dtype=None, axis=axis)
    return convert(power(base, exponents), dtype)


def geomspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike = None,
              axis: int = 0) -> Value:
    """Return `num` numbers from `start` to `stop`, each the same multiple of the one before.

    >>> jnp.geomspace(1, 100, 3)
    Array([ 1.      ,  9.999999, 99.99997 ], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.geomspace.html.
    """
    num = concrete_index(num, "'num' argument of jnp.geomspace")
    axis = concrete_index(axis, "'axis' argument of jnp.geomspace")
    return _geomspace(start, stop, num, endpoint, dtype, axis)


@library_jit("num", "endpoint", "dtype", "axis")
def _geomspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike = None,
               axis: int = 0) -> Value:
    dtype, computed = _spaced_dtype("geomspace", start, stop, dtype)
    check_arraylike("geomspace", start, stop)
    start, stop = asarray(start, dtype=computed), asarray(stop, dtype=computed)
    side = sign(start)
    result = side * logspace(log10(start / side), log10(stop / side), num, endpoint=endpoint, base=10.0,
                             dtype=computed, axis=0)
    return convert(moveaxis(result, 0, axis) if axis != 0 else result, dtype)


# --- grids -----------------------------------------------------------------------------------------------------

@remembered("copy", "sparse", "indexing")
def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Value]:
    """Return the coordinates of a grid: one array per axis, each of the shape of the whole grid.

    >>> jnp.meshgrid(jnp.array([1, 2]), jnp.array([3, 4]))
    [Array([[1, 2],
           [1, 2]], dtype=int32), Array([[3, 3],
           [4, 4]], dtype=int32)]

    See https://numpy.org/doc/stable/reference/generated/numpy.meshgrid.html.
    """
    check_arraylike("meshgrid", *xi)
    args = [asarray(x) for x in xi]
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(a.ndim != 1 for a in args):
        raise ValueError(f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[a.shape for a in args]}")
    swap = indexing == "xy" and len(args) >= 2
    if swap:
        args[0], args[1] = args[1], args[0]
    shape = [a.shape[0] for a in args]
    grids = [lax.broadcast_in_dim(a, _sparse_shape(shape, i) if sparse else shape, (i,)) for i, a in enumerate(args)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return grids


def _sparse_shape(shape: Sequence[int], axis: int) -> list[int]:
    return [size if i == axis else 1 for i, size in enumerate(shape)]


def indices(dimensions: Sequence[int], dtype: DTypeLike = None, sparse: bool = False) -> Any:
    """Return the index of each element of an array of shape `dimensions`: one array per axis, stacked unless `sparse`.

    >>> jnp.indices((2, 2))
    Array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.indices.html.
    """
    dtype = user_dtype(dtype, "indices") or int_dtype()
    shape = [concrete_index(size, "dimensions argument of jnp.indices") for size in dimensions]
    grids = [lax.broadcast_in_dim(lax.iota(dtype, size), _sparse_shape(shape, i) if sparse else shape, (i,))
             for i, size in enumerate(shape)]
    if sparse:
        return tuple(grids)
    return stack(grids, 0) if grids else array([], dtype=dtype)


@remembered()
def ix_(*args: ArrayLike) -> tuple[Value, ...]:
    """Return arrays that index the product of the given indices: `x[ix_([0, 1], [2])]` is a 2 by 1 block.

    >>> jnp.ix_(jnp.array([0, 1]), jnp.array([2]))
    (Array([[0],
           [1]], dtype=int32), Array([[2]], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.ix_.html.
    """
    check_arraylike("ix", *args)
    output = []
    for i, arg in enumerate(args):
        a = asarray(arg)
        if a.ndim != 1:
            raise ValueError(f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {a.shape}")
        if a.dtype == np.bool_:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        shape = [1] * len(args)
        shape[i] = a.shape[0]
        output.append(lax.broadcast_in_dim(a, shape, (i,)) if a.size else lax.full(shape, 0, int_dtype()))
    return tuple(output)


@remembered("N", "M", "k", "dtype", "device", static_argnums=(0, 1, 2, 3))
def eye(N: int, M: int | None = None, k: ArrayLike = 0, dtype: DTypeLike = None, *, device: Any = None) -> Value:
    """Return f32[N, M] that is 1 on diagonal `k` and 0 elsewhere.

    >>> jnp.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.eye.html.
    """
    dtype = user_dtype(dtype, "eye") or float_dtype()
    check_arraylike("eye", k)
    rows, = canonicalize_shape((N,), "argument of 'N' jnp.eye().")
    columns = rows if M is None else canonicalize_shape((M,), "argument 'M' of jnp.eye().")[0]
    if rows < 0 or columns < 0:
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    if type(k) is int:  # any diagonal beyond the matrix is as good as the first beyond it
        k = max(-rows, min(k, columns))
    offset = asarray(k)
    if offset.shape or not is_integer(offset.dtype):
        raise ValueError(f"k must be a scalar integer; got {k}")
    i = lax.broadcasted_iota(offset.dtype, (rows, columns), 0)
    j = lax.broadcasted_iota(offset.dtype, (rows, columns), 1)
    result = (i + offset == j).astype(dtype)
    return result if device is None else devices.device_put(result, device)


def identity(n: int, dtype: DTypeLike = None) -> Value:
    """Return the identity matrix f32[n, n].

    >>> jnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.identity.html.
    """
    return eye(n, dtype=user_dtype(dtype, "identity"))

