"""What a kernel costs: the arrays that it reads and writes, and its operations."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.kernel import (
    Buffer,
    Call,
    Choose,
    Combine,
    For,
    Kernel,
    Nest,
    Repeat,
    Stmt,
    expressions,
    inner_programs,
    nested,
    touched,
    written,
)
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.passes.index_set_splitting import split_at_guards
from tinytrace.codegen.passes.threads import spread


def nest(body: list[Stmt], equations: Sequence[str] = ()) -> Nest:
    """Return the kernel of these statements, which stand for these equations, with what it costs."""
    kernel = Nest(list(equations), body=split_at_guards(_without_empty_loops(body)))
    measure(kernel)
    spread(kernel.body)
    return kernel


def _without_empty_loops(body: list[Stmt]) -> list[Stmt]:
    """Return statements without the loops that never run: nothing in them may be evaluated."""
    kept: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            if not stmt.axis.args[1]:
                continue
            stmt.body = _without_empty_loops(stmt.body)
        kept.append(stmt)
    return kept


def measure(nest: Nest) -> None:
    """Fill in what `nest` reads, writes and computes."""
    reads: dict[Buffer, None] = {}
    writes: dict[Buffer, None] = {}
    for stmt in nested(nest.body):
        for node in walk(expressions(stmt)):
            if node.op == "load":
                reads.setdefault(node.args[0])
        changed = [place[0] for place in written(stmt) if not isinstance(place, Node)]
        writes.update(dict.fromkeys(changed))
        if isinstance(stmt, Call):
            reads.update(dict.fromkeys(buffer for buffer in touched(stmt) if buffer not in changed))
    nest.reads = [buffer for buffer in reads if buffer.space != "row"]
    nest.writes = [buffer for buffer in writes if buffer.space != "row"]
    nest.flops = _operations(nest.body, 1)


def measure_program(kernel: Repeat | Choose) -> None:
    """Fill in what a loop or branch reads, writes and computes, from the programs inside it."""
    inner = [part for program in inner_programs(kernel) for part in program]
    kernel.reads = _visible(kernel, [buffer for part in inner for buffer in part.reads])
    kernel.writes = _visible(kernel, [buffer for part in inner for buffer in part.writes])
    if isinstance(kernel, Repeat):
        kernel.flops = max(kernel.length, 1) * sum(part.flops for part in inner)
    else:
        kernel.flops = max((sum(part.flops for part in branch) for branch in kernel.branches), default=0)
    kernel.saved = sum(part.saved for part in inner) * (max(kernel.length, 1) if isinstance(kernel, Repeat) else 1)


def _visible(kernel: Kernel, buffers: list[Buffer]) -> list[Buffer]:
    """Return the arrays as the program around a loop knows them: what its pointers point into."""
    behind: dict[Buffer, list[Buffer]] = {}
    if isinstance(kernel, Repeat):
        behind |= {view.buffer: [view.base] for view in kernel.views}
        for pair in kernel.exchanges:
            behind[pair.before] = behind[pair.after] = [pair.first, pair.second]
    return list(dict.fromkeys(real for buffer in buffers for real in behind.get(buffer, [buffer])))


def _operations(body: list[Stmt], times: int) -> int:
    total = 0
    for stmt in body:
        total += times * sum(node.op == "apply" and node.args[0] != "{0}" for node in walk(expressions(stmt)))
        total += times * isinstance(stmt, Combine)
        if isinstance(stmt, For):
            total += _operations(stmt.body, times * stmt.axis.args[1])
    return total
