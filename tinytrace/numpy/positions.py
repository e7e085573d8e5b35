"""Where the extremes are, and where an element would stand in a sorted array."""
from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.api.vmapping import vmap
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import INT32, is_complex, is_float
from tinytrace.core.primitive import Primitive
from tinytrace.numpy.array_creation import asarray, zeros_like
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    as_array,
    canonicalize_axis,
    check_arraylike,
    int_dtype,
    promote_dtypes,
)
from tinytrace.numpy.reductions import all as reduce_all
from tinytrace.numpy.shapes import ravel
from tinytrace.numpy.sorting import argsort
from tinytrace.numpy.vectorization import vectorize
from tinytrace.primitives.elementwise import const_like

# --- extremes --------------------------------------------------------------------------------------------------

@remembered("axis", "out", "keepdims")
def argmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Value:
    """Return the index of the first largest element along `axis`, of the flattened array when None.

    >>> jnp.argmax(jnp.array([1, 5, 3]))
    Array(1, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.argmax.html.
    """
    return _extreme("argmax", lax.argmax, a, axis, out, bool(keepdims))


@remembered("axis", "out", "keepdims")
def argmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Value:
    """Return the index of the first smallest element along `axis`, of the flattened array when None.

    >>> jnp.argmin(jnp.array([4, 1, 3]))
    Array(1, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.argmin.html.
    """
    return _extreme("argmin", lax.argmin, a, axis, out, bool(keepdims))


def _extreme(name: str, op: Callable[..., Value], a: Any, axis: Any, out: None, keepdims: bool) -> Value:
    check_arraylike(name, a)
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")
    a = as_array(a)
    if axis is None:
        dims, axis, a = tuple(range(a.ndim)), 0, ravel(a)
    else:
        axis = operator.index(axis)
        dims = (axis,)
    if a.shape[axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = op(a, canonicalize_axis(axis, a.ndim), int_dtype())
    return lax.expand_dims(result, dims) if keepdims else result


@remembered("axis", "out", "keepdims")
def nanargmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Value:
    """Return `argmax` without regard to nan, and -1 where there is nothing else.

    >>> jnp.nanargmax(jnp.array([jnp.nan, 1.0, 5.0]))
    Array(2, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanargmax.html.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.nanargmax is not supported.")
    return _nanargmax(a, None if axis is None else operator.index(axis), keepdims=bool(keepdims))


@remembered("axis", "out", "keepdims")
def nanargmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Value:
    """Return `argmin` without regard to nan, and -1 where there is nothing else.

    >>> jnp.nanargmin(jnp.array([jnp.nan, 5.0, 1.0]))
    Array(2, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanargmin.html.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.nanargmin is not supported.")
    return _nanargmin(a, None if axis is None else operator.index(axis), keepdims=bool(keepdims))


@library_jit("axis", "keepdims")
def _nanargmax(a: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Value:
    check_arraylike("nanargmax", a)
    return _nan_extreme(argmax, a, -np.inf, axis, keepdims)


@library_jit("axis", "keepdims")
def _nanargmin(a: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Value:
    check_arraylike("nanargmin", a)
    return _nan_extreme(argmin, a, np.inf, axis, keepdims)


def _nan_extreme(find: Callable[..., Value], a: Value, last: float, axis: int | None, keepdims: bool) -> Value:
    if not is_float(aval_of(a).dtype):
        return find(a, axis=axis, keepdims=keepdims)
    is_nan = lax.ne(a, a)
    result = find(choose_where(is_nan, last, a), axis=axis, keepdims=keepdims)
    return choose_where(reduce_all(is_nan, axis=axis, keepdims=keepdims), -1, result)


# --- positions in a sorted array -------------------------------------------------------------------------------

@library_jit("side", "method")
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None, *,
                 method: str = "scan") -> Value:
    """Return where to put the elements of `v` into the sorted `a: f32[n]` so that it stays sorted.

    method: "scan" (bisection), "scan_unrolled", "sort" or "compare_all".

    >>> jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 9]))
    Array([0, 1, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.searchsorted.html.
    """
    check_arraylike("searchsorted", a, v, *([] if sorter is None else [sorter]))
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is an invalid value for keyword 'side'. Expected one of ['left', 'right'].")
    if method not in _SEARCHES:
        raise ValueError(f"{method!r} is an invalid value for keyword 'method'. Expected one of ['sort', 'scan', "
                         "'scan_unrolled', 'compare_all'].")
    if np.ndim(a) != 1:
        raise ValueError("a should be 1-dimensional")
    a, v = promote_dtypes(a, v)
    if sorter is not None:
        a = a[sorter]
    return _SEARCHES[method](a, v, side) if a.shape[0] else zeros_like(v, dtype=INT32)


def _bisect(unrolled: bool, a: Value, v: Value, side: str) -> Value:
    before = partial(_ordered, last=lax.le_to_p if side == "left" else lax.lt_to_p)

    def search(query: Value) -> Value:
        def step(state: tuple[Value, Value], _: Any) -> tuple[tuple[Value, Value], tuple[()]]:
            low, high = state
            middle = (low + high) // 2
            go_left = before(query, a[middle])
            return (choose_where(go_left, low, middle), choose_where(go_left, middle, high)), ()

        levels = int(np.ceil(np.log2(len(a) + 1)))
        (_, high), _ = lax.scan(step, (np.int32(0), np.int32(len(a))), (), length=levels,
                                unroll=levels if unrolled else 1)
        return high

    return vectorize(search)(v)


def _ordered(x: Value, y: Value, last: Primitive) -> Value:
    """Is `x` before `y` (or, with le_to, at `y`) as sort orders them: complex numbers by their real parts first?"""
    pairs = list(zip(_keys(x), _keys(y), strict=True))
    result = last.bind(*pairs[-1])
    for a, b in pairs[:-1]:
        result = lax.bitwise_or(lax.lt_to_p.bind(a, b), lax.bitwise_and(lax.eq_to_p.bind(a, b), result))
    return result


def _keys(x: Value) -> list[Value]:
    return [_canonical(lax.real(x)), _canonical(lax.imag(x))] if is_complex(aval_of(x).dtype) else [_canonical(x)]


def _canonical(x: Value) -> Value:
    """Make -0 equal to 0 and all nan one: floats are then in a total order, nan last."""
    if not is_float(aval_of(x).dtype):
        return x
    unsigned_zero = lax.select(lax.eq(x, const_like(x, 0)), lax.full_like(x, 0), x)
    return lax.select(lax.ne(x, x), lax.full_like(x, np.nan), unsigned_zero)


def _search_by_sort(a: Value, v: Value, side: str) -> Value:
    flat = v.ravel()
    if side == "left":
        index = _rank(lax.concatenate([flat, a], 0))[:v.size]
    else:
        index = _rank(lax.concatenate([a, flat], 0))[a.size:]
    return lax.reshape(lax.sub(index, _rank(flat)), v.shape).astype(INT32)


def _rank(x: Value) -> Value:
    """Return the place of each element of `x` when it is sorted."""
    places = lax.iota(INT32, x.shape[0])
    return zeros_like(places).at[argsort(x)].set(places)


def _search_all(a: Value, v: Value, side: str) -> Value:
    before = partial(_ordered, last=lax.lt_to_p if side == "left" else lax.le_to_p)
    return vmap(before, in_axes=(0, None))(a, v).sum(dtype=INT32, axis=0)


_SEARCHES: dict[str, Callable[..., Value]] = {
    "scan": partial(_bisect, False), "scan_unrolled": partial(_bisect, True), "sort": _search_by_sort,
    "compare_all": _search_all,
}


@library_jit("right", "method")
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None) -> Value:
    """Return the number of the bin that each element of `x` lies in; `bins: f32[n]` rise or fall.

    >>> jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0.0, 1.0, 2.0]))
    Array([1, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.digitize.html.
    """
    check_arraylike("digitize", x, bins)
    edges = asarray(bins)
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got bins={bins!r}")
    if edges.shape[0] == 0:
        return zeros_like(x, dtype=INT32)
    side = "left" if right else "right"
    options = {} if method is None else {"method": method}
    return choose_where(edges[-1] >= edges[0], searchsorted(edges, x, side=side, **options),
                        edges.shape[0] - searchsorted(edges[::-1], x, side=side, **options))
