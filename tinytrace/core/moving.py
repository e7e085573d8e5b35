"""Functions on their way to another process: by name where they have one; where cloudpickle is at work, by value.

pickle asks an object how it is rebuilt without saying who asks. What holds a function answers with a `Carried` around
it: of that, cloudpickle takes the function itself, which it can write down, and pickle takes what is left of it.
"""
from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any


class OpaqueParam:
    """A parameter known by its text only, such as a function's address."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueParam) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class Carried:
    """A function, or what holds one, while it is pickled: by pickle as itself if it can be, else as its text."""

    def __init__(self, value: Any) -> None:
        self.value = value
        pickler = getattr(sys.modules.get("cloudpickle"), "CloudPickler", None)
        if pickler is not None:
            pickler.dispatch_table[type(self)] = _by_value

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            return pickle.loads, (pickle.dumps(self.value),)
        except (pickle.PicklingError, AttributeError, TypeError):
            return OpaqueParam, (repr(self.value),)

    def by_value(self, dumps: Callable[[Any], bytes]) -> tuple[Any, ...]:
        """Return how cloudpickle, whose `dumps` is given, writes it down."""
        try:
            return pickle.loads, (dumps(self.value),)
        except (pickle.PicklingError, AttributeError, TypeError):
            return OpaqueParam, (repr(self.value),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.value


class CarriedFunction(Carried):
    """A function that another one wraps: by pickle, the name of the wrapper and how deep in it the function is."""

    def by_value(self, dumps: Callable[[Any], bytes]) -> tuple[Any, ...]:
        return _itself, (self.value,)

    def __reduce__(self) -> tuple[Any, ...]:
        module, name = getattr(self.value, "__module__", None), getattr(self.value, "__qualname__", None)
        found = named(module, name)
        depth = 0
        while found is not None and found is not self.value:
            found, depth = getattr(found, "__wrapped__", None), depth + 1
        if found is None:
            raise pickle.PicklingError(f"{self.value!r} has no name by which another process finds it: pickle it with "
                                       "cloudpickle, or define it at the top of a module")
        return _unwrapped, (module, name, depth)


def named(module: str | None, name: str | None) -> Any:
    """Return what a module of this process has under a qualified name; None if there is nothing."""
    try:
        return reduce(getattr, str(name).split("."), sys.modules[str(module)])
    except (KeyError, AttributeError):
        return None


def by_reference(wrapper: Any) -> str | None:
    """Return the name under which a module has a function's wrapper; None if pickle must not write down a name."""
    module, name = getattr(wrapper, "__module__", None), getattr(wrapper, "__qualname__", None)
    return name if module != "__main__" and named(module, name) is wrapper else None


def _unwrapped(module: str, name: str, depth: int) -> Callable[..., Any]:
    __import__(module)
    found = reduce(getattr, name.split("."), sys.modules[module])
    for _ in range(depth):
        found = found.__wrapped__
    return found  # type: ignore[return-value]


def _by_value(carried: Carried) -> tuple[Any, ...]:
    return carried.by_value(sys.modules["cloudpickle"].dumps)


def _itself(value: Any) -> Any:
    return value
