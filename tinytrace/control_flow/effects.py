"""Effects: why an equation must run though nobody reads its results."""
from __future__ import annotations

from collections.abc import Iterable


class Effect:
    """What is done besides computing; two equations with the same effect run in their order."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


debug_effect = Effect("Debug")
ordered_debug_effect = Effect("OrderedDebug")
io_effect = Effect("IO")
ordered_io_effect = Effect("OrderedIO")


def does_io(effects: Iterable[Effect]) -> bool:
    """Is there an effect that may neither be repeated nor happen where the program would not have come?"""
    return not {io_effect, ordered_io_effect}.isdisjoint(effects)
