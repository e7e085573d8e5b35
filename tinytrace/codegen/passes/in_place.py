"""Carries of loops are updated in place: one array instead of two that are exchanged after each iteration.

    for k: { b[i] = f(a[i]);  a, b = b, a }    is    for k: a[i] = f(a[i])

An array may take the place of another when nobody reads that later, and each element of it is read before it is
overwritten. Updates of arrays in loops lose their copies so.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.kernel import Exchange, Kernel, Nest, Renamed, Repeat, inner_programs, with_programs
from tinytrace.codegen.ir.merging import merge_places
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Buffer, For, Stmt, Store, expressions, touched, written
from tinytrace.records import replace


def update_carries_in_place(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops exchange no arrays that can be one."""
    places: dict[Buffer, Buffer] = {}
    result: list[Kernel] = []
    for kernel in kernels:
        kernel = with_programs(kernel, list(map(update_carries_in_place, inner_programs(kernel))))
        result.append(_in_place(kernel, places) if isinstance(kernel, Repeat) else kernel)
    return merge_places(result, places)


def _in_place(repeat: Repeat, places: dict[Buffer, Buffer]) -> Repeat:
    """Return a loop with fewer exchanges; `places` gets the arrays before it that are another one now."""
    body, inside = list(repeat.body), {}
    pairs: list[Exchange] = []
    for pair in repeat.exchanges:
        if pair.before is not pair.after and may_share(body, pair.before, pair.after):
            body = [kernel for kernel in body if not copies(kernel, pair.before, pair.after)]
            inside[pair.after] = pair.before
            places |= {buffer: pair.result for buffer in (pair.first, pair.second) if buffer is not pair.result}
            pair = Exchange(pair.before, pair.before, pair.result, pair.result, pair.result)
        pairs.append(pair)
    return replace(repeat, exchanges=pairs, body=merge_places(body, inside)) if inside else repeat


def may_share(kernels: Sequence[Kernel], old: Buffer, new: Buffer) -> bool:
    """May `new`, which these kernels compute, take the place of `old`, which nobody but them reads?"""
    if old.nbytes != new.nbytes or old.dtype != new.dtype:
        return False
    first = next((k for k, kernel in enumerate(kernels) if new in kernel.accesses[1]), None)
    if first is None or any(old in kernel.accesses[1] for kernel in kernels[first:]) \
            or any(old in kernel.accesses[0] for kernel in kernels[first + 1:]):
        return False
    writer = kernels[first]
    return old not in writer.accesses[0] or (isinstance(writer, Nest) and reads_before_writing(writer, old, new))


def reads_before_writing(nest: Nest, old: Buffer, new: Buffer) -> bool:
    """Is every element of `old` read only before, and in the same iteration of all loops as, it is written in `new`?

    And is `new` not read again: its elements and those of `old` would be told apart by nothing.
    """
    if isinstance(nest.body, Renamed):
        return reads_before_writing(nest.form, *map(nest.body.behind, (old, new)))
    steps = list(_in_order(nest.body, ()))
    stores = [(k, stmt, loops) for k, (stmt, loops) in enumerate(steps)
              if any(not isinstance(place, Node) and place[0] is new for place in written(stmt))]
    if len(stores) != 1:
        return False
    position, store, loops = stores[0]
    if not isinstance(store, Store) or isinstance(store.place, Node):
        return False
    offset = store.place[1]
    if not all(loop.axis in offset.axes for loop in loops):
        return False
    for k, (stmt, around) in enumerate(steps):
        if old in touched(stmt):
            return False
        loads = [node for node in walk(expressions(stmt)) if node.op == "load"]
        if any(node.args[0] is new for node in loads):
            return False
        loads = [node for node in loads if node.args[0] is old]
        if any(node.args[1] is not offset for node in loads):
            return False
        certain = walk(expressions(stmt), certain=True)
        if k > position and loads and not (around == loops and all(node in certain for node in loads)):
            return False  # what is left is read first, whatever the order (`ir.merging`)
    return True


def _in_order(body: Sequence[Stmt], loops: tuple[For, ...]) -> Iterator[tuple[Stmt, tuple[For, ...]]]:
    """Yield the statements that do something, with the loops around them."""
    for stmt in body:
        if isinstance(stmt, For):
            yield from _in_order(stmt.body, (*loops, stmt))
        else:
            yield stmt, loops


def copies(kernel: Kernel, old: Buffer, new: Buffer) -> bool:
    """Does a kernel do nothing but copy `old` to `new`, element by element?"""
    body: Sequence[Stmt] = kernel.body if isinstance(kernel, Nest) else ()
    if isinstance(kernel, Nest) and isinstance(body, Renamed):
        return copies(kernel.form, *map(body.behind, (old, new)))
    while len(body) == 1 and isinstance(body[0], For):
        body = body[0].body
    if len(body) != 1 or not isinstance(body[0], Store) or isinstance(body[0].place, Node):
        return False
    (buffer, offset), value = body[0].place, body[0].value
    return buffer is new and value.op == "load" and value.args[0] is old and value.args[1] is offset
