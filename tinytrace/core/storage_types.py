"""Element types that are only kept, one element in a byte: floats of eight bits, integers of two and four.

No operation computes with them. Each reads them into a wider type and rounds what it gives (`passes/wider_types.py`; in
NumPy: `core/numpy_calls.py`); what only moves elements moves the bytes. What their values are, ml_dtypes knows, and for
compiled programs `csrc/math/bytes.h`. Source: JAX 0.4.35 on the CPU; https://github.com/jax-ml/ml_dtypes.
"""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tinytrace.records import NamedTuple


class StorageType(NamedTuple):
    """One of these types: how it is read, and how it is written."""

    computed: np.dtype[Any]
    """The type in which its elements are computed: it has all of their values."""
    bits: int
    """How many bits of the byte are the element; the others are zeros."""
    rounded_by: np.dtype[Any] | None = None
    """The type to which wider floats are rounded first. XLA's compiler for CPUs does so for some of the types."""


_HALF, _INT8, _UINT8 = np.dtype(np.float16), np.dtype(np.int8), np.dtype(np.uint8)

STORAGE_TYPES: dict[np.dtype[Any], StorageType] = {
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): StorageType(_HALF, 8, rounded_by=_HALF),
    np.dtype(ml_dtypes.float8_e4m3fn): StorageType(_HALF, 8, rounded_by=_HALF),
    np.dtype(ml_dtypes.float8_e4m3fnuz): StorageType(_HALF, 8),
    np.dtype(ml_dtypes.float8_e5m2): StorageType(_HALF, 8, rounded_by=_HALF),
    np.dtype(ml_dtypes.float8_e5m2fnuz): StorageType(_HALF, 8),
    np.dtype(ml_dtypes.int2): StorageType(_INT8, 2),
    np.dtype(ml_dtypes.int4): StorageType(_INT8, 4),
    np.dtype(ml_dtypes.uint2): StorageType(_UINT8, 2),
    np.dtype(ml_dtypes.uint4): StorageType(_UINT8, 4),
}
"""All that is said of each type: a new one is a line here, and two functions in C that are named after it."""

SMALL_FLOATS = frozenset(dtype for dtype, storage in STORAGE_TYPES.items() if storage.computed.kind == "f")
SMALL_INTEGERS = frozenset(STORAGE_TYPES) - SMALL_FLOATS


def computed_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which elements of `dtype` are computed: another one for those that are only kept.

    >>> computed_type(np.dtype("float8_e5m2")), computed_type(np.dtype("float64"))
    (dtype('float16'), dtype('float64'))
    """
    storage = STORAGE_TYPES.get(dtype)
    return dtype if storage is None else storage.computed


def bits_of(dtype: np.dtype[Any]) -> int:
    """Return how many bits an element has.

    >>> bits_of(np.dtype("int4")), bits_of(np.dtype("int32"))
    (4, 32)
    """
    storage = STORAGE_TYPES.get(dtype)
    return 8 * dtype.itemsize if storage is None else storage.bits


def in_computed_types(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an operation, with computed types where they name types that are only kept."""
    return {name: computed_type(value) if isinstance(value, np.dtype) else value for name, value in params.items()}


def integer_limits(dtype: np.dtype[Any]) -> Any:
    """Return `min`, `max` and `bits` of an integer type, as `np.iinfo` does for NumPy's own."""
    return ml_dtypes.iinfo(dtype) if dtype in SMALL_INTEGERS else np.iinfo(dtype)  # type: ignore[no-untyped-call]


def infinity(dtype: np.dtype[Any]) -> float:
    """Return infinity, or the greatest number of a type of floats that has none.

    >>> infinity(np.dtype("float8_e4m3fn")), infinity(np.dtype("float8_e5m2"))
    (448.0, inf)
    """
    if dtype not in SMALL_FLOATS or np.isinf(np.array(np.inf, dtype)):
        return np.inf
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def rounded_to(x: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Convert numbers to a type that is only kept: floats rounded as XLA does it, integers cut to their last bits."""
    storage = STORAGE_TYPES[dtype]
    if x.dtype == np.float64:
        x = _rounded_to_odd(x) if storage.rounded_by is None else x.astype(np.float32)
    first = storage.computed if x.dtype.kind in "biu" else storage.rounded_by
    return (x if first is None else x.astype(first)).astype(dtype)


def _rounded_to_odd(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return float64 as float32 that are about to be rounded to fewer bits: see `tt_f64_to_odd_f32` in csrc/math."""
    near = np.asarray(x.astype(np.float32))
    bits = near.view(np.uint32)
    away = np.abs(near.astype(np.float64)) > np.abs(x)
    odd = np.where(bits & 1, bits, np.where(away, bits - np.uint32(1), bits + np.uint32(1))).view(np.float32)
    return np.where((near == x) | (x != x), near, odd)
