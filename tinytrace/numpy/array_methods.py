"""The table of operators and methods of arrays and tracers, which `core.trace.install_methods` installs.

This is the one place where a lower layer reaches this one: `x + y` and `x.sum()` find their functions here.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.devices import device_put
from tinytrace.core.array import Array
from tinytrace.core.dtypes import is_complex, part_dtype
from tinytrace.core.trace import Tracer
from tinytrace.numpy import (
    arithmetic,
    array_creation,
    bits,
    classification,
    comparison,
    contraction,
    cumulative,
    positions,
    powers,
    rearranging,
    reductions,
    rounding,
    searching,
    shapes,
    sorting,
    statistics,
    taking,
    triangular,
)
from tinytrace.numpy.array_api_metadata import __array_namespace__
from tinytrace.numpy.array_creation import zeros
from tinytrace.numpy.indexing import getitem
from tinytrace.numpy.promotion import Value, float_dtype, user_dtype
from tinytrace.numpy.updates import _IndexUpdateHelper
from tinytrace.tracebacks import boundary, shorten

Method = Callable[..., Any]
_OPERANDS = (int, float, complex, np.generic, np.ndarray, Array, Tracer)


# --- operators -------------------------------------------------------------------------------------------------

def _binary(symbol: str, function: Method) -> Method:
    """`x + y`: refuses containers with Python's message, and leaves types that it does not know to themselves."""

    def operator(self: Any, other: Any) -> Any:
        try:
            if type(other) is Array or isinstance(other, _OPERANDS):
                return function(self, other)
            return _other_operand(symbol, function, self, other, False)
        except Exception as error:
            shorten(error)
            raise

    return boundary(operator)


def _reflected(symbol: str, function: Method) -> Method:
    """`y + x`, asked of x."""

    def operator(self: Any, other: Any) -> Any:
        try:
            if type(other) is Array or isinstance(other, _OPERANDS):
                return function(other, self)
            return _other_operand(symbol, function, self, other, True)
        except Exception as error:
            shorten(error)
            raise

    return boundary(operator)


def _other_operand(symbol: str, function: Method, self: Any, other: Any, swap: bool) -> Any:
    if hasattr(other, "__jax_array__"):
        other = other.__jax_array__()
        return function(other, self) if swap else function(self, other)
    if type(other) in (list, tuple, set, dict):
        left, right = (other, self) if swap else (self, other)
        raise TypeError(f"unsupported operand type(s) for {symbol}: {_type_name(left)!r} and {_type_name(right)!r}")
    return NotImplemented


def _type_name(x: Any) -> str:
    return "ArrayImpl" if isinstance(x, Array) else type(x).__name__


def _round(self: Any, ndigits: int | None = None) -> Value:
    rounded = rounding.round(self, decimals=ndigits or 0)
    return rounded.astype(int) if ndigits is None else rounded


_SYMBOLS: dict[str, tuple[str, Method]] = {
    "add": ("+", arithmetic.add), "sub": ("-", arithmetic.subtract), "mul": ("*", arithmetic.multiply),
    "div": ("/", arithmetic.divide), "truediv": ("/", arithmetic.true_divide),
    "floordiv": ("//", arithmetic.floor_divide), "divmod": ("divmod", arithmetic.divmod), "mod": ("%", arithmetic.mod),
    "pow": ("**", powers.power), "matmul": ("@", contraction.matmul), "and": ("&", bits.bitwise_and),
    "or": ("|", bits.bitwise_or), "xor": ("^", bits.bitwise_xor), "lshift": ("<<", bits.left_shift),
    "rshift": (">>", bits.right_shift),
}
_COMPARISONS: dict[str, tuple[str, Method]] = {
    "eq": ("==", comparison.equal), "ne": ("!=", comparison.not_equal), "lt": ("<", comparison.less),
    "le": ("<=", comparison.less_equal), "gt": (">", comparison.greater), "ge": (">=", comparison.greater_equal),
}


def _operators() -> dict[str, Any]:
    table = {f"__{name}__": _binary(*entry) for name, entry in {**_SYMBOLS, **_COMPARISONS}.items()}
    table |= {f"__r{name}__": _reflected(*entry) for name, entry in _SYMBOLS.items()}
    return table | {
        "__neg__": lambda self: arithmetic.negative(self),
        "__pos__": lambda self: arithmetic.positive(self),
        "__abs__": lambda self: arithmetic.absolute(self),
        "__invert__": lambda self: bits.bitwise_not(self),
        "__round__": _round,
        "__getitem__": getitem,
        "__setitem__": Array.__setitem__,
        "__iter__": _iterate,
        "__copy__": array_creation.copy,
        "__deepcopy__": lambda self, memo: array_creation.copy(self),
    }


def _iterate(self: Any) -> Iterator[Value]:
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    return (lax.index_in_dim(self, i, keepdims=False) for i in range(self.shape[0]))


# --- methods ---------------------------------------------------------------------------------------------------

def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Value:
    return array_creation.astype(self, dtype, copy=copy, device=device)


def _clip(self: Any, min: Any = None, max: Any = None) -> Value:
    return searching.clip(self, min=min, max=max)


def _compress(self: Any, condition: Any, axis: int | None = None, *, out: None = None, size: int | None = None,
              fill_value: Any = 0) -> Value:
    return searching.compress(condition, self, axis=axis, out=out, size=size, fill_value=fill_value)


def _reshape(self: Any, *args: Any, order: str = "C") -> Value:
    return shapes.reshape_array(self, args[0] if len(args) == 1 else args, order)


def _sum(self: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
         where: Any = None, promote_integers: bool = True) -> Value:
    return reductions.sum(self, axis, dtype, out, keepdims, initial, where, promote_integers)


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Value:
    if stream is not None:
        raise NotImplementedError("stream argument of array.to_device()")
    return device_put(self, device)


def _transpose(self: Any, *args: Any) -> Value:
    axes = args[0] if len(args) == 1 else args or None
    return shapes.transpose(self, None if axes is None else shapes.index_tuple(axes))


def _view(self: Any, dtype: Any = None, type: None = None) -> Value:
    """Read the bytes of the array as another type; the last axis takes the difference in size."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    dtype = user_dtype(dtype, "view") or float_dtype()
    if self.ndim == 0:
        if self.dtype.itemsize != dtype.itemsize:
            raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
        return _view(lax.expand_dims(self, (0,)), dtype).squeeze()
    if self.shape[-1] * self.dtype.itemsize % dtype.itemsize:
        raise ValueError("When changing to a larger dtype, its size must be a divisor of the total size in bytes of "
                         "the last axis of the array.")
    if self.dtype == dtype:
        return self
    if self.dtype == np.bool_:
        return _view(self.astype("uint8"), dtype)
    if is_complex(self.dtype):
        parts = zeros((*self.shape[:-1], 2 * self.shape[-1]), part_dtype(self.dtype))
        return _view(parts.at[..., 0::2].set(self.real).at[..., 1::2].set(self.imag), dtype)
    if dtype == np.bool_:
        return _view(self, np.uint8).astype(bool)
    if is_complex(dtype):
        parts = _view(self, part_dtype(dtype)).astype(dtype)
        return parts[..., 0::2] + 1j * parts[..., 1::2]
    if self.dtype.itemsize < dtype.itemsize:
        parts = dtype.itemsize // self.dtype.itemsize
        return lax.bitcast_convert_type(self.reshape(*self.shape[:-1], self.shape[-1] // parts, parts), dtype)
    result = lax.bitcast_convert_type(self, dtype)
    return result.reshape(*result.shape[:-2], -1) if result.ndim > self.ndim else result


def _trace(self: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Value:
    return triangular.trace(self, offset=offset, axis1=axis1, axis2=axis2, dtype=dtype, out=out)


def _on(function: Method) -> Method:
    """The method whose first argument is the array itself."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


_METHODS: dict[str, Method] = {
    "__array_namespace__": __array_namespace__,
    "all": _on(reductions.all), "any": _on(reductions.any), "argmax": _on(positions.argmax),
    "argmin": _on(positions.argmin), "argpartition": _on(sorting.argpartition), "argsort": _on(sorting.argsort),
    "astype": _astype, "choose": _on(searching.choose), "clip": _clip, "compress": _compress,
    "conj": _on(classification.conj), "conjugate": _on(classification.conjugate), "copy": _on(array_creation.copy),
    "cumprod": _on(cumulative.cumprod), "cumsum": _on(cumulative.cumsum), "diagonal": _on(triangular.diagonal),
    "dot": _on(contraction.dot), "flatten": _on(shapes.ravel), "max": _on(reductions.max),
    "mean": _on(statistics.mean), "min": _on(reductions.min), "nonzero": _on(searching.nonzero),
    "prod": _on(reductions.prod), "ptp": _on(statistics.ptp), "ravel": _on(shapes.ravel),
    "repeat": _on(rearranging.repeat), "reshape": _reshape, "round": _on(rounding.round),
    "searchsorted": _on(positions.searchsorted), "sort": _on(sorting.sort), "squeeze": _on(shapes.squeeze),
    "std": _on(statistics.std), "sum": _sum, "swapaxes": _on(shapes.swapaxes), "take": _on(taking.take),
    "to_device": _to_device, "trace": _trace, "transpose": _transpose, "var": _on(statistics.var),
    "view": _view,
}


def _no_flat(self: Any) -> Any:
    raise NotImplementedError("JAX Arrays do not implement the arr.flat property: consider arr.flatten() instead.")


_PROPERTIES: dict[str, Any] = {
    "T": property(lambda self: shapes.transpose(self)),
    "mT": property(lambda self: shapes.matrix_transpose(self)),
    "real": property(lambda self: classification.real(self)),
    "imag": property(lambda self: classification.imag(self)),
    "flat": property(_no_flat),
    "at": property(_IndexUpdateHelper),
}

METHODS: dict[str, Any] = {**_operators(), **_METHODS, **_PROPERTIES}
"""Name -> operator, method or property, of Array and of Tracer."""
