"""What a function does to keys: which it consumes, which results are fresh, which results are its arguments.

Source: `jax.experimental.key_reuse` of JAX 0.4.35.
"""
from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tinytrace.records import NamedTuple

Mask = Any
"""True or False for all keys of an array, or an array of bools, one for each."""


@functools.total_ordering
class _End:
    """The keys of argument or result number `idx` that `mask` chooses."""

    idx: int
    mask: Mask

    def __init__(self, idx: int, mask: Mask = True) -> None:
        if isinstance(mask, np.ndarray):
            mask = True if mask.all() else False if not mask.any() else mask.copy()
            if isinstance(mask, np.ndarray):
                mask.flags.writeable = False
        super().__setattr__("idx", idx)
        super().__setattr__("mask", bool(mask) if isinstance(mask, (bool, np.bool_)) else mask)

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, _End) and self.idx == other.idx and \
            np.shape(self.mask) == np.shape(other.mask) and bool(np.all(self.mask == other.mask))

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, Forward):
            return True
        return (type(self).__name__, self.idx) < (type(other).__name__, other.idx)

    def __hash__(self) -> int:
        return hash((type(self), self.idx, np.shape(self.mask), np.asarray(self.mask).tobytes()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.idx}{'' if self.mask is True else f', {self.mask}'})"


class Sink(_End):
    """An argument whose keys are consumed."""


class Source(_End):
    """A result whose keys are fresh."""


class Forward(NamedTuple):
    """A result that is an argument."""

    in_idx: int
    out_idx: int

    def __repr__(self) -> str:
        return f"Forward({self.in_idx}, {self.out_idx})"


class KeyReuseSignature:
    """A set of `Sink`, `Source` and `Forward`.

    >>> KeyReuseSignature(Source(0), Sink(1))
    KeyReuseSignature(Sink(1), Source(0))
    """

    def __init__(self, *args: Any) -> None:
        self._args = frozenset(args)

    def __repr__(self) -> str:
        ends = sorted(x for x in self._args if not isinstance(x, Forward))
        return f"KeyReuseSignature{(*ends, *sorted(self.forwards))}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyReuseSignature) and self._args == other._args

    def __hash__(self) -> int:
        return hash(self._args)

    @property
    def sinks(self) -> Iterator[Sink]:
        """The arguments that are consumed."""
        return (x for x in self._args if isinstance(x, Sink))

    @property
    def sources(self) -> Iterator[Source]:
        """The results that are fresh."""
        return (x for x in self._args if isinstance(x, Source))

    @property
    def forwards(self) -> Iterator[Forward]:
        """The results that are arguments."""
        return (x for x in self._args if isinstance(x, Forward))
