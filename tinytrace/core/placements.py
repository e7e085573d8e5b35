"""The shardings that arrays were given: by `device_put`, `device=` or `jit(out_shardings=)`.

On one device a sharding changes no byte, so an Array has no field for it: the few that were given one stand in a table
for as long as they live. All others lie on the one device, and say so.
"""
from __future__ import annotations

import weakref
from typing import Any

_given: dict[int, tuple[weakref.ref[Any], Any]] = {}


def give_sharding(array: Any, sharding: Any) -> None:
    """Let `array`, which nobody else has yet, lie as `sharding` says; None is the one device."""
    if sharding is not None:
        number = id(array)
        # The entry goes when the array does, before another can have its number.
        _given[number] = weakref.ref(array, lambda _: _given.pop(number, None)), sharding


def placed_again(array: Any, sharding: Any) -> Any:
    """Return another Array of the same elements, which lies as `sharding` says."""
    placed = array.again(array.aval)
    give_sharding(placed, sharding)
    return placed


def placed_as(copied: Any, array: Any) -> Any:
    """Return `copied`, which nobody else has yet, where `array` lies that it is a copy of."""
    found = _given.get(id(array))
    if found is not None:
        give_sharding(copied, found[1])
    return copied


def given_sharding(array: Any) -> Any:
    """Return the sharding that `array` was given; None if it was given none."""
    found = _given.get(id(array))
    return None if found is None else found[1]
