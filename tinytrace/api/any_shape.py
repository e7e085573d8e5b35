"""Elementwise functions are traced once for arrays of every shape, on a block.

`jnp.tanh` does the same to 3 and to 5 elements, and its definition says so. What was made of it for arguments of
certain dtypes then answers calls of all shapes: in a program whose arrays grow, or that looks at pieces of every
length, a call costs what a known one costs and a few microseconds. All arrays that are no scalars must have one shape,
for nothing is broadcast here.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from tinytrace._dispatch import EagerEntry, FastEntry
from tinytrace.api.concrete import SCALARS, as_array
from tinytrace.api.jit_cache import StaticValue
from tinytrace.api.recipes import Answer, IsBest
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray
from tinytrace.records import NamedTuple

TRACED = 64
"""Elements of the arrays that stand for those of all lengths; which number they are says nothing."""
MOST_SHAPES = 256
"""Of one function, whose calls are counted."""


class AnyShape(NamedTuple):
    """How calls of an elementwise function are answered, given the types of its arguments but for their shape."""

    out_avals: tuple[ShapedArray, ...]
    """Of a call on a block."""
    width: int
    """Bytes of the widest element."""
    entry: Callable[[int, tuple[ShapedArray, ...]], FastEntry | EagerEntry]
    """What answers calls on so many elements, with results of these types."""

    def at(self, shape: tuple[int, ...]) -> FastEntry | EagerEntry:
        """Return what answers calls on arrays of this shape."""
        return self.entry(math.prod(shape), tuple([aval.update(shape=shape) for aval in self.out_avals]))


Entries = Callable[[int, tuple[ShapedArray, ...]], FastEntry | EagerEntry]


class ReadyFirst:
    """What is there, NumPy or loops, answers calls on arrays of every shape, until one shape has been met so often that
    a compiler would have paid, or one has been met that is not for it: from then on the program on a block does.

    answer: makes what answers calls on so many elements with results of these types, for good or until a compiler
    would have paid; None if a compiler pays at once.  is_best: can nobody do better for such results?  compiled: the
    entries of the program on a block, None where there is no such program.
    """

    def __init__(self, answer: Answer, is_best: IsBest, compiled: Callable[[], Entries | None]) -> None:
        self.answer, self.is_best, self.compiled = answer, is_best, compiled
        self.given: dict[tuple[ShapedArray, ...], EagerEntry] = {}
        self.better: Entries | None = None
        self.has_no_better = False

    def __call__(self, elements: int, avals: tuple[ShapedArray, ...]) -> FastEntry | EagerEntry:
        entry = self.given.get(avals)
        if entry is not None and entry.is_spent:
            self._compile()
            entry = None
        if self.better is not None and not self.is_best(avals):
            return self.better(elements, avals)
        if entry is None and (entry := self.answer(elements, avals, self.has_no_better)) is not None:
            if len(self.given) >= MOST_SHAPES:
                self.given.clear()
            self.given[avals] = entry
        if entry is None:
            self._compile()
            return no_answer(avals) if self.better is None else self.better(elements, avals)
        return entry

    def _compile(self) -> None:
        if not self.has_no_better:
            self.better = self.compiled()
            self.has_no_better = self.better is None
            self.given.clear()


def no_answer(avals: tuple[ShapedArray, ...]) -> EagerEntry:
    """Return what answers no call: a program of the very shape does."""
    return EagerEntry(None, (), None, avals, None)


def types_and_shape(args: Sequence[Any], statics: Container[int] = ()) \
        -> tuple[tuple[Any, ...], tuple[int, ...]] | None:
    """Return the types of arguments but for the shape of arrays, and that shape; None where it is not one.

    statics: the places of arguments whose values count.

    >>> import tinytrace.numpy as jnp
    >>> types_and_shape([jnp.ones((2, 3)), 2.0])
    (((dtype('float32'), False), <class 'float'>), (2, 3))
    """
    types: list[Any] = []
    shape: tuple[int, ...] = ()
    for place, x in enumerate(args):
        if place in statics:
            types.append(StaticValue(x))
        elif type(x) is Array:
            aval = x.aval
            if aval.shape:
                if aval.shape != shape:
                    if shape:
                        return None
                    shape = aval.shape
                types.append((aval.dtype, aval.weak_type))
            else:
                types.append(aval)
        elif type(x) in SCALARS:
            types.append(type(x))
        else:
            return None
    return (tuple(types), shape) if shape else None


def on_block(kind: Any) -> Any:
    """Return an argument of a type that `types_and_shape` names: of arrays, one of a block."""
    if isinstance(kind, StaticValue):
        return kind.value
    if isinstance(kind, ShapedArray):
        return as_array(np.zeros((), kind.dtype), kind)
    if isinstance(kind, tuple):
        dtype, weak_type = kind
        return as_array(np.zeros(TRACED, dtype), ShapedArray((TRACED,), dtype, weak_type))
    return kind()
