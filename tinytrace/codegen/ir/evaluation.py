"""Expressions evaluated in NumPy: a number, or a vector of numbers, one for each lane."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinytrace.codegen.ir.nodes import Node, value_of, walk
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.core.storage import storage_type

NDArray: TypeAlias = "np.ndarray[Any, Any]"


class KernelError(AssertionError):
    """A kernel is not well formed: a mistake in the code generator, not in the user's program."""


class Endless(KernelError):
    """A conditional loop has not ended after very many iterations: that may be the user's program."""


class Evaluation:
    """Values of expressions at one point of a run.

    values: those of axes and variables.  array: the elements of an array.  mask: the lanes that count, or None: all.
    orders: for expressions seen before, what is evaluated in them, operands first.
    """

    def __init__(self, values: dict[Node, Any], array: Callable[[Buffer], NDArray], mask: NDArray | None,
                 orders: dict[Node, tuple[Node, ...]]) -> None:
        self.values, self.array, self.mask, self.orders = values, array, mask, orders
        self.known: dict[Node, Any] = {}

    def of(self, root: Node) -> Any:
        """Return the value of an expression; what is not chosen is not evaluated."""
        order = self.orders.get(root)
        if order is None:
            order = self.orders[root] = walk([root], certain=True)
        for node in order:
            if node not in self.known:
                self.known[node] = self._one(node)
        return self.known[root]

    def inside(self, buffer: Buffer, offset: Any) -> Any:
        """Return an offset, 0 in lanes that do not count; raises KernelError when it is not in the array."""
        if self.mask is not None:
            offset = np.where(self.mask, offset, 0)
        if np.ndim(offset) and not offset.size:
            return offset
        low, high = (offset.min(), offset.max()) if np.ndim(offset) else (offset, offset)
        if not 0 <= low <= high < max(buffer.size, 1):
            raise KernelError(f"element {low if low < 0 else high} is not in {buffer}")
        return offset

    def _one(self, node: Node) -> Any:
        args, known = node.args, self.known
        match node.op:
            case "axis" | "local":
                if node not in self.values:
                    raise KernelError(f"{node} has no value here")
                return self.values[node]
            case "affine":
                return args[0] + sum(k * known[inner] for inner, k in args[1])
            case "literal":
                return value_of(node)
            case "load":
                return self.array(args[0])[self.inside(args[0], known[args[1]])]
            case "apply":
                return self._applied(node)
            case "where":
                return self._chosen(*args)
            case "cast":
                assert isinstance(node.dtype, np.dtype)
                return np.asarray(known[args[0]]).astype(node.dtype)[()]
            case "index":
                element = np.asarray(known[args[0]])
                last = np.iinfo(np.int64).max  # what is beyond all positions is the last one
                return (np.minimum(element, last) if element.dtype == np.uint64 else element).astype(np.int64)[()]
        return _INDEX[node.op](*(known[x] if isinstance(x, Node) and x in known else self.of(x) for x in args))

    def _applied(self, node: Node) -> Any:
        operation, *operands = node.args
        found = operation.numpy(*(np.asarray(self.known[x]) for x in operands))
        assert node.dtype is not None
        return np.asarray(found).astype(storage_type(node.dtype), copy=False)[()]

    def _chosen(self, guard: Node, if_true: Node, if_false: Node) -> Any:
        chosen = np.asarray(self.known[guard], bool)
        if not chosen.ndim:
            return self.of(if_true if chosen else if_false)
        sides = []
        for side, lanes in ((if_true, chosen), (if_false, ~chosen)):
            counted = lanes if self.mask is None else lanes & self.mask
            sides.append(Evaluation(self.values, self.array, counted, self.orders).of(side))
        return np.where(chosen, *sides)


_INDEX: dict[str, Callable[[Any, Any], Any]] = {
    "mul": np.multiply, "floordiv": np.floor_divide, "mod": np.mod, "min": np.minimum, "max": np.maximum,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "and": np.logical_and, "or": np.logical_or,
}
