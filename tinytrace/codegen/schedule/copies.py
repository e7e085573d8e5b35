"""Loops that store one expression per element of an array, and nothing else."""
from __future__ import annotations

from tinytrace.codegen.ir.arithmetic import flat_offset, rebuild
from tinytrace.codegen.ir.kernel import Nest
from tinytrace.codegen.ir.nodes import Node, number, rewrite
from tinytrace.codegen.ir.statements import Buffer, For, Stmt, Store
from tinytrace.codegen.plan.elements import Index
from tinytrace.codegen.schedule.collapse import merge_loops, split_loops


def loops_that_store(value: Node, axes: Index, array: Buffer) -> list[Stmt]:
    """Return loops over `axes` that store `value` in `array`, which has their extents as its shape."""
    nodes = [value, flat_offset(axes, array.shape)]
    parts, replaced = split_loops([a for a in axes if a.op == "axis"], nodes)
    loops, (value, offset) = merge_loops(parts, rewrite(nodes, replaced, rebuild))
    body: list[Stmt] = [Store((array, offset), value)]
    for k, axis in enumerate(reversed(loops)):
        body = [For(axis, number(0), number(axis.args[1]), body, simd=not k, independent=True)]
    return body


def store_nest(value: Node, axes: Index, array: Buffer) -> Nest:
    """Return the kernel of `loops_that_store`."""
    return Nest(body=loops_that_store(value, axes, array))
