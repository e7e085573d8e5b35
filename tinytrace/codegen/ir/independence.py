"""Which iterations of a loop around a program need nothing of each other: they may run in any order, on any thread.

    for k: { y[k, :] = f(x[k, :]) }           each writes a slice, or an element, of its own

What is written elsewhere is shared, unless each iteration has it for itself.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.kernel import Kernel, Nest, Repeat, inner_programs
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Buffer, Call, Declare, expressions, nested, written


def shared_by_iterations(loop: Repeat) -> list[Buffer | Node]:
    """Return the arrays and variables by which iterations of a counted loop may meet: what one of them changes.

    Not among them is an array of which each iteration changes and reads its own slice alone, or its own element.
    """
    found: dict[Buffer | Node, None] = dict.fromkeys(loop.variables)
    found.update((pair.result, None) for pair in loop.exchanges)
    found.update(dict.fromkeys(_variables_changed(loop.body)))
    views = {view.buffer: view for view in loop.views}
    uses = [use for use in _uses(loop.body) if use[0].space != "row"]
    elsewhere = {buffer.name for buffer, offset, _ in uses if buffer not in views and offset is not loop.iteration}
    inside = {buffer.name for buffer, *_ in uses if buffer not in views} - elsewhere
    for buffer in dict.fromkeys(buffer for buffer, _, is_changed in uses if is_changed):
        view = views.get(buffer)
        if view is None:
            slices = [other for other in loop.views if other.base.name == buffer.name and other.step != 1]
            found.update({buffer: None} if buffer.name in elsewhere or slices else {})
            continue
        name = view.base.name
        steps = {other.step for other in loop.views if other.base.name == name} | ({1} if name in inside else set())
        found.update({view.base: None} if name in elsewhere or steps != {view.step} else {})
    return list(found)


def _uses(kernels: Sequence[Kernel]) -> Iterator[tuple[Buffer, Node | None, bool]]:
    """Yield the arrays that kernels touch, at which place (None: at several), and whether they change them."""
    for kernel in kernels:
        if not isinstance(kernel, Nest):
            yield from ((buffer, None, False) for buffer in kernel.accesses[0])
            yield from ((buffer, None, True) for buffer in kernel.accesses[1])
            continue
        for stmt in nested(kernel.body):
            yield from ((*node.args[:2], False) for node in walk(expressions(stmt)) if node.op == "load")
            changed = [place for place in written(stmt) if not isinstance(place, Node)]
            if isinstance(stmt, Call):
                places = [place for place in stmt.places.values() if not isinstance(place, Node)]
                yield from ((place[0], None, place in changed) for place in places)
            else:
                yield from ((*place, True) for place in changed)


def _variables_changed(kernels: Sequence[Kernel]) -> list[Node]:
    """Return the variables that kernels change and do not declare themselves."""
    own: set[Node] = set()
    changed: dict[Node, None] = {}
    for kernel in _all(kernels):
        for stmt in nested(kernel.body) if isinstance(kernel, Nest) else ():
            own.update([stmt.local] if isinstance(stmt, Declare) else [])
            changed.update((place, None) for place in written(stmt) if isinstance(place, Node))
    return [x for x in changed if x not in own]


def _all(kernels: Sequence[Kernel]) -> Iterator[Kernel]:
    for kernel in kernels:
        yield kernel
        for program in inner_programs(kernel):
            yield from _all(program)
