"""The Python that wrote the equations: the functions in which they were written, as they stand in their files."""
from __future__ import annotations

import inspect
import linecache
import os
import tokenize
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

from tinytrace.codegen.source_map import Equation
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.inspection.linked_texts.marked_text import Pane, Part, in_lines
from tinytrace.transforms.staging import is_internal


def python_pane(eqns: Iterable[JaxprEqn], places: Sequence[Equation], code: CodeType | None = None) -> Pane:
    """Return the source of the functions that wrote equations.

    eqns: the equations.  places: where each of them was written.  code: of a function to be shown in any case.
    """
    blocks = _Blocks()
    if code is not None:
        blocks.add(code)
    for eqn in eqns:
        if eqn.source is not None:
            blocks.add(eqn.source.code)
    for place in places:
        if place.file and place.line:
            blocks.lines.setdefault(place.file, set()).update(range(place.line, max(place.line, place.end_line) + 1))
    return _pane(blocks.lines, places)


def code_of(fun: Callable[..., Any]) -> CodeType | None:
    """Return the code of the user's function behind `fun`, None if there is none."""
    code = getattr(inspect.unwrap(fun), "__code__", None)
    return code if isinstance(code, CodeType) and not is_internal(code.co_filename) else None


class _Blocks:
    """The lines that are shown, by file."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = {}
        self._seen: set[CodeType] = set()

    def add(self, code: CodeType) -> None:
        """Show a function; of a module only the lines that are asked for are shown."""
        if code not in self._seen:
            self._seen.add(code)
            lines = self.lines.setdefault(code.co_filename, set())
            if code.co_name != "<module>":
                lines.update(_lines_of(code))


def _lines_of(code: CodeType) -> range:
    first = code.co_firstlineno
    rest = linecache.getlines(code.co_filename)[first - 1:]
    try:
        return range(first, first + len(inspect.getblock(rest)))
    except (SyntaxError, tokenize.TokenError):  # a lambda inside an expression that begins before it
        return range(first, max((line for *_, line in code.co_lines() if line), default=first) + 1)


def _pane(wanted: dict[str, set[int]], places: Sequence[Equation]) -> Pane:
    texts: list[str] = []
    numbers: list[int | None] = []
    starts: dict[tuple[str, int], int] = {}
    at = 0
    for file, lines in wanted.items():
        source = linecache.getlines(file)
        previous = 0
        for number in sorted(lines):
            if number != previous + 1:
                heading = f"# {os.path.basename(file)}" if not previous else "# ..."
                texts.append(heading)
                numbers.append(None)
                at += len(heading) + 1
            text = source[number - 1].rstrip("\n") if number <= len(source) else "# its source is not known"
            starts[file, number] = at
            texts.append(text)
            numbers.append(number)
            at += len(text) + 1
            previous = number
    text = "\n".join(texts)
    lengths = {start: len(line) for start, line in zip(_line_starts(texts), texts, strict=True)}
    parts = [part for place in places if (place.file, place.line) in starts
             for part in _parts(place, starts, lengths, text)]
    return Pane("python", "Python", text, in_lines(text, _joined(parts)), tuple(numbers))


def _parts(place: Equation, starts: dict[tuple[str, int], int], lengths: dict[int, int], text: str) -> list[Part]:
    """Return the lines that wrote an equation, and the expression in them."""
    lines = [starts[place.file, line] for line in range(place.line, max(place.line, place.end_line) + 1)]
    whole = [Part(start, start + lengths[start], (place.id,)) for start in lines]
    if not place.end_column:
        return whole
    begin = lines[0] + _characters(text, lines[0], lengths, place.column)
    end = lines[-1] + _characters(text, lines[-1], lengths, place.end_column)
    return [*whole, Part(begin, end, (place.id,))]


def _characters(text: str, start: int, lengths: dict[int, int], column: int) -> int:
    """Return how many characters the first `column` bytes of a line are: Python counts bytes of UTF-8."""
    return len(text[start:start + lengths[start]].encode()[:column].decode(errors="ignore"))


def _joined(parts: Iterable[Part]) -> list[Part]:
    """Return parts of the same characters as one part of all their equations."""
    found: dict[tuple[int, int], set[int]] = {}
    for begin, end, ids in parts:
        found.setdefault((begin, end), set()).update(ids)
    return [Part(begin, end, tuple(sorted(ids))) for (begin, end), ids in found.items()]


def _line_starts(texts: Sequence[str]) -> list[int]:
    starts, at = [], 0
    for text in texts:
        starts.append(at)
        at += len(text) + 1
    return starts
