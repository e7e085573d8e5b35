"""How much machine code is loaded, and who lets go of it; caches of what holds programs, which let go with them."""
from __future__ import annotations

import collections
import contextlib
import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from tinytrace._dispatch import forget
from tinytrace.config import config

Result = TypeVar("Result")

MAX_LOADED = 4096
"""How many programs hold machine code at a time. Each takes four mappings, of which Linux gives a process 65,530."""

_loaded: collections.deque[tuple[weakref.ref[Any], int]] = collections.deque()
_loaded_bytes = [0]


def note_loaded(program: Any, size: int) -> None:
    """Count a program that has loaded its code, `executable`; beyond the bounds the first ones let go of theirs.

    There may be MAX_LOADED of them, and `config.memory_mib` MiB of code: then half of it goes.

    They load it again when they are called: what is lost is time, a millisecond for each.
    """
    _loaded.append((weakref.ref(program), size))
    _loaded_bytes[0] += size
    most = config.memory_mib << 20
    if len(_loaded) <= MAX_LOADED and _loaded_bytes[0] <= most:
        return
    with contextlib.suppress(IndexError):  # other threads do the same
        while len(_loaded) > MAX_LOADED // 2 or _loaded_bytes[0] > most // 2:
            first, bytes_of_first = _loaded.popleft()
            _loaded_bytes[0] -= bytes_of_first
            if (older := first()) is not None and older is not program:
                older.__dict__.pop("executable", None)
    forget_what_is_made_of_programs()
    forget()  # the entries of the hit path hold code too


# --- what holds programs ------------------------------------------------------------------------------------------

_made_of_programs: list[Callable[[], None]] = []


def cache_of_programs(maxsize: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Decorate a function: its last `maxsize` results are remembered until programs are forgotten."""

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        cached = functools.lru_cache(maxsize)(function)
        _made_of_programs.append(cached.cache_clear)
        return cached

    return decorate


def forget_what_is_made_of_programs() -> None:
    """Empty the tables of every `cache_of_programs`."""
    for clear in _made_of_programs:
        clear()
