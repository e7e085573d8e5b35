"""The expressions inside a kernel: hash-consed, so that equal expressions of one program are one object.

    node ::= affine  c + k1*node1 + k2*node2 ...             an index or an offset, int64
           | axis    name, extent                            a loop's variable: 0 <= axis < extent
           | mul, floordiv, mod, min, max (index, index)     what else indices need
           | lt, le, eq (index, index)  and, or (guard, guard)
           | where   guard, node, node                       only the chosen side is evaluated
           | index   element                                 an integer element used as an index
           | cast    index                                   an index used as an element
           | literal value                                   a number
           | local   name                                    a C variable
           | load    buffer, offset                          one element of a contiguous buffer
           | element value, *indices                         one of a value whose place is not decided yet
           | apply   operation, *elements                    an operation on elements

Elements have a dtype; indices and guards have none, but know their range. Index arithmetic is in `arithmetic`.
"""
from __future__ import annotations

import contextlib
import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.core.dtypes import DType
from tinytrace.core.jaxpr import Var
from tinytrace.core.operations import Operation
from tinytrace.core.storage import storage_type

Number: TypeAlias = "int | float"
"""A bound of an index: an int, or an infinity."""


NO_EQNS: frozenset[int] = frozenset()


class Node:
    """An expression; `op` and `args` as in the grammar above."""

    __slots__ = ("args", "axes", "children", "dtype", "eqns", "high", "hint", "low", "op", "serial")

    def __init__(self, op: str, args: tuple[Any, ...], children: tuple[Node, ...], dtype: DType | None,
                 axes: frozenset[Node], low: Number, high: Number) -> None:
        self.op = op
        self.args = args
        self.children = children
        """The expressions directly inside this one."""
        self.dtype = dtype
        """The element type; None for indices and guards."""
        self.axes = axes
        """The loop variables that this varies with."""
        self.low = low
        self.high = high
        self.hint = ""
        """The letter of the jaxpr's variable whose value this is, if it is one."""
        self.eqns: frozenset[int] = NO_EQNS
        """The ids of the equations that compute this: what is found in C is looked up by them."""
        self.serial = next(_table.counter)

    @property
    def certain(self) -> tuple[Node, ...]:
        """The expressions directly inside this one that are evaluated whenever this one is."""
        return self.children[:1] if self.op == "where" else self.children

    def __repr__(self) -> str:
        return show(self)


class _Table(threading.local):
    """The nodes of the program that this thread is generating."""

    def __init__(self) -> None:
        self.nodes: dict[Any, Node] = {}
        self.counter = itertools.count()
        self.orders: dict[Any, tuple[Node, ...]] | None = None
        """What `walk` found, while a program is being generated: most passes walk through the same expressions."""


_table = _Table()
_NO_AXES: frozenset[Node] = frozenset()


@contextlib.contextmanager
def fresh_nodes() -> Iterator[None]:
    """Start a program: equal expressions inside the block are one object, those of other programs are forgotten."""
    saved = _table.nodes, _table.counter, _table.orders
    _table.nodes, _table.counter, _table.orders = {}, itertools.count(), {}
    try:
        yield
    finally:
        _table.nodes, _table.counter, _table.orders = saved


def make(op: str, args: tuple[Any, ...], children: Sequence[Node], dtype: DType | None = None,
         low: Number = -math.inf, high: Number = math.inf) -> Node:
    """Return the node `op(args)`: the one that exists, or a new one."""
    key = op, args, dtype
    node = _table.nodes.get(key)
    if node is None:
        axes = _NO_AXES
        for child in children:
            if child.axes is not axes and child.axes:
                axes = axes | child.axes if axes else child.axes
        node = _table.nodes[key] = Node(op, args, tuple(children), dtype, axes, low, high)
    return node


# --- leaves and elements -----------------------------------------------------------------------------------------

def number(value: int) -> Node:
    """Return the index (or guard) `value`."""
    return make("affine", (value, ()), (), None, value, value)


def axis(name: str, extent: int) -> Node:
    """Return the loop variable `name` that runs over 0 ... extent - 1."""
    node = make("axis", (name, extent), (), None, 0, max(extent - 1, 0))
    node.axes = node.axes or frozenset([node])
    return node


def axis_between(name: str, begin: int, end: int) -> Node:
    """Return the loop variable `name` that runs over begin ... end - 1."""
    node = make("axis", (name, end - begin, begin), (), None, begin, end - 1)
    node.axes = node.axes or frozenset([node])
    return node


def literal(value: Any, dtype: DType) -> Node:
    """Return the element that is always `value`; `value_of` gives it back."""
    return make("literal", (np.asarray(value).astype(storage_type(dtype)).tobytes(),), (), dtype)


def value_of(node: Node) -> Any:
    """Return the number that a literal stands for, a NumPy scalar of the type in which it is stored."""
    assert node.dtype is not None
    return np.frombuffer(node.args[0], storage_type(node.dtype))[0]


def local(name: str, dtype: DType | None) -> Node:
    """Return the value of the C variable `name`; dtype None: an index."""
    return make("local", (name,), (), dtype)


def element(var: Var, index: Sequence[Node]) -> Node:
    """Return one element of a value whose place in memory is not decided yet."""
    return make("element", (var, *index), index, var.aval.dtype)


def load(buffer: Any, offset: Node, dtype: DType) -> Node:
    """Return the element of `buffer` at a flat offset."""
    return make("load", (buffer, offset), (offset,), dtype)


def apply(operation: Operation, operands: Sequence[Node]) -> Node:
    """Return what an operation makes of `operands`."""
    return make("apply", (operation, *operands), operands, operation.result)


def cast(index: Node, dtype: DType) -> Node:
    """Return an index as an element of type `dtype`."""
    return make("cast", (index,), (index,), dtype)


# --- walking -----------------------------------------------------------------------------------------------------

def walk(roots: Iterable[Node], certain: bool = False) -> tuple[Node, ...]:
    """Return every node below `roots` once, operands before their users; or only what is evaluated for certain."""
    roots = tuple(roots)
    if len(roots) == 1 and not roots[0].children:
        return roots
    orders = _table.orders
    if orders is None:
        return _in_order(roots, certain)
    order = orders.get((roots, certain))
    if order is None:
        order = orders[roots, certain] = _in_order(roots, certain)
    return order


def _in_order(roots: tuple[Node, ...], certain: bool) -> tuple[Node, ...]:
    seen: set[Node] = set()
    order: list[Node] = []
    begun: list[Node] = []
    stack: list[Node | None] = [*reversed(roots)]
    while stack:
        node = stack.pop()
        if node is None:  # all operands of the node begun last are in order
            order.append(begun.pop())
        elif node not in seen:
            seen.add(node)
            children = node.certain if certain else node.children
            if children:
                begun.append(node)
                stack.append(None)
                stack += children[::-1]
            else:
                order.append(node)
    return tuple(order)


def rewrite(roots: Sequence[Node], replaced: dict[Node, Node],
            rebuild: Callable[[Node, list[Node]], Node]) -> list[Node]:
    """Return `roots` with the nodes of `replaced` exchanged; `rebuild(node, children)` makes a changed node anew."""
    result = dict(replaced)
    for node in walk(roots):
        if node in result:
            continue
        old = node.children
        new = [result[child] for child in old]
        if all(x is y for x, y in zip(new, old, strict=True)):
            result[node] = node
            continue
        changed = result[node] = rebuild(node, new)
        inherit(changed, node)
    return [result[root] for root in roots]


def inherit(new: Node, old: Node) -> None:
    """Let `new`, which is in the place of `old`, have its letter and its equations."""
    new.hint = new.hint or old.hint
    if new.eqns is not old.eqns and new.op == old.op:
        new.eqns |= old.eqns


def own_by(node: Node, eqns: frozenset[int]) -> None:
    """Let an expression belong to these equations too; numbers and variables are everybody's."""
    if node.op in ("apply", "where", "cast", "load", "element"):
        node.eqns |= eqns


# --- printing ----------------------------------------------------------------------------------------------------

_INFIX = {"mul": "*", "floordiv": "//", "mod": "%", "lt": "<", "le": "<=", "eq": "==", "and": "&", "or": "|"}


def show(node: Node) -> str:
    """Return the expression in one line, for people."""
    args = node.args
    match node.op:
        case "affine":
            words = [show(n) if k == 1 else f"{k}*{show(n)}" for n, k in args[1]]
            return " + ".join([*words, *([str(args[0])] if args[0] or not words else [])]).replace("+ -", "- ")
        case "axis" | "local":
            return str(args[0])
        case "literal":
            return str(value_of(node))
        case "load":
            return f"{args[0].name}[{show(args[1])}]"
        case "apply":
            return f"{args[0].name}({', '.join(map(show, args[1:]))})"
        case "where":
            return f"({show(args[0])} ? {show(args[1])} : {show(args[2])})"
        case op if op in _INFIX:
            return f"({show(args[0])} {_INFIX[op]} {show(args[1])})"
    return f"{node.op}({', '.join(map(show, args))})"
