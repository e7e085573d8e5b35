"""What every numpy function does with its arguments first: check them, give them one dtype, give them one rank.

The fast path is a comparison: arguments of one type need nothing. Source: JAX, "Type promotion semantics"
(https://jax.readthedocs.io/en/latest/type_promotion.html).
"""
from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tinytrace import errors, lax
from tinytrace.api.library import remembered
from tinytrace.config import config
from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.avals import ShapedArray, aval_of, canonicalize_shape
from tinytrace.core.dtypes import (
    BOOL,
    FLOAT0,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    SUPPORTED,
    DType,
    KeyType,
    canonicalize_dtype,
    is_complex,
    is_float,
    is_inexact,
    result_type_and_weak,
    to_numpy_dtype,
    warn_if_truncated,
)
from tinytrace.core.storage_types import SMALL_INTEGERS
from tinytrace.core.trace import Tracer, is_eager
from tinytrace.primitives.checks import canonicalize_axis as canonicalize_axis
from tinytrace.primitives.conversion import warn_of_imaginary_part
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.jvp import JVPTracer

ArrayLike: TypeAlias = Any
"""What functions take: an Array, a tracer, a NumPy array, a number, or an object with `__jax_array__`."""

Value: TypeAlias = Any
"""What functions return: an Array, or the tracer of one."""

Axis: TypeAlias = "int | str | Sequence[int | str] | None"
DTypeLike: TypeAlias = Any


def check_arraylike(function: str, *args: Any) -> None:
    """Raise TypeError when one of `args` is a list, None, or anything else that is neither array nor number."""
    for position, arg in enumerate(args):
        if type(arg) is not Array and not is_arraylike(arg):
            _refuse(f"{function} requires ndarray or scalar arguments, got {type(arg)} at position {position}.")


def check_arraylike_or_none(function: str, *args: Any) -> None:
    """`check_arraylike`, where None passes too."""
    for position, arg in enumerate(args):
        if arg is not None and not is_arraylike(arg):
            _refuse(f"{function} requires ndarray, scalar, or None arguments, got {type(arg)} at position {position}.")


@api_boundary
def _refuse(message: str) -> NoReturn:
    raise TypeError(message)


def warn_unless_arraylike(function: str, *args: Any) -> None:
    """`check_arraylike` for functions that still take lists, with a warning that they will not always."""
    for position, arg in enumerate(args):
        if not is_arraylike(arg):
            warnings.warn(f"{function} requires ndarray or scalar arguments, got {type(arg)} at position {position}. "
                          "In a future JAX release this will be an error.", DeprecationWarning, stacklevel=4)


def is_arraylike(x: Any) -> bool:
    """Is `x` an array, a tracer or a number?"""
    return isinstance(x, (Array, Tracer, np.ndarray, np.generic, int, float, complex, str, bytes)) \
        or hasattr(x, "__jax_array__")


def as_array(x: Any) -> Any:
    """Return `x`, a tracer or Array as it is and a number or NumPy array converted."""
    if isinstance(x, (Array, Tracer)):
        return x
    if hasattr(x, "__jax_array__"):
        return as_array(x.__jax_array__())
    aval = aval_of(x)
    return lax.convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type)


# --- to one dtype ----------------------------------------------------------------------------------------------

def convert(x: Any, dtype: DType, weak_type: bool = False) -> Any:
    """Return `x` as an array of the given dtype and weak type; `x` itself when it is one already."""
    if isinstance(x, (Array, Tracer)):
        if x.aval.dtype == dtype and x.aval.weak_type == weak_type:
            return x
        if x.aval.dtype.kind == "c" and dtype.kind not in "cb":  # as bools they lose nothing
            warn_of_imaginary_part(stacklevel=3)
    elif type(x) in (int, float) and is_eager():
        return array_from_numpy(np.array(x).astype(dtype), ShapedArray((), dtype, weak_type))
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)


def with_array(x: Any) -> Any:
    """Return a value whose primal, where it is differentiated, is an Array and no number."""
    primal = x
    while type(primal) is JVPTracer:
        primal = primal.primal
    if primal is x or isinstance(primal, (Array, Tracer)):
        return x
    return lax.convert_element_type_p.bind(x, new_dtype=x.dtype, weak_type=x.weak_type)


def promote_dtypes(*args: Any) -> list[Any]:
    """Convert `args` to the dtype and weak type of an operation over them."""
    if len(args) == 1:
        return [as_array(args[0])]
    dtype, weak = common_type([aval_of(arg) for arg in args])
    return [convert(arg, dtype, weak) for arg in args]


def common_type(avals: Sequence[ShapedArray]) -> tuple[DType, bool]:
    """Return the dtype and weak type of an operation over values of these avals."""
    return _common_type(tuple([(aval.dtype, aval.weak_type) for aval in avals]), config.enable_x64,
                        config.numpy_dtype_promotion)


@functools.lru_cache(maxsize=4096)
def _common_type(types: tuple[tuple[DType, bool], ...], x64: bool, mode: str) -> tuple[DType, bool]:
    return result_type_and_weak(*[ShapedArray((), dtype, weak) for dtype, weak in types])


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """`promote_dtypes`, to a floating type at least."""
    return _promote_to(to_inexact_dtype, args)


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """`promote_dtypes`, to a complex type."""
    return _promote_to(to_complex_dtype, args)


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """`promote_dtypes`, to an integer type at least (bool becomes int32)."""
    return _promote_to(to_numeric_dtype, args)


def _promote_to(at_least: Callable[[DType], DType], args: Sequence[Any]) -> list[Any]:
    dtype, weak = common_type([aval_of(arg) for arg in args])
    dtype = at_least(dtype)
    return [convert(arg, dtype, weak) for arg in args]


def float_dtype() -> DType:
    """Return the dtype of Python floats: float32, or float64 in x64 mode."""
    return FLOAT64 if config.enable_x64 else FLOAT32


def int_dtype() -> DType:
    """Return the dtype of Python ints: int32, or int64 in x64 mode."""
    return INT64 if config.enable_x64 else INT32


def to_inexact_dtype(dtype: DType) -> DType:
    """Return the floating type that a function like `sin` computes in: 64 bits for integers of 64 bits only.

    Integers of less than a byte have none: they stay, and such functions refuse them.
    """
    if is_inexact(dtype) or dtype in SMALL_INTEGERS:
        return canonicalize_dtype(dtype)  # an array made in x64 mode may be used outside of it
    return float_dtype() if dtype.itemsize == 8 else FLOAT32


def to_complex_dtype(dtype: DType) -> DType:
    """Return the complex type whose parts can hold numbers of a type: of 128 bits for those of 64."""
    return canonicalize_dtype(np.dtype(np.complex128 if to_inexact_dtype(dtype).itemsize * (
        1 if is_complex(dtype) else 2) == 16 else np.complex64))


def to_numeric_dtype(dtype: DType) -> DType:
    """Return `dtype`, and int32 for bool."""
    return INT32 if dtype == BOOL else dtype


def upcast_float16(dtype: DType) -> DType:
    """Return the type that sums of `dtype` are accumulated in: float32 for the 16-bit types."""
    return FLOAT32 if is_float(dtype) and dtype.itemsize == 2 else dtype


# --- to one rank -----------------------------------------------------------------------------------------------

def promote_shapes(function: str, *args: Any) -> list[Any]:
    """Give leading dimensions of size 1 to arguments of lower rank; scalars stay scalars where there is one rank."""
    ranks = {np.ndim(arg) for arg in args}
    if len(ranks) == 1 or (len(ranks) == 2 and 0 in ranks):
        return list(args)
    if config.numpy_rank_promotion != "allow":
        _tell_rank_promotion(function, " ".join(str(np.shape(arg)) for arg in args))
    rank = len(lax.broadcast_shapes(*map(np.shape, args)))
    return [lax.broadcast_to_rank(arg, rank) for arg in args]


def _tell_rank_promotion(function: str, shapes: str) -> None:
    more = "see https://jax.readthedocs.io/en/latest/rank_promotion_warning.html."
    if config.numpy_rank_promotion == "raise":
        raise ValueError(f"Operands could not be broadcast together for {function} on shapes {shapes} and with the "
                         f"config option jax_numpy_rank_promotion='raise'. For more information, {more}")
    warnings.warn(f"Following NumPy automatic rank promotion for {function} on shapes {shapes}. Set the "
                  "jax_numpy_rank_promotion config option to 'allow' to disable this warning; for more information, "
                  f"{more}", stacklevel=2)


# --- both ------------------------------------------------------------------------------------------------------

def promote_args(function: str, *args: Any) -> list[Any]:
    """Check `args` and give them one dtype and one rank."""
    _check_operands(function, args)
    return promote_shapes(function, *promote_dtypes(*args))


def promote_args_numeric(function: str, *args: Any) -> list[Any]:
    """`promote_args`, to an integer type at least."""
    _check_operands(function, args)
    return promote_shapes(function, *promote_dtypes_numeric(*args))


def promote_args_inexact(function: str, *args: Any) -> list[Any]:
    """`promote_args`, to a floating type at least."""
    _check_operands(function, args)
    return promote_shapes(function, *promote_dtypes_inexact(*args))


def _check_operands(function: str, args: Sequence[Any]) -> None:
    check_arraylike(function, *args)
    for arg in args:
        dtype = getattr(arg, "dtype", None)
        if dtype is not None and (dtype.kind == "V" or isinstance(dtype, KeyType)):
            _refuse_extended(function, [aval_of(x).dtype for x in args])


def _refuse_extended(function: str, dtypes: Sequence[DType]) -> None:
    """Raise TypeError for float0, and for typed keys beside anything else."""
    if FLOAT0 in dtypes:
        raise TypeError(
            f"Called {function} with a float0 array. float0s do not support any operations by design because they are "
            "not compatible with non-trivial vector spaces. No implicit dtype conversion is done. You can use "
            "np.zeros_like(arr, dtype=np.float) to cast a float0 array to a regular zeros array. \n"
            "If you didn't expect to get a float0 you might have accidentally taken a gradient with respect to an "
            "integer argument.")
    if any(isinstance(dtype, KeyType) for dtype in dtypes) and len(set(dtypes)) > 1:
        raise TypeError(f"{function} does not accept dtypes {', '.join(map(str, dtypes))}.")


def broadcast_arrays(*args: Any) -> list[Any]:
    """Broadcast `args` against each other.

    See https://numpy.org/doc/stable/reference/generated/numpy.broadcast_arrays.html.

    >>> [x.shape for x in broadcast_arrays(np.zeros((2, 1)), np.zeros(3))]
    [(2, 3), (2, 3)]
    """
    shapes = [np.shape(arg) for arg in args]
    if all(shape == shapes[0] for shape in shapes):
        return [as_array(arg) for arg in args]
    shape = lax.broadcast_shapes(*shapes)
    return [broadcast_to(arg, shape) for arg in args]


@remembered("shape")
def broadcast_to(array: Any, shape: Any) -> Any:
    """Broadcast `array` to `shape`; see https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html.

    Raises ValueError when the shapes do not fit.

    >>> broadcast_to(np.float32(2), (2,))
    Array([2., 2.], dtype=float32)
    """
    check_arraylike("broadcast_to", array)
    array = as_array(array)
    shape = shape_tuple(shape)
    old = np.shape(array)
    if old == shape:
        return array
    if len(shape) < len(old):
        raise ValueError(f"Cannot broadcast to shape with fewer dimensions: arr_shape={old} shape={shape}")
    lead = len(shape) - len(old)
    if any(size not in (1, wanted) for size, wanted in zip(old, shape[lead:], strict=True)):
        raise ValueError(f"Incompatible shapes for broadcasting: {old} and requested shape {shape}")
    return lax.broadcast_in_dim(array, shape, tuple(range(lead, len(shape))))


# --- axes and shapes -------------------------------------------------------------------------------------------

def shape_tuple(shape: Any, context: str = "") -> tuple[int, ...]:
    """Return a shape given as a number or a sequence as a tuple of ints; raises TypeError for anything else."""
    if type(shape) is int:
        return (shape,)
    if not isinstance(shape, (tuple, list)) and np.ndim(shape) == 0:
        shape = (shape,)
    return canonicalize_shape(shape, context)


def canonicalize_axes(axes: Iterable[int], ndim: int) -> tuple[int, ...]:
    """Return `axes` counted from the front; raises ValueError when one is out of range."""
    return tuple(canonicalize_axis(axis, ndim) for axis in axes)


def concrete(x: Any, context: str) -> Any:
    """Return `x`, or the value behind it when it is a tracer that has one; raises ConcretizationTypeError if not."""
    if not isinstance(x, Tracer):
        return x
    value = x.to_concrete_value()
    if value is None:
        raise errors.ConcretizationTypeError(x, context)
    return value


def concrete_index(x: Any, context: str) -> int:
    """`concrete`, as an int."""
    return operator.index(concrete(x, context))


_AS_WIDE_AS_ASKED = frozenset(dtype for dtype in SUPPORTED if dtype.itemsize < 8)
"""Types that arrays have with `enable_x64` and without it: none of these is narrowed."""


def user_dtype(dtype: Any, function: str) -> Any:
    """Return a dtype given by the user in the width that arrays can have, None as None; warns when it is narrowed."""
    if dtype is None or isinstance(dtype, KeyType):
        return dtype
    wanted = to_numpy_dtype(dtype)
    if wanted in _AS_WIDE_AS_ASKED:
        return wanted
    if wanted.kind in "OSUMm" or (wanted.names is not None and wanted != FLOAT0):
        raise TypeError(f"JAX only supports number and bool dtypes, got dtype {dtype} in {function}")
    warn_if_truncated(dtype, function)
    return canonicalize_dtype(dtype)
