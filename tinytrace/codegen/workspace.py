"""Where temporary arrays lie in the one workspace of a program."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.kernel import Buffer, Kernel, Repeat, inner_programs

ALIGNMENT = 64


def lay_out(kernels: Sequence[Kernel]) -> int:
    """Give every workspace array its offset; Returns the bytes needed."""
    total = 0
    for buffer in workspace_arrays(kernels):
        buffer.offset = total
        total += -(-max(buffer.nbytes, 1) // ALIGNMENT) * ALIGNMENT
    return total


def workspace_arrays(kernels: Sequence[Kernel]) -> list[Buffer]:
    """Return the workspace arrays of a program, inner programs included, in the order of first use."""
    found: dict[Buffer, None] = {}

    def visit(kernels: Sequence[Kernel]) -> None:
        for kernel in kernels:
            buffers = [*kernel.writes, *kernel.reads]
            if isinstance(kernel, Repeat):
                buffers += [b for pair in kernel.exchanges for b in (pair.first, pair.second)]
                buffers += [view.base for view in kernel.views]
            found.update((b, None) for b in buffers if b.space == "workspace")
            for program in inner_programs(kernel):
                visit(program)

    visit(kernels)
    return list(found)
