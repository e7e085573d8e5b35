"""Functions that take functions: apply_along_axis, apply_over_axes, piecewise, fromfunction."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.api.vmapping import vmap
from tinytrace.core.avals import canonicalize_shape
from tinytrace.numpy.array_creation import array, asarray, zeros_like
from tinytrace.numpy.cumulative import cumsum
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.positions import argmax
from tinytrace.numpy.promotion import ArrayLike, DTypeLike, Value, canonicalize_axis, check_arraylike
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.shapes import expand_dims
from tinytrace.numpy.vectorization import vectorize


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Value:
    """Apply a function of vectors to each vector of `arr` along `axis`.

    >>> jnp.apply_along_axis(jnp.sum, 0, jnp.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.apply_along_axis.html.
    """
    check_arraylike("apply_along_axis", arr)
    ndim = np.ndim(arr)
    axis = canonicalize_axis(axis, ndim)

    def function(x: Value) -> Value:
        return func1d(x, *args, **kwargs)

    for i in range(1, ndim - axis):
        function = vmap(function, in_axes=i, out_axes=-1)
    for _ in range(axis):
        function = vmap(function)
    return function(arr)


def apply_over_axes(func: Callable[[Any, int], Value], a: ArrayLike, axes: Sequence[int]) -> Value:
    """Apply a reduction over one axis after the other, which stay with size one.

    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0, 1])
    Array([[6.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.apply_over_axes.html.
    """
    check_arraylike("apply_over_axes", a)
    result = asarray(a)
    for axis in axes:
        reduced = func(result, axis)
        if reduced.ndim == result.ndim - 1:
            reduced = expand_dims(reduced, axis)
        elif reduced.ndim != result.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        result = reduced
    return result


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: DTypeLike = float, **kwargs: Any) -> Value:
    """Return the array whose element at (i, j, ...) is `function(i, j, ...)`.

    >>> jnp.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
    Array([[0, 1],
           [1, 2]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fromfunction.html.
    """
    shape = canonicalize_shape(shape, "shape argument of jnp.fromfunction()")
    for i in range(len(shape)):
        function = vmap(function, in_axes=tuple(0 if i == j else None for j in range(len(shape)))[::-1])
    return function(*(arange(size, dtype=dtype) for size in shape), **kwargs)


def piecewise(x: ArrayLike, condlist: Any, funclist: list[Any], *args: Any, **kw: Any) -> Value:
    """Apply, element by element, the function (or take the number) of the last condition that is true.

    >>> jnp.piecewise(jnp.array([-1.0, 2.0]), [jnp.array([True, False])], [lambda v: -v, lambda v: v * 10])
    Array([ 1., 20.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.piecewise.html.
    """
    check_arraylike("piecewise", x)
    conditions, functions = len(condlist), len(funclist)
    if functions == conditions + 1:
        funclist = [*funclist[-1:], *funclist[:-1]]
    elif functions == conditions:
        funclist = [0, *funclist]
    else:
        raise ValueError(f"with {conditions} condition(s), either {conditions} or {conditions + 1} functions are "
                         f"expected; got {functions}")
    consts = {i: f for i, f in enumerate(funclist) if not callable(f)}
    funcs = frozenset((i, f) for i, f in enumerate(funclist) if callable(f))
    return _piecewise(asarray(x), asarray(condlist, dtype=np.bool_), consts, funcs, *args, **kw)


@library_jit("funcs")
def _piecewise(x: Value, condlist: Value, consts: dict[int, Any], funcs: frozenset[tuple[int, Callable[..., Any]]],
               *args: Any, **kw: Any) -> Value:
    functions = dict(funcs)
    which = argmax(cumsum(concatenate([zeros_like(condlist[:1]), condlist], 0), 0), 0)

    def branch(i: int) -> Callable[[Any], Value]:
        if i in functions:
            return lambda element: functions[i](element, *args, **kw).astype(x.dtype)
        return lambda element: array(consts[i], dtype=x.dtype)

    branches = [branch(i) for i in range(len(condlist) + 1)]
    return vectorize(lax.switch, excluded=(1,))(which, branches, x)
