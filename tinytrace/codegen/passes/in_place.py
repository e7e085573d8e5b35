"""One place for two arrays: a kernel may overwrite its operand when nobody reads it later and each element is read
before it is written.

Two `Buffer`s of one name are one place in memory. Carries of loops become one place so, updates of arrays in loops lose
their copies, and results take the places of temporaries that they are made from.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.kernel import Buffer, For, Kernel, Nest, Repeat, Stmt, Store, expressions, touched, written
from tinytrace.codegen.ir.nodes import Node, walk


def may_share(kernels: Sequence[Kernel], old: Buffer, new: Buffer) -> bool:
    """May `new`, which these kernels compute, take the place of `old`, which nobody but them reads?"""
    if old.nbytes != new.nbytes or old.dtype != new.dtype:
        return False
    writers = [k for k, kernel in enumerate(kernels) if new in kernel.writes]
    if not writers or any(old in kernel.writes for kernel in kernels[writers[0]:]):
        return False
    first = kernels[writers[0]]
    if any(old in kernel.reads for kernel in kernels[writers[0] + 1:]):
        return False
    return old not in first.reads or (isinstance(first, Nest) and _reads_before_writing(first, old, new))


def _reads_before_writing(nest: Nest, old: Buffer, new: Buffer) -> bool:
    """Is every element of `old` read only before, and in the same iteration of all loops as, it is written in `new`?"""
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
        loads = [node for node in walk(expressions(stmt)) if node.op == "load" and node.args[0] is old]
        if any(node.args[1] is not offset for node in loads):
            return False
        certain = walk(expressions(stmt), certain=True)
        if k > position and loads and not (around == loops and all(node in certain for node in loads)):
            return False  # what is left is read first, whatever the order (`NestWriter._read_before_writing`)
    return True


def _in_order(body: Sequence[Stmt], loops: tuple[For, ...]) -> Iterator[tuple[Stmt, tuple[For, ...]]]:
    """Yield the statements that do something, with the loops around them."""
    for stmt in body:
        if isinstance(stmt, For):
            yield from _in_order(stmt.body, (*loops, stmt))
        else:
            yield stmt, loops


def share(kernels: list[Kernel], old: Buffer, new: Buffer) -> None:
    """Let `new` take the place of `old`; copies of the one to the other disappear."""
    new.name, new.space = old.name, old.space
    kernels[:] = [kernel for kernel in kernels if not _copies(kernel, old, new)]


def _copies(kernel: Kernel, old: Buffer, new: Buffer) -> bool:
    """Does a kernel do nothing but copy `old` to `new`, element by element?"""
    body: Sequence[Stmt] = kernel.body if isinstance(kernel, Nest) else ()
    while len(body) == 1 and isinstance(body[0], For):
        body = body[0].body
    if len(body) != 1 or not isinstance(body[0], Store) or isinstance(body[0].place, Node):
        return False
    (buffer, offset), value = body[0].place, body[0].value
    return buffer is new and value.op == "load" and value.args[0] is old and value.args[1] is offset


def reuse_temporaries(kernels: list[Kernel]) -> None:
    """Let results take the places of workspace arrays that they are made from and that nobody reads afterwards."""
    k = 0
    while k < len(kernels):
        kernel = kernels[k]
        for new in kernel.writes if isinstance(kernel, Nest) else ():
            for old in kernel.reads:
                if _is_free(kernels, k, old, new) and may_share(kernels[k:], old, new):
                    _exchange_places(kernels, old, new)
                    break
        k += kernel in kernels[k:k + 1]


def _is_free(kernels: Sequence[Kernel], k: int, old: Buffer, new: Buffer) -> bool:
    """Is `old` a temporary made before kernel `k`, and `new` untouched before it?"""
    return (old.space == "workspace" and new.space in ("workspace", "output") and old.name != new.name
            and any(old in kernel.writes for kernel in kernels[:k])
            and not any(old.name == b.name for b in kernels[k].writes)  # another result has its place already
            and not any(new.name == b.name for kernel in kernels[:k] for b in _all_arrays(kernel)))


def _all_arrays(kernel: Kernel) -> list[Buffer]:
    arrays = [*kernel.reads, *kernel.writes]
    if isinstance(kernel, Repeat):
        arrays += [b for pair in kernel.exchanges for b in (pair.first, pair.second)]
    return arrays


def _exchange_places(kernels: list[Kernel], old: Buffer, new: Buffer) -> None:
    """Make one place of the two: an output's, if one of them is an output."""
    if new.space == "output":
        name, space = new.name, new.space
        for buffer in {b for kernel in kernels for b in _all_arrays(kernel) if b.name == old.name and b is not new}:
            buffer.name, buffer.space = name, space
        kernels[:] = [kernel for kernel in kernels if not _copies(kernel, old, new)]
    else:
        share(kernels, old, new)


