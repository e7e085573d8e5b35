"""Which code was called before, through whatever function object: a lambda in a loop is a new function each time.

Function objects are not kept: one that is gone is gone, and `why` still knows what its code was called with.
"""
from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

from tinytrace.api.jit_cache import JitOptions, seen_codes
from tinytrace.api.outside import Makeup, inner_function, makeup_of
from tinytrace.core.source_info import SourceInfo
from tinytrace.records import NamedTuple


class FirstCall(NamedTuple):
    """The first call of a function object: its key, the user's line, and what the object was made of."""

    key: Any
    """A LookupKey; a CallKey, in texts, where it has static values, which could be anything."""
    options: JitOptions
    made_by: SourceInfo | None
    makeup: Makeup
    fun: Callable[[], Any]
    """Returns the object as long as it lives."""


def note_first_call(jitted: Any, key: Any, made_by: SourceInfo | None) -> None:
    """Remember the first call of a function object by its code; `key` is that of FirstCall."""
    inner = inner_function(jitted._fun)
    if inner is not None:
        fun: Callable[[], Any] = _nothing
        with contextlib.suppress(TypeError):
            fun = weakref.ref(jitted._fun)
        seen_codes[inner.__code__] = FirstCall(key, jitted._options, made_by, makeup_of(jitted._fun), fun)


def first_call(fun: Any) -> FirstCall | None:
    """Return the last such call of a function's code, None if there was none."""
    inner = inner_function(fun)
    return None if inner is None else seen_codes.get(inner.__code__)


def _nothing() -> None:
    """What a weak reference to an object that is gone returns."""
