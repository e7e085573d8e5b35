"""What OpenMP must know of the variables that a loop folds into."""
from __future__ import annotations

from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Combine, Declare, For, Inclusive
from tinytrace.core.monoids import monoids


def reduction_clause(loop: For) -> str | None:
    """Return what `#pragma omp simd` must know of the variables that the loop folds into.

    None when it has no word for an operation: then the loop must keep its order.
    """
    clauses: dict[str, list[str]] = {}
    own = {stmt.local for stmt in loop.body if isinstance(stmt, Declare)}
    for stmt in loop.body:
        if isinstance(stmt, Combine) and isinstance(stmt.place, Node) and stmt.place not in own:
            assert stmt.place.dtype is not None
            clauses.setdefault(monoids[stmt.op].clause, []).append(str(stmt.place.args[0]))
    if "" in clauses:
        return None
    scan = "inscan, " if any(isinstance(stmt, Inclusive) for stmt in loop.body) else ""
    return "".join(f" reduction({scan}{op}: {', '.join(dict.fromkeys(names))})" for op, names in clauses.items())
