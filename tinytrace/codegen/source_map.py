"""Which C comes from which equation, and which equation from which Python: one value, asked both ways.

    source = jit(f).lower(x).source_map
    source.equations_at(70)                 the equations that line 70 of the C computes, with their Python lines
    source.c_of(equation)                   the places of the C that compute it
    source.at_python("model.py", 12)        the equations that line 12 of model.py wrote

The writer of C notes what it writes while it does. An equation that leads to no C says why: a pass dropped it. The C
text itself, which is hashed, names no file.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from tinytrace.codegen.c.lines import COMPUTE, SCAFFOLD
from tinytrace.codegen.c.translation_unit import TranslationUnit
from tinytrace.codegen.plan.names import Names
from tinytrace.core.jaxpr import Jaxpr, JaxprEqn, subjaxprs
from tinytrace.core.kinds import Scalar, kind_of
from tinytrace.primitives.elementwise import Elementwise
from tinytrace.records import dataclass, replace

VERSION = 1
"""Of the JSON form; a reader of another version refuses."""
IN_PLACE = "not copied: its result lies where its operand does"
IDLE = "not computed: nobody needs its results, or they are those of its operand"
EMPTY = "no element of its results is needed: there is none, or what reads it needs none"


@dataclass(frozen=True)
class Equation:
    """An equation of the program as it was traced."""

    id: int
    """Its number in the traced program, calls and bodies of loops included, in the order of printing."""
    text: str
    file: str = ""
    function: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    reason: str = ""
    """Why there is no C for it; nothing: there is."""


@dataclass(frozen=True)
class Place:
    """Columns `begin` up to `end` of a line of C: lines are counted from 1, columns from 0."""

    line: int
    begin: int
    end: int
    role: str
    """compute, copy (moves numbers), call (of something that takes arrays), or scaffold (holds others together)."""
    equations: tuple[int, ...]
    """The ids of what is computed here; for scaffolding: for whom."""


@dataclass(frozen=True, repr=False)
class SourceMap:
    """The equations of a program, and the places of its C; lines of `lowered.as_text(full=True)`."""

    equations: tuple[Equation, ...]
    places: tuple[Place, ...]
    """Whole lines, each followed by the parts of it that are known more exactly."""
    first_line: int = 1
    """Where in the full text the program's own lines begin: that line is the first of `as_text()`."""
    version: int = VERSION

    def equations_at(self, line: int, column: int | None = None) -> list[Equation]:
        """Return the equations that a line of C computes, or the smallest part of it around a column."""
        here = [place for place in self.places if place.line == line
                and (column is None or place.begin <= column < place.end)]
        if column is not None:
            here = sorted(here, key=lambda place: place.end - place.begin)[:1]
        found = {k for place in here for k in place.equations}
        return [equation for equation in self.equations if equation.id in found]

    def c_of(self, equation: Equation | int) -> list[Place]:
        """Return the places of the C that compute an equation, largest first."""
        k = equation if isinstance(equation, int) else equation.id
        return [place for place in self.places if k in place.equations]

    def at_python(self, file: str, line: int, column: int | None = None) -> list[Equation]:
        """Return the equations that a place in Python wrote; file: its path, or the end of it."""
        def around(e: Equation) -> bool:
            return column is None or (e.line, e.column) <= (line, column) < (e.end_line, e.end_column)

        return [e for e in self.equations
                if e.file.endswith(file) and e.line <= line <= max(e.line, e.end_line) and around(e)]

    def to_json(self) -> str:
        """Return the map as JSON; `from_json` reads it back."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SourceMap:
        """Return the map that `to_json` wrote.

        Raises: ValueError for JSON of another version, or that is no source map.
        """
        data = json.loads(text)
        version = data.get("version") if isinstance(data, dict) else None
        if version != VERSION:
            raise ValueError(f"A source map of version {VERSION} is expected, this is "
                             f"{'none' if version is None else f'one of version {version}'}. Make it anew with "
                             "jit(f).lower(...).source_map.to_json().")
        places = tuple(Place(**{**place, "equations": tuple(place["equations"])}) for place in data["places"])
        return cls(tuple(Equation(**equation) for equation in data["equations"]), places, data["first_line"])

    def __repr__(self) -> str:
        return f"<source map: {len(self.equations)} equations, {len(self.places)} places of C>"

    def __str__(self) -> str:
        rows = []
        for e in self.equations:
            lines = sorted({place.line for place in self.c_of(e) if place.role != SCAFFOLD})
            at = f"{e.file}:{e.line}" if e.file else "?"
            where = f"C {', '.join(map(str, lines))}" if lines else e.reason or "a loop or a choice around others"
            rows.append(f"e{e.id} {e.text}\n    {at} -> {where}")
        return "\n".join(rows)


def source_map(traced: Jaxpr, dropped: Mapping[int, str], unit: TranslationUnit | None,
               planned: frozenset[int]) -> SourceMap:
    """Return the map of a program.

    traced: the program as the user wrote it.  dropped: why passes dropped equations.  unit: its C; None: there is none.
    planned: the equations that had kernels; one without C is a copy that a pass over kernels made unnecessary.
    """
    numbers: dict[int, int] = {}
    found: list[tuple[int, JaxprEqn, str]] = []
    for eqn, text in _equations(traced):
        if eqn.ids[0] not in numbers:
            numbers[eqn.ids[0]] = len(found)
            found.append((eqn.ids[0], eqn, text))
    first_line = unit.preamble.count("\n") + 1 if unit is not None else 1
    places = list(_places(unit, first_line, numbers)) if unit is not None else []
    idle = _idle({numbers[key]: eqn for key, eqn, _ in found}, places)
    places = [replace(place, equations=tuple(k for k in place.equations if k not in idle)) for place in places]
    shown = {k for place in places for k in place.equations}

    def reason(key: int) -> str:
        if numbers[key] in shown:
            return ""
        if numbers[key] in idle:
            return IDLE
        return dropped.get(key) or (IN_PLACE if key in planned else EMPTY)

    equations = [written_at(numbers[key], eqn, text, reason(key)) for key, eqn, text in found]
    return SourceMap(tuple(equations), tuple(places), first_line)


def _idle(equations: Mapping[int, JaxprEqn], places: Sequence[Place]) -> set[int]:
    """Return the equations whose operation is nowhere in the C, though others read the same operands."""
    shown = {k for place in places for k in place.equations}
    computed = {k for place in places if place.role == COMPUTE for k in place.equations}
    idle = {k for k in shown - computed if _is_operation(equations[k])}
    alone = {k for place in places for k in place.equations if idle.issuperset(place.equations)}
    return idle - alone


def _is_operation(eqn: JaxprEqn) -> bool:
    """Does an equation compute elements, one from one each, rather than move or convert them?"""
    if not isinstance(eqn.primitive, Elementwise):
        return False
    kind = kind_of(eqn)
    return isinstance(kind, Scalar) and not kind.operation.is_conversion


def _places(unit: TranslationUnit, first_line: int, numbers: Mapping[int, int]) -> Iterator[Place]:
    """Yield the lines of a program and their marked parts, with equations by their numbers."""
    def known(ids: frozenset[int]) -> tuple[int, ...]:
        return tuple(sorted({numbers[k] for k in ids if k in numbers}))

    for k, line in enumerate(unit.lines, first_line):
        if line:
            yield Place(k, len(line) - len(line.lstrip()), len(line), line.role, known(line.eqns))
            for span in line.spans:
                yield Place(k, span.begin, span.end, span.role, known(span.eqns))


def _equations(jaxpr: Jaxpr) -> Iterator[tuple[JaxprEqn, str]]:
    """Yield the equations of a program, outer ones before those inside, each with its text."""
    names = Names()

    def visit(jaxpr: Jaxpr) -> Iterator[tuple[JaxprEqn, str]]:
        names.letter(jaxpr)
        for eqn in jaxpr.eqns:
            yield eqn, names.text(eqn)
            for inner in subjaxprs(eqn.params):
                yield from visit(inner)

    return visit(jaxpr)


def written_at(k: int, eqn: JaxprEqn, text: str, reason: str = "") -> Equation:
    """Return an equation, its number being `k`, with the place where the user wrote it."""
    source = eqn.source
    if source is None:
        return Equation(k, text, reason=reason)
    line, end_line, column, end_column = (number or 0 for number in source.position())
    return Equation(k, text, source.file, source.function, line or source.line, column, end_line, end_column, reason)

