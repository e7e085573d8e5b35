"""Types whose sizes may be variables, for `jax.core`: `DShapedArray`, and numbers of variables among the inputs.

Programs against JAX's insides make, compare and print them; a program is traced here at sizes that are numbers.
"""
from __future__ import annotations

import math
from typing import Any

from tinytrace.core.dtypes import FLOAT0, is_inexact, short_name, to_numpy_dtype
from tinytrace.extend.abstract_values import UnshapedArray
from tinytrace.records import NamedTuple, dataclass


class DBIdx(NamedTuple):
    """The number of an argument that is a size in the type of a later one."""

    val: int


@dataclass(frozen=True)
class InDBIdx:
    """The number of an input of a jaxpr that is a size in the type of a result."""

    val: int


@dataclass(frozen=True)
class OutDBIdx:
    """The number of a result that is a size in the type of a later one."""

    val: int


class DShapedArray(UnshapedArray):
    """The type of an array whose sizes are numbers, variables or numbers of variables.

    >>> DShapedArray((3, DBIdx(0)), "float32")
    f32[3,DBIdx(val=0)]
    """

    __slots__ = ("_shape",)
    array_abstraction_level = 3

    def __init__(self, shape: tuple[Any, ...], dtype: Any, weak_type: bool = False) -> None:
        super().__init__(to_numpy_dtype(dtype), weak_type)
        self._shape = shape

    shape = property(lambda self: self._shape)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: 0 if any(type(d) is int and d == 0 for d in self.shape) else math.prod(self.shape))

    def update(self, shape: Any = None, dtype: Any = None, weak_type: bool | None = None  # type: ignore[override]
               ) -> DShapedArray:
        """Return this type with some fields replaced."""
        return DShapedArray(self.shape if shape is None else shape, self.dtype if dtype is None else dtype,
                            self.weak_type if weak_type is None else weak_type)

    def to_tangent_aval(self) -> DShapedArray:
        """Return the type of tangents."""
        return self.update(dtype=self.dtype if is_inexact(self.dtype) else FLOAT0)

    def join(self, other: Any) -> UnshapedArray:
        """Return the type of what is of this type or of another; raises TypeError where the dtypes differ."""
        if self.dtype != other.dtype:
            raise TypeError(self, other)
        if self.shape != other.shape:
            return UnshapedArray(self.dtype)
        return self.update(weak_type=self.weak_type and other.weak_type)

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return the type as jaxprs print it."""
        return f"{short_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    __str__ = __repr__ = str_short

    def __eq__(self, other: object) -> bool:
        return type(other) is DShapedArray and (self.shape, self.dtype, self.weak_type) == (
            other.shape, other.dtype, other.weak_type)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))
