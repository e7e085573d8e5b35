"""Where temporary arrays lie in the one workspace of a program: arrays that are never needed together share bytes."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tinytrace.codegen.ir.kernel import Buffer, Kernel, Repeat, inner_programs

ALIGNMENT = 64
PAGE = 4096
"""Large arrays begin on pages: two streams that are a few cache lines apart, modulo a page, disturb each other."""


@dataclass
class _Life:
    """The kernels between which a place is in use, and its bytes."""

    first: int
    last: int
    nbytes: int


def lay_out(kernels: Sequence[Kernel]) -> int:
    """Give every workspace array its offset; Returns the bytes needed."""
    lives: dict[str, _Life] = {}
    _live(kernels, 0, lives)
    offsets: dict[str, int] = {}
    taken: list[tuple[_Life, int]] = []
    total = 0
    for name, life in lives.items():
        alignment = PAGE if life.nbytes >= 16 * PAGE else ALIGNMENT
        offset = 0
        for other, start in sorted(taken, key=lambda pair: pair[1]):
            if other.first <= life.last and life.first <= other.last and offset < start + other.nbytes:
                if offset + life.nbytes <= start:
                    break
                offset = -(-(start + other.nbytes) // alignment) * alignment
        taken.append((life, offset))
        offsets[name] = offset
        total = max(total, -(-(offset + life.nbytes) // ALIGNMENT) * ALIGNMENT)
    for buffer in workspace_arrays(kernels):
        buffer.offset = offsets[buffer.name]
    return total


def _live(kernels: Sequence[Kernel], time: int, lives: dict[str, _Life]) -> int:
    """Note when each place is used, from `time` on; Returns the time afterwards."""
    for kernel in kernels:
        start = time
        for program in inner_programs(kernel):
            time = _live(program, time, lives)
        for buffer in _arrays(kernel):
            if buffer.space == "workspace":
                life = lives.setdefault(buffer.name, _Life(start, time, max(buffer.nbytes, 1)))
                life.first, life.last = min(life.first, start), max(life.last, time)
        time += 1
    return time


def _arrays(kernel: Kernel) -> Iterator[Buffer]:
    yield from kernel.writes
    yield from kernel.reads
    if isinstance(kernel, Repeat):
        for pair in kernel.exchanges:
            yield from (pair.first, pair.second)
        yield from (view.base for view in kernel.views)


def workspace_arrays(kernels: Sequence[Kernel]) -> list[Buffer]:
    """Return the workspace arrays of a program, inner programs included, in the order of first use."""
    found: dict[Buffer, None] = {}

    def visit(kernels: Sequence[Kernel]) -> None:
        for kernel in kernels:
            found.update((b, None) for b in _arrays(kernel) if b.space == "workspace")
            for program in inner_programs(kernel):
                visit(program)

    visit(kernels)
    return list(found)
