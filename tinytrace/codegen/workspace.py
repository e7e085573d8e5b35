"""Where temporary arrays lie in the one workspace of a program."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.kernel import Buffer, Kernel

ALIGNMENT = 64


def lay_out(kernels: Sequence[Kernel]) -> int:
    """Give every workspace array its offset; Returns the bytes needed."""
    total = 0
    placed: dict[Buffer, None] = {}
    for kernel in kernels:
        for buffer in (*kernel.writes, *kernel.reads):
            if buffer.space == "workspace" and buffer not in placed:
                placed.setdefault(buffer)
                buffer.offset = total
                total += -(-max(buffer.nbytes, 1) // ALIGNMENT) * ALIGNMENT
    return total
