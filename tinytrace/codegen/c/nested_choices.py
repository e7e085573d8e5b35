"""Choices of what was chosen: where gcc would make jumps of them, so that a loop has no vectors.

    const float d = b ? (-__builtin_inff()) : x;
    m[k] = (d > m[k]) || (d != d) ? d : m[k];

Where the first choice takes the constant, much of the second is known: gcc's elimination of partial redundancies writes
it twice, once behind each side, and what were two choices is a jump, before loops become vectors (15 times the time).
It is switched off where this may happen, and only there: other loops are better with it (argmax takes 1.15 times as
long without).
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.kernel import Kernel, Nest, inner_programs
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.reductions import fold_of
from tinytrace.codegen.ir.statements import Combine, Declare, For, Stmt, Store, When, expressions

STAY_CHOICES = '#pragma GCC optimize("no-tree-pre") /* choices of what was chosen do not become jumps */\n'


def has_nested_choices(kernels: Sequence[Kernel]) -> bool:
    """Does a choice take, in the same iteration of a loop, what another one has chosen?"""
    return any(_has_nested_choices(kernel.body) if isinstance(kernel, Nest)
               else any(map(has_nested_choices, inner_programs(kernel))) for kernel in kernels)


def _has_nested_choices(body: Sequence[Stmt]) -> bool:
    chosen: set[Node] = set()
    for stmt in body:
        for node in walk(expressions(stmt)):
            takes = not chosen.isdisjoint(node.children)
            chooses = node.op == "apply" and node.args[0].chooses
            if takes and chooses:
                return True
            if takes or chooses:
                chosen.add(node)
        if isinstance(stmt, (Declare, Store)) and stmt.value in chosen:
            place = stmt.local if isinstance(stmt, Declare) else stmt.place
            chosen.update([place] if isinstance(place, Node) else [])
        elif isinstance(stmt, Combine) and stmt.value in chosen and _folds_by_choice(stmt):
            return True
    return any(_has_nested_choices(stmt.body) for stmt in body if isinstance(stmt, (For, When)))


def _folds_by_choice(stmt: Combine) -> bool:
    """Is a fold written as a choice that compilers do not know as a maximum or minimum?"""
    assert stmt.value.dtype is not None
    fold = fold_of(stmt.op, stmt.value.dtype)
    return fold.operation.chooses and not fold.is_vectorised
