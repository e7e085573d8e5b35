"""`named_scope` and `named_call`: a name for a group of operations."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tinytrace.core.source_info import replay, scopes


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Name the operations inside the block (or, as a decorator, inside a function) for whoever reads the program.

    A jaxpr shows them when it is asked for: `jaxpr.pretty_print(name_stack=True)`; they change neither its text
    otherwise nor the C.
    Raises TypeError when `name` is no string. Source: `jax.named_scope`.

    >>> with named_scope("layer1"):
    ...     y = 1 + 1
    """
    if not isinstance(name, str):
        raise TypeError("named_scope name argument must be a string.")
    with scopes((*replay.scopes, name)):
        yield


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Return `fun` with its operations in a `named_scope` of its name, or of `name`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.named_call.html.

    >>> named_call(lambda x: x + 1, name="next")(2)
    3
    """
    return named_scope(fun.__name__ if name is None else name)(fun)
