"""Arrays out of nothing: iota counts, full repeats one value."""
from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace._dispatch import array_filled
from tinytrace.config import config, x64_enabled
from tinytrace.core.array import Array, array_of_own
from tinytrace.core.avals import ShapedArray, canonicalize_shape
from tinytrace.core.dtypes import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    UINT32,
    DType,
    KeyType,
    canonicalize_dtype,
    dtype_of,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
    is_weak,
)
from tinytrace.core.kinds import IndexMap, Kind, cast
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.core.trace import is_eager
from tinytrace.primitives.broadcasting import SMALL, broadcast, broadcast_in_dim, repeated
from tinytrace.primitives.checks import check_shapelike
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.random_bits import random_unwrap, random_wrap
from tinytrace.primitives.shaping import NDArray


def iota(dtype: Any, size: int) -> Any:
    """Return 0, 1, ..., size-1. See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.iota.html.

    >>> iota(np.int32, 3)
    Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int) -> Any:
    """Return an array of `shape` in which each element is its index along `dimension`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.broadcasted_iota.html.

    >>> broadcasted_iota(np.int32, (2, 3), 0)
    Array([[0, 0, 0],
           [1, 1, 1]], dtype=int32)
    """
    return iota_p.bind(dtype=canonicalize_dtype(dtype), shape=canonicalize_shape(shape),
                       dimension=operator.index(dimension), sharding=None)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """Return an array of `shape` in which each element is `fill_value`, as `dtype` if given.

    Raises: TypeError when `fill_value` is not a scalar.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.full.html.

    >>> full((2,), 7, np.int32)
    Array([7, 7], dtype=int32)
    """
    if type(fill_value) in _NUMBERS and is_eager() and not config.checks_results:
        aval = full_aval(shape, dtype, type(fill_value))
        if aval is not None:
            return full_of_number(fill_value, aval)
    shape = canonicalize_shape(shape)
    if np.shape(fill_value):
        raise TypeError(f"full must be called with scalar fill_value, got fill_value.shape {np.shape(fill_value)}.")
    weak_type = dtype is None and is_weak(fill_value)
    wanted = canonicalize_dtype(dtype or dtype_of(fill_value))
    if isinstance(wanted, KeyType):
        return _full_of_keys(fill_value, shape, wanted)
    return broadcast(_rounded(fill_value, wanted, weak_type), shape)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None) -> Any:
    """Return `full` with the shape, dtype and weak type of `x`, unless given.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.full_like.html.

    >>> full_like(np.float32([1, 2]), 3)
    Array([3., 3.], dtype=float32)
    """
    if type(x) is Array and dtype is shape is None and type(fill_value) in _NUMBERS and is_eager() \
            and _is_plain(type(fill_value), x.dtype) and not config.checks_results:
        return full_of_number(fill_value, x.aval)
    sizes = np.shape(x) if shape is None else canonicalize_shape(shape)
    weak_type = dtype is None and is_weak(x)
    wanted = dtype or dtype_of(x)
    if isinstance(wanted, KeyType):
        return _full_of_keys(fill_value, sizes, wanted)
    return full(sizes, _rounded(fill_value, wanted, weak_type))


def zeros_like_array(x: Any) -> Any:
    """Return zeros of the shape, dtype and weak type of `x`.

    >>> zeros_like_array(np.float32([1, 2]))
    Array([0., 0.], dtype=float32)
    """
    return full_like(x, 0)


_NUMBERS = frozenset({int, float, bool})
_ONLY_INT = frozenset({int})
HALVES = (FLOAT16, BFLOAT16)
"""Floats of two bytes."""


def full_aval(shape: Any, dtype: Any, kind: type) -> ShapedArray | None:
    """Return the type of `full` of a number of Python's; None where NumPy converts it in another way, or to be told so.

    Those of plain shapes and types are remembered: an array is made in less time than its type.
    """
    if type(shape) is int:
        shape = (shape,)
    if type(shape) is not tuple or not _ONLY_INT.issuperset(map(type, shape)):
        return None
    if dtype is not None and type(dtype) is not type and not isinstance(dtype, np.dtype):
        return None
    return _full_aval(shape, dtype, kind, x64_enabled())


@functools.lru_cache(maxsize=4096)
def _full_aval(shape: tuple[int, ...], dtype: Any, kind: type, x64: bool) -> ShapedArray | None:
    wanted = canonicalize_dtype(kind if dtype is None else dtype)
    if (dtype is not None and wanted != dtype) or min(shape, default=0) < 0:
        return None
    return ShapedArray(shape, wanted, dtype is None and kind is not bool) if _is_plain(kind, wanted) else None


def _is_plain(kind: type, dtype: DType) -> bool:
    """Does NumPy convert such numbers of Python's to this dtype as `convert_element_type` does?"""
    if dtype in HALVES:  # which others than Python's doubles reach through float32
        return kind is not float or not config.enable_x64
    return dtype in (FLOAT32, FLOAT64) or is_complex(dtype) or (kind is not float and dtype.kind in "biu")


def full_of_number(x: float, aval: ShapedArray) -> Any:
    """Return an array of this type in which each element is `x`; where nothing is traced."""
    size = aval.size
    if size > SMALL:  # one element, for as long as nobody needs more
        return array_of_own(repeated(_element(x, aval.dtype), aval.shape), aval)
    return array_filled(aval, _element_bytes(x, aval.dtype) if x else _element(x, aval.dtype).tobytes(), size)


@functools.lru_cache(maxsize=256, typed=True)
def _element_bytes(x: float, dtype: DType) -> bytes:
    """Return the bytes of a number that is not 0: 0 and -0 are equal."""
    return _element(x, dtype).tobytes()  # type: ignore[no-any-return]


def _element(x: float, dtype: DType) -> Any:
    if dtype in HALVES or is_complex(dtype):
        with np.errstate(all="ignore"):
            return np.asarray(x).astype(FLOAT32 if dtype in HALVES else dtype).astype(dtype)
    return np.asarray(x, dtype) if type(x) is float else np.asarray(x).astype(dtype)


def _full_of_keys(fill_value: Any, shape: tuple[int, ...], wanted: KeyType) -> Any:
    """Return keys all equal to a key, or of which each word is a number."""
    if isinstance(dtype_of(fill_value), KeyType):
        words = random_unwrap(fill_value)
        return random_wrap(broadcast_in_dim(words, (*shape, wanted.words), (len(shape),)), wanted.impl)
    return random_wrap(full((*shape, wanted.words), fill_value, UINT32), wanted.impl)


def _rounded(x: Any, dtype: DType, weak_type: bool) -> Any:
    """Convert `x`; a Python number that stays weak is rounded at once, as jaxprs show it."""
    if weak_type and ((type(x) is float and is_float(dtype)) or (type(x) is complex and dtype.kind == "c")):
        return np.asarray(x).astype(dtype).item()
    return convert_element_type(x, dtype, weak_type)


class Iota(Primitive):
    """`iota[dimension=0 dtype=int32 shape=(3,) sharding=None]` is i32[3]: 0 1 2."""

    name = "iota"
    reads = ALL

    def abstract_eval(self, *, dtype: DType, shape: tuple[int, ...], dimension: int, sharding: None) -> ShapedArray:
        check_shapelike("iota", "shape", shape)
        if isinstance(dtype, KeyType) or not (is_integer(dtype) or is_inexact(dtype)):
            raise TypeError(f"iota does not accept dtype {dtype.name}. Accepted dtypes are subtypes of integer, "
                            "floating, complexfloating.")
        if not 0 <= dimension < len(shape):
            raise ValueError("iota dimension must be between 0 and len(shape), got "
                             f"dimension={dimension} for shape={shape}")
        return ShapedArray(tuple(shape), dtype)

    def impl(self, *, dtype: np.dtype[Any], shape: tuple[int, ...], dimension: int, sharding: None) -> NDArray:
        column = [1] * len(shape)
        column[dimension] = shape[dimension]
        return repeated(_counted(shape[dimension], dtype).reshape(column), tuple(shape))

    jvp = refuse("it has no operands")
    transpose = refuse("it has no operands")
    batch = refuse("it has no operands")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, dtype: np.dtype[Any],
              shape: tuple[int, ...], dimension: int, sharding: None) -> Kind:
        return IndexMap(lambda i, read: cast(i[dimension], dtype))


_COUNTED = frozenset(map(np.dtype, ("int32", "int64", "float32", "float64")))
"""Types in which NumPy counts as if it had counted integers, without making those first."""


def _counted(count: int, dtype: np.dtype[Any]) -> NDArray:
    return np.arange(count, dtype=dtype) if dtype in _COUNTED else np.arange(count).astype(dtype)


iota_p = Iota()
