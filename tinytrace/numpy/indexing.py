"""`x[index]`: slices where they suffice, dynamic slices for computed scalars, a gather for everything else."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.config import config
from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import KeyType, is_discrete, is_integer
from tinytrace.core.trace import Tracer, is_eager
from tinytrace.numpy.array_creation import zeros_like
from tinytrace.numpy.index_parsing import complete, is_empty, parse, to_gather
from tinytrace.numpy.promotion import Value, concrete, promote_dtypes


def getitem(x: Value, index: Any) -> Value:
    """Return `x[index]`.

    Integers out of range are clamped, as JAX does while tracing.
    See https://numpy.org/doc/stable/user/basics.indexing.html.
    """
    # Integers and slices: csrc/indexing.c.
    if type(x) is Array and is_eager() and not config.checks_results:
        found = _in_numpy(x, index)
        if found is not None:
            return found
    return take_index(x, index)


def is_plain(index: Any, shape: tuple[int, ...]) -> bool:
    """Does `index` consist of integers in range and slices of integers, so that NumPy means the same by it?"""
    entries = index if type(index) is tuple else (index,)
    for i, size in zip(entries, shape, strict=False):
        if type(i) is int:
            if not -size <= i < size:
                return False
        elif not is_plain_slice(i):
            return False
    return 0 < len(entries) <= len(shape)


MOST_POSITIONS = 1 << 18
"""So many elements are taken by NumPy at most; from there on a compiled program on all threads is faster."""


def _in_numpy(x: Array, index: Any) -> Array | None:
    """Return `x[index]` as NumPy gives it; None where it means something else to NumPy, or is no index at all.

    Arrays of integers in range, masks, slices, `...` and None mean the same to both. Elements are moved, not computed.
    """
    entries, positions = [], 1
    for entry in index if type(index) is tuple else (index,):
        if type(entry) is Array:
            if isinstance(entry.aval.dtype, KeyType):
                return None
            entry = entry._value
        if type(entry) is np.ndarray:
            if not is_discrete(entry.dtype) or (entry.dtype.kind == "b" and entry.ndim == 0):
                return None
            positions *= entry.size
        elif not (entry is None or entry is Ellipsis or type(entry) is int or is_plain_slice(entry)):
            return None
        entries.append(entry)
    if positions > MOST_POSITIONS:
        return None
    try:
        found = x._value[tuple(entries)]
    except (IndexError, OverflowError):  # out of range, where JAX clamps; or an error, which JAX words in its own way
        return None
    return array_from_numpy(np.asarray(found), x.aval.update(shape=np.shape(found)))


def is_plain_slice(x: Any) -> bool:
    """Is `x` a slice of integers?"""
    return type(x) is slice and all(end is None or type(end) is int for end in (x.start, x.stop, x.step))


def take_index(x: Value, index: Any, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
               fill_value: Any = None) -> Value:
    """`x[index]` with the options of `x.at[index].get`."""
    result = _as_slices(x, index, mode)
    if result is not None:
        return result
    indexer = to_gather(x.shape, parse(index, x.shape))
    if fill_value is not None:
        fill_value = concrete(fill_value, "fill_value argument to indexed get()")
        if np.ndim(fill_value) != 0:
            raise ValueError("fill_value argument to indexed get() must be a scalar")
        if isinstance(fill_value, np.ndarray):
            fill_value = fill_value.item()
    if indexer.bool_dims:
        x = lax.expand_dims(x, indexer.bool_dims)
    if is_empty(indexer.slice_shape):
        return zeros_like(x, shape=indexer.slice_shape)
    if not is_empty(indexer.positions.shape):
        x = lax.gather(x, indexer.positions, indexer.dimension_numbers, indexer.window,
                       unique_indices=unique_indices or indexer.is_basic,
                       indices_are_sorted=indices_are_sorted or indexer.is_basic, mode=mode, fill_value=fill_value)
    if indexer.reversed_dims:
        x = lax.rev(x, indexer.reversed_dims)
    return lax.expand_dims(x, indexer.new_dims)


# --- without a gather ------------------------------------------------------------------------------------------

def _as_slices(x: Value, index: Any, mode: Any) -> Value | None:
    """Return `x[index]` by rev, slice or dynamic_slice, and squeeze; None when that is not enough."""
    entries = index if isinstance(index, tuple) else (index,)
    if len(entries) > x.ndim or any(i is None for i in entries):
        return None
    if any(i is Ellipsis for i in entries):
        entries = complete(entries, x.ndim)
    reversed_, scalars, partial = [], [], False
    for axis, (i, size) in enumerate(zip(entries, x.shape, strict=False)):
        if _is_reversal(i):
            reversed_.append(axis)
        elif _is_scalar_position(i, size, mode):
            scalars.append(axis)
        elif _is_contiguous(i):
            partial = partial or i.indices(size) != (0, size, 1)
        else:
            return None
    if reversed_:
        x = lax.rev(x, reversed_)
        entries = tuple(slice(None) if axis in reversed_ else i for axis, i in enumerate(entries))
    if not scalars and not partial:
        return x
    entries += (slice(None),) * (x.ndim - len(entries))
    x = _slice(x, entries)
    return lax.squeeze(x, scalars) if scalars else x


def _slice(x: Value, entries: tuple[Any, ...]) -> Value:
    starts, sizes = [], []
    for i, size in zip(entries, x.shape, strict=True):
        if isinstance(i, slice):
            start, stop, _ = i.indices(size)
            starts.append(start)
            sizes.append(max(0, stop - start))
        else:
            starts.append(i)
            sizes.append(1)
    if all(isinstance(start, (int, np.integer)) and start >= 0 for start in starts):
        plain = [int(start) for start in starts]
        return lax.slice(x, plain, [start + size for start, size in zip(plain, sizes, strict=True)])
    return lax.dynamic_slice(x, promote_dtypes(*starts) if len(starts) > 1 else starts, sizes)


def _is_reversal(i: Any) -> bool:
    return isinstance(i, slice) and i.start is None and i.stop is None and type(i.step) is int and i.step == -1


def _is_scalar_position(i: Any, size: int, mode: Any) -> bool:
    """Is `i` one position on an axis of `size`, which may be clamped?"""
    if size == 0:
        return False
    if _is_int(i):
        return bool(-size <= i < size)
    if isinstance(i, (Array, Tracer, np.ndarray)):
        aval = aval_of(i)
        return aval.shape == () and is_integer(aval.dtype) and mode in (None, "promise_inbounds", "clip")
    return False


def _is_contiguous(i: Any) -> bool:
    return isinstance(i, slice) and all(end is None or _is_int(end) for end in (i.start, i.stop)) and (
        i.step is None or (_is_int(i.step) and i.step == 1))


def _is_int(i: Any) -> bool:
    return isinstance(i, (int, np.integer)) and not isinstance(i, bool)
