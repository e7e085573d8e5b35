"""Key paths: the way from the root of a pytree to one of its leaves, as a tuple of keys.

A path is what error messages show, so every key prints as the Python that takes that step:
`['a']` for a dict, `[0]` for a sequence, `.x` for an attribute.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from typing import Any

from tinytrace.records import dataclass

KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]


@dataclass(frozen=True)
class SequenceKey:
    """The step to item `idx` of a list or tuple: prints as `[0]`."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class DictKey:
    """The step to the value under `key` of a mapping: prints as `['a']`."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """The step to attribute `name` of a namedtuple, dataclass or object: prints as `.x`."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """The step to child number `key` of a custom node that names no keys of its own."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


_known_names: dict[str, DictKey] = {}
_MOST_KNOWN = 1024


def sequence_keys(n: int) -> KeyPath:
    """Return the steps to the n items of a sequence; the first ones are made once.

    >>> sequence_keys(2)
    (SequenceKey(idx=0), SequenceKey(idx=1))
    """
    return (*_first_keys()[:n], *map(SequenceKey, range(_MOST_KNOWN, n)))


@functools.cache
def _first_keys() -> KeyPath:
    return tuple(map(SequenceKey, range(_MOST_KNOWN)))


def dict_keys(keys: Sequence[Hashable]) -> KeyPath:
    """Return the steps to the values under some keys; those of texts are made once.

    >>> dict_keys(["a", 1])
    (DictKey(key='a'), DictKey(key=1))
    """
    return tuple([_known_names.get(key) or _named(key) if type(key) is str else DictKey(key) for key in keys])


def _named(key: str) -> DictKey:
    if len(_known_names) >= _MOST_KNOWN:
        _known_names.clear()
    return _known_names.setdefault(key, DictKey(key))


def keystr(keys: KeyPath) -> str:
    """Joins the keys of a path into the text that error messages show.

    Returns: the printed keys, one after the other.
    Source: `jax.tree_util.keystr`.

    >>> keystr((DictKey("layers"), SequenceKey(0), GetAttrKey("w")))
    "['layers'][0].w"
    """
    return "".join(map(str, keys))


def plain_key(key: KeyEntry) -> Any:
    """The key alone, without the syntax of the step: `a` of `['a']`, `0` of `[0]`, `x` of `.x`."""
    for field in ("key", "idx", "name"):
        if hasattr(key, field):
            return getattr(key, field)
    return key
