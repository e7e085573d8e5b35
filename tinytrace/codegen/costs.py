"""What a kernel costs: the arrays that it reads and writes, its operations, and what fusion spared it."""
from __future__ import annotations

from tinytrace.codegen.kernel import Buffer, Combine, For, Nest, Stmt, Store, expressions, nested
from tinytrace.codegen.nodes import walk


def measure(nest: Nest) -> None:
    """Fill in what `nest` reads, writes and computes."""
    reads: dict[Buffer, None] = {}
    writes: dict[Buffer, None] = {}
    for stmt in nested(nest.body):
        for node in walk(expressions(stmt)):
            if node.op == "load" and node.args[0].space != "row":
                reads.setdefault(node.args[0])
        if isinstance(stmt, (Store, Combine)) and isinstance(stmt.place, tuple) and stmt.place[0].space != "row":
            writes.setdefault(stmt.place[0])
    nest.reads, nest.writes = list(reads), list(writes)
    nest.flops = _operations(nest.body, 1)


def _operations(body: list[Stmt], times: int) -> int:
    total = 0
    for stmt in body:
        total += times * sum(node.op == "apply" and node.args[0] != "{0}" for node in walk(expressions(stmt)))
        total += times * isinstance(stmt, Combine)
        if isinstance(stmt, For):
            total += _operations(stmt.body, times * stmt.axis.args[1])
    return total
