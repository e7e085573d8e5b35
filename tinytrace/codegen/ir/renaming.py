"""Statements of other arrays, variables and equations: what two equal kernels differ in.

    for i: y1[i] = tanh(x1[i])    with {x1: x2, y1: y2} is    for i: y2[i] = tanh(x2[i])

What a kernel has for itself, rows and variables, is named after what it computes, and so is the same of another one:
`y1_part` is `y2_part` there.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.nodes import Node, load, local, walk
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Declare, Row, Stmt, Store, expressions, nested
from tinytrace.records import dataclass, replace


@dataclass(frozen=True, eq=False)
class Renaming:
    """What stands for each array, variable and equation of a kernel in an equal one."""

    arrays: Mapping[Buffer, Buffer]
    variables: Mapping[Node, Node]
    eqns: Mapping[int, int]
    names: Mapping[str, str]
    """What the names of values and arrays become, and those that begin with them."""

    def array(self, buffer: Buffer) -> Buffer:
        """Return what stands for an array; those that the kernel has for itself stay."""
        return self.arrays.get(buffer, buffer)

    def variable(self, x: Node) -> Node:
        """Return what stands for a variable."""
        return self.variables.get(x) or local(self.name(str(x.args[0])), x.dtype)

    def ids(self, eqns: Iterable[int]) -> frozenset[int]:
        """Return the ids of the equations that stand for some."""
        return frozenset(self.eqns[k] for k in eqns if k in self.eqns)

    def name(self, name: str) -> str:
        """Return what stands for a name, of which the beginning is known.

        >>> renaming = Renaming({}, {}, {}, {"h": "k", "a": "b"})
        >>> renaming.name("h_part"), renaming.name("h_i_of_a"), renaming.name("hh")
        ('k_part', 'k_i_of_b', 'hh')
        """
        return "_of_".join(map(self._part, name.split("_of_")))

    def _part(self, name: str) -> str:
        words = name.split("_")
        for k in range(len(words), 0, -1):
            known = self.names.get("_".join(words[:k]))
            if known is not None:
                return "_".join([known, *words[k:]])
        return name

    def with_arrays(self, moved: Mapping[Buffer, Buffer]) -> Renaming:
        """Return this renaming after arrays have got other places."""
        return replace(self, arrays={old: moved.get(new, new) for old, new in self.arrays.items()})

    def without(self, arrays: Collection[Buffer]) -> Renaming:
        """Return this renaming of a kernel that does not have some arrays any more."""
        return replace(self, arrays={old: new for old, new in self.arrays.items() if old not in arrays})

    def of(self, body: Sequence[Stmt]) -> list[Stmt]:
        """Return statements with everything renamed."""
        inside = nested(body)
        rows = {stmt.buffer: self._row(stmt.buffer) for stmt in inside if isinstance(stmt, Row)}
        arrays = {**self.arrays, **rows}
        roots = [root for stmt in inside for root in expressions(stmt)]
        roots += [stmt.local for stmt in inside if isinstance(stmt, Declare)]  # which may be read by others alone
        return _Renamed(self._nodes(roots, arrays), arrays, self).of(body)

    def _row(self, row: Buffer) -> Buffer:
        return replace(row, name=self.name(row.name), eqns=self.ids(row.eqns))

    def _nodes(self, roots: Iterable[Node], arrays: Mapping[Buffer, Buffer]) -> dict[Node, Node]:
        """Return what stands for each expression below `roots`, itself where it mentions nothing that is renamed."""
        found: dict[Node, Node] = {}
        for node in walk(roots):
            if node.op == "local":
                new = self.variable(node)
            elif node.op == "load":
                assert node.dtype is not None
                new = load(arrays.get(node.args[0], node.args[0]), found[node.args[1]], node.dtype)
            else:
                children = [found[child] for child in node.children]
                is_same = all(x is y for x, y in zip(children, node.children, strict=True))
                new = node if is_same else rebuild(node, children)
            found[node] = new
            if node.eqns:
                new.eqns |= self.ids(node.eqns)
            if new is not node and node.hint and not new.hint:
                new.hint = self.name(node.hint)
        return found


class _Renamed(Replacement):
    """Puts what stands for expressions and arrays into statements, and for equations into what is stored."""

    def __init__(self, nodes: Mapping[Node, Node], arrays: Mapping[Buffer, Buffer], renaming: Renaming) -> None:
        super().__init__(nodes, arrays)
        self._renaming = renaming

    def of(self, body: Sequence[Stmt]) -> list[Stmt]:
        self._found = dict(self.nodes)
        return self._body(body)

    def _stmt(self, stmt: Stmt) -> Stmt:
        changed = super()._stmt(stmt)
        return replace(changed, eqns=self._renaming.ids(changed.eqns)) if isinstance(changed, Store) else changed
