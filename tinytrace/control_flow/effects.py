"""Effects: why an equation must run though nobody reads its results.

An effect is known by its type. Who defines one says where it may stand, by adding the type to the sets at the end of
this file: in compiled programs, in loops and branches, in functions with derivatives of their own, in what a checkpoint
computes again. What is in none of them is refused there. Source: `jax._src.effects` of JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Effect:
    """What is done besides computing; two equations with the same effect run in their order."""


class DebugEffect(Effect):
    """A look at values: it may be left out, and done again."""

    def __repr__(self) -> str:
        return "Debug"


class OrderedDebugEffect(Effect):
    """A look at values, in the order of the program."""

    def __repr__(self) -> str:
        return "OrderedDebug"


class IOEffect(Effect):
    """What may neither be repeated nor happen where the program would not have come."""

    def __repr__(self) -> str:
        return "IO"


class OrderedIOEffect(Effect):
    """The same, in the order of the program."""

    def __repr__(self) -> str:
        return "OrderedIO"


class EffectTypeSet:
    """Types of effects; their subclasses count."""

    def __init__(self) -> None:
        self._types: set[type] = set()

    def add_type(self, effect_type: type) -> None:
        """Let effects of this type be in the set."""
        self._types.add(effect_type)

    def contains(self, effect: Any) -> bool:
        """Is it an effect of one of the types?"""
        return isinstance(effect, tuple(self._types))

    def filter_in(self, effects: Iterable[Any]) -> list[Any]:
        """Return those that are in the set."""
        return [effect for effect in effects if self.contains(effect)]

    def filter_not_in(self, effects: Iterable[Any]) -> list[Any]:
        """Return those that are not."""
        return [effect for effect in effects if not self.contains(effect)]

    def refuse_others(self, effects: Iterable[Any], place: str) -> None:
        """Raise NotImplementedError when one is not in the set, and thus may not stand in `place`."""
        disallowed = self.filter_not_in(effects)
        if disallowed:
            raise NotImplementedError(f"Effects not supported in {place}: {disallowed}")


def refuse_unlowerable(effects: Iterable[Any]) -> None:
    """Raise ValueError when a program with these effects may not be compiled."""
    if lowerable_effects.filter_not_in(effects):
        raise ValueError(f"Cannot lower jaxpr with effects: {set(effects)}")


def does_io(effects: Iterable[Any]) -> bool:
    """Is there an effect that may neither be repeated nor happen where the program would not have come?"""
    return any(isinstance(effect, (IOEffect, OrderedIOEffect)) for effect in effects)


no_effects: frozenset[Any] = frozenset()
debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
io_effect = IOEffect()
ordered_io_effect = OrderedIOEffect()

lowerable_effects = EffectTypeSet()
ordered_effects = EffectTypeSet()
control_flow_allowed_effects = EffectTypeSet()
custom_derivatives_allowed_effects = EffectTypeSet()
remat_allowed_effects = EffectTypeSet()


def _allow(effect_type: type, *places: EffectTypeSet) -> None:
    for place in places:
        place.add_type(effect_type)


_allow(DebugEffect, lowerable_effects, control_flow_allowed_effects, custom_derivatives_allowed_effects,
       remat_allowed_effects)
_allow(OrderedDebugEffect, lowerable_effects, control_flow_allowed_effects, custom_derivatives_allowed_effects,
       remat_allowed_effects, ordered_effects)
_allow(IOEffect, lowerable_effects, control_flow_allowed_effects)
_allow(OrderedIOEffect, lowerable_effects, control_flow_allowed_effects, ordered_effects)
