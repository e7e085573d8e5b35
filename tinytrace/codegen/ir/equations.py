"""Equations as kernels and C show them: their values have the names by which the reader finds them in the program.

A value may be found under several names: its letter, the array that it is kept in, the row that a pass has given it.
Which of them stands in the C is known when that is written; a value that has none is written where it is read, without
the parameters of its operation, which the C shows:

    c:f32[8] = mul (broadcast_in_dim a) b
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tinytrace.records import NamedTuple

LONGEST = 160
"""Characters of a value that is written where it is read; instead of a longer one stands `(...)`."""


class Value(NamedTuple):
    """A result or an operand: the names that it may be found under, the best first."""

    names: tuple[str, ...]
    type: str = ""
    is_number: bool = False
    """Is it a number, whose only name is its text?"""


class Equation(NamedTuple):
    """`results = operation[parameters] operands`."""

    results: tuple[Value, ...]
    operation: str
    """The name of the primitive."""
    parameters: str
    """In brackets, or nothing."""
    operands: tuple[Value, ...]

    def __str__(self) -> str:
        results, operands = ([value.names[0] for value in values] for values in (self.results, self.operands))
        return f"{_results(self, results)} = {' '.join([self.operation + self.parameters, *operands])}"

    def in_places(self, places: Mapping[str, str]) -> Equation:
        """Return this equation after some arrays have moved: what was in `a` is found in `places["a"]` too."""
        if all(map(places.keys().isdisjoint, [value.names for value in (*self.results, *self.operands)])):
            return self

        def moved(value: Value) -> Value:
            more = [places[name] for name in value.names if name in places and not value.is_number]
            return value._replace(names=tuple(dict.fromkeys([*value.names, *more]))) if more else value

        return self._replace(results=tuple(map(moved, self.results)), operands=tuple(map(moved, self.operands)))


def written_out(equations: Sequence[Equation], read_as: Callable[[str], str | None],
                stored_as: Callable[[str], str | None]) -> list[str]:
    """Return the lines of a comment on C.

    read_as, stored_as: what C calls an operand, and a result, with one of its names; None: this name is not there.
    """
    read = {x.names[0] for equation in equations for x in equation.operands if not x.is_number}
    inside: dict[str, str] = {}
    lines = []

    for equation in equations:
        operands = [x.names[0] if x.is_number else _first(read_as, x) or inside.get(x.names[0], "_")
                    for x in equation.operands]
        results = [_first(stored_as, v) for v in equation.results]
        if any(results) or not any(v.names[0] in read for v in equation.results):
            left = _results(equation, [name or "_" for name in results])
            lines.append(f"{left} = {' '.join([equation.operation + equation.parameters, *operands])}")
        text = " ".join([equation.operation, *operands])
        for value, name in zip(equation.results, results, strict=True):
            if name is None:
                inside[value.names[0]] = f"({text})" if len(text) <= LONGEST else "(...)"
    return lines


def _first(called: Callable[[str], str | None], value: Value) -> str | None:
    for name in value.names:
        if found := called(name):
            return found
    return None


def _results(equation: Equation, names: Sequence[str]) -> str:
    return " ".join(f"{name}:{value.type}" for name, value in zip(names, equation.results, strict=True))
