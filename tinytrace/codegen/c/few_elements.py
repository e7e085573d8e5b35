"""Functions of csrc that a program calls for few elements.

What a call takes then matters less than what the compiler takes for the function: a program is linked to it, if it is
long (`csources.math_functions`).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tinytrace.codegen.ir.kernel import Kernel, Nest, Repeat, inner_programs
from tinytrace.codegen.ir.statements import Call, Either, For, Stmt, When
from tinytrace.core.formulas import parts

FEW = 1 << 13
"""Elements in a run of the program. A linked sum over rows of so many takes 0.25 us more than an inlined one."""


def called_for_few(kernels: Sequence[Kernel]) -> frozenset[str]:
    """Return the functions that a run of a program calls for few elements, which their calls state as operations."""
    work: Counter[str] = Counter()
    _count_in(kernels, 1, work)
    return frozenset(name for name, elements in work.items() if elements <= FEW)


def _count_in(kernels: Iterable[Kernel], times: int, work: Counter[str]) -> None:
    for kernel in kernels:
        if isinstance(kernel, Nest):
            _count(kernel.form.body, times, work)
        inside = times
        if isinstance(kernel, Repeat):
            inside *= kernel.length if kernel.iteration is not None else FEW + 1  # nobody knows how often
        for program in inner_programs(kernel):
            _count_in(program, inside, work)


def _count(body: Iterable[Stmt], times: int, work: Counter[str]) -> None:
    for stmt in body:
        match stmt:
            case For(axis, _, _, inner):
                _count(inner, times * int(axis.args[1]), work)
            case When(_, inner) | Either(_, inner):
                _count(inner, times, work)
            case Call(procedure):
                called = [str(part.args[0]) for call in procedure.calls for part in parts(call) if part.op == "call"]
                work.update(dict.fromkeys(called, times * stmt.flops))
                _count([stmt.then] if stmt.then is not None else [], times, work)
