"""Two arrays become one place: where a body reads the one after it has written the other, it reads first.

    for i: { b[i] = f(a[i]);  c[i] = g(a[i]) }    with b in the place of a is

    for i: { a_before = a[i];  a[i] = f(a_before);  c[i] = g(a_before) }
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.kernel import (
    Choose,
    Exchange,
    Kernel,
    Nest,
    Repeat,
    View,
    inner_programs,
    with_equations_in,
    with_programs,
)
from tinytrace.codegen.ir.nodes import Node, load, local, rewrite, walk
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Declare, For, Stmt, When, expressions, nested, written
from tinytrace.records import replace

Places = Mapping[Buffer, Buffer]


def merge_places(kernels: Sequence[Kernel], places: Places) -> list[Kernel]:
    """Return a program in which `places[b]` stands for each array `b` in it."""
    names = {old.name: new.name for old, new in places.items()}
    return [_merged(kernel, places, names) for kernel in kernels] if places else list(kernels)


def _merged(kernel: Kernel, places: Places, names: Mapping[str, str]) -> Kernel:
    kernel = with_programs(kernel, [merge_places(program, places) for program in inner_programs(kernel)])
    kernel = with_equations_in(kernel, names)
    if isinstance(kernel, Nest):
        accessed = {**kernel.accesses[0], **kernel.accesses[1]}
        if accessed.keys().isdisjoint(places):
            return kernel
        shares = len({places.get(buffer, buffer) for buffer in accessed}) < len(accessed)
        return replace(kernel, body=_merged_body(kernel.body, places, shares))
    if isinstance(kernel, Repeat):
        pairs = [Exchange(pair.before, pair.after, *(places.get(b, b) for b in (pair.first, pair.second, pair.result)))
                 for pair in kernel.exchanges]
        views = [View(view.buffer, places.get(view.base, view.base), view.step) for view in kernel.views]
        return replace(kernel, exchanges=pairs, views=views, wanted=_node(kernel.wanted, places))
    return replace(kernel, index=_node(kernel.index, places)) if isinstance(kernel, Choose) else kernel


def _merged_body(body: Sequence[Stmt], places: Places, shares: bool) -> list[Stmt]:
    """Return statements in which `places[b]` stands for each array `b`; shares: do two of them get one place?"""
    body = _read_first(body, places, Counter()) if shares else body
    loads = _moved_loads([root for stmt in nested(body) for root in expressions(stmt)], places)
    return Replacement(loads, places).of(body)


def _node(node: Node | None, places: Places) -> Node | None:
    return node if node is None else rewrite([node], _moved_loads([node], places), rebuild)[0]


def _moved_loads(roots: Sequence[Node], places: Places) -> dict[Node, Node]:
    """Return what stands for each load of an array that has another place, operands first."""
    moved: dict[Node, Node] = {}
    for node in walk(roots):
        if node.op == "load" and node.args[0] in places:
            offset, = rewrite([node.args[1]], moved, rebuild)
            moved[node] = load(places[node.args[0]], offset, node.dtype)  # type: ignore[arg-type]
    return moved


def _read_first(body: Sequence[Stmt], places: Places, names: Counter[str]) -> list[Stmt]:
    """Return statements that read elements before others, through another array, overwrite them."""
    body = [replace(stmt, body=_read_first(stmt.body, places, names)) if isinstance(stmt, (For, When)) else stmt
            for stmt in body]
    overwritten: dict[Buffer, Buffer] = {}
    early: dict[Node, Node] = {}
    for stmt in body:
        for node in walk(expressions(stmt), certain=True) if overwritten else ():
            if node.op == "load" and node not in early \
                    and overwritten.get(places.get(node.args[0], node.args[0]), node.args[0]) is not node.args[0]:
                name = f"{node.args[0].name}_before"
                early[node] = local(f"{name}{names[name] or ''}", node.dtype)
                names[name] += 1
        overwritten |= {places.get(place[0], place[0]): place[0] for place in written(stmt)
                        if not isinstance(place, Node)}
    if not early:
        return body
    return [*(Declare(name, node, fixed=True) for node, name in early.items()), *Replacement(early).of(body)]
