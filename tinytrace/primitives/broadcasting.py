"""Repeating and its transpose, summing: broadcast_in_dim and reduce_sum; adding and dropping dimensions of size one.

The family of reductions starts here, with the sum, because each of the two needs the other to be transposed.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0, FLOAT32, KeyType, is_complex, is_float
from tinytrace.core.jaxpr import Atom
from tinytrace.core.kinds import IndexMap, Kind, Reduction
from tinytrace.core.monoids import identity
from tinytrace.core.primitive import ALL
from tinytrace.primitives.checks import canonicalize_axis, check_shapelike, is_array, remaining, shifted, without
from tinytrace.primitives.composite import OnParts
from tinytrace.primitives.shaping import NDArray, Rearrangement, moveaxis

SMALL = 1 << 12
"""Elements of an array that is written sooner than a view of it is made, which takes NumPy 4 us."""


def repeated(x: NDArray, shape: tuple[int, ...]) -> NDArray:
    """Return what `np.broadcast_to` does."""
    if x.shape == shape:
        return x
    if math.prod(shape) > SMALL:
        return np.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def broadcast_in_dim(operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """Repeat `operand`, whose dimension `k` becomes dimension `broadcast_dimensions[k]` of `shape`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.broadcast_in_dim.html.
    """
    shape, dimensions = tuple(shape), tuple(broadcast_dimensions)
    if is_array(operand) and np.ndim(operand) == len(shape) and not dimensions:
        return operand
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dimensions)


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """Repeat `operand` along new leading dimensions of `sizes`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.broadcast.html.
    """
    if not sizes and is_array(operand):
        return operand
    shape = tuple(np.shape(operand))
    return broadcast_in_dim(operand, (*sizes, *shape), range(len(sizes), len(sizes) + len(shape)))


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """Give `x` leading dimensions of size one until it has `rank` of them."""
    return broadcast(x, (1,) * (rank - np.ndim(x)))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """Insert dimensions of size one, at the positions that they have in the result.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.expand_dims.html.
    """
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"repeated axis in lax.expand_dims: {dimensions}")
    ndim = np.ndim(array) + len(dimensions)
    new = [canonicalize_axis(axis, ndim) for axis in dimensions]
    if len(set(new)) != len(new):
        raise ValueError(f"repeated axis in lax.expand_dims: {new}")
    old = remaining(ndim, new)
    shape = [1] * ndim
    for axis, size in zip(old, np.shape(array), strict=True):
        shape[axis] = size
    return broadcast_in_dim(array, shape, old)


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Drop `dimensions`, each of size one.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.squeeze.html.
    """
    dimensions = tuple(sorted(canonicalize_axis(axis, np.ndim(array)) for axis in dimensions))
    if not dimensions and is_array(array):
        return array
    return squeeze_p.bind(array, dimensions=dimensions)


def reduce_sum(operand: Any, axes: Sequence[int]) -> Any:
    """Sum over `axes`; the empty sum is 0. See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.reduce.html."""
    return reduce_sum_p.bind(operand, axes=tuple(axes))


def repeat_along(x: Any, size: int, axis: int) -> Any:
    """Give `x` a new dimension of `size` at `axis` along which it repeats (an unmapped value that vmap must map)."""
    shape = list(np.shape(x))
    shape.insert(axis, size)
    return broadcast_in_dim(x, shape, remaining(len(shape), (axis,)))


def batch_dim_at_front(x: Any, dim: int | None, size: int) -> Any:
    """Return `x` with its batch dimension first, made by repetition when it has none."""
    return repeat_along(x, size, 0) if dim is None else moveaxis(x, dim, 0)


# --- repeating -------------------------------------------------------------------------------------------------

class BroadcastInDim(Rearrangement):
    """`broadcast_in_dim[broadcast_dimensions=(1,) shape=(2, 3)] x: f32[3]` is f32[2,3]."""

    name = "broadcast_in_dim"

    def fold(self, x: Atom, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> Atom | None:
        """Write no equation that changes nothing."""
        return x if x.aval.shape == shape else None

    def abstract_eval(self, x: ShapedArray, *, shape: tuple[int, ...],
                      broadcast_dimensions: tuple[int, ...]) -> ShapedArray:
        check_shapelike("broadcast_in_dim", "shape", shape)
        check_shapelike("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
        dims = broadcast_dimensions
        if x.ndim != len(dims):
            raise TypeError("broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got "
                            f"broadcast_dimensions {dims} for operand ndim {x.ndim}.")
        if len(shape) < x.ndim:
            raise TypeError("broadcast_in_dim target broadcast shape must have equal or higher rank to the operand "
                            f"shape; got operand ndim {x.ndim} and target broadcast ndim {len(shape)}.")
        if not set(dims) <= set(range(len(shape))):
            raise TypeError("broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, got "
                            f"{dims} for operand ndim {x.ndim} and shape {shape}.")
        if not all(size in (1, shape[dim]) for size, dim in zip(x.shape, dims, strict=True)):
            raise TypeError("broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
                            "corresponding dimensions in the target broadcast shape; got operand of shape "
                            f"{x.shape}, target broadcast shape {shape}, broadcast_dimensions {dims} ")
        if dims != tuple(sorted(set(dims))):
            raise TypeError("broadcast_in_dim broadcast_dimensions must be strictly increasing; got "
                            f"broadcast_dimensions {dims}")
        return x.update(shape=tuple(shape))

    def impl(self, x: NDArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> NDArray:
        expanded = [1] * len(shape)
        for size, dim in zip(x.shape, broadcast_dimensions, strict=True):
            expanded[dim] = size
        return repeated(np.asarray(x).reshape(expanded), tuple(shape))

    def in_numpy(self, params: dict[str, Any]) -> Callable[..., Any]:
        shape, repeat = tuple(params["shape"]), super().in_numpy(params)
        size = math.prod(shape)
        return lambda x: x.reshape(shape) if x.size == size else repeat(x)

    def transpose(self, ct: Any, x: Any, *, shape: tuple[int, ...],
                  broadcast_dimensions: tuple[int, ...]) -> Sequence[Any]:
        ones = [k for k, size in enumerate(x.aval.shape) if size == 1]
        axes = remaining(len(shape), without(broadcast_dimensions, ones))
        return [expand_dims(reduce_sum(ct, axes), ones)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, shape: tuple[int, ...],
              broadcast_dimensions: tuple[int, ...]) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        x = moveaxis(x, dim, 0)
        return broadcast_in_dim(x, (np.shape(x)[0], *shape), (0, *shifted(broadcast_dimensions, 0))), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, shape: tuple[int, ...],
              broadcast_dimensions: tuple[int, ...]) -> Kind:
        sizes = in_avals[0].shape
        return IndexMap(lambda i, read: read(0, tuple(
            0 if size == 1 else i[dim] for size, dim in zip(sizes, broadcast_dimensions, strict=True))))


class Squeeze(Rearrangement):
    """`squeeze[dimensions=(0,)] x: f32[1,n]` is f32[n]."""

    name = "squeeze"

    def abstract_eval(self, x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
        if len(set(dimensions)) != len(dimensions):
            raise ValueError(f"dimensions are not unique: {dimensions}")
        if not all(0 <= axis < x.ndim for axis in dimensions):
            raise ValueError(f"dimensions outside range [0, ndim): {dimensions}")
        if any(x.shape[axis] != 1 for axis in dimensions):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one, got "
                             f"shape={x.shape} and dimensions={dimensions}")
        return x.update(shape=without(x.shape, dimensions))

    def impl(self, x: NDArray, *, dimensions: tuple[int, ...]) -> NDArray:
        return np.squeeze(x, dimensions)

    def in_numpy(self, params: dict[str, Any]) -> Callable[..., Any]:
        return operator.methodcaller("squeeze", params["dimensions"])

    def transpose(self, ct: Any, x: Any, *, dimensions: tuple[int, ...]) -> Sequence[Any]:
        return [expand_dims(ct, dimensions)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, dimensions: tuple[int, ...]) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return squeeze(moveaxis(x, dim, 0), shifted(dimensions, 0)), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              dimensions: tuple[int, ...]) -> Kind:
        ndim, kept = in_avals[0].ndim, remaining(in_avals[0].ndim, dimensions)
        return IndexMap(lambda i, read: read(0, tuple(
            i[kept.index(axis)] if axis in kept else 0 for axis in range(ndim))))


# --- reducing --------------------------------------------------------------------------------------------------

BLOCK = 32
"""So many rows are added one after the other; their sums are added next."""
BLOCKED = (np.float32, np.float64)


class OverAxes(OnParts):
    """The family of what folds `axes` of one operand away: to a value (`Reducer`), or to a position (`ArgReducer`)."""

    reads = ALL

    combine: str
    """Which `kinds.Reduction` it is."""

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, axes: tuple[int, ...],
              **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        axes = shifted(axes, dim)
        return self.bind(x, axes=axes, **params), remaining(np.ndim(x), axes).index(dim)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, axes: tuple[int, ...],
              **params: Any) -> Kind:
        if self.on_parts is not None and is_complex(in_avals[0].dtype):
            return self.program_on_parts(in_avals, {"axes": axes, **params})
        return Reduction(self.combine, tuple(axes))


class Reducer(OverAxes):
    """Reductions to a value of the operand's type, in NumPy with the ufunc of the same meaning."""

    ufunc: np.ufunc

    def abstract_eval(self, x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if len(axes) != len(set(axes)):
            raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
        if not all(0 <= axis < x.ndim for axis in axes):
            raise ValueError(f"reduction axes {axes} contains out-of-bounds indices for {x}.")
        self.check_dtype(x)
        return x.update(shape=without(x.shape, axes))

    def check_dtype(self, x: ShapedArray) -> None:
        """Raise TypeError for an element type that cannot be combined: here, for anything but numbers."""
        if x.dtype.kind == "b" or x.dtype == FLOAT0 or isinstance(x.dtype, KeyType):
            name = "float0" if x.dtype == FLOAT0 else x.dtype.name
            raise TypeError(f"{self.name} does not accept dtype {name}. Accepted dtypes are subtypes of number.")

    def impl(self, x: NDArray, *, axes: tuple[int, ...]) -> NDArray:
        wide = FLOAT32 if x.dtype.itemsize == 2 and is_float(x.dtype) else x.dtype
        start = identity(self.combine, x.dtype)
        return np.asarray(self.ufunc.reduce(x, axis=tuple(axes), dtype=wide, initial=start)).astype(x.dtype)


class ReduceSum(Reducer, Rearrangement):
    """`reduce_sum[axes=(0,)] x: f32[n,m]` is f32[m]; linear, so its tangent is summed like its primal."""

    name = "reduce_sum"
    combine = "sum"
    ufunc = np.add

    def impl(self, x: NDArray, *, axes: tuple[int, ...]) -> NDArray:
        """NumPy adds rows one after the other, which loses digits when there are many: add blocks of rows first."""
        kept = x.shape[len(axes):]
        count = math.prod(x.shape[:len(axes)])
        if not kept or sorted(axes) != list(range(len(axes))) or count < 2 * BLOCK or x.dtype not in BLOCKED:
            return super().impl(x, axes=axes)
        rows = x.reshape(count, *kept)
        whole = count - count % BLOCK
        blocks = super().impl(rows[:whole].reshape(-1, BLOCK, *kept), axes=(1,))
        return self.impl(np.concatenate([blocks, rows[whole:]]), axes=(0,))

    def transpose(self, ct: Any, x: Any, *, axes: tuple[int, ...]) -> Sequence[Any]:
        shape = x.aval.shape
        return [broadcast_in_dim(ct, shape, remaining(len(shape), axes))]


broadcast_in_dim_p = BroadcastInDim()
squeeze_p = Squeeze()
reduce_sum_p = ReduceSum()
