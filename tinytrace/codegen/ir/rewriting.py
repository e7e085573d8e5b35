"""Statements with other expressions, axes or arrays in the place of some: so loops are cut, blocked and exchanged."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.nodes import Node, rewrite
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
    nested,
)
from tinytrace.records import replace


class Replacement:
    """A change of expressions (`nodes`) and of the arrays that statements write (`arrays`)."""

    def __init__(self, nodes: Mapping[Node, Node], arrays: Mapping[Buffer, Buffer] | None = None) -> None:
        self.nodes = nodes
        self.arrays = arrays or {}

    def of(self, body: Sequence[Stmt]) -> list[Stmt]:
        """Return `body` changed; the statements of `body` stay as they are."""
        roots = list(dict.fromkeys(root for stmt in nested(body) for root in expressions(stmt)))
        self._found = dict(zip(roots, rewrite(roots, dict(self.nodes), rebuild), strict=True))
        return [self._stmt(stmt) for stmt in body]

    def _stmt(self, stmt: Stmt) -> Stmt:
        node = self._found
        match stmt:
            case For(axis, begin, end, body, simd, independent, grain):
                inner = [self._stmt(s) for s in body]
                return For(self.nodes.get(axis, axis), node[begin], node[end], inner, simd, independent, grain)
            case Declare(local, value, fixed):
                return Declare(self.nodes.get(local, local), node[value], fixed)
            case Row(buffer):
                return Row(self.arrays.get(buffer, buffer))
            case Store(place, value, _):
                return Store(self._place(place), node[value], stmt.eqns)
            case Combine(place, op, value):
                return Combine(self._place(place), op, node[value])
            case Either(body=body, otherwise=otherwise):
                return replace(stmt, body=[self._stmt(s) for s in body], otherwise=[self._stmt(s) for s in otherwise])
            case Inclusive(local):
                return Inclusive(self.nodes.get(local, local))
            case When(guard, body):
                return When(node[guard], [self._stmt(s) for s in body])
            case Call(places=places, then=then):
                moved = {name: self._place(place) for name, place in places.items()}
                loop = self._stmt(then) if then is not None else None
                return replace(stmt, places=moved, then=loop if isinstance(loop, For) else None)

    def _place(self, place: Place) -> Place:
        if isinstance(place, Node):
            return self.nodes.get(place, place)
        buffer, offset = place
        return self.arrays.get(buffer, buffer), self._found[offset]
