"""What says something of a sample: its most frequent value, the ranks of its elements, the error of its mean."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinytrace.api.library import library_jit
from tinytrace.api.vmapping import vmap
from tinytrace.numpy.array_creation import array, asarray, empty_like
from tinytrace.numpy.classification import isnan
from tinytrace.numpy.exponential import sqrt
from tinytrace.numpy.functional import apply_along_axis
from tinytrace.numpy.nan_statistics import nanstd
from tinytrace.numpy.positions import argmax
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    canonicalize_axis,
    check_arraylike,
    float_dtype,
    promote_args_inexact,
)
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.rearranging import insert
from tinytrace.numpy.searching import nonzero
from tinytrace.numpy.sets import unique
from tinytrace.numpy.shapes import atleast_1d, moveaxis, ravel
from tinytrace.numpy.sorting import argsort
from tinytrace.records import NamedTuple


class ModeResult(NamedTuple):
    """What `mode` returns."""

    mode: Value
    count: Value


@library_jit("axis", "nan_policy", "keepdims")
def mode(a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """Return the most frequent value along `axis`, the least of them if there are several, and how often it occurs.

    Raises: NotImplementedError for a `nan_policy` other than "propagate".
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.mode.html.

    >>> jax.scipy.stats.mode(jnp.array([3, 1, 3, 2]))
    ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    check_arraylike("mode", a)
    x = atleast_1d(a)
    _check_nan_policy(nan_policy, "mode")
    if axis is None:
        shape: tuple[int, ...] = (1,) * x.ndim if keepdims else ()
        axis, x = 0, x.ravel()
    elif keepdims:
        shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    else:
        shape = tuple(n for i, n in enumerate(x.shape) if i != axis)
    x = moveaxis(x, canonicalize_axis(axis, x.ndim), 0)
    modes, counts = vmap(_mode, in_axes=1)(x.reshape(x.shape[0], math.prod(x.shape[1:])))
    return ModeResult(modes.reshape(shape), counts.reshape(shape))


def _mode(x: Value) -> tuple[Value, Value]:
    if x.size == 0:
        return array(np.nan, float_dtype()), array(0, float_dtype())
    values, counts = unique(x, return_counts=True, size=x.size)
    return values[argmax(counts)], counts.max()


@library_jit("method", "axis", "nan_policy")
def rankdata(a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Value:
    """Return the rank of each element, from 1; those that are equal get the "average", "min" or "max" of their ranks.

    method: also "dense" (no rank is left out) and "ordinal" (equal elements are ranked in order).
    Raises: ValueError for an unknown method, NotImplementedError for a `nan_policy` other than "propagate".
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.rankdata.html.

    >>> jax.scipy.stats.rankdata(jnp.array([10, 30, 20, 20]))
    Array([1. , 4. , 2.5, 2.5], dtype=float32)
    """
    check_arraylike("rankdata", a)
    _check_nan_policy(nan_policy, "rankdata")
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"unknown method '{method}'")
    a = asarray(a)
    if axis is not None:
        return apply_along_axis(rankdata, axis, a, method)
    flat = ravel(a)
    order = argsort(flat)
    place = empty_like(order).at[order].set(arange(order.size, dtype=order.dtype))
    if method == "ordinal":
        return place + 1
    flat = flat[order]
    is_new = insert(flat[1:] != flat[:-1], 0, True)
    dense = is_new.cumsum()[place]
    if method == "dense":
        return dense
    start = nonzero(is_new, size=flat.size + 1, fill_value=len(is_new))[0]
    if method == "max":
        return start[dense]
    if method == "min":
        return start[dense - 1] + 1
    return 0.5 * (start[dense] + start[dense - 1] + 1).astype(float_dtype())


@library_jit("axis", "nan_policy", "keepdims")
def sem(a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *,
        keepdims: bool = False) -> Value:
    """Return the standard error of the mean along `axis`.

    nan_policy: "propagate", or "omit", which leaves out what is not a number.
    Raises: ValueError for any other `nan_policy`.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.sem.html.

    >>> jax.scipy.stats.sem(jnp.array([1.0, 2.0, 3.0, 4.0]))
    Array(0.6454972, dtype=float32)
    """
    x, = promote_args_inexact("sem", a)
    if nan_policy == "propagate":
        size: Any = x.size if axis is None else x.shape[axis]
        return x.std(axis, ddof=ddof, keepdims=keepdims) / sqrt(size).astype(x.dtype)
    if nan_policy == "omit":
        count = (~isnan(x)).sum(axis, keepdims=keepdims)
        return nanstd(x, axis, ddof=ddof, keepdims=keepdims) / sqrt(count).astype(x.dtype)
    raise ValueError(f"{nan_policy} is not supported")


def _check_nan_policy(nan_policy: str, name: str) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"Illegal nan_policy value {nan_policy!r}; expected one of {{'propagate', 'omit', 'raise'}}")
    if nan_policy == "omit":
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented")
    if nan_policy == "raise":
        raise NotImplementedError("In order to best JIT compile `mode`, we cannot know whether `x` contains nans. "
                                  f"Please check if nans exist in `x` outside of the `{name}` function.")
