"""One element of a value as an expression: equations that only move or compute elements are written out in place.

`Elements` answers "what is `v[i, j]`?" with a node, by asking the equation that makes `v` what it needs of its
operands, and so on down to values that lie in memory or in variables. That is all of elementwise fusion.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tinytrace.codegen.ir import arithmetic as ar
from tinytrace.codegen.ir.inserted_operations import converted, fold_operation
from tinytrace.codegen.ir.nodes import NO_EQNS, Node, apply, axis, cast, literal, local, number
from tinytrace.codegen.ir.reductions import fold_of, product_taken_in, propagating
from tinytrace.codegen.plan.lowering import Lowered, Spread, Window
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import DType
from tinytrace.core.jaxpr import Atom, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Expr, Gather, IndexMap, IntLike, Reduction, Scalar, as_expr
from tinytrace.core.operations import Operation
from tinytrace.records import NamedTuple

Index: TypeAlias = tuple[Node, ...]
Request: TypeAlias = tuple[Var, Index]
AXIS_NAMES = tuple(f"i{k}" for k in range(128))  # of a result, and summed ones


UPDATES = {"add": "sum", "sub": "sub", "mul": "prod", "min": "min", "max": "max", "and": "and", "or": "or"}
"""What combining updates is among the folds."""


class Producer(NamedTuple):
    """Where a value comes from: result number `position` of an equation of this kind."""

    eqn: JaxprEqn
    kind: Lowered
    position: int
    is_map: bool
    """Is one element of it said without a loop?"""


def domain_axes(shape: Sequence[int]) -> Index:
    """Return the loop variables over `shape`, the same wherever a loop over it begins; 0 where there is no choice."""
    return tuple(axis(AXIS_NAMES[k], size) if size != 1 else number(0) for k, size in enumerate(shape))


class Elements:
    """Expressions for elements; `leaf(v, index)` says which values are not written out, by returning their node."""

    def __init__(self, producers: dict[Var, Producer], leaf: Callable[[Var, Index], Node | None],
                 names: dict[Var, str], fuses: bool = True) -> None:
        self.producers = producers
        self.leaf = leaf
        self.names = names
        self.fuses = fuses
        """May a product and a sum be rounded once?"""
        self._known: dict[Request, Node] = {}
        self._moved: dict[Request, frozenset[int]] = {}

    def __call__(self, atom: Atom, index: Index) -> Node:
        """Return the node for element `index` of `atom`."""
        if isinstance(atom, Literal):
            return literal_node(atom)
        stack: list[Request] = [(atom, index)]
        while stack:  # not a recursion: a chain may have thousands of links
            request = stack[-1]
            if request in self._known:
                stack.pop()
                continue
            missing: list[Request] = []
            node = self._written_out(*request, missing)
            if missing:
                stack += missing
            else:
                self._known[request] = node
                stack.pop()
        return self._known[atom, index]

    def moved_by(self, atom: Atom, index: Index) -> frozenset[int]:
        """Return the ids of equations that only move elements, through which element `index` of `atom` is read.

        They have no expression of their own: what reads the element stands for them in C. Ask after the element.
        """
        return NO_EQNS if isinstance(atom, Literal) else self._moved.get((atom, index), NO_EQNS)

    def value_of(self, var: Var, index: Index) -> tuple[Node, frozenset[int]]:
        """Return element `index` of what the equation of `var` computes, even if `var` is a leaf, and whose it is."""
        while True:
            missing: list[Request] = []
            node, eqns = self._by_equation(var, index, missing)
            if not missing:
                return node, eqns
            for request in missing:
                self(*request)

    def _written_out(self, var: Var, index: Index, missing: list[Request]) -> Node:
        node = self.leaf(var, index)
        if node is None:
            node, eqns = self._by_equation(var, index, missing)
            kind = self.producers[var].kind
            if not isinstance(kind, Scalar) or kind.operation.is_copy:
                self._moved[var, index] = eqns
        return node

    def _by_equation(self, var: Var, index: Index, missing: list[Request]) -> tuple[Node, frozenset[int]]:
        """Return an element, and the ids of the equation of `var` and of those that moved what it reads."""
        producer = self.producers[var]
        if isinstance(producer.kind, Scalar):
            return self._by_operation(producer.eqn, producer.kind.operation, var, index, missing)
        eqns = frozenset(producer.eqn.ids)

        def read(atom: Atom, at: Index) -> Node:
            nonlocal eqns
            if isinstance(atom, Literal):
                return literal_node(atom)
            found = self._known.get((atom, at))
            if found is None:
                missing.append((atom, at))
                return local("", atom.aval.dtype)
            eqns |= self._moved.get((atom, at), NO_EQNS)
            return found

        return self._expression(producer, var, index, read), eqns

    def _by_operation(self, eqn: JaxprEqn, operation: Operation, var: Var, index: Index,
                      missing: list[Request]) -> tuple[Node, frozenset[int]]:
        """Return the same of an operation on elements; nothing is built while one of these is missing."""
        eqns = frozenset(eqn.ids)
        operands: list[Node] = []
        for x in eqn.invars:
            if isinstance(x, Literal):
                operands.append(literal_node(x))
                continue
            request = x, aligned(index, var.aval, x.aval)
            found = self._known.get(request)
            if found is None:
                missing.append(request)
            else:
                operands.append(found)
                if request in self._moved:
                    eqns |= self._moved[request]
        if missing:
            return local("", var.aval.dtype), eqns
        if operation.is_copy and operands[0].dtype == var.aval.dtype:
            return operands[0], eqns
        node = apply(operation, operands)
        node.hint = node.hint or self.names.get(var, "")
        node.eqns |= eqns
        return node, eqns

    def _expression(self, producer: Producer, var: Var, index: Index, read: Callable[[Atom, Index], Node]) -> Node:
        eqn, kind = producer.eqn, producer.kind
        match kind:
            case IndexMap(element) | Gather(element):
                moved = node_of(element(wrapped(index), reader(eqn, read)))
                return as_element(moved, var.aval.dtype)
            case Reduction():
                return _unrolled(kind, eqn, index, var.aval.dtype, read, self.fuses)
            case Window():
                return _windowed(kind, eqn, index, read, self.fuses)
            case Spread(_, parts):
                return _beside(parts, index, read)
        raise AssertionError(f"{eqn.primitive} has no elements to write out")


def aligned(index: Index, aval: ShapedArray, operand: ShapedArray) -> Index:
    """Return which element of `operand` meets element `index` of a result of type `aval`."""
    if operand.shape == aval.shape:
        return index
    if not operand.shape:
        return ()
    return tuple(number(0) if size == 1 else i for i, size in zip(index, operand.shape, strict=True))


def literal_node(atom: Literal) -> Node:
    """Return the number that a literal stands for."""
    return literal(atom.val, atom.aval.dtype)


def _unrolled(kind: Reduction, eqn: JaxprEqn, index: Index, dtype: DType, read: Callable[[Atom, Index], Node],
              fuses: bool) -> Node:
    """Return a short reduction as one expression."""
    operand = eqn.invars[0]
    fold = fold_of(propagating(kind.combine, dtype), dtype)
    total: Node | None = None
    for position in itertools.product(*(range(operand.aval.shape[a]) for a in kind.axes)):
        kept = iter(index)
        place = dict(zip(kind.axes, position, strict=True))
        element = read(operand, tuple(number(place[a]) if a in place else next(kept) for a in range(operand.aval.ndim)))
        total = element if total is None else _folded(fold.operation, total, element, fuses)
    assert total is not None
    return converted(total, dtype)


def _folded(operation: Operation, total: Node, element: Node, fuses: bool) -> Node:
    """Return a fold with one more element; a product is taken into a sum with one rounding, if it `fuses`."""
    combine = {"add": "sum", "sub": "sub"}.get(operation.name, "")
    product = product_taken_in(combine, element) if fuses else None
    if product is None:
        return apply(operation, (total, element))
    return apply(product.operation, (*product.factors, total))


def _windowed(kind: Window, eqn: JaxprEqn, index: Index, read: Callable[[Atom, Index], Node], fuses: bool) -> Node:
    """Return an element of an array of which a window is updated."""
    operand, updates = eqn.invars[0], eqn.invars[kind.updates]
    old = read(operand, index)
    at = [number(0)] * updates.aval.ndim
    inside = number(1)
    for i, start, d in zip(index, kind.starts, kind.dims, strict=True):
        place = ar.subtract(i, number(start))
        inside = ar.both(inside, ar.compare("le", number(start), i))
        inside = ar.both(inside, ar.compare("lt", place, number(updates.aval.shape[d] if d is not None else 1)))
        if d is not None:
            at[d] = place
    new = read(updates, tuple(at))
    if kind.combine != "set":
        dtype = operand.aval.dtype
        new = _folded(fold_operation(propagating(UPDATES[kind.combine], dtype), dtype), old, new, fuses)
    return ar.where(inside, new, old)


def _beside(parts: Sequence[Var], index: Index, read: Callable[[Atom, Index], Node]) -> Node:
    """Return the element of the one of `parts` that the last index says."""
    *others, last = (read(part, index[:-1]) for part in parts)
    for k in range(len(others) - 1, -1, -1):
        last = ar.where(ar.compare("eq", index[-1], number(k)), others[k], last)
    return last


# --- what rooms say of indices -----------------------------------------------------------------------------------

def reader(eqn: JaxprEqn, elements: Callable[[Atom, Index], Node]) -> Callable[[int, Sequence[IntLike]], Expr]:
    """Return the `read(operand, index)` that a room calls: it speaks `kinds.Expr`."""

    def read(operand: int, at: Sequence[IntLike]) -> Expr:
        return _wrapped(elements(eqn.invars[operand], tuple(as_index(node_of(as_expr(i))) for i in at)))

    return read


def wrapped(index: Index) -> tuple[Expr, ...]:
    """Return loop variables in the rooms' notation."""
    return tuple(map(_wrapped, index))


def _wrapped(node: Node) -> Expr:
    k = ar.constant_of(node) if node.dtype is None else None
    return as_expr(k) if k is not None else Expr("node", (node,))


_INDEX_OPS: dict[str, Callable[[Node, Node], Node]] = {
    "add": ar.add, "sub": ar.subtract, "mul": ar.multiply, "floordiv": ar.floordiv, "mod": ar.mod, "min": ar.minimum,
    "max": ar.maximum,
    "lt": lambda a, b: ar.compare("lt", a, b), "gt": lambda a, b: ar.compare("lt", b, a),
    "le": lambda a, b: ar.compare("le", a, b), "ge": lambda a, b: ar.compare("le", b, a),
    "eq": lambda a, b: ar.compare("eq", a, b),
}


def node_of(expr: Expr) -> Node:
    """Return the simplified node for an expression of a room."""
    op, args = expr.op, expr.args
    if op == "node":
        return args[0]  # type: ignore[no-any-return]
    if op == "const":
        return number(args[0])
    if op in _INDEX_OPS:
        return _INDEX_OPS[op](as_index(node_of(args[0])), as_index(node_of(args[1])))
    if op in ("and", "or"):
        return (ar.both if op == "and" else ar.either)(as_index(node_of(args[0])), as_index(node_of(args[1])))
    if op == "cast":
        return as_element(node_of(args[0]), args[1])
    if op == "literal":
        return literal(*args)
    if op == "where":
        guard, if_true, if_false = as_index(node_of(args[0])), node_of(args[1]), node_of(args[2])
        dtype = if_true.dtype or if_false.dtype
        if dtype is not None:
            if_true, if_false = as_element(if_true, dtype), as_element(if_false, dtype)
        return ar.where(guard, if_true, if_false)
    raise AssertionError(f"kinds.Expr has no operation {op}")


def as_index(node: Node) -> Node:
    """Return a node as an index or guard."""
    return ar.index_of(node)


def as_element(node: Node, dtype: DType) -> Node:
    """Return a node as an element of type `dtype`."""
    if node.dtype is not None:
        return converted(node, dtype)
    k = ar.constant_of(node)
    return cast(node, dtype) if k is None else literal(k, dtype)


