"""dtypes as users name them: `jnp.float32` and its kin, `finfo` and `iinfo`, and questions about dtypes.

`jnp.float32` is a dtype wherever one is asked for; called, it makes an array: `jnp.float32(3)`.
"""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tinytrace.config import enable_x64
from tinytrace.core import dtypes as core
from tinytrace.core.dtypes import BFLOAT16, DType, KeyType, extended, prng_key, to_numpy_dtype
from tinytrace.core.storage_types import SMALL_FLOATS, SMALL_INTEGERS
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.promotion import DTypeLike, Value


class ScalarType(type):
    """The type of `jnp.float32`: a class that compares equal to NumPy's, converts to a dtype, and makes arrays."""

    dtype: np.dtype[Any]

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return cls is other or cls.dtype.type == other

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __call__(cls, x: Any) -> Value:
        return asarray(cls.dtype.type(x) if isinstance(x, str) else x, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    new = ScalarType(dtype.type.__name__.removesuffix("_"), (object,), {"dtype": dtype})
    new.__module__ = "jax.numpy"  # it prints as JAX's: programs show it in messages
    return new


bool_ = _scalar_type(np.bool_)
uint8 = _scalar_type(np.uint8)
uint16 = _scalar_type(np.uint16)
uint32 = _scalar_type(np.uint32)
uint64 = _scalar_type(np.uint64)
int8 = _scalar_type(np.int8)
int16 = _scalar_type(np.int16)
int32 = _scalar_type(np.int32)
int64 = _scalar_type(np.int64)
float16 = _scalar_type(np.float16)
float32 = single = _scalar_type(np.float32)
float64 = double = _scalar_type(np.float64)
complex64 = csingle = _scalar_type(np.complex64)
complex128 = cdouble = _scalar_type(np.complex128)
bfloat16 = _scalar_type(BFLOAT16)
float8_e4m3b11fnuz = _scalar_type(ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type(ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type(ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type(ml_dtypes.float8_e5m2fnuz)
int2 = _scalar_type(ml_dtypes.int2)
int4 = _scalar_type(ml_dtypes.int4)
uint2 = _scalar_type(ml_dtypes.uint2)
uint4 = _scalar_type(ml_dtypes.uint4)
int_, uint, float_, complex_ = int64, uint64, float64, complex128

generic, number, inexact, complexfloating = np.generic, np.number, np.inexact, np.complexfloating
floating, integer, signedinteger, unsignedinteger = np.floating, np.integer, np.signedinteger, np.unsignedinteger
ComplexWarning = np.exceptions.ComplexWarning
flexible, character, object_, dtype = np.flexible, np.character, np.object_, np.dtype


# --- questions about dtypes ------------------------------------------------------------------------------------

def finfo(dtype: Any) -> Any:
    """Return the limits of a floating type, given as such or by an array.

    >>> jnp.finfo(jnp.float32).eps
    np.float32(1.1920929e-07)

    See https://numpy.org/doc/stable/reference/generated/numpy.finfo.html.
    """
    dtype = to_numpy_dtype(dtype)
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def iinfo(int_type: Any) -> Any:
    """Return the limits of an integer type, given as such or by an array.

    >>> jnp.iinfo(jnp.int8).max
    127

    See https://numpy.org/doc/stable/reference/generated/numpy.iinfo.html.
    """
    return ml_dtypes.iinfo(to_numpy_dtype(int_type))  # type: ignore[no-untyped-call]


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Is `arg1` of the kind `arg2` (`jnp.floating`, `jnp.integer`, `jax.dtypes.prng_key`, ...)?

    >>> jnp.issubdtype(jnp.float16, jnp.floating)
    True

    See https://numpy.org/doc/stable/reference/generated/numpy.issubdtype.html.
    """
    if arg2 in (extended, prng_key):
        if isinstance(getattr(arg1, "dtype", None), KeyType):
            raise TypeError(f"Cannot interpret '{arg1}' as a data type")
        return isinstance(arg1, KeyType) or arg1 is prng_key or arg1 is arg2
    if isinstance(arg1, KeyType):
        return arg2 is arg1 or arg2 is np.generic
    a, b = _scalar_class(arg1), _scalar_class(arg2)
    kinds = _KINDS_BESIDE_NUMPY.get(a)
    return np.issubdtype(a, b) if kinds is None else b in (a, *kinds, np.number, np.generic)


def _scalar_class(x: Any) -> Any:
    """Return the class of scalars that a kind or a dtype, however it is given, means."""
    return x if isinstance(x, type) and issubclass(x, np.generic) else np.dtype(x).type


_KINDS_BESIDE_NUMPY: dict[Any, tuple[Any, ...]] = {
    **dict.fromkeys([BFLOAT16.type, *(dtype.type for dtype in SMALL_FLOATS)], (np.floating, np.inexact)),
    **{dtype.type: (np.unsignedinteger if dtype.name.startswith("u") else np.signedinteger, np.integer)
       for dtype in SMALL_INTEGERS},
}
"""What the types of ml_dtypes are: NumPy has no answer for them."""


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Is `dtype` of a kind of the array API standard ("real floating", "integral", ...), or of one in a tuple?

    >>> jnp.isdtype(jnp.int8, ("bool", "signed integer"))
    True

    See https://numpy.org/doc/stable/reference/generated/numpy.isdtype.html.
    """
    wanted = to_numpy_dtype(dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str) and one in _KINDS:
            if any(issubdtype(wanted, kind) for kind in _KINDS[one]):
                return True
        elif isinstance(one, str):
            raise ValueError(f"Unrecognized kind={one!r} expected one of {list(_KINDS)}, or a compatible input for "
                             "jnp.dtype()")
        elif to_numpy_dtype(one) == wanted:
            return True
    return False


_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (np.bool_,), "signed integer": (np.signedinteger,), "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,), "real floating": (np.floating,), "complex floating": (np.complexfloating,),
    "numeric": (np.integer, np.floating, np.complexfloating),
}  # fmt: skip


def result_type(*args: Any) -> DType:
    """Return the dtype of an operation over `args`, which may be arrays, numbers or dtypes.

    >>> jnp.result_type(jnp.int32, jnp.float16)
    dtype('float16')

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.result_type.html.
    """
    return core.result_type(*args)


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """Return the dtype that `a` and `b` promote to, also when it is wider than 32 bits.

    >>> jnp.promote_types("int32", "float16")
    dtype('float16')

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.promote_types.html.
    """
    with enable_x64(True):
        return core.promote_types(a, b)


def can_cast(from_: DTypeLike, to: DTypeLike, casting: Any = "safe") -> bool:
    """Can `from_` be converted to `to` by a rule of `casting`?

    >>> jnp.can_cast("int8", "int32")
    True

    See https://numpy.org/doc/stable/reference/generated/numpy.can_cast.html.
    """
    to = to_numpy_dtype(to)
    return bool(np.can_cast(from_ if type(from_) in (int, float, complex) else to_numpy_dtype(from_), to, casting))

