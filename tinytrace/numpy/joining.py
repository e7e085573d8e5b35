"""Putting arrays together and taking them apart: concatenate, stack, split, append, block."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.api.vmapping import vmap
from tinytrace.config import config
from tinytrace.core.array import Array
from tinytrace.core.trace import Tracer, is_eager
from tinytrace.numpy.array_creation import asarray, concatenated
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    canonicalize_axis,
    check_arraylike,
    concrete,
    concrete_index,
    promote_dtypes,
    warn_unless_arraylike,
)
from tinytrace.numpy.shapes import atleast_1d, atleast_2d, atleast_3d, expand_dims, moveaxis, ravel


@remembered("axis", "dtype")
def concatenate(arrays: Any, axis: int | None = 0, dtype: DTypeLike = None) -> Value:
    """Join arrays along an axis that they have; flattened when `axis` is None.

    >>> jnp.concatenate([jnp.array([1, 2]), jnp.array([3.0])])
    Array([1., 2., 3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.concatenate.html.
    """
    if _is_one_array(arrays):
        return _merge_first_axis(asarray(arrays, dtype=dtype), axis)
    check_arraylike("concatenate", *arrays)
    if not len(arrays):
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([ravel(a) for a in arrays], axis=0, dtype=dtype)
    if np.ndim(arrays[0]) == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonicalize_axis(axis, np.ndim(arrays[0]))
    converted = promote_dtypes(*arrays) if dtype is None else [asarray(a, dtype=dtype) for a in arrays]
    return concatenated(converted if len(converted) > 1 else [asarray(converted[0])], axis)


@remembered("axis")
def concat(arrays: Sequence[ArrayLike], /, *, axis: int | None = 0) -> Value:
    """Another name of `concatenate`.

    >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.concat.html.
    """
    check_arraylike("concat", *([arrays] if _is_one_array(arrays) else arrays))
    return concatenate(arrays, axis=axis)


def _is_one_array(arrays: Any) -> bool:
    return isinstance(arrays, (np.ndarray, Array, Tracer))


def _merge_first_axis(a: Value, axis: int | None) -> Value:
    """Concatenate the rows of `a` along `axis` of a row: a reshape."""
    if a.ndim == 0 or a.shape[0] == 0:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return lax.reshape(a, (a.size,))
    if a.ndim == 1:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonicalize_axis(axis, a.ndim - 1)
    shape = (*a.shape[1:axis + 1], a.shape[0] * a.shape[axis + 1], *a.shape[axis + 2:])
    return lax.reshape(a, shape, (*range(1, axis + 1), 0, *range(axis + 1, a.ndim)))


@remembered("axis", "out", "dtype")
def stack(arrays: Any, axis: int = 0, out: None = None, dtype: DTypeLike = None) -> Value:
    """Join arrays of one shape along a new axis.

    >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.stack.html.
    """
    if not len(arrays):
        raise ValueError("Need at least one array to stack.")
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    if _is_one_array(arrays):
        axis = canonicalize_axis(axis, arrays.ndim)
        return concatenate(expand_dims(arrays, axis + 1), axis=axis, dtype=dtype)
    check_arraylike("stack", *arrays)
    shape = np.shape(arrays[0])
    axis = canonicalize_axis(axis, len(shape) + 1)
    layers = []
    for a in arrays:
        if np.shape(a) != shape:
            raise ValueError("All input arrays must have the same shape.")
        layers.append(expand_dims(a, axis))
    return concatenate(layers, axis=axis, dtype=dtype)


@remembered("dtype")
def vstack(tup: Any, dtype: DTypeLike = None) -> Value:
    """Stack arrays as rows.

    >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.vstack.html.
    """
    return concatenate(_each("vstack", atleast_2d, tup), axis=0, dtype=dtype)


@remembered("dtype")
def hstack(tup: Any, dtype: DTypeLike = None) -> Value:
    """Stack arrays side by side: along the second axis, vectors along their only one.

    >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([1, 2, 3, 4], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.hstack.html.
    """
    arrays = _each("hstack", atleast_1d, tup)
    ndim = arrays.ndim - 1 if _is_one_array(arrays) else arrays[0].ndim
    return concatenate(arrays, axis=0 if ndim == 1 else 1, dtype=dtype)


@remembered("dtype")
def dstack(tup: Any, dtype: DTypeLike = None) -> Value:
    """Stack arrays along the third axis.

    >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[[1, 3],
            [2, 4]]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.dstack.html.
    """
    return concatenate(_each("dstack", atleast_3d, tup), axis=2, dtype=dtype)


@remembered()
def column_stack(tup: Any) -> Value:
    """Stack vectors as the columns of a matrix.

    >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.column_stack.html.
    """
    if _is_one_array(tup):
        return concatenate(vmap(lambda x: atleast_2d(x).T)(tup) if tup.ndim < 3 else tup, axis=1)
    warn_unless_arraylike("column_stack", *tup)
    return concatenate([atleast_2d(a).T if a.ndim < 2 else a for a in map(asarray, tup)], axis=1)


def _each(function: str, raise_rank: Any, arrays: Any) -> Any:
    if _is_one_array(arrays):
        return vmap(raise_rank)(arrays)
    warn_unless_arraylike(function, *arrays)
    return [raise_rank(a) for a in arrays]


@library_jit("axis")
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Value:
    """Join `values` to the end of `arr`; both flattened when `axis` is None.

    >>> jnp.append(jnp.array([1, 2]), 3)
    Array([1, 2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.append.html.
    """
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis=axis)


@library_jit()
def block(arrays: Any) -> Value:
    """Build an array from nested lists of blocks.

    >>> jnp.block([[jnp.ones((1, 2)), jnp.zeros((1, 1))]])
    Array([[1., 1., 0.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.block.html.
    """
    return _block(arrays)[0]


def _block(arrays: Any) -> tuple[Value, int]:
    """Return the array of nested lists and how deep they are nested, plus one."""
    if isinstance(arrays, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {arrays}")
    if not isinstance(arrays, list):
        return asarray(arrays), 1
    if not arrays:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    parts, depths = zip(*[_block(x) for x in arrays], strict=True)
    depth = depths[0]
    if any(d != depth for d in depths):
        raise ValueError("Mismatched list depths in jax.numpy.block")
    rank = max(depth, *[x.ndim for x in parts])
    parts = tuple([lax.broadcast(x, (1,) * (rank - x.ndim)) if x.ndim < rank else x for x in parts])
    return concatenate(parts, axis=-depth), depth + 1


# --- taking apart ----------------------------------------------------------------------------------------------

@remembered("indices_or_sections", "axis")
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """Cut an array into so many equal parts, or at the given indices.

    >>> jnp.split(jnp.arange(4), 2)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]

    See https://numpy.org/doc/stable/reference/generated/numpy.split.html.
    """
    return _split("split", ary, indices_or_sections, axis)


@remembered("indices_or_sections", "axis")
def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """Cut an array into so many parts, nearly equal ones if it must be, or at the given indices.

    >>> jnp.array_split(jnp.arange(5), 2)
    [Array([0, 1, 2], dtype=int32), Array([3, 4], dtype=int32)]

    See https://numpy.org/doc/stable/reference/generated/numpy.array_split.html.
    """
    return _split("array_split", ary, indices_or_sections, axis)


@remembered("indices_or_sections")
def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Value]:
    """Cut an array into groups of rows.

    >>> [x.shape for x in jnp.vsplit(jnp.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]

    See https://numpy.org/doc/stable/reference/generated/numpy.vsplit.html.
    """
    return _split("vsplit", ary, indices_or_sections, 0)


@remembered("indices_or_sections")
def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Value]:
    """Cut an array into groups of columns.

    >>> [x.shape for x in jnp.hsplit(jnp.ones((4, 2)), 2)]
    [(4, 1), (4, 1)]

    See https://numpy.org/doc/stable/reference/generated/numpy.hsplit.html.
    """
    check_arraylike("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


@remembered("indices_or_sections")
def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Value]:
    """Cut an array along its third axis.

    >>> [x.shape for x in jnp.dsplit(jnp.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]

    See https://numpy.org/doc/stable/reference/generated/numpy.dsplit.html.
    """
    return _split("dsplit", ary, indices_or_sections, 2)


def _split(function: str, ary: Any, indices_or_sections: Any, axis: int) -> list[Value]:
    check_arraylike(function, ary)
    ary = asarray(ary)
    axis = concrete_index(axis, f"in jax.numpy.{function} argument `axis`")
    size = ary.shape[axis]
    context = f"in jax.numpy.{function} argument 1"
    if isinstance(indices_or_sections, (tuple, list)) or np.ndim(indices_or_sections) > 0:
        cuts = [0, *[concrete_index(i, context) for i in indices_or_sections], size]
    else:
        cuts = _equal_cuts(function, size, int(concrete(indices_or_sections, context)))
    starts, stops = [0] * ary.ndim, list(ary.shape)
    parts = []
    for start, stop in itertools.pairwise(cuts):
        starts[axis], stops[axis] = start, stop
        parts.append(lax.slice(ary, tuple(starts), tuple(stops)))
    return parts


def _equal_cuts(function: str, size: int, sections: int) -> list[int]:
    """Return where to cut `size` elements into `sections`; the first ones are larger by one when it does not fit."""
    each, rest = divmod(size, sections)
    if rest and function != "array_split":
        raise ValueError(f"array split does not result in an equal division: rest is {rest}")
    return [i * each + min(i, rest) for i in range(sections + 1)]


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Value, ...]:
    """Return the layers of an array along `axis`.

    >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.unstack.html.
    """
    if type(x) is Array and x.ndim and is_eager() and not config.checks_results:  # views: no program has to make them
        moved = moveaxis(x, axis, 0)
        return tuple(moved._rows(0, len(moved)))
    return _unstacked(x, axis=axis)


def _layers(x: ArrayLike, *, axis: int) -> tuple[Value, ...]:
    check_arraylike("unstack", x)
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError("Unstack requires arrays with rank > 0, however a scalar array was passed.")
    return tuple(moveaxis(x, axis, 0))


_layers.__name__ = "unstack"  # what its equation is called
_unstacked = library_jit("axis")(_layers)
