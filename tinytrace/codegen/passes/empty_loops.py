"""Loops that never run are dropped: nothing in them may be evaluated, not even what could move out of them.

    for i in [0, 0): y[i] = f(i)    is    nothing
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.statements import For, Stmt, with_body


def drop_empty_loops(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program without loops over axes of extent 0."""
    return map_bodies(kernels, _running)


def _running(body: Sequence[Stmt]) -> list[Stmt]:
    return [with_body(stmt, _running(stmt.body)) if isinstance(stmt, For) else stmt for stmt in body
            if not isinstance(stmt, For) or stmt.axis.args[1]]
