"""NumPy's indices, understood: what an index says about each axis, and the gather that it amounts to.

An index is a tuple of ints, slices, None, `...`, bools and arrays. `parse` replaces boolean arrays by the positions
of their true elements (these must be known while tracing); `to_gather` turns the rest into the operands of
`lax.gather`, in the way of JAX 0.4.35: each axis of the operand is either read whole (a window), at one computed
position, or along an array of positions.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import errors, lax
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, aval_of, is_valid_type
from tinytrace.core.dtypes import BOOL, INT32, dtype_of, is_discrete, is_integer, is_unsigned
from tinytrace.core.trace import Tracer
from tinytrace.numpy.array_creation import array, asarray
from tinytrace.numpy.promotion import Value, broadcast_arrays
from tinytrace.primitives.elementwise import const_like
from tinytrace.records import NamedTuple


class Indexer(NamedTuple):
    """An index as the operands of a gather, and what remains to be done to the result."""

    slice_shape: tuple[int, ...]
    """The shape of the indexed array, new axes included."""
    window: tuple[int, ...]
    """What is read at each position: the `slice_sizes` of the gather."""
    positions: Value
    """Where: the `start_indices` of the gather."""
    dimension_numbers: lax.GatherDimensionNumbers
    is_basic: bool
    """No arrays among the indices: positions are distinct and rise."""
    reversed_dims: tuple[int, ...]
    new_dims: tuple[int, ...]
    bool_dims: tuple[int, ...]
    """Where a scalar bool stands, which gives the operand an axis of size one."""


def parse(index: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return `index` as a tuple in which boolean arrays are replaced by positions.

    Raises: TypeError for a list or a string; NonConcreteBooleanIndexError for a mask that is not known.
    """
    if not isinstance(index, tuple):
        if isinstance(index, Sequence) and not isinstance(index, str):
            call = "tuple" if any(map(_is_one_index, index)) else "array"
            raise TypeError("Using a non-tuple sequence for multidimensional indexing is not allowed; use "
                            f"`arr[{call}(seq)]` instead of `arr[seq]`. See https://github.com/jax-ml/jax/issues/4564 "
                            "for more information.")
        index = (index,)
    if any(isinstance(i, str) for i in index):
        raise TypeError(f"JAX does not support string indexing; got idx={index!r}")
    return _expand_masks(index, shape)


def _is_one_index(x: Any) -> bool:
    """Would `x` in a list be an index of its own axis, and not one of several positions?"""
    return (isinstance(x, (np.ndarray, Array, Tracer)) and np.ndim(x) != 0) or isinstance(x, (Sequence, slice)) \
        or x is Ellipsis or x is None


def _expand_masks(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    if sum(i is Ellipsis for i in index) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    consumed = sum(np.ndim(i) if _is_mask(i) else 1 for i in index if i is not None and i is not Ellipsis)
    result: list[Any] = []
    axis = 0
    for number, i in enumerate(index):
        if not _is_mask(i):
            result.append(i)
            axis += 0 if i is None else len(shape) - consumed if i is Ellipsis else 1
            continue
        mask = _concrete_mask(i)
        if mask.ndim == 0:
            result.append(bool(mask))
            axis += 1
            continue
        expected = shape[axis:axis + mask.ndim]
        if mask.ndim != len(expected):
            raise IndexError(f"too many boolean indices at index {number}: got mask of shape {mask.shape}, but only "
                             f"{len(expected)} dimensions remain.")
        if not all(n in (0, size) for n, size in zip(mask.shape, expected, strict=True)):
            raise IndexError(f"boolean index did not match shape of indexed array in index {number}: got {mask.shape}, "
                             f"expected {expected}")
        result.extend(np.where(mask))
        axis += mask.ndim
    return tuple(result)


def _is_mask(i: Any) -> bool:
    if isinstance(i, list):
        return bool(i) and all(isinstance(x, (bool, np.bool_)) for x in i)
    aval = _aval_or_none(i)
    return aval is not None and aval.dtype == BOOL


def _concrete_mask(i: Any) -> np.ndarray[Any, Any]:
    if isinstance(i, Tracer):
        value = i.to_concrete_value()
        if value is None:
            raise errors.NonConcreteBooleanIndexError(i.aval)
        i = value
    return np.asarray(i)


def _aval_or_none(i: Any) -> ShapedArray | None:
    if isinstance(i, (Array, Tracer, np.ndarray, np.generic, int, float)):
        return aval_of(i)
    return None


def complete(index: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """Return `index` with one entry per axis: `...` and missing entries become full slices.

    Raises: IndexError when there are more entries than axes.
    """
    consumed = sum(not (i is None or i is Ellipsis or isinstance(i, bool)) for i in index)
    if consumed > ndim:
        raise IndexError(f"Too many indices: {ndim}-dimensional array indexed with {consumed} regular "
                         f"{'index' if consumed == 1 else 'indices'}.")
    rest = (slice(None),) * (ndim - consumed)
    places = [k for k, i in enumerate(index) if i is Ellipsis]
    if len(places) > 1:
        raise IndexError(f"Multiple ellipses (...) not supported: {list(map(type, index))}.")
    return index[:places[0]] + rest + index[places[0] + 1:] if places else index + rest


# --- as a gather -----------------------------------------------------------------------------------------------

class _Gathered:
    """The gather being put together, axis by axis of the index."""

    def __init__(self) -> None:
        self.slice_shape: list[int] = []
        self.window: list[int] = []
        self.positions: list[tuple[Value, int]] = []
        """Per computed position its array and the first dimension that it has among `position_shape`."""
        self.position_shape: list[int] = []
        self.offset_dims: list[int] = []
        self.collapsed: list[int] = []
        self.start_map: list[int] = []
        self.reversed_dims: list[int] = []
        self.new_dims: list[int] = []
        self.axis = 0  # of the operand
        self.out_axis = 0  # of the gather's result

    def add_arrays(self, arrays: Sequence[Value], axes: Sequence[int]) -> None:
        """Read along arrays of positions, broadcast against each other."""
        arrays = broadcast_arrays(*arrays)
        shape = arrays[0].shape
        start = len(self.position_shape)
        self.positions += [(lax.convert_element_type(x, INT32), start) for x in arrays]
        self.position_shape += shape
        self.start_map += axes
        self.collapsed += axes
        self.slice_shape += shape
        self.out_axis += len(shape)

    def skip_array(self) -> None:
        """Pass an axis that `add_arrays` has dealt with."""
        self.axis += 1
        self.window.append(1)

    def add_scalar(self, position: Value) -> None:
        """Read at one computed position."""
        self.positions.append((lax.convert_element_type(position, INT32), len(self.position_shape)))
        self.collapsed.append(self.axis)
        self.window.append(1)
        self.start_map.append(self.axis)
        self.axis += 1

    def add_new_axis(self) -> None:
        self.new_dims.append(len(self.slice_shape))
        self.slice_shape.append(1)

    def add_slice(self, s: slice, size: int) -> None:
        """Read a window (step 1) or along the positions of the slice."""
        start, step, length = _slice_parts(s, size)
        self.slice_shape.append(length)
        if step == 1:
            if length != size:
                self.positions.append((lax.convert_element_type(start, INT32), len(self.position_shape)))
                self.start_map.append(self.axis)
            self.window.append(length)
            self.offset_dims.append(self.out_axis)
        else:
            places = array(start, dtype=INT32) + array(step, dtype=INT32) * lax.iota(INT32, length)
            if step < 0:
                self.reversed_dims.append(self.out_axis)
                places = lax.rev(places, (0,))
            self.window.append(1)
            self.positions.append((places, len(self.position_shape)))
            self.start_map.append(self.axis)
            self.position_shape.append(length)
            self.collapsed.append(self.axis)
        self.axis += 1
        self.out_axis += 1

    def stacked_positions(self) -> Value:
        """Return all positions as one array whose last dimension counts the computed axes."""
        if not self.positions:
            return np.zeros((0,), dtype=INT32)
        if len(self.positions) == 1:
            x, _ = self.positions[0]
            return lax.expand_dims(x, (x.ndim,))
        shape = [*self.position_shape, 1]
        return lax.concatenate([lax.broadcast_in_dim(x, shape, range(start, start + x.ndim))
                                for x, start in self.positions], len(self.position_shape))


def to_gather(shape: tuple[int, ...], index: tuple[Any, ...], normalize: bool = True) -> Indexer:
    """Return the gather that `index` (of `parse`) means for an array of `shape`.

    normalize: do negative positions count from the end?
    """
    index = complete(index, len(shape))
    bool_dims = tuple(k for k, i in enumerate(index) if isinstance(i, bool))
    if bool_dims:
        index = tuple(np.arange(int(i)) if isinstance(i, bool) else i for i in index)
        for k in bool_dims:
            shape = (*shape[:k], 1, *shape[k:])
    arrays = _array_indices(index, shape, normalize)
    contiguous = bool(arrays) and bool(np.all(np.diff([k for _, k, _ in arrays]) == 1))
    gathered = _Gathered()
    for place, i in enumerate(index):
        if arrays and place == (arrays[0][1] if contiguous else 0):
            gathered.add_arrays([x for x, _, _ in arrays], [axis for _, _, axis in arrays])
        if any(place == k for _, k, _ in arrays):
            gathered.skip_array()
        else:
            _add_basic(gathered, i, place, shape, normalize)
    numbers = lax.GatherDimensionNumbers(tuple(gathered.offset_dims), tuple(sorted(gathered.collapsed)),
                                         tuple(gathered.start_map))
    return Indexer(tuple(gathered.slice_shape), tuple(gathered.window), gathered.stacked_positions(), numbers,
                   not arrays, tuple(gathered.reversed_dims), tuple(gathered.new_dims), bool_dims)


def _array_indices(index: tuple[Any, ...], shape: tuple[int, ...], normalize: bool) -> list[tuple[Value, int, int]]:
    """Return (positions, place in the index, axis) of each array among the indices, and of scalars beside arrays."""
    if all(_is_plain(i) or _is_integer_scalar(i) for i in index) or not all(
            _is_plain(i) or _is_integer_arraylike(i) for i in index):
        return []
    found = []
    entries = [(place, i) for place, i in enumerate(index) if i is not None]
    for axis, (place, i) in enumerate(entries):
        if isinstance(i, np.ndarray):
            asarray(i)  # JAX asks here whether it is a scalar, which leaves an equation
        if not isinstance(i, slice):
            positions = asarray(i)
            found.append((normalized(positions, shape[axis]) if normalize else positions, place, axis))
    return found


def _is_plain(i: Any) -> bool:
    return i is None or isinstance(i, slice)


def _is_integer_scalar(i: Any) -> bool:
    return (np.isscalar(i) and is_integer(dtype_of(i))) or (
        isinstance(i, (np.ndarray, Array, Tracer)) and np.ndim(i) == 0 and is_integer(i.dtype))


def _is_integer_arraylike(i: Any) -> bool:
    if isinstance(i, (list, tuple)):
        return all(map(_is_integer_arraylike, i))
    return (isinstance(i, int) and not isinstance(i, bool)) or (hasattr(i, "dtype") and is_integer(i.dtype))


def _add_basic(gathered: _Gathered, i: Any, place: int, shape: tuple[int, ...], normalize: bool) -> None:
    aval = _aval_or_none(i)
    if aval is not None and not aval.shape and is_integer(aval.dtype):
        size = shape[gathered.axis]
        if size == 0:
            raise IndexError(f"index is out of bounds for axis {gathered.axis} with size 0")
        gathered.add_scalar(normalized(i, size) if normalize else i)
    elif i is None:
        gathered.add_new_axis()
    elif isinstance(i, slice):
        gathered.add_slice(i, shape[gathered.axis])
    elif aval is not None and not is_discrete(aval.dtype):
        raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {aval.dtype.name} at "
                        f"position {place}, indexer value {i}")
    else:
        raise IndexError(f"Indexing mode not yet supported. Got unsupported indexer at position {place}: {i!r}")


def normalized(index: Any, size: int) -> Any:
    """Return `index` with `size` added where it is negative."""
    if is_unsigned(dtype_of(index)):
        return index
    if isinstance(index, (int, np.integer)):
        return lax.add(index, const_like(index, size)) if index < 0 else index
    return lax.select(index < 0, lax.add(index, const_like(index, size)), index)


def _slice_parts(s: slice, size: int) -> tuple[int, int, int]:
    """Return start, step and length of a slice of an axis of `size`; raises IndexError when it is traced."""
    for end in (s.start, s.stop, s.step):
        concrete = end.to_concrete_value() is not None if isinstance(end, Tracer) else is_valid_type(end)
        if end is not None and not concrete:
            raise IndexError(
                "Array slice indices must have static start/stop/step to be used with NumPy indexing syntax. Found "
                f"slice({s.start}, {s.stop}, {s.step}). To index a statically sized array at a dynamic position, try "
                "lax.dynamic_slice/dynamic_update_slice (JAX does not support dynamically sized arrays within JIT "
                "compiled functions).")
    start, stop, step = slice(*[None if end is None else operator.index(end)
                                for end in (s.start, s.stop, s.step)]).indices(size)
    return start, step, len(range(start, stop, step))


def is_empty(shape: Sequence[int]) -> bool:
    """Has an array of this shape no elements?"""
    return math.prod(shape) == 0
