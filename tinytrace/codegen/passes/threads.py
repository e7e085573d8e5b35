"""Which loops run on several threads: those with independent iterations whose work is worth waking a thread for.

A fold of a whole array is cut into chunks where it is scheduled (`schedule/loops.py`), a scatter where it is planned
(`whole/scatter.py`). The decision depends on the program alone, never on the number of threads, so results do not
either.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from tinytrace.codegen.ir.cost import CHUNK, PRODUCT, WORTH_SPREADING, duration, even_chunks
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.statements import Call, Either, For, Stmt, When, expressions, nested, operations
from tinytrace.records import replace

MANY_PRODUCTS = 8
"""From how many matrix products on threads take whole ones, not blocks."""
LONG = 120
"""A loop with more expressions than this in it is a function: functions can be compiled at the same time."""


def spread_over_threads(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Give the outermost loops that are worth it a grain: they become functions; long ones do, if in one chunk."""
    return map_bodies(kernels, _body)


def _body(body: Sequence[Stmt]) -> list[Stmt]:
    return [_spread(stmt) if isinstance(stmt, For) and stmt.independent else
            replace(stmt, body=_body(stmt.body), otherwise=_body(stmt.otherwise)) if isinstance(stmt, Either) else stmt
            for stmt in body]


def _spread(loop: For) -> For:
    grain = _grain(loop)
    return replace(loop, grain=grain) if grain else loop


def _grain(loop: For) -> int:
    """Return how many iterations one thread takes at least; 0: the loop stays on the caller's thread."""
    extent = int(loop.axis.args[1])
    if _calls(loop.body):
        return _grain_of_products(loop)
    total = duration([loop])
    if extent < 2:
        return 0
    if total >= WORTH_SPREADING:
        grain = -(-extent // even_chunks(total))
        return -(-grain // 64) * 64 if loop.simd else grain
    return extent if len(walk(root for inner in nested(loop.body) for root in expressions(inner))) > LONG else 0


def _grain_of_products(loop: For) -> int:
    """Let threads take whole products where there are many: blocks of one product would each pack their operands."""
    nanoseconds = operations([loop]) / PRODUCT
    if loop.axis.args[1] < MANY_PRODUCTS or nanoseconds < WORTH_SPREADING:
        return 0
    products = all(stmt.rows for stmt in nested(loop.body) if isinstance(stmt, Call))
    return math.ceil(CHUNK * loop.axis.args[1] / nanoseconds) if products else 0


def _calls(body: Sequence[Stmt]) -> bool:
    """Is something called that spreads over the threads itself, or takes nobody knows how long?"""
    return any((isinstance(stmt, Call) and (stmt.procedure.uses_host or not stmt.flops))
               or (isinstance(stmt, (For, When)) and _calls(stmt.body)) for stmt in body)
