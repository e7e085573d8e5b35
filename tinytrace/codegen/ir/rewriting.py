"""Statements with other expressions, axes or arrays in the place of some: so loops are cut, blocked and exchanged."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.nodes import Node, rewrite, walk
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
    are_same,
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
        """Return `body` changed, in new statements; those that do not change are the same."""
        concerned = self.nodes.keys()
        roots = {root: None for stmt in nested(body) for root in expressions(stmt)
                 if not concerned.isdisjoint(walk([root]))}
        self._found = dict(zip(roots, rewrite(list(roots), dict(self.nodes), rebuild), strict=True))
        return self._body(body)

    def _body(self, body: Sequence[Stmt]) -> list[Stmt]:
        return list(map(self._stmt, body))

    def _stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For(axis, begin, end, body, simd, independent, grain):
                parts = self.nodes.get(axis, axis), self._node(begin), self._node(end)
                inner = self._body(body)
                if parts == (axis, begin, end) and are_same(inner, body):
                    return stmt
                return For(*parts, inner, simd, independent, grain)
            case Declare(local, value, fixed):
                changed = self.nodes.get(local, local), self._node(value)
                return stmt if changed == (local, value) else Declare(*changed, fixed)
            case Row(buffer):
                return Row(self.arrays[buffer]) if buffer in self.arrays else stmt
            case Store(place, value, eqns):
                moved = self._place(place), self._node(value)
                return stmt if moved == (place, value) else Store(*moved, eqns)
            case Combine(place, op, value):
                moved = self._place(place), self._node(value)
                return stmt if moved == (place, value) else Combine(moved[0], op, moved[1])
            case Either(body=body, otherwise=otherwise):
                return replace(stmt, body=self._body(body), otherwise=self._body(otherwise))
            case Inclusive(local):
                return Inclusive(self.nodes[local]) if local in self.nodes else stmt
            case When(guard, body):
                inner = self._body(body)
                is_same = self._node(guard) is guard and are_same(inner, body)
                return stmt if is_same else When(self._node(guard), inner)
            case Call(places=places, then=then):
                there = {name: self._place(place) for name, place in places.items()}
                loop = self._stmt(then) if then is not None else None
                return replace(stmt, places=there, then=loop if isinstance(loop, For) else None)

    def _node(self, node: Node) -> Node:
        return self._found.get(node, node)

    def _place(self, place: Place) -> Place:
        if isinstance(place, Node):
            return self.nodes.get(place, place)
        buffer, offset = place
        return self.arrays.get(buffer, buffer), self._node(offset)
