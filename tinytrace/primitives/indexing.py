"""What gather and scatter share: where the windows lie that they read and write, and how that is described.

A gather copies windows of `slice_sizes` out of an array; where each begins is a row of the index array. Written
in NumPy's words, for the index array `indices[g, k]` over positions g and coordinates k:

    out[g, o] = operand[start[g] + o]      start[g][start_index_map[k]] = indices[g, k]

`offset_dims` are the dimensions of the result that are o; the others are g. A scatter is the same map, written
through instead of read through. Source: XLA, "Operation semantics", Gather and Scatter.
"""
from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.kinds import Expr, Index, IntLike, all_of, clamp
from tinytrace.core.primitive import param_type
from tinytrace.primitives.checks import remaining
from tinytrace.primitives.shaping import NDArray
from tinytrace.records import NamedTuple

Ints: TypeAlias = tuple[int, ...]


@param_type
class GatherDimensionNumbers(NamedTuple):
    """How the dimensions of a gather's operand, indices and result relate.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.GatherDimensionNumbers.html.
    """

    offset_dims: Ints
    """Dimensions of the result that run inside a window."""
    collapsed_slice_dims: Ints
    """Dimensions of the operand that a window has one element of and the result has not."""
    start_index_map: Ints
    """Which dimension of the operand each coordinate of an index belongs to."""
    operand_batching_dims: Ints = ()
    """Dimensions of the operand that run along with `start_indices_batching_dims` of the indices."""
    start_indices_batching_dims: Ints = ()


@param_type
class ScatterDimensionNumbers(NamedTuple):
    """How the dimensions of a scatter's operand, indices and updates relate: the mirror of a gather.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.ScatterDimensionNumbers.html.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


@param_type
class GatherScatterMode(enum.Enum):
    """What happens to windows that do not lie inside the array.

    CLIP: they are moved inside. FILL_OR_DROP: a gather gives the fill value, a scatter drops the update.
    PROMISE_IN_BOUNDS: there are none, says the caller; a gather clips them, a scatter drops them.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.GatherScatterMode.html.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """Return the mode of that name; None is FILL_OR_DROP.

        >>> GatherScatterMode.from_any("drop")
        <GatherScatterMode.FILL_OR_DROP: 2>
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        modes = {None: GatherScatterMode.FILL_OR_DROP, "fill": GatherScatterMode.FILL_OR_DROP,
                 "drop": GatherScatterMode.FILL_OR_DROP, "clip": GatherScatterMode.CLIP,
                 "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS, "one_hot": GatherScatterMode.ONE_HOT}
        if mode not in modes:
            raise ValueError(f'Unknown gather mode "{mode}"')
        return modes[mode]


def gather_of_scatter(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """Return the gather that reads the windows which a scatter writes."""
    return GatherDimensionNumbers(*numbers)  # type: ignore[arg-type]


def scatter_of_gather(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """Return the scatter that writes the windows which a gather reads."""
    return ScatterDimensionNumbers(*numbers)


def window_sizes(numbers: ScatterDimensionNumbers, operand_ndim: int, updates_shape: Sequence[int]) -> Ints:
    """Return the size of a scatter's window along each dimension of the operand."""
    window = iter(numbers.update_window_dims)
    return tuple(1 if axis in numbers.inserted_window_dims or axis in numbers.operand_batching_dims
                 else updates_shape[next(window)] for axis in range(operand_ndim))


# --- where the windows lie: in NumPy, and in C -----------------------------------------------------------------

def flat_positions(indices: NDArray, shape: Ints, numbers: GatherDimensionNumbers, sizes: Ints, out_shape: Ints,
                   clip: bool) -> tuple[NDArray, NDArray]:
    """Return for each element of the result its position in the flattened operand, and whether its window is inside.

    With `clip`, windows are moved inside first.
    """
    positions_of = remaining(len(out_shape), numbers.offset_dims)  # the dimensions of the result that are g

    def along(axes: Sequence[int], values: NDArray) -> NDArray:
        """Lay `values` along `axes` of the result."""
        expanded = [1] * len(out_shape)
        for axis, size in zip(axes, values.shape, strict=True):
            expanded[axis] = size
        return values.reshape(expanded)

    flat: NDArray = np.zeros((), np.int64)
    inside: NDArray = np.ones((), np.bool_)
    offsets = iter(numbers.offset_dims)
    starts = np.minimum(indices, indices.dtype.type(min(np.iinfo(indices.dtype).max, np.iinfo(np.int64).max)))
    starts = starts.astype(np.int64)
    for axis, (size, window) in enumerate(zip(shape, sizes, strict=True)):
        flat = flat * size
        if axis in numbers.start_index_map:
            start = along(positions_of, starts[..., numbers.start_index_map.index(axis)])
            if clip:
                start = np.clip(start, 0, size - window)
            else:
                inside = inside & (start >= 0) & (start <= size - window)
            flat = flat + start
        if axis in numbers.operand_batching_dims:
            along_with = numbers.start_indices_batching_dims[numbers.operand_batching_dims.index(axis)]
            flat = flat + along((positions_of[along_with],), np.arange(size))
        elif axis not in numbers.collapsed_slice_dims:
            flat = flat + along((next(offsets),), np.arange(window))
    return np.broadcast_to(flat, out_shape), np.broadcast_to(inside, out_shape)


def position_expr(i: Index, read_index: Callable[[Sequence[IntLike]], Expr], shape: Ints,
                  numbers: GatherDimensionNumbers, sizes: Ints, clip: bool) -> tuple[list[IntLike], Expr]:
    """Return where element `i` of the result lies in the operand, and whether its window is inside.

    `read_index` reads an element of the index array.
    """
    g = tuple(i[axis] for axis in remaining(len(i), numbers.offset_dims))
    offsets = iter(numbers.offset_dims)
    guards: list[Expr] = []
    position: list[IntLike] = []
    for axis, (size, window) in enumerate(zip(shape, sizes, strict=True)):
        if axis in numbers.operand_batching_dims:
            position.append(g[numbers.start_indices_batching_dims[numbers.operand_batching_dims.index(axis)]])
            continue
        place: IntLike = 0 if axis in numbers.collapsed_slice_dims else i[next(offsets)]
        if axis in numbers.start_index_map:
            start = read_index((*g, numbers.start_index_map.index(axis)))
            if clip:
                start = clamp(start, 0, size - window)
            else:
                guards += [start >= 0, start <= size - window]
            place = start + place
        position.append(place)
    return position, all_of(guards)


# --- what does not fit -----------------------------------------------------------------------------------------

def gather_shape(operand: ShapedArray, indices: ShapedArray, numbers: GatherDimensionNumbers, sizes: Ints) -> Ints:
    """Return the shape of a gather's result; raises TypeError, in XLA's words, when the arguments do not fit."""
    offsets, collapsed, index_map, batching, indices_batching = numbers
    coordinate_dim = indices.ndim - 1
    if coordinate_dim < 0:
        raise TypeError(f"Gather index leaf dimension must be within [0, rank(indices) + 1). rank(indices) is "
                        f"{indices.ndim} and gather index leaf dimension is {coordinate_dim}.")
    _check_ascending(offsets, "gather", "offset_dims")
    out_ndim = len(offsets) + indices.ndim - 1
    for k, dim in enumerate(offsets):
        if not 0 <= dim < out_ndim:
            raise TypeError(f"Offset dimension {k} in gather op is out of bounds; got {dim}, but should have been in "
                            f"[0, {out_ndim})")
    if len(index_map) != indices.shape[coordinate_dim]:
        raise TypeError(f"Gather op has {len(index_map)} elements in start_index_map and the bound of dimension "
                        f"index_vector_dim={coordinate_dim} of indices is {indices.shape[coordinate_dim]}. These two "
                        "numbers must be equal.")
    for k, dim in enumerate(index_map):
        if not 0 <= dim < operand.ndim:
            raise TypeError(f"Invalid start_index_map; domain is [0, {operand.ndim}), got: {k}->{dim}.")
    _check_distinct(index_map, "gather", "start_index_map")
    _check_ascending(collapsed, "gather", "collapsed_slice_dims", operand.ndim)
    _check_ascending(batching, "gather", "operand_batching_dims", operand.ndim)
    _check_disjoint("gather", "collapsed_slice_dims", collapsed, "operand_batching_dims", batching)
    _check_disjoint("gather", "start_index_map", index_map, "operand_batching_dims", batching)
    _check_batching("Gather", "start_indices_batching_dims", operand, indices, batching, indices_batching)
    if operand.ndim != len(sizes):
        raise TypeError(f"Gather op must have one slice size for every input dimension; got: len(slice_sizes)="
                        f"{len(sizes)}, input_shape.rank={operand.ndim}")
    if len(sizes) != len(offsets) + len(collapsed) + len(batching):
        raise TypeError("All components of the offset index in a gather op must either be a offset dimension or "
                        f"explicitly collapsed/batching; got len(slice_sizes)={len(sizes)}, output_slice_sizes="
                        f"{offsets}, collapsed_slice_dims={collapsed}, operand_batching_dims={batching}.")
    for k, (window, size) in enumerate(zip(sizes, operand.shape, strict=True)):
        if not 0 <= window <= size:
            raise TypeError(f"Slice size at index {k} in gather op is out of range, must be within [0, {size} + 1), "
                            f"got {window}.")
    for k, dim in enumerate(collapsed):
        if sizes[dim] != 1:
            raise TypeError(f"Gather op can only collapse slice dims with bound 1, but bound is {sizes[dim]} for index "
                            f"{dim} at position {k}.")
    for k, dim in enumerate(batching):
        if sizes[dim] > 1:
            raise TypeError(f"Gather op can only have operand batching dims with bound 0/1, but bound is {sizes[dim]} "
                            f"for index {dim} at position {k}.")
    windows = iter(sizes[axis] for axis in remaining(operand.ndim, collapsed, batching))
    positions = iter(indices.shape[:-1])
    return tuple(next(windows) if axis in offsets else next(positions) for axis in range(out_ndim))


def check_scatter(operand: ShapedArray, indices: ShapedArray, updates: ShapedArray,
                  numbers: ScatterDimensionNumbers) -> None:
    """Raise TypeError, in XLA's words, when the arguments of a scatter do not fit."""
    window_dims, inserted, index_map, batching, indices_batching = map(tuple, numbers)
    coordinate_dim = indices.ndim - 1
    if coordinate_dim < 0:
        raise TypeError(f"Scatter index leaf dimension must be within [0, rank(indices) + 1). rank(indices) is "
                        f"{indices.ndim} and scatter index leaf dimension is {coordinate_dim}.")
    expected = indices.ndim - 1 + len(window_dims)
    if updates.ndim != expected:
        raise TypeError(f"Updates tensor must be of rank {expected}; got {updates.ndim}.")
    _check_ascending(window_dims, "scatter", "update_window_dims", updates.ndim)
    _check_ascending(inserted, "scatter", "inserted_window_dims", operand.ndim)
    _check_ascending(batching, "scatter", "operand_batching_dims", operand.ndim)
    _check_disjoint("scatter", "inserted_window_dims", inserted, "operand_batching_dims", batching)
    _check_disjoint("scatter", "scatter_dims_to_operand_dims", index_map, "operand_batching_dims", batching)
    _check_batching("Scatter", "scatter_indices_batching_dims", operand, indices, batching, indices_batching)
    window_ndim = len(window_dims) + len(inserted) + len(batching)
    if operand.ndim != window_ndim:
        raise TypeError(f"Scatter op has window of size {window_ndim}; doesn't match operand of rank {operand.ndim}.")
    if len(index_map) != indices.shape[coordinate_dim]:
        raise TypeError(f"Scatter op has {len(index_map)} elements in scatter_dims_to_operand_dims and the bound of "
                        f"dimension index_vector_dim={coordinate_dim} of indices is "
                        f"{indices.shape[coordinate_dim]}. These two numbers must be equal")
    for k, dim in enumerate(index_map):
        if not 0 <= dim < operand.ndim:
            raise TypeError(f"Invalid scatter_dims_to_operand_dims mapping; domain is [0, {operand.ndim}), got: "
                            f"{k}->{dim}.")
    _check_distinct(index_map, "scatter", "scatter_dims_to_operand_dims")
    largest = [operand.shape[axis] for axis in remaining(operand.ndim, inserted, batching)]
    for dim, bound in zip(window_dims, largest, strict=True):
        if bound < updates.shape[dim]:
            raise TypeError("Bounds of the window dimensions of updates must not exceed the bounds of the "
                            f"corresponding dimensions of operand. For dimension {dim}, updates bound is "
                            f"{updates.shape[dim]}, operand bound is {bound}.")
    for dim, bound in zip(remaining(updates.ndim, window_dims), indices.shape[:-1], strict=True):
        if updates.shape[dim] != bound:
            raise TypeError("Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                            f"corresponding dimensions of scatter indices. For scatter dimension {dim}, updates bound "
                            f"is {updates.shape[dim]}, indices bound is {bound}.")


def _check_distinct(dims: Ints, op: str, name: str) -> None:
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} in {op} op must not repeat; got: {dims}.")


def _check_ascending(dims: Ints, op: str, name: str, ndim: int | None = None) -> None:
    if any(later < earlier for earlier, later in itertools.pairwise(dims)):
        raise TypeError(f"{name} in {op} op must be sorted; got {dims}")
    outside = [dim for dim in dims if ndim is not None and not 0 <= dim < ndim]
    if outside:
        raise TypeError(f"Invalid {name} set in {op} op; valid range is [0, {ndim}); got: {outside[-1]}.")
    _check_distinct(dims, op, name)


def _check_disjoint(op: str, name: str, dims: Ints, other_name: str, others: Ints) -> None:
    if not set(dims).isdisjoint(others):
        raise TypeError(f"{name} and {other_name} in {op} op must be disjoint; got: {dims} and {others}.")


def _check_batching(op: str, name: str, operand: ShapedArray, indices: ShapedArray, batching: Ints,
                    indices_batching: Ints) -> None:
    """Check that the batching dimensions of operand and indices are pairs of one size."""
    _check_distinct(indices_batching, op.lower(), name)
    for dim in indices_batching:
        if not 0 <= dim < indices.ndim:
            raise TypeError(f"Invalid {name} set in {op.lower()} op; valid range is [0, {indices.ndim}); got: {dim}.")
    if indices.ndim - 1 in indices_batching:
        raise TypeError(f"{op} op cannot have the index vector dimension as a batching dimension; got "
                        f"{indices_batching}.")
    if len(batching) != len(indices_batching):
        raise TypeError(f"{op} op requires equal numbers of operand_batching_dims and {name}, got {batching} and "
                        f"{indices_batching}.")
    sizes = tuple(operand.shape[dim] for dim in batching)
    indices_sizes = tuple(indices.shape[dim] for dim in indices_batching)
    if sizes != indices_sizes:
        raise TypeError(f"{op} op requires operand batching dimensions and indices batching dimensions to have the "
                        f"same shape, got {sizes} and {indices_sizes}.")
