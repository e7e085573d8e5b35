"""Variables and rows that nobody reads are not made: what only feeds arrays without elements, or nothing."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinytrace.codegen.ir.kernel import (
    Call,
    Choose,
    Combine,
    Declare,
    For,
    Kernel,
    Nest,
    Repeat,
    Row,
    Stmt,
    Store,
    When,
    expressions,
    inner_programs,
    nested,
    written,
)
from tinytrace.codegen.ir.nodes import Node, walk


def prune(kernels: Sequence[Kernel], used: set[object] | None = None) -> set[object]:
    """Drop unused variables from `kernels`, given those `used` after them; Returns those used from here on."""
    used = set() if used is None else used
    for kernel in reversed(kernels):
        if isinstance(kernel, Nest):
            kernel.body = _body(kernel.body, used)
        elif isinstance(kernel, Repeat):
            _note([kernel.wanted] if kernel.wanted is not None else [], used)
        elif isinstance(kernel, Choose) and kernel.index is not None:
            _note([kernel.index], used)
        for program in reversed(inner_programs(kernel)):
            prune(program, used)
    return used


def _body(body: list[Stmt], used: set[object]) -> list[Stmt]:
    kept: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, (For, When)):
            _note((root for inner in nested(stmt.body) for root in expressions(inner)), used)  # read next time
            stmt.body = _body(stmt.body, used)
        if _is_idle(stmt, used):
            continue
        if isinstance(stmt, Call):
            used.update(place for place in stmt.places.values() if isinstance(place, Node))
        used.update(place for place in written(stmt) if isinstance(place, Node))
        _note(expressions(stmt), used)
        kept.append(stmt)
    return kept[::-1]


def _is_idle(stmt: Stmt, used: set[object]) -> bool:
    """Does a statement only make what is not used after it?"""
    match stmt:
        case Declare(local):
            return local not in used
        case Row(buffer):
            return buffer.name not in used
        case Store(place) | Combine(place):
            return not isinstance(place, Node) and place[0].space == "row" and place[0].name not in used
        case For() | When():
            return not stmt.body
    return False


def _note(roots: Iterable[Node], used: set[object]) -> None:
    """Add the variables and arrays that are read."""
    for node in walk(roots):
        if node.op == "local":
            used.add(node)
        elif node.op == "load":
            used.add(node.args[0].name)
