"""Loops around programs run on several threads, if their iterations need nothing of each other.

    for k: { t = f(x[k, :]);  y[k, :] = g(t) }       `lax.map`, a scan without a carry

Each iteration has the temporary arrays for itself, on the stack. A loop stays where it is if loops inside it are on
threads, if the program inside calls the host, or if its arrays are too large for a stack. As for loops over elements,
the program alone decides, so results do not depend on the number of threads.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tinytrace.codegen.ir.cost import WORTH_SPREADING, even_chunks, program_duration
from tinytrace.codegen.ir.independence import shared_by_iterations
from tinytrace.codegen.ir.kernel import Kernel, Nest, Repeat, inner_programs, with_programs
from tinytrace.codegen.ir.merging import merge_places
from tinytrace.codegen.ir.programs import mentions, name_of
from tinytrace.codegen.ir.statements import Buffer, Call, For, nested
from tinytrace.records import replace

MOST_ON_STACK = 1 << 17
"""Bytes of temporary arrays that an iteration may have on the stack of its thread."""


def spread_iterations(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose independent loops around programs have a grain, where that is worth it."""
    has_loops = any(map(inner_programs, kernels))
    return _program(kernels, Counter(map(name_of, mentions(kernels)))) if has_loops else list(kernels)


def _program(kernels: Sequence[Kernel], uses: Counter[str]) -> list[Kernel]:
    """Return a program; uses: how often each array and variable is used in all of the program around it."""
    result: list[Kernel] = []
    for kernel in kernels:
        changed = _spread(kernel, uses) if isinstance(kernel, Repeat) else kernel
        if changed is kernel:
            changed = with_programs(kernel, [_program(program, uses) for program in inner_programs(kernel)])
        result.append(changed)
    return result


def _spread(loop: Repeat, uses: Counter[str]) -> Repeat:
    """Return a loop with a grain, or itself."""
    total = program_duration([loop])
    if loop.iteration is None or loop.length < 2 or total < WORTH_SPREADING or not _stays_on_its_thread(loop.body):
        return loop
    inside = Counter(map(name_of, mentions([loop])))
    shared = shared_by_iterations(loop)
    own = [x for x in shared if isinstance(x, Buffer) and x.space == "workspace" and uses[x.name] == inside[x.name]]
    if len(own) < len(shared) or sum(buffer.nbytes for buffer in own) > MOST_ON_STACK:
        return loop
    places = {buffer: replace(buffer, space="row") for buffer in own}
    return replace(loop, body=merge_places(loop.body, places), private=list(places.values()),
                   grain=-(-loop.length // even_chunks(total)))


def _stays_on_its_thread(kernels: Sequence[Kernel]) -> bool:
    """Is all of a program computed by whoever runs it, without the host and other threads?"""
    for kernel in kernels:
        for stmt in nested(kernel.body) if isinstance(kernel, Nest) else ():
            if isinstance(stmt, Call) and (stmt.procedure.uses_host or stmt.procedure.failure or stmt.then is not None):
                return False
            if isinstance(stmt, For) and 0 < stmt.grain < int(stmt.axis.args[1]):
                return False
        if not all(map(_stays_on_its_thread, inner_programs(kernel))):
            return False
    return True
