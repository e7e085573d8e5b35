"""`library_jit`: how the library's own functions are jitted.

Many numpy functions stand in a jaxpr as one equation, `pjit[name=_where jaxpr={...}]`, because JAX jits them. Staged
into a jaxpr they must do the same here, to the letter; outside of one their body simply runs, operation by operation,
for compiling each of them would cost more than it saves. Calls that repeat take a shorter way (see `eager`).
"""
from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tinytrace._dispatch import FastCallable, set_shorten
from tinytrace.api.devices import device_put
from tinytrace.api.eager import EagerFunction
from tinytrace.api.jit import jit
from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.compile_time import CompileTimeTrace
from tinytrace.core.moving import CarriedFunction, by_reference
from tinytrace.core.trace import Trace, bottom_trace, current_trace
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.tracebacks import boundary, shorten
from tinytrace.transforms.jvp import JVPTrace
from tinytrace.transforms.staging import DynamicJaxprTrace
from tinytrace.transforms.vmap import BatchTrace
from tinytrace.util import current_trace_state as _state

F = TypeVar("F", bound=Callable[..., Any])
ELEMENTWISE: list[Callable[..., Any]] = []
"""The functions that say so of themselves; tests hold them to it."""
_ARRAYS_ALONE = {Array}


def library_jit(*static_argnames: str, static_argnums: tuple[int, ...] | None = None,
                elementwise: bool = False) -> Callable[[F], F]:
    """Decorate a library function: one `pjit` equation when it is staged, plain Python when it is not.

    static_argnames: parameters that are known at trace time (`axis`, `keepdims`, ...); `static_argnums` for those
    that have no name to callers.  elementwise: the function does the same to each element of arrays of one shape, and
    asks for no shape: outside of traces it is traced once for all of them.
    """

    def decorate(function: F) -> F:
        ELEMENTWISE.extend([function] if elementwise else [])
        # There are hundreds of such functions and a program uses few: signatures are read when they are needed.
        staged = functools.cache(lambda: jit(function, static_argnums=static_argnums,
                                             static_argnames=static_argnames or None))
        dynamic = functools.cache(lambda: _dynamic_parameters(function, static_argnames, static_argnums or ()))

        def plain(*args: Any, **kwargs: Any) -> Any:
            try:
                arrays = args
                if set(map(type, args)) != _ARRAYS_ALONE:
                    leading = [_as_array(arg) if flag else arg for arg, flag in zip(args, dynamic(), strict=False)]
                    arrays = (*leading, *args[len(leading):])
                return function(*arrays, **kwargs)
            except (TypeError, ValueError, OverflowError):
                staged().check_arguments(args, kwargs)
                raise

        eager: EagerFunction | None = None

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal eager
            try:
                trace = _state.trace
                if trace is bottom_trace:
                    if eager is None:
                        eager = EagerFunction(plain, staged(), elementwise=elementwise, is_one_program=True)
                        front._know_by(eager)
                    return eager(*args, **kwargs)
                if type(trace) is CompileTimeTrace:
                    return trace.call(call, args, kwargs)
                if type(trace) is BatchTrace and elementwise and not kwargs:
                    result = trace.call_elementwise(call, args)
                    if result is not NotImplemented:
                        return result
                if is_staging():
                    return staged()(*args, **kwargs)
                return plain(*(trace.weak_as_primals(args) if type(trace) is JVPTrace else args), **kwargs)
            except Exception as error:
                shorten(error)
                raise

        front = LibraryFunction(of_library(call))
        return front  # type: ignore[return-value]

    return decorate


def inline_jit(*static_argnames: str, elementwise: bool = False) -> Callable[[F], F]:
    """Decorate a library function that JAX jits with `inline=True`: its equations are written one by one.

    Two things are left of the call. When a program is differentiated while it is staged, the function is differentiated
    as a whole, and its linear equations stay together, which is an order of equations that others can tell apart. And
    jitted functions that it calls are written as programs of their own (see `inlined` of the trace).
    elementwise: as for `library_jit`.
    """

    def decorate(function: F) -> F:
        ELEMENTWISE.extend([function] if elementwise else [])
        staged = functools.cache(lambda: jit(function, static_argnames=static_argnames, inline=True))

        def plain(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except (TypeError, ValueError, OverflowError):
                staged().check_arguments(args, kwargs)
                raise

        eager: EagerFunction | None = None

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal eager
            try:
                trace = _state.trace
                if trace is bottom_trace:
                    if eager is None:
                        eager = EagerFunction(plain, staged(), elementwise=elementwise, is_one_program=True)
                        front._know_by(eager)
                    return eager(*args, **kwargs)
                if type(trace) is DynamicJaxprTrace:
                    trace.inlined += 1
                    try:
                        return function(*args, **kwargs)
                    finally:
                        trace.inlined -= 1
                if type(trace) is CompileTimeTrace:
                    return trace.call(call, args, kwargs)
                if type(trace) is BatchTrace and elementwise and not kwargs:
                    result = trace.call_elementwise(call, args)
                    if result is not NotImplemented:
                        return result
                if is_staging():
                    return staged()(*args, **kwargs)
                return plain(*(trace.weak_as_primals(args) if type(trace) is JVPTrace else args), **kwargs)
            except Exception as error:
                shorten(error)
                raise

        front = LibraryFunction(of_library(call))
        return front  # type: ignore[return-value]

    return decorate


def remembered(*static_argnames: str, static_argnums: tuple[int, ...] | None = None,
               elementwise: bool = False, numbers: bool = False) -> Callable[[F], F]:
    """Decorate a library function that JAX does not jit: its equations are written one by one, and outside of traces
    calls on arrays take the short way when they repeat.

    elementwise: as for `library_jit`.  numbers: Python's numbers mean to it what arrays of them mean.
    """

    def decorate(function: F) -> F:
        ELEMENTWISE.extend([function] if elementwise else [])
        eager: EagerFunction | None = None
        takes_device = "device" in static_argnames

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal eager
            try:
                trace = _state.trace
                if trace is not bottom_trace:
                    if type(trace) is BatchTrace and elementwise and not kwargs:
                        result = trace.call_elementwise(call, args)
                        if result is not NotImplemented:
                            return result
                    return function(*args, **kwargs)
                if takes_device and kwargs and kwargs.get("device") is not None:  # it is no part of the program
                    device = kwargs.pop("device")
                    return device_put(call(*args, **kwargs), device)
                if eager is None:
                    jitted = jit(function, static_argnums=static_argnums, static_argnames=static_argnames)
                    eager = EagerFunction(function, jitted, arrays_alone=not numbers, elementwise=elementwise)
                    front._know_by(eager)
                return eager(*args, **kwargs)
            except Exception as error:
                shorten(error)
                raise

        front = LibraryFunction(of_library(call))
        return front  # type: ignore[return-value]

    return decorate


def hands_back(function: F) -> F:
    """Decorate a function that gives an Array, as its only argument, back as it is: no Python runs for that."""
    return LibraryFunction(function, hands_back=True)  # type: ignore[return-value]


def known_by(known: FastCallable) -> Callable[[F], F]:
    """Decorate a function whose calls are known by another callable, which learns them as they are made."""

    def decorate(function: F) -> F:
        front = LibraryFunction(function)
        front._know_by(known)
        return front  # type: ignore[return-value]

    return decorate


class LibraryFunction(FastCallable):
    """A library function as users have it: calls that are known are answered in C, all others by the function behind.

    hands_back: does it give an Array, as its only argument, back as it is?
    """

    def __init__(self, function: Callable[..., Any], hands_back: bool = False) -> None:
        functools.update_wrapper(self, function)
        self._stand_before(function, hands_back)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return repr(vars(self)["__wrapped__"])

    def __reduce__(self) -> str | tuple[Any, ...]:
        return by_reference(self) or (LibraryFunction, (CarriedFunction(vars(self)["__wrapped__"]),))

    def __copy__(self) -> LibraryFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LibraryFunction:
        return self


@boundary
def _shorten(error: Exception) -> None:
    if isinstance(error, Exception):
        shorten(error)


set_shorten(_shorten)


def of_library(call: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that shortens its errors itself, and that outside of traces needs nobody around it."""
    call.of_library = True  # type: ignore[attr-defined]
    return boundary(call)


def is_staging() -> bool:
    """Are programs met as such by this trace or by one that its operations end up in, as where a jaxpr is written?"""
    trace: Trace | None = current_trace()
    while trace is not None:
        if trace.takes_programs:
            return True
        trace = trace.parent
    return False


def _dynamic_parameters(function: Callable[..., Any], static_argnames: Sequence[str],
                        static_argnums: Sequence[int]) -> list[bool]:
    """Say for each positional parameter whether it is an array to be."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [p.name not in static_argnames and i not in static_argnums
            for i, p in enumerate(parameters) if p.kind in positional]


def _as_array(x: Any) -> Any:
    """Do what jit does to an argument: numbers and NumPy arrays become arrays."""
    if not isinstance(x, (np.ndarray, np.generic, int, float, complex)):
        return x
    aval = aval_of(x)
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type)


__all__ = ["LibraryFunction", "hands_back", "inline_jit", "is_staging", "known_by", "library_jit", "remembered"]
