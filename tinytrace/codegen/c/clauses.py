"""What compilers are told of loops that become vectors: what these fold into; that short ones inside are unrolled."""
from __future__ import annotations

from tinytrace.codegen.ir.arithmetic import constant_of
from tinytrace.codegen.ir.cost import steps, waits_for_folds
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Combine, Declare, For, Inclusive, expressions
from tinytrace.codegen.passes.short_axes import LONGEST
from tinytrace.core.dtypes import is_complex, is_half, is_inexact
from tinytrace.core.monoids import monoids

MOST_OF_A_ROW = 31
"""Elements of a row that is folded one by one."""
MOST_STEPS = 6
"""What is computed and folded for each of them, at most."""


def pragma_of(loop: For, is_inside_vectors: bool) -> str:
    """Return the line before a loop, or nothing.

    is_inside_vectors: is the loop around it the vectorised one? Then a short one must be gone before vectors are made.
    """
    if is_inside_vectors and not loop.simd and int(loop.axis.args[1]) <= LONGEST:
        return f"#pragma GCC unroll {max(2, int(loop.axis.args[1]))}"
    if loop.simd and folds_few(loop):
        return f"#pragma GCC unroll {loop.axis.args[1]}"
    clause = reduction_clause(loop) if loop.simd else None
    return "" if clause is None else f"#pragma omp simd{clause}"


def folds_few(loop: For) -> bool:
    """Does a loop add so few integers, and does so little with each, that one after the other is the shortest way?

    To put vectors together takes longer than the sum of a short row, and the next row need not wait for it: sums of
    rows of 10 bytes take 0.1 of the time unrolled. Sums of floats keep their order.
    """
    extent = int(loop.axis.args[1])
    if not 2 <= extent <= MOST_OF_A_ROW or constant_of(loop.begin) != 0 or constant_of(loop.end) != extent:
        return False
    folds = [stmt for stmt in loop.body if isinstance(stmt, Combine)]
    nodes = walk(root for stmt in loop.body for root in expressions(stmt))
    named = [stmt for stmt in loop.body if isinstance(stmt, Declare) and stmt.fixed]
    return (bool(folds) and len(folds) + len(named) == len(loop.body)
            and all(isinstance(fold.place, Node) and _counts(fold.place, fold.op) for fold in folds)
            and len(folds) + sum(steps(node.args[0]) for node in nodes if node.op == "apply") <= MOST_STEPS
            and not any(node.dtype is not None and is_half(node.dtype) for node in nodes))


def _counts(variable: Node, op: str) -> bool:
    assert variable.dtype is not None
    return op == "sum" and not is_inexact(variable.dtype)


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
