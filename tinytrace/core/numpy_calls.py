"""How NumPy runs one operation: values of the right type go in, results that nobody can write come out, quietly."""
from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace import errors
from tinytrace._dispatch import array_of_view, set_numpy
from tinytrace._runtime import ffi, lib
from tinytrace.config import config
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0, is_inexact
from tinytrace.core.primitive import ALL, Primitive
from tinytrace.core.storage_types import STORAGE_TYPES, computed_type, in_computed_types
from tinytrace.core.structure import typed_items


def to_numpy(x: Any, aval: ShapedArray) -> Any:
    """Return the NumPy value of a concrete argument in its aval's dtype (64-bit inputs are narrowed)."""
    if isinstance(x, Array):
        return x._value
    if hasattr(x, "__jax_array__"):
        return to_numpy(x.__jax_array__(), aval)
    if aval.dtype == FLOAT0:
        return np.asarray(x)
    return np.asarray(x, aval.dtype)


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return what shapes that fit each other broadcast to: NumPy's own function stops at 32 axes, its arrays at 64.

    >>> broadcast_shape((2, 1), (3,), ())
    (2, 3)
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


def _quiet_context() -> contextvars.Context:
    """Return a context in which NumPy reports no division by zero, overflow or invalid value."""
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")
    return context


class _Quiet(threading.local):
    """This thread's own quiet context, None while it is in use."""

    def __init__(self) -> None:
        self.context: contextvars.Context | None = _quiet_context()


LARGEST_KEPT = (32 << 20) - (1 << 16)
"""Bytes: glibc gives no thought to blocks that are larger."""


def _keep_freed_memory() -> None:
    """Let malloc see that large blocks come and go, as it does in programs that use NumPy alone.

    Until a mapped block has been freed, glibc gives memory back to the system with each array that NumPy frees, and the
    next one is paid for page by page: two thirds of a transform of 100,000 elements.
    """
    np.empty(LARGEST_KEPT, np.uint8)  # it is never written, so that it takes no memory


_keep_freed_memory()
_quiet = _Quiet()
set_numpy(np.asarray, _quiet_context, int(ffi.cast("uintptr_t", ffi.addressof(lib, "tt_set_quicksorts"))))


def quietly(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call `function` without NumPy's floating point warnings; as `np.errstate` does, at a fifth of its cost."""
    context = _quiet.context
    if context is None:  # an operation inside an operation: the context is in use, and quiet already
        return function(*args, **kwargs)
    _quiet.context = None
    try:
        return context.run(function, *args, **kwargs)
    finally:
        _quiet.context = context


def numpy_meaning(primitive: Primitive, values: list[Any], params: dict[str, Any], out_avals: Any) -> Any:
    """Return what `impl` gives for arrays, quietly; elements that are only kept are computed in a wider type.

    A context is a copy, so the user's own Python is run without: it would see settings as they once were.
    """
    if primitive.calls_user:
        return primitive.impl(*values, **params)
    results = out_avals if primitive.multiple_results else [out_avals]
    reads = primitive.reads_of(values)
    read = values[reads]
    if STORAGE_TYPES.keys().isdisjoint([x.dtype for x in (*read, *(results if reads == ALL else ()))]):
        return quietly(primitive.impl, values, params)
    values = [*values]
    values[reads] = [x.astype(computed_type(x.dtype)) for x in read]
    outs = quietly(primitive.impl, values, in_computed_types(params))
    found = [np.asarray(x).astype(aval.dtype) for x, aval in
             zip(outs if primitive.multiple_results else [outs], results, strict=True)]
    return found if primitive.multiple_results else found[0]


def read_only(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a view that cannot be written, so that results which share the caller's memory are recognised."""
    if value.flags.writeable and value.ndim:
        value = value.view()
        value.flags.writeable = False
    return value


def owned(value: Any, aval: ShapedArray, borrowed: bool) -> Array:
    """Wrap a result; one that may be a view of the caller's own NumPy array is copied."""
    array = value if type(value) is np.ndarray else np.asarray(value)
    if not array.flags.writeable and borrowed:
        array = array.copy()
    array.setflags(False)  # type: ignore[call-arg]
    result: Array = array_of_view(aval, array)
    return result


_out_aval_cache: dict[Any, Any] = {}


def out_avals_of(primitive: Primitive, avals: list[ShapedArray], params: dict[str, Any]) -> Any:
    """Return the types of an operation's results; those of operations that ran before are remembered."""
    try:
        key = (primitive, config.enable_x64, *avals, typed_items(params)) if params else \
            (primitive, config.enable_x64, *avals)
        cached = _out_aval_cache.get(key)
    except TypeError:  # a parameter that cannot be hashed: compute it each time
        return primitive.abstract_eval(*avals, **params)
    if cached is None:
        cached = primitive.abstract_eval(*avals, **params)
        if len(_out_aval_cache) > 8192:
            _out_aval_cache.clear()
        _out_aval_cache[key] = cached
    return cached


def check_nans(primitive: Primitive, arrays: Sequence[Array]) -> None:
    """Raise FloatingPointError, naming the operation, if there is a NaN or an infinity that settings ask for."""
    if found := invalid_value(arrays):
        raise errors.nan_error(primitive.name, found)


def invalid_value(arrays: Sequence[Any]) -> str:
    """Return `nan` or `inf` if one of the Arrays has one, and settings ask for it. (Those of float0 are NumPy's.)"""
    for x in arrays:
        if isinstance(x, Array) and is_inexact(x.dtype):
            if config.debug_nans and np.isnan(x._value).any():
                return "nan"
            if config.debug_infs and np.isinf(x._value).any():
                return "inf"
    return ""
