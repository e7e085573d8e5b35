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
    Renamed,
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
Pairs = tuple[tuple[Buffer, Buffer], ...]


def merge_places(kernels: Sequence[Kernel], places: Places) -> list[Kernel]:
    """Return a program in which `places[b]` stands for each array `b` in it."""
    return _Merging(places).of(kernels) if places else list(kernels)


class _Merging:
    """Puts places in the place of arrays, once in the nests that have their statements from one."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._names = {old.name: new.name for old, new in places.items()}
        self._originals: dict[tuple[Nest, Pairs], Nest] = {}

    def of(self, kernels: Sequence[Kernel]) -> list[Kernel]:
        return list(map(self._merged, kernels))

    def _merged(self, kernel: Kernel) -> Kernel:
        places = self._places
        kernel = with_programs(kernel, list(map(self.of, inner_programs(kernel))))
        kernel = with_equations_in(kernel, self._names)
        if isinstance(kernel, Nest):
            return self._merged_nest(kernel)
        if isinstance(kernel, Repeat):
            pairs = [Exchange(pair.before, pair.after, *map(self._place, (pair.first, pair.second, pair.result)))
                     for pair in kernel.exchanges]
            views = [View(view.buffer, self._place(view.base), view.step) for view in kernel.views]
            return replace(kernel, exchanges=pairs, views=views, wanted=_node(kernel.wanted, places))
        return replace(kernel, index=_node(kernel.index, places)) if isinstance(kernel, Choose) else kernel

    def _place(self, buffer: Buffer) -> Buffer:
        return self._places.get(buffer, buffer)

    def _merged_nest(self, nest: Nest) -> Nest:
        accessed = {**nest.accesses[0], **nest.accesses[1]}
        if accessed.keys().isdisjoint(self._places):
            return nest
        if isinstance(nest.body, Renamed):
            return replace(nest, body=self._merged_copy(nest.body))
        shares = len(set(map(self._place, accessed))) < len(accessed)
        return replace(nest, body=_merged_body(nest.body, self._places, shares))

    def _merged_copy(self, body: Renamed) -> Renamed:
        """Return renamed statements; where two of their arrays get one place, so they do in the original."""
        renaming = body.renaming.with_arrays(self._places)
        first: dict[Buffer, Buffer] = {}
        for old, new in renaming.arrays.items():
            first.setdefault(new, old)
        pairs = tuple((old, first[new]) for old, new in renaming.arrays.items() if first[new] is not old)
        if not pairs:
            return Renamed(body.original, renaming)
        key = body.original, pairs
        if key not in self._originals:
            self._originals[key] = replace(body.original, body=_merged_body(body.original.body, dict(pairs), True))
        return Renamed(self._originals[key], renaming.without(dict(pairs)))


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
