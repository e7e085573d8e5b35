"""How much work a program will be for the C compiler, as its kernels tell before there is a text."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.kernel import Kernel, Nest
from tinytrace.codegen.ir.nodes import walk
from tinytrace.codegen.ir.statements import expressions

ALL_EFFORT, LESS_EFFORT, LEAST_EFFORT = range(3)
"""What the compiler may be told: to optimise, to be quick, to optimise nothing (`CSource.quick`)."""
LONG_KERNEL, LONG_PROGRAM, MANY_KERNELS = 200, 600, 24
"""From how many operations in one kernel, or in all of them, or from how many kernels on, the compiler is told to be
quick: -O2 takes half as long again."""


def is_long(kernels: Sequence[Kernel]) -> bool:
    """Is the compiler told to be quick?"""
    lengths = list(map(_length, kernels))
    return max(lengths, default=0) >= LONG_KERNEL or sum(lengths) >= LONG_PROGRAM or len(lengths) >= MANY_KERNELS


def _length(kernel: Kernel) -> int:
    """Return how many operations are written in a kernel, or equations, if these are more."""
    body = kernel.form.statements if isinstance(kernel, Nest) else ()
    written = walk(node for stmt in body for node in expressions(stmt))
    steps: list[int] = [node.args[0].flops for node in written if node.op == "apply"]
    return max(len(kernel.equations), sum(steps))
