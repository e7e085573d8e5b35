"""What a function reads besides its arguments: globals and variables of enclosing functions.

They are constants of a trace. When they change, a call is still a hit, with the old values: it is so in JAX. What they
were is kept, so that `why` can say it.
"""
from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.array import Array

_TOLD = (int, float, complex, bool, str, bytes, type(None), Array, np.ndarray, np.generic)
_MOST = 64


def inner_function(fun: Callable[..., Any]) -> types.FunctionType | None:
    """Return the Python function that is behind partials, bound methods and wrappers; None if there is none."""
    if type(fun) is types.FunctionType:
        return fun
    inner: Any = fun
    for _ in range(_MOST):
        if isinstance(inner, functools.partial):
            inner = inner.func
        elif isinstance(inner, types.MethodType):
            inner = inner.__func__
        elif isinstance(inner, types.FunctionType):
            return inner
        elif hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        else:
            inner = vars(type(inner)).get("__call__")
    return None


def outside_of(fun: Callable[..., Any]) -> tuple[tuple[str, Any], ...]:
    """Return the numbers, texts and arrays that a function can read outside of itself, by name.

    >>> scale = 2
    >>> outside_of(lambda x: x * scale)
    (('scale', 2),)
    """
    inner = inner_function(fun)
    if inner is None:
        return ()
    found = {name: inner.__globals__[name] for name in inner.__code__.co_names if name in inner.__globals__}
    if inner.__closure__:
        found |= cells_of(inner)
    return tuple([(name, value) for name, value in found.items() if isinstance(value, _TOLD)][:_MOST])


Makeup = dict[str, tuple[str, Any]]
"""By part of a function object, such as `closure n`: what it prints, and what is equal for the same value only."""


def makeup_of(fun: Callable[..., Any]) -> Makeup:
    """Return what tells a function object from others of the same code; it keeps none of that alive.

    >>> n = 3
    >>> makeup_of(functools.partial(lambda x, y: x, n))["partial args[0]"]
    ('3', ('int', '3'))
    """
    inner = inner_function(fun)
    if inner is fun and not inner.__closure__ and not inner.__defaults__:
        return {}  # most are such: a fresh lambda is not to wait
    parts: dict[str, Any] = {}
    if isinstance(fun, functools.partial):
        parts |= {f"partial args[{i}]": x for i, x in enumerate(fun.args)}
        parts |= {f"partial {name}": x for name, x in fun.keywords.items()}
    if isinstance(fun, types.MethodType):
        parts["self"] = fun.__self__
    if inner is not None:
        parts |= {f"closure {name}": x for name, x in cells_of(inner).items()}
        names = inner.__code__.co_varnames[:inner.__code__.co_argcount]
        values = inner.__defaults__ or ()
        parts |= {f"default {name}": x for name, x in zip(names[len(names) - len(values):], values, strict=True)}
    return {name: _token(x) for name, x in parts.items()}


def _token(value: Any) -> tuple[str, Any]:
    kind = type(value)
    if kind in (int, float, complex, bool, str, bytes, type(None)):
        text = repr(value)
        return (text if len(text) <= 80 else f"{text[:77]}..."), (kind.__name__, text)
    return getattr(value, "__qualname__", f"a {kind.__qualname__}"), id(value)


def cells_of(fun: types.FunctionType) -> dict[str, Any]:
    """Return the variables of enclosing functions that a function reads, as far as they are set."""
    found = {}
    for name, cell in zip(fun.__code__.co_freevars, fun.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    return found


def is_same(mine: Any, other: Any) -> bool:
    """Are two values the same to a trace: one object, or equal numbers or texts of one type?"""
    if mine is other:
        return True
    if type(mine) is not type(other) or isinstance(mine, (Array, np.ndarray)):
        return False
    return bool(mine == other) or bool(mine != mine and other != other)
