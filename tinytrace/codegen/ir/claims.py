"""What has to hold of the elements that a kernel reads and writes, each with the proof that ranges and strides give.

    Access    an element lies inside its array
    Meeting   two iterations of a vectorised or independent loop do not meet: neither stores where the other stores or
              reads; they may run side by side, in any order

A claim that this does not prove may hold all the same, because of the conditions around it: tests ask a solver.
"""
from __future__ import annotations

from typing import TypeAlias

from tinytrace.codegen.ir.arithmetic import terms_of
from tinytrace.codegen.ir.nodes import Node, Number, walk
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.records import dataclass


@dataclass(frozen=True)
class Access:
    """One load or store: `size` elements of an array from an offset on, where `conditions` hold, inside `loops`."""

    buffer: Buffer
    offset: Node
    conditions: tuple[tuple[Node, bool], ...]
    """Guards, and whether they hold."""
    loops: tuple[tuple[Node, Node, Node], ...]
    """Axes and counters, each with its begin and end."""
    size: int = 1

    @property
    def is_inside(self) -> bool:
        """Do ranges tell that it lies inside the array?"""
        return self.offset.low >= 0 and self.offset.high + self.size <= max(self.buffer.size, 1)

    def __str__(self) -> str:
        where = "".join(f" where {'' if holds else 'not '}{guard}" for guard, holds in self.conditions)
        return f"{self.buffer}[{self.offset}]{where}"


@dataclass(frozen=True)
class Meeting:
    """A store in one iteration of the loop over `axis`, and a store or load of the same array in another one."""

    axis: Node
    store: Access
    other: Access
    changing: frozenset[object]
    """What differs between iterations: axes, variables, and the arrays that are written."""

    @property
    def is_impossible(self) -> bool:
        """Do ranges or strides tell that the offsets differ whenever `axis` does?

        Both offsets are sums of multiples of the same terms, as a rule. Their difference is a sum of multiples of the
        terms' differences, like a number in mixed radix: where one multiple is larger than all smaller ones together
        can be, it is 0 only if that term's difference is 0. When this is so of `axis`, it is the same iteration.
        """
        if self.store.offset.high < self.other.offset.low or self.other.offset.high < self.store.offset.low:
            return True
        ours, theirs = terms_of(self.store.offset), terms_of(self.other.offset)
        terms, other_terms = dict(ours[1]), dict(theirs[1])
        rest: Number = abs(ours[0] - theirs[0])
        digits: list[tuple[int, Number, bool]] = []
        for node in terms.keys() | other_terms.keys():
            factor, is_fixed = terms.get(node, 0), self.is_fixed(node)
            difference = factor - other_terms.get(node, 0)
            if difference == 0:
                digits += [] if is_fixed else [(abs(factor), node.high - node.low, node is self.axis)]
            elif is_fixed:
                rest += abs(difference) * _magnitude(node)
            else:
                rest += (abs(factor) + abs(other_terms.get(node, 0))) * _magnitude(node)
        digits.sort(reverse=True)
        while digits:
            factor, _, is_axis = digits.pop(0)
            if factor <= rest + sum(k * most for k, most, _ in digits):
                return False
            if is_axis:
                return True
        return False

    def is_fixed(self, node: Node) -> bool:
        """Has an index the same value in both iterations?"""
        return not any(part in self.changing or (part.op == "load" and part.args[0] in self.changing)
                       for part in walk([node]))

    def __str__(self) -> str:
        return f"iterations of the loop over {self.axis} meet: {self.store} is stored, {self.other} is used"


def _magnitude(node: Node) -> Number:
    return max(abs(node.low), abs(node.high))


Claim: TypeAlias = "Access | Meeting"
