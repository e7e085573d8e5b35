"""`ShapeDtypeStruct`: a stand-in for an array of which only the type matters."""
from __future__ import annotations

from typing import Any

from tinytrace.core.avals import ShapedArray, canonicalize_shape
from tinytrace.core.dtypes import canonicalize_dtype, to_numpy_dtype


class ShapeDtypeStruct:
    """The shape and dtype of an array without its contents (`jax.ShapeDtypeStruct`).

    >>> ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(self, shape: Any, dtype: Any, *, named_shape: Any = None, sharding: Any = None,
                 weak_type: bool = False) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        if sharding is not None and not hasattr(sharding, "device_set"):
            raise ValueError("sharding should be an instance of `jax.sharding.Sharding` or "
                             f"`jax.experimental.layout.Layout`. Got {sharding} of type {type(sharding)}.")
        self.shape = canonicalize_shape(tuple(shape))  # one number is no shape: TypeError
        self.dtype = to_numpy_dtype(dtype)
        self.sharding = sharding
        self.weak_type = weak_type

    @property
    def aval(self) -> ShapedArray:
        return ShapedArray(self.shape, canonicalize_dtype(self.dtype), self.weak_type)

    size = property(lambda self: self.aval.size)
    ndim = property(lambda self: len(self.shape))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        sharding = "" if self.sharding is None else f", sharding={self.sharding}"
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (
            self.shape, self.dtype, self.sharding, self.weak_type) == (
            other.shape, other.dtype, other.sharding, other.weak_type)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.sharding, self.weak_type))
