"""Primitives that give the elements of one array another order or shape: transpose, reshape, rev.

Each is linear, moves elements and computes nothing; its transpose is one of the same family.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, canonicalize_shape
from tinytrace.core.kinds import Expr, Index, IndexMap, IntLike, Kind, as_expr
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.checks import check_shapelike, inserted, is_array, remaining, shifted

NDArray = np.ndarray[Any, Any]


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """Permute the dimensions: result dimension `i` is operand dimension `permutation[i]`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.transpose.html.
    """
    permutation = tuple(operator.index(axis) for axis in permutation)
    if permutation == tuple(range(np.ndim(operand))) and is_array(operand):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


def reshape(operand: Any, new_sizes: Any, dimensions: Sequence[int] | None = None) -> Any:
    """Give the elements, read in the order of `dimensions`, the shape `new_sizes`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.reshape.html.
    """
    new_sizes = canonicalize_shape(new_sizes)
    if dimensions is not None:
        dimensions = tuple(operator.index(axis) for axis in dimensions)
        if dimensions == tuple(range(np.ndim(operand))):
            dimensions = None
    if new_sizes and np.shape(operand) == new_sizes and dimensions is None and is_array(operand):
        return operand
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dimensions)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Join the dimensions from `start_dimension` up to `stop_dimension` into one.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.collapse.html.
    """
    shape = operand.shape
    low, high, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if high < low:
        raise ValueError(f"Invalid dimension range passed to collapse: {shape}[{start_dimension}:{stop_dimension}]")
    return reshape(operand, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """Reverse the order of the elements along `dimensions`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.rev.html.
    """
    return rev_p.bind(operand, dimensions=tuple(dimensions))


def moveaxis(operand: Any, source: int, destination: int) -> Any:
    """Move one dimension (a batch dimension, mostly) and keep the order of the others."""
    ndim = np.ndim(operand)
    source, destination = source % ndim, destination % ndim
    if source == destination:
        return operand
    return transpose(operand, inserted(remaining(ndim, (source,)), destination, source))


# --- rooms -----------------------------------------------------------------------------------------------------

class Rearrangement(Primitive):
    """The family: one operand whose elements are moved, so the tangent is moved in the same way."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(*tangents, **params)


class Transpose(Rearrangement):
    """`transpose[permutation=(1, 0)] x: f32[n,m]` is f32[m,n]."""

    name = "transpose"

    def abstract_eval(self, x: ShapedArray, *, permutation: Sequence[int]) -> ShapedArray:
        if not isinstance(permutation, (tuple, list, np.ndarray)):
            raise TypeError(f"transpose permutation must be a tuple/list/ndarray, got {type(permutation)}.")
        if tuple(sorted(permutation)) != tuple(range(x.ndim)):
            raise TypeError("transpose permutation isn't a permutation of operand dimensions, "
                            f"got permutation {permutation} for operand shape {x.shape}.")
        return x.update(shape=tuple(x.shape[axis] for axis in permutation))

    def impl(self, x: NDArray, *, permutation: Sequence[int]) -> NDArray:
        return np.transpose(x, permutation)

    def in_numpy(self, params: dict[str, Any]) -> Callable[..., Any]:
        return operator.methodcaller("transpose", params["permutation"])

    def transpose(self, ct: Any, x: Any, *, permutation: Sequence[int]) -> Sequence[Any]:
        return [transpose(ct, inverse_permutation(permutation))]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *,
              permutation: Sequence[int]) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return transpose(x, (dim, *shifted(permutation, dim))), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              permutation: Sequence[int]) -> Kind:
        inverse = inverse_permutation(permutation)
        return IndexMap(lambda i, read: read(0, tuple(i[axis] for axis in inverse)))


class Reshape(Rearrangement):
    """`reshape[dimensions=None new_sizes=(6,)] x: f32[2,3]` is f32[6], in row-major order."""

    name = "reshape"

    def abstract_eval(self, x: ShapedArray, *, new_sizes: tuple[int, ...],
                      dimensions: Sequence[int] | None) -> ShapedArray:
        if not all(size >= 0 for size in new_sizes):
            raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
        if math.prod(new_sizes) != x.size:
            raise TypeError(f"reshape total size must be unchanged, got new_sizes {new_sizes} (of total size "
                            f"{math.prod(new_sizes)}) for shape {x.shape} (of total size {x.size}).")
        if dimensions is not None and set(dimensions) != set(range(x.ndim)):
            raise TypeError("reshape dimensions must be a permutation of operand dimensions, "
                            f"got dimensions {dimensions} for shape {x.shape}.")
        return x.update(shape=tuple(new_sizes))

    def impl(self, x: NDArray, *, new_sizes: tuple[int, ...], dimensions: Sequence[int] | None) -> NDArray:
        return np.reshape(x if dimensions is None else np.transpose(x, dimensions), new_sizes)

    def in_numpy(self, params: dict[str, Any]) -> Callable[..., Any]:
        if params["dimensions"] is not None:
            return super().in_numpy(params)
        return operator.methodcaller("reshape", params["new_sizes"])

    def transpose(self, ct: Any, x: Any, *, new_sizes: tuple[int, ...],
                  dimensions: Sequence[int] | None) -> Sequence[Any]:
        shape = x.aval.shape
        if dimensions is None:
            return [reshape(ct, shape)]
        return [transpose(reshape(ct, tuple(shape[axis] for axis in dimensions)), inverse_permutation(dimensions))]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, new_sizes: tuple[int, ...],
              dimensions: Sequence[int] | None) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        x = moveaxis(x, dim, 0)
        if dimensions is not None:
            dimensions = (0, *shifted(dimensions, 0))
        return reshape(x, (np.shape(x)[0], *new_sizes), dimensions), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, new_sizes: tuple[int, ...],
              dimensions: Sequence[int] | None) -> Kind:
        shape = in_avals[0].shape
        order = tuple(range(len(shape))) if dimensions is None else tuple(dimensions)
        inverse, read_shape = inverse_permutation(order), tuple(shape[axis] for axis in order)

        def element(i: Index, read: Any) -> Expr:
            position = reshaped_index(i, new_sizes, read_shape)
            return read(0, tuple(position[axis] for axis in inverse))  # type: ignore[no-any-return]

        return IndexMap(element)


class Rev(Rearrangement):
    """`rev[dimensions=(0,)] x: f32[n]` is x from its end to its beginning."""

    name = "rev"

    def abstract_eval(self, x: ShapedArray, *, dimensions: Sequence[int]) -> ShapedArray:
        check_shapelike("rev", "dimensions", dimensions)
        if len(set(dimensions)) != len(dimensions):
            raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
        if dimensions and not max(dimensions) < x.ndim:
            raise TypeError("rev dimensions must all be less than operand ndim, got dimensions "
                            f"{dimensions} for operand ndim {x.ndim}.")
        return x

    def impl(self, x: NDArray, *, dimensions: Sequence[int]) -> NDArray:
        return np.flip(x, tuple(dimensions))

    def in_numpy(self, params: dict[str, Any]) -> Callable[..., Any]:
        dimensions = params["dimensions"]
        if not dimensions:
            return super().in_numpy(params)
        backwards, forwards = slice(None, None, -1), slice(None)
        return operator.itemgetter(tuple(backwards if axis in dimensions else forwards
                                         for axis in range(max(dimensions) + 1)))

    def transpose(self, ct: Any, x: Any, *, dimensions: Sequence[int]) -> Sequence[Any]:
        return [rev(ct, dimensions)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, dimensions: Sequence[int]) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return rev(x, shifted(dimensions, dim)), dim

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              dimensions: Sequence[int]) -> Kind:
        shape = in_avals[0].shape
        return IndexMap(lambda i, read: read(0, tuple(
            shape[axis] - 1 - i[axis] if axis in dimensions else i[axis] for axis in range(len(shape)))))


transpose_p = Transpose()
reshape_p = Reshape()
rev_p = Rev()


# --- orders ----------------------------------------------------------------------------------------------------

def inverse_permutation(permutation: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that undoes `permutation`.

    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def reshaped_index(index: Sequence[Expr], shape: Sequence[int], other: Sequence[int]) -> tuple[IntLike, ...]:
    """Return where the element at `index` of an array of `shape` lies when its shape is `other`.

    Only dimensions that really merge or split pay for a division: between (8, 6) and (8, 2, 3) the first index
    passes through.
    """
    if 0 in shape:
        return (0,) * len(other)
    result: list[IntLike] = []
    for dims, other_dims in _matching_groups(shape, other):
        if len(dims) == len(other_dims) == 1:
            result.append(index[dims[0]])
            continue
        position: Expr = as_expr(0)
        for axis in dims:
            position = position * shape[axis] + index[axis]
        parts: list[IntLike] = []
        for k, axis in enumerate(reversed(other_dims)):
            last = k == len(other_dims) - 1
            parts.append(position if last else position % other[axis])
            position = position // other[axis]
        result.extend(reversed(parts))
    return tuple(result)


def _matching_groups(shape: Sequence[int], other: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Pair runs of dimensions of `shape` and `other` that hold equally many elements, as short as possible."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(shape) or j < len(other):
        left: list[int] = []
        right: list[int] = []
        size = other_size = 1
        while not (left or right) or size != other_size:
            if i < len(shape) and (size <= other_size or j == len(other)):
                size *= shape[i]
                left.append(i)
                i += 1
            else:
                other_size *= other[j]
                right.append(j)
                j += 1
        groups.append((left, right))
    return groups
