"""Kernels as text, statement by statement, in the grammar of `kernel`: what `kernels.as_text()` shows.

    nest:
        for i0 in 0 .. 1000 simd independent:
            y[i0] = add(x[i0], 1.0)
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.kernel import Choose, Kernel, Nest, Repeat
from tinytrace.codegen.ir.nodes import NO_EQNS, Node, show, walk
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    Either,
    For,
    Inclusive,
    Place,
    Row,
    Stmt,
    Store,
    When,
    expressions,
    written,
)
from tinytrace.core.dtypes import short_name
from tinytrace.records import NamedTuple


class KernelLine(NamedTuple):
    """A line of the text of kernels, and the ids of the equations that it computes, or loops around."""

    text: str
    eqns: frozenset[int] = NO_EQNS


def to_text(kernels: Sequence[Kernel]) -> str:
    """Return a program as text, one statement per line."""
    return "\n".join(line.text for line in to_lines(kernels))


def to_lines(kernels: Sequence[Kernel]) -> list[KernelLine]:
    """Return the lines of a program's text, each with its equations."""
    return list(_program(kernels, ""))


def _program(kernels: Sequence[Kernel], indent: str) -> Iterator[KernelLine]:
    for kernel in kernels:
        match kernel:
            case Nest(body=body):
                yield KernelLine(f"{indent}nest:", kernel.eqns)
                yield from _body(body, indent + "    ", kernel.eqns)
            case Repeat():
                yield from _repeat(kernel, indent)
            case Choose(index=index, branches=branches):
                yield KernelLine(f"{indent}choose by {index}:", kernel.eqns)
                for k, branch in enumerate(branches):
                    yield KernelLine(f"{indent}    {k}:")
                    yield from _program(branch, indent + "        ")


def _repeat(loop: Repeat, indent: str) -> Iterator[KernelLine]:
    order = " backwards" if loop.reverse else ""
    counted = f" {loop.iteration} in 0 .. {loop.length}{order}" if loop.iteration else ""
    grain = f" grain {loop.grain}" if loop.grain else ""
    yield KernelLine(f"{indent}repeat{counted}{grain}:", loop.eqns)
    inner = indent + "    "
    for buffer in loop.private:
        yield KernelLine(f"{inner}row {buffer}", loop.eqns)
    if loop.variables:
        yield KernelLine(f"{inner}carries {', '.join(map(_typed, loop.variables))}", loop.eqns)
    for pair in loop.exchanges:
        arrays = pair.first.name if pair.first is pair.second else f"{pair.first.name} and {pair.second.name} in turn"
        names = pair.before.name if pair.before is pair.after else f"{pair.before.name} -> {pair.after.name}"
        yield KernelLine(f"{inner}carries {names} = {arrays}", loop.eqns)
    for view in loop.views:
        yield KernelLine(f"{inner}view {view.buffer} = {view.base.name} from {view.step} * {loop.iteration}",
                         loop.eqns)
    yield from _program(loop.condition, inner)
    if loop.wanted is not None:
        yield KernelLine(f"{inner}while {loop.wanted}:", loop.eqns)
    yield from _program(loop.body, inner)


def _body(body: Sequence[Stmt], indent: str, eqns: frozenset[int]) -> Iterator[KernelLine]:
    inner = indent + "    "
    for stmt in body:
        yield KernelLine(f"{indent}{_statement(stmt)}", eqns if isinstance(stmt, Call) else equations_of(stmt))
        if isinstance(stmt, (For, When)):
            yield from _body(stmt.body, inner, eqns)
        elif isinstance(stmt, Call) and stmt.then is not None:
            yield from _body([stmt.then], inner, eqns)
        elif isinstance(stmt, Either):
            yield from _body(stmt.body, inner, eqns)
            yield KernelLine(f"{indent}else:")
            yield from _body(stmt.otherwise, inner, eqns)


def _statement(stmt: Stmt) -> str:
    """Return the first line of a statement."""
    match stmt:
        case For(axis, begin, end, _, simd, independent, grain):
            how = " simd" * simd + " independent" * independent + (f" grain {grain}" if grain else "")
            return f"for {axis} in {begin} .. {end}{how}:"
        case Declare(local, value, fixed):
            return f"{'let' if fixed else 'var'} {_typed(local)} = {value}"
        case Row(buffer):
            return f"row {buffer}"
        case Store(place, value):
            return f"{_place(place)} = {value}"
        case Combine(place, op, value):
            return f"{_place(place)} {op}= {value}"
        case Either(feature):
            return f"either on {feature}:"
        case Inclusive(local):
            return f"inclusive {local}"
        case When(guard):
            return f"when {guard}:"
        case Call(procedure, places, changed, _, _, then):
            shown = [f"{'out ' * (name in changed)}{name}={_place(place)}" for name, place in places.items()]
            return f"call {procedure.name}({', '.join(shown)}){' then, row by row:' if then else ''}"
    raise AssertionError(stmt)


def equations_of(stmt: Stmt) -> frozenset[int]:
    """Return the ids of the equations that a statement computes or moves itself."""
    stored = stmt.eqns if isinstance(stmt, Store) else NO_EQNS
    changed = [stmt.local] if isinstance(stmt, Declare) else [p for p in written(stmt) if isinstance(p, Node)]
    return stored.union(*(node.eqns for node in walk([*changed, *expressions(stmt)])))


def _place(place: Place) -> str:
    if isinstance(place, Node):
        return show(place)
    buffer: Buffer = place[0]
    return f"{buffer.name}[{place[1]}]"


def _typed(variable: Node) -> str:
    return f"{variable}:{short_name(variable.dtype) if variable.dtype is not None else 'index'}"
