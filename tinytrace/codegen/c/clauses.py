"""What compilers are told of loops that become vectors: what these fold into; that short ones inside are unrolled."""
from __future__ import annotations

from tinytrace.codegen.ir.cost import waits_for_folds
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Combine, Declare, For, Inclusive
from tinytrace.codegen.passes.short_axes import LONGEST
from tinytrace.core.dtypes import is_complex
from tinytrace.core.monoids import monoids


def pragma_of(loop: For, is_inside_vectors: bool) -> str:
    """Return the line before a loop, or nothing.

    is_inside_vectors: is the loop around it the vectorised one? Then a short one must be gone before vectors are made.
    """
    if is_inside_vectors and not loop.simd and int(loop.axis.args[1]) <= LONGEST:
        return f"#pragma GCC unroll {max(2, int(loop.axis.args[1]))}"
    clause = reduction_clause(loop) if loop.simd else None
    return "" if clause is None else f"#pragma omp simd{clause}"


def chained(loop: For) -> frozenset[Node]:
    """Return the variables into which a loop folds that waits for its folds: none takes a product in."""
    folds = [stmt for stmt in loop.body if isinstance(stmt, Combine)] if waits_for_folds(loop) else []
    return frozenset(fold.place for fold in folds if isinstance(fold.place, Node))


def reduction_clause(loop: For) -> str | None:
    """Return what `#pragma omp simd` must know of the variables that the loop folds into.

    None when it has no word for an operation: then the loop must keep its order.
    """
    clauses: dict[str, list[str]] = {}
    own = {stmt.local for stmt in loop.body if isinstance(stmt, Declare)}
    for stmt in loop.body:
        if isinstance(stmt, Combine) and isinstance(stmt.place, Node) and stmt.place not in own:
            assert stmt.place.dtype is not None
            is_known = not (is_complex(stmt.place.dtype) and stmt.op in ("max", "min"))  # OpenMP has those of reals
            clauses.setdefault(monoids[stmt.op].clause if is_known else "", []).append(str(stmt.place.args[0]))
    if "" in clauses:
        return None
    scan = "inscan, " if any(isinstance(stmt, Inclusive) for stmt in loop.body) else ""
    return "".join(f" reduction({scan}{op}: {', '.join(dict.fromkeys(names))})" for op, names in clauses.items())
