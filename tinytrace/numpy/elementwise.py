"""How the regular elementwise functions are made: a name, an operation of `lax`, a docstring.

    sin = inexact_unary("sin", lax.sin, ...)     floats stay, integers become float32
    maximum = binary("maximum", lax.max, ...)    both arguments get their common type

Arrays of one type take the short way: one comparison, and the operation is bound.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.api.library import inline_jit
from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.trace import Tracer
from tinytrace.numpy.promotion import (
    Value,
    as_array,
    check_arraylike,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
)

Operation = Callable[..., Any]
NUMPY_PAGE = "https://numpy.org/doc/stable/reference/generated/numpy.{}.html"


def named(function: Operation, name: str, doc: str) -> Operation:
    """Give `function` its public name, and its docstring the link to NumPy's page."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = "tinytrace.numpy"
    function.__doc__ = f"{doc.rstrip()}\n\n    See {NUMPY_PAGE.format(name)}.\n    "
    return inline_jit(elementwise=True)(function)


def unary(name: str, op: Operation, doc: str) -> Operation:
    """A function of one argument of any type."""

    def function(x: Any, /) -> Value:
        return op(*promote_args(name, x))

    return named(function, name, doc)


def inexact_unary(name: str, op: Operation, doc: str) -> Operation:
    """A function of one floating argument; integers and bools become floats first."""

    def function(x: Any, /) -> Value:
        if isinstance(x, (Array, Tracer)) and x.aval.dtype.kind == "f":
            return op(x)
        return op(*promote_args_inexact(name, x))

    return named(function, name, doc)


def binary(name: str, op: Operation, doc: str) -> Operation:
    """A function of two arguments in their common type."""

    def function(x: Any, y: Any, /) -> Value:
        if type(x) is Array and type(y) is Array and x.aval is y.aval and x.aval.dtype.kind in "fiu":
            return op(x, y)
        return op(*promote_args(name, x, y))

    return named(function, name, doc)


def inexact_binary(name: str, op: Operation, doc: str) -> Operation:
    """A function of two floating arguments; integers and bools become floats first."""

    def function(x: Any, y: Any, /) -> Value:
        if type(x) is Array and type(y) is Array and x.aval is y.aval and x.aval.dtype.kind == "f":
            return op(x, y)
        return op(*promote_args_inexact(name, x, y))

    return named(function, name, doc)


def numeric_binary(name: str, op: Operation, doc: str) -> Operation:
    """A function of two numbers; bools become integers first."""

    def function(x: Any, y: Any, /) -> Value:
        return op(*promote_args_numeric(name, x, y))

    return named(function, name, doc)


def rounding(name: str, op: Operation, doc: str) -> Operation:
    """A function of one float that leaves integers and bools as they are."""

    def function(x: Any, /) -> Value:
        check_arraylike(name, x)
        if aval_of(x).dtype.kind in "iub":
            return as_array(x)
        return op(*promote_args_inexact(name, x))

    return named(function, name, doc)


def alias(name: str, function: Operation) -> Operation:
    """A second name of the array API standard (`acos` for `arccos`)."""

    def renamed(*args: Any) -> Value:
        return function(*args)

    renamed.__wrapped__ = function  # type: ignore[attr-defined]
    return named(renamed, name, f"Another name of `{function.__name__}`.")


def strong_like(x: Any, value: Any) -> np.ndarray[Any, Any]:
    """Return the scalar `value` in the dtype of `x`, strongly typed also where `x` is weak."""
    return np.array(value, aval_of(x).dtype)
