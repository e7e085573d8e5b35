"""Variables and rows that nobody reads are not made: what only feeds arrays without elements, or nothing.

    s = 0; for i: s += x[i];  y[0] = z[0]    is    y[0] = z[0]
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinytrace.codegen.ir.kernel import Choose, Kernel, Nest, Renamed, Repeat, inner_programs, with_programs
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import (
    Call,
    Combine,
    Declare,
    For,
    Row,
    Stmt,
    Store,
    When,
    expressions,
    nested,
    with_body,
    written,
)


def remove_dead_code(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program without what makes variables and rows that nobody reads."""
    return list(kernels) if _is_all_read(kernels) else _program(kernels, set())


def _is_all_read(kernels: Sequence[Kernel]) -> bool:
    """Is every variable and row read somewhere, as is the rule? Only programs of nests are looked at."""
    nests = [kernel for kernel in kernels if isinstance(kernel, Nest)]
    read: set[object] = set().union(*(nest.contents.variables for nest in nests), *(nest.reads for nest in nests))
    return len(nests) == len(kernels) and not any(map(_is_in_vain, nests, [read] * len(nests)))


def _is_in_vain(nest: Nest, read: set[object]) -> bool:
    """Does a nest make anything that is not read, in a program that reads these variables?"""
    form = nest.form
    if isinstance(nest.body, Renamed):
        made = [stmt.local for stmt in form.statements if isinstance(stmt, Declare)]
        read = {x for x in made if nest.body.renaming.variable(x) in read}
    return any(_is_idle(stmt, read | form.contents.reads.keys()) for stmt in form.statements)


def _program(kernels: Sequence[Kernel], used: set[object]) -> list[Kernel]:
    """Return a program without what is unused, given what is `used` after it; adds to that what it uses itself."""
    kept: list[Kernel] = []
    for kernel in reversed(kernels):
        if isinstance(kernel, Nest):
            kept.append(kernel.with_body(_body(kernel.body, used)))
            continue
        if isinstance(kernel, Repeat):
            _note([kernel.wanted] if kernel.wanted is not None else [], used)
        elif isinstance(kernel, Choose) and kernel.index is not None:
            _note([kernel.index], used)
        programs = [_program(program, used) for program in reversed(inner_programs(kernel))]
        kept.append(with_programs(kernel, programs[::-1]))
    return kept[::-1]


def _body(body: Sequence[Stmt], used: set[object]) -> list[Stmt]:
    kept: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, (For, When)):
            _note((root for inner in nested(stmt.body) for root in expressions(inner)), used)  # read next time
            stmt = with_body(stmt, _body(stmt.body, used))
        if _is_idle(stmt, used):
            continue
        if isinstance(stmt, Call):
            used.update(place if isinstance(place, Node) else place[0] for place in stmt.places.values())
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
            return buffer not in used
        case Store(place) | Combine(place):
            return not isinstance(place, Node) and place[0].space == "row" and place[0] not in used
        case For() | When():
            return not stmt.body
    return False


def _note(roots: Iterable[Node], used: set[object]) -> None:
    """Add the variables and arrays that are read."""
    for node in walk(roots):
        if node.op == "local":
            used.add(node)
        elif node.op == "load":
            used.add(node.args[0])
