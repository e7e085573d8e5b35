"""Kernels as text, statement by statement, in the grammar of `kernel`: what `kernels.as_text()` shows.

    nest:
        for i0 in 0 .. 1000 simd independent:
            y[i0] = add(x[i0], 1.0)
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.kernel import Choose, Kernel, Nest, Repeat
from tinytrace.codegen.ir.nodes import Node, show
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    For,
    Inclusive,
    Place,
    Row,
    Stmt,
    Store,
    When,
)
from tinytrace.core.dtypes import short_name


def to_text(kernels: Sequence[Kernel]) -> str:
    """Return a program as text, one statement per line."""
    return "\n".join(_program(kernels, ""))


def _program(kernels: Sequence[Kernel], indent: str) -> Iterator[str]:
    for kernel in kernels:
        match kernel:
            case Nest(body=body):
                yield f"{indent}nest:"
                yield from _body(body, indent + "    ")
            case Repeat():
                yield from _repeat(kernel, indent)
            case Choose(index=index, branches=branches):
                yield f"{indent}choose by {index}:"
                for k, branch in enumerate(branches):
                    yield f"{indent}    {k}:"
                    yield from _program(branch, indent + "        ")


def _repeat(loop: Repeat, indent: str) -> Iterator[str]:
    order = " backwards" if loop.reverse else ""
    yield f"{indent}repeat {loop.iteration} in 0 .. {loop.length}{order}:" if loop.iteration else f"{indent}repeat:"
    inner = indent + "    "
    if loop.variables:
        yield f"{inner}carries {', '.join(map(_typed, loop.variables))}"
    for pair in loop.exchanges:
        arrays = pair.first.name if pair.first is pair.second else f"{pair.first.name} and {pair.second.name} in turn"
        names = pair.before.name if pair.before is pair.after else f"{pair.before.name} -> {pair.after.name}"
        yield f"{inner}carries {names} = {arrays}"
    for view in loop.views:
        yield f"{inner}view {view.buffer} = {view.base.name} from {view.step} * {loop.iteration}"
    yield from _program(loop.condition, inner)
    if loop.wanted is not None:
        yield f"{inner}while {loop.wanted}:"
    yield from _program(loop.body, inner)


def _body(body: Sequence[Stmt], indent: str) -> Iterator[str]:
    inner = indent + "    "
    for stmt in body:
        match stmt:
            case For(axis, begin, end, inside, simd, independent, grain):
                how = " simd" * simd + " independent" * independent + (f" grain {grain}" if grain else "")
                yield f"{indent}for {axis} in {begin} .. {end}{how}:"
                yield from _body(inside, inner)
            case Declare(local, value, fixed):
                yield f"{indent}{'let' if fixed else 'var'} {_typed(local)} = {value}"
            case Row(buffer):
                yield f"{indent}row {buffer}"
            case Store(place, value):
                yield f"{indent}{_place(place)} = {value}"
            case Combine(place, op, value):
                yield f"{indent}{_place(place)} {op}= {value}"
            case Inclusive(local):
                yield f"{indent}inclusive {local}"
            case When(guard, inside):
                yield f"{indent}when {guard}:"
                yield from _body(inside, inner)
            case Call(procedure, places, written, _, _, then):
                shown = [f"{'out ' * (name in written)}{name}={_place(place)}" for name, place in places.items()]
                yield f"{indent}call {procedure.name}({', '.join(shown)}){' then, row by row:' if then else ''}"
                if then is not None:
                    yield from _body([then], inner)


def _place(place: Place) -> str:
    if isinstance(place, Node):
        return show(place)
    buffer: Buffer = place[0]
    return f"{buffer.name}[{place[1]}]"


def _typed(variable: Node) -> str:
    return f"{variable}:{short_name(variable.dtype) if variable.dtype is not None else 'index'}"
