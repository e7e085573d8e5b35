"""Abstract values: what tracing knows of an array before it exists: shape, dtype and weak type.

Avals are interned: equal avals are one object, so a cache key made of avals compares by identity.
"""
from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from tinytrace.config import config
from tinytrace.core.dtypes import (
    FLOAT0,
    SUPPORTED,
    DType,
    canonicalize_dtype,
    dtype_of,
    is_inexact,
    short_name,
    to_numpy_dtype,
)


class VaryingSize:
    """A size that differs from element to element of a batch: in shapes it stands for itself (`transforms.ragged`)."""

    array_type: Callable[..., ShapedArray]
    """Makes the type of an array with such a size, which is not interned."""


class ShapedArray:
    """The type of an array: `f32[3,4]`.

    >>> ShapedArray((3, 4), np.dtype("float32"))
    ShapedArray(float32[3,4])
    """

    __slots__ = ("__weakref__", "dtype", "shape", "weak_type")
    shape: tuple[int, ...]
    dtype: DType
    weak_type: bool

    def __new__(cls, shape: tuple[int, ...], dtype: DType, weak_type: bool = False) -> ShapedArray:
        key = (shape, dtype, weak_type)
        aval = _interned.get(key) if type(shape) is tuple else None
        if aval is None:
            shape, dtype = _normal(shape, dtype)
            varying = next((d for d in shape if isinstance(d, VaryingSize)), None)
            if varying is not None:
                return varying.array_type(shape, dtype, weak_type)
            key = (shape, dtype, weak_type)
            aval = object.__new__(cls)
            object.__setattr__(aval, "shape", shape)
            object.__setattr__(aval, "dtype", dtype)
            object.__setattr__(aval, "weak_type", weak_type)
            aval = _interned.setdefault(key, aval)
        return aval

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"ShapedArray is immutable: cannot set {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def update(self, shape: tuple[int, ...] | None = None, dtype: DType | None = None,
               weak_type: bool | None = None) -> ShapedArray:
        """Return this aval with some fields replaced."""
        return ShapedArray(self.shape if shape is None else shape, self.dtype if dtype is None else dtype,
                           self.weak_type if weak_type is None else weak_type)

    def strip_weak_type(self) -> ShapedArray:
        return ShapedArray(self.shape, self.dtype) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        """Return the aval of this value's tangents: float0 for what is no real or complex float."""
        return self if is_inexact(self.dtype) else ShapedArray(self.shape, FLOAT0)

    at_least_vspace = to_tangent_aval

    def str_short(self, short_dtypes: bool = True) -> str:
        """Return the type as jaxprs print it, `f32[3,4]`, if `short_dtypes`; else as messages do."""
        if not short_dtypes:
            return self.str_long()
        return f"{short_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def str_long(self) -> str:
        """Return the type as messages print it: `float32[3,4]`."""
        name = self.dtype.name if self.dtype != FLOAT0 else "float0"
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return f"ShapedArray({self.str_long()}{', weak_type=True' if self.weak_type else ''})"


_interned: dict[tuple[tuple[int, ...], DType, bool], ShapedArray] = {}


def _normal(shape: Any, dtype: Any) -> tuple[tuple[int, ...], DType]:
    """Return a shape as a tuple of Python ints and a dtype as an object, whatever they were given as."""
    if type(shape) is not tuple or any(type(d) is not int for d in shape):
        shape = canonicalize_shape(shape)
    return shape, to_numpy_dtype(dtype)


def aval_of(x: Any) -> ShapedArray:
    """Return the aval of a value: a tracer's or Array's own, or the one that a NumPy or Python scalar has.

    Raises TypeError when `x` is not an array type.
    """
    aval = getattr(x, "aval", None)
    if isinstance(aval, ShapedArray):
        return aval
    python_type = type(x)
    if python_type in (float, int, bool, complex):
        if python_type is int and not -2 ** 31 <= x < 2 ** 31:
            _check_int_fits(x)
        return _scalar_aval(python_type, config.enable_x64)  # type: ignore[arg-type]
    if isinstance(x, (np.ndarray, np.generic)):
        refuse_masked(x)
        return ShapedArray(x.shape, x.dtype if x.dtype == FLOAT0 else canonicalize_dtype(x.dtype))
    if hasattr(x, "__jax_array__"):
        return aval_of(x.__jax_array__())
    if isinstance(x, (int, float, complex)):  # a member of an IntEnum, say: no Python scalar, hence not weakly typed
        return ShapedArray((), dtype_of(next(kind for kind in (int, float, complex) if isinstance(x, kind))))
    raise TypeError(f"Value {x!r} with type {python_type} is not a valid JAX type")


def refuse_masked(x: Any) -> None:
    """Raise ValueError for one of NumPy's masked arrays: its mask would be lost."""
    masked = sys.modules.get("numpy.ma")  # `np.ma` would import it, and there are no such arrays before that
    if masked is not None and isinstance(x, getattr(masked, "MaskedArray", ())):
        raise ValueError("numpy masked arrays are not supported as direct inputs to JAX functions. Use arr.filled() to "
                         "convert the value to a standard numpy array.")


@functools.cache
def _scalar_aval(python_type: Hashable, x64: bool) -> ShapedArray:
    return ShapedArray((), dtype_of(python_type), python_type is not bool)


def _check_int_fits(x: Any) -> None:
    if type(x) is int:
        info = np.iinfo(dtype_of(x))
        if not info.min <= x <= info.max:
            raise OverflowError(f"An overflow was encountered while parsing an argument to a jitted computation, "
                                f"whose argument {x!r} is outside the range of {info.dtype}.")


def abstract_type_of(x: Any) -> ShapedArray:
    """Return the aval of a value, or of anything that has a shape and a dtype: tracing needs no more.

    Raises TypeError for anything else.
    """
    if is_valid_type(x):
        return aval_of(x)
    if not (hasattr(x, "shape") and hasattr(x, "dtype")) or isinstance(x, (np.ndarray, np.generic)):
        raise TypeError(f"Value {x!r} with type {type(x)} is not a valid JAX type")
    return ShapedArray(canonicalize_shape(x.shape), canonicalize_dtype(x.dtype), bool(getattr(x, "weak_type", False)))


def is_valid_type(x: Any) -> bool:
    """Can `x` be an argument of a traced function?"""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype == FLOAT0 or (x.dtype.isnative and x.dtype.itemsize <= (16 if x.dtype.kind == "c" else 8)
                                     and (x.dtype.kind in "biufc" or x.dtype in SUPPORTED))
    return isinstance(x, (float, int, complex)) or hasattr(x, "aval") or hasattr(x, "__jax_array__")


_ONLY_INT = frozenset({int})


def canonicalize_shape(shape: Any, context: str = "") -> tuple[int, ...]:
    """Return `shape` as a tuple of Python ints; raises TypeError with JAX's message when it is none."""
    if type(shape) is tuple and _ONLY_INT.issuperset(map(type, shape)):
        return shape
    if getattr(shape, "ndim", 1) == 0 or not isinstance(shape, Iterable):
        shape = (shape,)
    try:
        return tuple(d if isinstance(d, VaryingSize) else operator.index(d) for d in shape)  # type: ignore[misc]
    except TypeError:
        pass
    text = f"Shapes must be 1D sequences of concrete values of integer type, got {shape}. {context}".rstrip()
    traced = [d for d in shape if hasattr(d, "_origin_msg")]
    if traced:
        text += ("\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions."
                 + "".join(d._origin_msg() for d in traced))
    raise TypeError(text)
