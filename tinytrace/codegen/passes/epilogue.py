"""What follows a matrix product row by row is done with rows that are just made, while they are in a core's cache.

    h = x @ w; y = max(h + b, 0)      for rows in blocks: h[rows] = x[rows] @ w; y[rows] = max(h[rows] + b, 0)

So bias and activation of a layer, and the step of an optimiser that uses up a gradient, cost no pass over memory of
their own and no hand-over to the threads. Kernels in between may run after the one that moves: they share no array.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, rebuild, stride_along
from tinytrace.codegen.ir.cost import PRODUCT, duration
from tinytrace.codegen.ir.kernel import Kernel, Nest, inner_programs, with_programs
from tinytrace.codegen.ir.nodes import Node, number, rewrite, walk
from tinytrace.codegen.ir.statements import Call, Declare, For, expressions, nested, written
from tinytrace.records import replace

MOST = 4
"""An epilogue takes at most this many times as long as its product: it runs in the product's few blocks."""
FARTHEST = 32
"""How many kernels an epilogue may be away."""


def fuse_epilogues(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program in which loops over the rows of matrix products are parts of these products."""
    waiting = [with_programs(kernel, list(map(fuse_epilogues, inner_programs(kernel)))) for kernel in kernels]
    k = 0
    while k < len(waiting):
        product = waiting[k]
        call = product.body[0] if isinstance(product, Nest) and _is_call(product.form) else None
        if isinstance(product, Nest) and isinstance(call, Call) and call.rows:
            for later in range(k + 1, min(k + 1 + FARTHEST, len(waiting))):
                epilogue = _epilogue(product, call, waiting[later])
                if epilogue is not None and all(_are_independent(between, waiting[later])
                                                for between in waiting[k + 1:later]):
                    waiting[k] = _joined(product, call, waiting.pop(later), epilogue)
                    break
        k += 1
    return waiting


def _is_call(nest: Nest) -> bool:
    return len(nest.body) == 1 and isinstance(nest.body[0], Call)


def _epilogue(product: Nest, call: Call, kernel: Kernel) -> For | None:
    """Return the loop of `kernel` if it can run in parts, each when its rows of the product are done."""
    result, = product.writes
    if not isinstance(kernel, Nest) or result not in kernel.accesses[0] or len(kernel.body) != 1 \
            or not isinstance(loop := kernel.body[0], For):
        return None
    inside, extent = nested([loop]), loop.axis.args[1]
    if not loop.independent or constant_of(loop.begin) != 0 or constant_of(loop.end) != extent or extent % call.rows \
            or any(isinstance(stmt, Call) for stmt in inside):
        return None
    if kernel.accesses[1].keys() & product.accesses[0].keys():
        return None  # other rows still need the operand
    places = [(node.args[0], node.args[1]) for stmt in inside for node in walk(expressions(stmt)) if node.op == "load"]
    places += [place for stmt in inside for place in written(stmt) if not isinstance(place, Node)]
    width = result.size // extent
    if not all(_stays_in_its_rows(offset, loop.axis, width) for b, offset in places if b is result):
        return None
    return loop if duration([loop]) <= MOST * product.flops / PRODUCT else None


def _stays_in_its_rows(offset: Node, axis: Node, width: int) -> bool:
    """Does iteration i of a loop over `axis` touch nothing but elements i * width up to (i + 1) * width?"""
    start, = rewrite([offset], {axis: number(0)}, rebuild)
    return stride_along(offset, axis) == width and 0 <= start.low <= start.high < width


def _are_independent(kernel: Kernel, mover: Kernel) -> bool:
    """May `mover` run before `kernel`, which stands before it?"""
    if not isinstance(kernel, Nest) or not isinstance(mover, Nest):
        return False
    made = {stmt.local for stmt in nested(kernel.body) if isinstance(stmt, Declare)}
    used = {node for stmt in nested(mover.body) for node in walk(expressions(stmt)) if node.op == "local"}
    reads, writes = kernel.accesses
    read, changed = mover.accesses
    return not made & used and not (read.keys() | changed.keys()) & writes.keys() and not changed.keys() & reads.keys()


def _joined(product: Nest, call: Call, kernel: Kernel, loop: For) -> Nest:
    result, = product.writes
    return replace(product, body=[replace(call, then=loop)], equations=[*product.equations, *kernel.equations],
                   eqns=product.eqns | kernel.eqns,
                   saved=product.saved + kernel.saved + result.nbytes)
