"""Key paths: the way from the root of a pytree to one of its leaves, as a tuple of keys.

A path is what error messages show, so every key prints as the Python that takes that step:
`['a']` for a dict, `[0]` for a sequence, `.x` for an attribute.
"""

from __future__ import annotations

from collections.abc import Hashable
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
