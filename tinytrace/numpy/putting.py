"""Copies of an array changed at given positions, and positions as flat numbers: put, place, unravel_index."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.dtypes import is_integer
from tinytrace.numpy.arithmetic import divmod
from tinytrace.numpy.array_creation import array, asarray
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, concrete, concrete_index, int_dtype
from tinytrace.numpy.rearranging import tile
from tinytrace.numpy.reductions import any as reduce_any
from tinytrace.numpy.searching import clip, where
from tinytrace.numpy.shapes import ravel
from tinytrace.numpy.triangular import diag_indices


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True) -> Value:
    """Return a copy of `a` whose elements at the flat indices `ind` are `v`; `inplace` must be False.

    >>> jnp.put(jnp.array([1, 2, 3]), jnp.array([0, 2]), jnp.array([9, 8]), inplace=False)
    Array([9, 2, 8], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.put.html.
    """
    check_arraylike("put", a, ind, v)
    arr, places, values = asarray(a), ravel(ind), ravel(v)
    if not arr.size or not places.size or not values.size:
        return arr
    values = _tile_to_size(values, len(places))
    if inplace:
        raise ValueError("jax.numpy.put cannot modify arrays in-place, because JAX arrays are immutable. Pass "
                         "inplace=False to instead return an updated array.")
    scatter_mode = "promise_in_bounds"
    if mode is None:
        scatter_mode = "drop"
    elif mode == "clip":
        places = clip(places, 0, arr.size - 1)
    elif mode == "wrap":
        places = places % arr.size
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got mode={mode!r}")
    return arr.at[unravel_index(places, arr.shape)].set(values, mode=scatter_mode)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Value:
    """Return a copy of `arr` whose elements where `mask` are `vals`, in turn; `inplace` must be False.

    >>> jnp.place(jnp.array([1, 2, 3]), jnp.array([True, False, True]), jnp.array([9, 8]), inplace=False)
    Array([9, 2, 8], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.place.html.
    """
    check_arraylike("place", arr, mask, vals)
    data, mask, vals = asarray(arr), asarray(mask), ravel(vals)
    if inplace:
        raise ValueError("jax.numpy.place cannot modify arrays in-place, because JAX arrays are immutable. Pass "
                         "inplace=False to instead return an updated array.")
    if data.size != mask.size:
        raise ValueError("place: arr and mask must be the same size")
    if not vals.size:
        raise ValueError("Cannot place values from an empty array")
    if not data.size:
        return data
    places = where(mask.ravel(), size=mask.size, fill_value=mask.size)[0]
    return data.ravel().at[places].set(_tile_to_size(vals, len(places)), mode="drop").reshape(data.shape)


def _tile_to_size(x: Value, size: int) -> Value:
    if x.size < size:
        x = tile(x, -(-size // x.size))
    return x[:size] if x.size > size else x


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Value:
    """Return a copy of `a` with `val` on its diagonal; `inplace` must be False.

    >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 7, inplace=False)
    Array([[7., 0.],
           [0., 7.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fill_diagonal.html.
    """
    if inplace:
        raise NotImplementedError("JAX arrays are immutable, must use inplace=False")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    check_arraylike("fill_diagonal", a, val)
    a, val = asarray(a), asarray(val)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and any(n != a.shape[0] for n in a.shape[1:]):
        raise ValueError("All dimensions of input must be of equal length")
    n = min(a.shape)
    return a.at[diag_indices(n, a.ndim)].set(val if val.ndim == 0 else _tile_to_size(val.ravel(), n))


def ravel_multi_index(multi_index: Sequence[ArrayLike], dims: Sequence[int], mode: str = "raise",
                      order: str = "C") -> Value:
    """Return the flat indices of elements of an array of shape `dims` at the given indices per axis.

    >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 0])), (2, 3))
    Array([2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.ravel_multi_index.html.
    """
    shape = [concrete_index(n, "in `dims` argument of ravel_multi_index().") for n in dims]
    if len(multi_index) != len(shape):  # no `assert`: pytest and -O would change what is said
        raise AssertionError(f"len(multi_index)={len(multi_index)} != len(dims)={len(shape)}")
    check_arraylike("ravel_multi_index", *multi_index)
    indices = [asarray(i) for i in multi_index]
    for index in indices:
        if mode == "raise":
            concrete(index, "The error occurred because ravel_multi_index was jit-compiled with mode='raise'. Use "
                            "mode='wrap' or mode='clip' instead.")
        if not is_integer(index.dtype):
            raise TypeError("only int indices permitted")
    if mode == "raise":
        if any(reduce_any((i < 0) | (i >= n)) for i, n in zip(indices, shape, strict=True)):
            raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        indices = [clip(i, 0, n - 1) for i, n in zip(indices, shape, strict=True)]
    elif mode == "wrap":
        indices = [i % n for i, n in zip(indices, shape, strict=True)]
    else:
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', or 'clip'")
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    strides = np.cumprod([1, *(shape[:-1] if order == "F" else shape[:0:-1])])
    result = array(0, dtype=indices[0].dtype if indices else int_dtype())
    for i, stride in zip(indices, strides if order == "F" else strides[::-1], strict=True):
        result = result + i * int(stride)
    return result


def unravel_index(indices: ArrayLike, shape: Any) -> tuple[Value, ...]:
    """Return the indices per axis of the elements of an array of `shape` at flat `indices`.

    >>> jnp.unravel_index(jnp.array([2, 3]), (2, 3))
    (Array([0, 1], dtype=int32), Array([2, 0], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.unravel_index.html.
    """
    check_arraylike("unravel_index", indices)
    rest = asarray(indices)
    sizes = list(shape) if isinstance(shape, Iterable) else [shape]
    if any(np.ndim(n) != 0 for n in sizes):
        raise ValueError("unravel_index: shape should be a scalar or 1D sequence.")
    result: list[Value] = []
    for n in reversed(sizes):
        rest, index = divmod(rest, n)
        result.insert(0, index)
    too_large, too_small = rest > 0, rest < -1
    return tuple(where(too_large, n - 1, where(too_small, 0, i)) for n, i in zip(sizes, result, strict=True))
