"""Variables that nobody reads are not made: what only feeds arrays without elements, or branches that use nothing."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinytrace.codegen.kernel import Call, Choose, Declare, For, Kernel, Nest, Repeat, Stmt, When, expressions, inner_programs
from tinytrace.codegen.nodes import Node, walk


def prune(kernels: Sequence[Kernel], used: set[Node] | None = None) -> set[Node]:
    """Drop unused fixed variables from `kernels`, given those `used` after them; Returns those used from here on."""
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


def _body(body: list[Stmt], used: set[Node]) -> list[Stmt]:
    kept: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, Declare) and stmt.fixed and stmt.local not in used:
            continue
        if isinstance(stmt, (For, When)):
            stmt.body = _body(stmt.body, used)
        if isinstance(stmt, Call):
            used.update(place for place in stmt.places.values() if isinstance(place, Node))
        _note(expressions(stmt), used)
        kept.append(stmt)
    return kept[::-1]


def _note(roots: Iterable[Node], used: set[Node]) -> None:
    used.update(node for node in walk(roots) if node.op == "local")
