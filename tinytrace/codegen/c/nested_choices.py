"""Choices of what was chosen: where gcc would make jumps of them, so that a loop has no vectors.

    const float d = b ? (-__builtin_inff()) : x;
    m[k] = (d > m[k]) || (d != d) ? d : m[k];

Where the first choice takes the constant, much of the second is known: gcc's elimination of partial redundancies writes
it twice, once behind each side, and what were two choices is a jump, before loops become vectors (15 times the time).
It is switched off where this may happen, and only there: other loops are better with it.

Long math functions consist of choices: of two of them, or of one and a choice beside it, one may choose of what the
other has chosen, log(exp(x)) as well as max(log(x), 0). In a single one what follows a choice is computed twice, once
for each side, and chosen later: where nothing else is computed it is switched off too, log takes 0.87 of the time then,
logistic 0.83. (Of `x > 0 ? 1 : sin(x)` gcc would compute the sine on one side
only, which is a jump again: a flag of all programs forbids it, see `runtime/flags.py`.)
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.kernel import Kernel, Nest, inner_programs
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.reductions import fold_of
from tinytrace.codegen.ir.statements import Combine, Declare, For, Stmt, Store, When, expressions
from tinytrace.core.operations import Operation
from tinytrace.csources import has_choices, is_long

STAY_CHOICES = '#pragma GCC optimize("no-tree-pre") /* choices of what was chosen do not become jumps */\n'


def against_jumps(kernels: Sequence[Kernel]) -> list[str]:
    """Return the lines that a program begins with, so that gcc makes no jumps of its choices."""
    may_jump = any(_has_choices_beside_calls(body) or _has_nested_choices(body) for body in _bodies(kernels))
    return [STAY_CHOICES] if may_jump or _is_loop_of_functions(kernels) else []


def _is_loop_of_functions(kernels: Sequence[Kernel]) -> bool:
    """Is a program one loop without a fold, in which long functions choose?"""
    if len(kernels) != 1 or not isinstance(kernels[0], Nest):
        return False
    return not any(isinstance(stmt, Combine) for stmt in kernels[0].statements) and any(
        is_long(name) and has_choices(name) for body in _bodies(kernels) for name in _called(body))


def _bodies(kernels: Sequence[Kernel]) -> Iterator[Sequence[Stmt]]:
    """Yield the bodies of nests and of the loops and guards in them."""
    for kernel in kernels:
        if isinstance(kernel, Nest):
            yield kernel.body
            yield from (stmt.body for stmt in kernel.statements if isinstance(stmt, (For, When)))
        else:
            for inner in inner_programs(kernel):
                yield from _bodies(inner)


def _has_choices_beside_calls(body: Sequence[Stmt]) -> bool:
    """Do statements call a long function, and have another choice in themselves or in what they call?"""
    applied, calls = _applied(body), _called(body)
    choices = sum(operation.chooses for operation in applied) + sum(map(has_choices, calls))
    return choices > 1 and any(map(is_long, calls))


def _applied(body: Sequence[Stmt]) -> list[Operation]:
    return [node.args[0] for node in walk([x for stmt in body for x in expressions(stmt)]) if node.op == "apply"]


def _called(body: Sequence[Stmt]) -> list[str]:
    return [name for operation in _applied(body) for name in operation.calls]


def _has_nested_choices(body: Sequence[Stmt]) -> bool:
    """Does a choice take, in the same iteration, what another one has chosen?"""
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
    return False


def _folds_by_choice(stmt: Combine) -> bool:
    """Is a fold written as a choice that compilers do not know as a maximum or minimum?"""
    assert stmt.value.dtype is not None
    fold = fold_of(stmt.op, stmt.value.dtype)
    return fold.operation.chooses and not fold.is_vectorised
