"""A table of rules by primitive: one slot of all rooms, as the dictionaries are in which JAX keeps its rules."""
from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from tinytrace.core.own_primitive import set_rule, stated_rule, unset_rule
from tinytrace.core.primitive import Primitive, Refusal, registry

Rule = Callable[..., Any]


class RuleTable(MutableMapping[Primitive, Rule]):
    """The rules in the slot `slot`: `table[primitive] = rule` fills it.

    adapt: what becomes of a rule of a primitive, where JAX's rules and those of rooms are called in different ways.

    >>> from tinytrace.primitives.arithmetic import mul_p
    >>> RuleTable("jvp")[mul_p].__name__
    'jvp'
    """

    def __init__(self, slot: str, adapt: Callable[[Primitive, Rule], Rule] | None = None) -> None:
        self.slot, self.adapt = slot, adapt
        self._own: list[Primitive] = []
        """Primitives that are in no registry and were given a rule."""

    def __getitem__(self, primitive: Primitive) -> Rule:
        rule = stated_rule(primitive, self.slot) if isinstance(primitive, Primitive) else None
        if rule is None or isinstance(rule, Refusal):
            raise KeyError(primitive)
        return rule

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        if not isinstance(primitive, Primitive):
            raise TypeError(f"rules are given to primitives, and {primitive!r} is none: make one by "
                            f"jax.core.Primitive(name)")
        if not callable(rule):
            raise TypeError(f"the {self.slot} rule of '{primitive}' must be a function, not {rule!r}")
        set_rule(primitive, self.slot, rule if self.adapt is None else self.adapt(primitive, rule))
        if registry.get(primitive.name) is not primitive and primitive not in self._own:
            self._own.append(primitive)

    def __delitem__(self, primitive: Primitive) -> None:
        if self.slot not in vars(primitive):
            raise KeyError(primitive)
        unset_rule(primitive, self.slot)

    def __iter__(self) -> Iterator[Primitive]:
        return (primitive for primitive in [*registry.values(), *self._own] if primitive in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<the {self.slot} rules of {len(self)} primitives>"


class WrittenRules(RuleTable):
    """Of the rules in a slot those that were written here, as they were written.

    rooms: primitives whose own rule counts too.
    """

    def __init__(self, slot: str, adapt: Callable[[Primitive, Rule], Rule] | None = None,
                 rooms: tuple[Primitive, ...] = ()) -> None:
        super().__init__(slot, adapt)
        self._written = {primitive: super(WrittenRules, self).__getitem__(primitive) for primitive in rooms}

    def __getitem__(self, primitive: Primitive) -> Rule:
        return self._written[primitive]

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        super().__setitem__(primitive, rule)
        self._written[primitive] = rule

    def __delitem__(self, primitive: Primitive) -> None:
        del self._written[primitive]
        unset_rule(primitive, self.slot)

    def __iter__(self) -> Iterator[Primitive]:
        return iter(list(self._written))
