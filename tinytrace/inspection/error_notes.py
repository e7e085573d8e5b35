"""What is added to an error that the package raises: the user's expression, the types in it, and a line that would do.

Nothing of the user's is run: the expression is found in the source by the instruction that raised, and the names in it
are looked up. Source: https://peps.python.org/pep-0678/ (notes of exceptions).
"""
from __future__ import annotations

import ast
import functools
import itertools
import linecache
import os
import traceback
from collections.abc import Iterator
from types import CodeType, FrameType

import numpy as np

from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.trace import Tracer
from tinytrace.inspection.nan_notes import notes_of_nan
from tinytrace.inspection.repairs import Expression, repaired
from tinytrace.records import NamedTuple
from tinytrace.tracebacks import is_users

LONGEST = 200
"""Characters of an expression that are shown."""


class Place(NamedTuple):
    """An instruction of a frame of the user's."""

    frame: FrameType
    instruction: int


def notes_of(error: Exception, boundary: FrameType) -> list[str]:
    """Return the notes for an error that leaves the package through the frame `boundary`; none if nothing is known."""
    return [*_notes_of_place(error, boundary), *notes_of_nan(error)]


def _notes_of_place(error: Exception, boundary: FrameType) -> list[str]:
    place = _place(error, boundary)
    if place is None:
        return []
    try:
        found = _expression(place)
    except (SyntaxError, ValueError, RecursionError):  # the source is not what was compiled
        return []
    if found is None:
        return []
    code = place.frame.f_code
    shown = found.shown if len(found.shown) <= LONGEST else found.shown[:LONGEST] + " ..."
    types = ", ".join(f"{name}: {text}" for name, text in _types(found, place.frame))
    where = f"{os.path.basename(code.co_filename)}:{found.line}, {code.co_name}"
    notes = [f"The expression is `{shown}` ({where}){f', with {types}' if types else ''}."]
    line = repaired(error, found, place.frame)
    return [*notes, f"This would do: {line}"] if line else notes


def _place(error: Exception, boundary: FrameType) -> Place | None:
    """Return where the user's code called what raised: below the boundary, or else what called it."""
    entry, found = error.__traceback__, None
    while entry is not None:
        if is_users(entry.tb_frame):
            found = Place(entry.tb_frame, entry.tb_lasti)
        entry = entry.tb_next
    if found is not None:
        return found
    for frame, _ in traceback.walk_stack(boundary):
        if is_users(frame):
            return Place(frame, frame.f_lasti)
    return None


def _expression(place: Place) -> Expression | None:
    code = place.frame.f_code
    position = next(itertools.islice(code.co_positions(), place.instruction // 2, None), None)
    if position is None or None in position:
        return None
    lines = linecache.getlines(code.co_filename, place.frame.f_globals)
    if not lines:
        return None
    path = _path_to(_parsed("".join(lines)), position)  # type: ignore[arg-type]
    return Expression("".join(lines), path, _parameters(code)) if path else None


@functools.lru_cache(8)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _path_to(tree: ast.AST, position: tuple[int, int, int, int]) -> list[ast.AST]:
    """Return the nodes from a statement down to the smallest one around a position of Python's code."""
    line, end_line, column, end_column = position
    path: list[ast.AST] = []
    node: ast.AST | None = tree
    while node is not None:
        if isinstance(node, ast.stmt):
            path = []
        if hasattr(node, "lineno"):
            path.append(node)
        node = next((child for child in _children(node) if (child.lineno, child.col_offset) <= (line, column)
                     and (end_line, end_column) <= (child.end_lineno or 0, child.end_col_offset or 0)), None)
    return path


def _children(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield the expressions and statements directly inside a node, those inside of arguments and cases too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.expr, ast.stmt)):
            yield child
        else:
            yield from _children(child)


def _parameters(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def _types(found: Expression, frame: FrameType) -> list[tuple[str, str]]:
    """Return the names of arrays in an expression with their types."""
    names = dict.fromkeys(node.id for node in ast.walk(found.node) if isinstance(node, ast.Name))
    values = {name: frame.f_locals.get(name, frame.f_globals.get(name)) for name in names}
    return [(name, aval_of(value).str_short()) for name, value in values.items() if is_array(value)]


def is_array(value: object) -> bool:
    """Is a value an array or a tracer? No method of it is called."""
    return issubclass(type(value), (Array, Tracer)) or (type(value) is np.ndarray and value.dtype.kind in "biufc")
