"""Small tools that every layer uses."""
from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from tinytrace.config import trace_context

Result = TypeVar("Result")


class Nesting(threading.local):
    """How deep traces stand in each other in this thread."""

    depth = 0
    """How many traces run."""
    staged_at = 0
    """Which of them is the innermost that writes a jaxpr."""


nesting = Nesting()


def cache_by_jaxpr(fun: Callable[..., Result]) -> Callable[..., Result]:
    """Cache `fun(jaxpr, *key)` for as long as the jaxpr lives.

    A second request gives the same object: two equations that share a body before a transformation share it after,
    and print it once. As in JAX this holds for equations of one jaxpr, and not for one inside the other's body.
    The result must not hold `jaxpr` itself, or neither would ever be freed.
    """
    results_of: weakref.WeakKeyDictionary[Any, dict[Any, Result]] = weakref.WeakKeyDictionary()

    @functools.wraps(fun)
    def cached(jaxpr: Any, *key: Any) -> Result:
        results = results_of.setdefault(jaxpr, {})
        full_key = *key, nesting.staged_at, trace_context()
        if full_key not in results:
            results[full_key] = fun(jaxpr, *key)
        return results[full_key]

    return cached
