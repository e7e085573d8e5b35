"""Static values that change after they were used: their state is looked at again at every call, where the type allows.

A static value stands in the key of a call by its `__hash__` and `__eq__`. An object that is hashed by identity, or
badly, stays the same key when its attributes change, and its program would be a stale answer. So calls with a static
value that can change take the hit path in C only while its dicts and lists hold the same objects (csrc/guards.c), and a
state that has changed is a miss, with a warning.

Numbers, texts, types, functions, enumerations, frozen dataclasses and tuples of these cannot change: they cost nothing.
"""
from __future__ import annotations

import enum
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace._dispatch import FastCallable
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray
from tinytrace.core.trees import PyTreeDef
from tinytrace.util import PACKAGE_FOLDER

States: TypeAlias = "tuple[Any, ...] | None"
"""One state per static value, None for those that cannot change; None altogether if none of them can."""

_FIXED = frozenset([int, float, complex, bool, str, bytes, type(None), type(...), range, types.FunctionType,
                    types.BuiltinFunctionType, types.ModuleType, types.CodeType, Array, ShapedArray, PyTreeDef])
_FIXED_BASES = (type, enum.Enum, np.dtype, np.generic, np.ufunc, FastCallable)
_DEEPEST, _WIDEST, _MOST, _LARGEST = 4, 1000, 10_000, 1 << 16  # levels, items of one, values, bytes of an array

Guard: TypeAlias = "tuple[dict[Any, Any] | list[Any], tuple[Any, ...], Any]"
"""A container, what it holds (of a dict keys and values by turns), and whose `__dict__` it is, else None."""
Guards: TypeAlias = "tuple[Guard, ...] | None"
"""While containers hold the same objects, no state changes. None: it may, all the same."""

NEVER: Guards = (([], (None,), None),)
"""An empty list that holds something."""


class StaleStaticWarning(UserWarning):
    """A static argument has changed since a function was traced with it; the function is traced again."""


def states_of(statics: Sequence[tuple[int | str, Any]]) -> States:
    """Return the states of a look-up key's static values: pairs of a place and a `StaticValue`."""
    if not statics:
        return None
    states = tuple([_Look().state(item.value, 0) for _, item in statics])
    return None if all(state is None for state in states) else states


def has_changed(before: States, statics: Sequence[tuple[int | str, Any]]) -> bool:
    """Has one of the static values another state than `before`?"""
    return before is not None and before != states_of(statics)


def changes(before: States, statics: Sequence[tuple[int | str, Any]]) -> Iterator[tuple[int | str, str, str, str]]:
    """Yield (place, attribute, what it was, what it is) for what has changed."""
    for (place, item), old in zip(statics, before or (), strict=False):
        new = _Look().state(item.value, 0)
        if old != new and isinstance(old, tuple) and isinstance(new, tuple):
            fields, others = dict(_fields(old)), dict(_fields(new))
            for name in dict.fromkeys([*fields, *others]):
                if fields.get(name) != others.get(name):
                    yield place, name, _shown(fields.get(name)), _shown(others.get(name))


def guards_of(statics: Sequence[tuple[int | str, Any]]) -> Guards:
    """Return the containers that hold what `states_of` looks at, and what they hold now."""
    watch = _Watch()
    return tuple(watch.guards) if all(watch.covers(item.value, 0) for _, item in statics) else None


def warn_of_change(name: str, before: States, statics: Sequence[tuple[int | str, Any]]) -> None:
    """Warn that function `name` was traced with a static value that has changed meanwhile."""
    told = [f"{'argument ' if isinstance(place, int) else ''}{place}: {attribute} was {old} and is {new}"
            for place, attribute, old, new in changes(before, statics)]
    warnings.warn(f"A static argument of {name} has changed since it was used ({'; '.join(told) or 'in its inside'}), "
                  "so the function is traced again. A static value should not change, for it is part of the cache "
                  "key: make it a frozen dataclass, or pass what changes as an array.", StaleStaticWarning,
                  stacklevel=_stack_level())


def _stack_level() -> int:
    """Return how many frames above `warn_of_change` the user's is."""
    level, frame = 2, sys._getframe(2).f_back
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        level, frame = level + 1, frame.f_back
    return level + 1


# --- the state of a value -------------------------------------------------------------------------------------------

class _Same:
    """An object that is compared by identity; held, so that no other one gets its address."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"a {type(self.value).__name__}"


class _Look:
    """One look into a value: as deep and as wide as it may be."""

    def __init__(self) -> None:
        self.left = _MOST

    def state(self, value: Any, depth: int) -> Any:
        """Return what changes when a value does, None for one that cannot change or cannot be looked into."""
        kind = type(value)
        if kind in _FIXED or isinstance(value, _FIXED_BASES) or depth > _DEEPEST:
            return None
        if isinstance(value, (tuple, frozenset)):
            return _joined([("", self.state(item, depth + 1)) for item in list(value)[:_WIDEST]])
        if kind is types.MethodType:
            return self.state(value.__self__, depth)
        fields = list(_attributes(value))
        if getattr(getattr(kind, "__dataclass_params__", None), "frozen", False):
            return _joined([(f".{name}", self.state(item, depth + 1)) for name, item in fields])
        printed = tuple([(f".{name}", self.print(item, depth + 1)) for name, item in fields])
        return ("fields", printed) if printed else None

    def print(self, value: Any, depth: int) -> Any:
        """Return what is equal for two attributes only if they are the same: a number's text, an object's identity."""
        kind = type(value)
        self.left -= 1
        if kind in (int, float, complex, bool, str, bytes, type(None)) or isinstance(value, np.generic):
            return kind.__name__, repr(value)
        if depth > _DEEPEST or self.left < 0:
            return _Same(value)
        if kind in (list, tuple):
            return kind.__name__, tuple([self.print(item, depth + 1) for item in value[:_WIDEST]]), len(value)
        if kind is dict:
            pairs = list(value.items())[:_WIDEST]
            return "dict", tuple([(repr(name), self.print(item, depth + 1)) for name, item in pairs]), len(value)
        if kind in (set, frozenset):
            return kind.__name__, tuple(sorted(map(repr, value)))
        if isinstance(value, np.ndarray) and value.nbytes <= _LARGEST and not value.dtype.hasobject:
            return _Same(value), value.shape, value.dtype.str, value.tobytes()
        return _Same(value), self.state(value, depth)


class _Watch:
    """The dicts and lists on the way of a `_Look`. Whatever else can change is covered by none."""

    def __init__(self) -> None:
        self.guards: list[Guard] = []
        self.left = _MOST

    def covers(self, value: Any, depth: int) -> bool:
        """Take in what a look at `value` sees; is that all in dicts and lists?"""
        kind = type(value)
        self.left -= 1
        if kind in _FIXED or isinstance(value, _FIXED_BASES):
            return True
        if depth > _DEEPEST or self.left < 0 or isinstance(value, (set, frozenset, np.ndarray)):
            return False
        if kind is types.MethodType:
            return self.covers(value.__self__, depth)
        if kind is list or kind is dict:
            return self._covers_items(value, depth)
        if isinstance(value, tuple):
            return len(value) <= _WIDEST and all(self.covers(item, depth + 1) for item in value)
        if any("__slots__" in base.__dict__ for base in kind.__mro__):
            return False
        fields = getattr(value, "__dict__", None)
        return fields is None or (type(fields) is dict and self._covers_items(fields, depth, value))

    def _covers_items(self, container: dict[Any, Any] | list[Any], depth: int, owner: Any = None) -> bool:
        if len(container) > _WIDEST:
            return False
        items = list(container.values() if isinstance(container, dict) else container)
        held = items if isinstance(container, list) else [x for pair in container.items() for x in pair]
        self.guards.append((container, tuple(held), owner))
        return all(self.covers(item, depth + 1) for item in items)


def _joined(states: list[tuple[str, Any]]) -> Any:
    found = tuple([(name, state) for name, state in states if state is not None])
    return ("fields", found) if found else None


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object, those in slots too."""
    yield from list(getattr(value, "__dict__", {}).items())[:_WIDEST]
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)


def _fields(state: tuple[Any, ...]) -> Sequence[tuple[str, Any]]:
    return state[1] if state and state[0] == "fields" else ()


def _shown(state: Any) -> str:
    if state is None:
        return "not there"
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], str):
        return state[1]
    if isinstance(state, tuple) and state and isinstance(state[0], _Same):
        return "another state"
    return f"a {state[0]}" if isinstance(state, tuple) and isinstance(state[0], str) else "another object"
