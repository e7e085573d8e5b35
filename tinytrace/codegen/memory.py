"""Where temporary arrays lie in the one workspace of a program: arrays that are never needed together share bytes.

This is decided last, when kernels are final: an array is a value until here. Printed, it is a chart.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinytrace.codegen.ir.kernel import Kernel, Repeat, inner_programs
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.records import NamedTuple

ALIGNMENT = 64
PAGE = 4096
"""Large arrays begin on pages: two streams that are a few cache lines apart, modulo a page, disturb each other."""


class Life(NamedTuple):
    """The first and the last kernel that needs an array; those inside loops and branches are counted too."""

    first: int
    last: int

    def meets(self, other: Life) -> bool:
        """Are both arrays needed at one time?"""
        return self.first <= other.last and other.first <= self.last


class Memory(NamedTuple):
    """The assignment of bytes to the temporary arrays of a program."""

    nbytes: int
    """Of the workspace."""
    offsets: Mapping[Buffer, int]
    """Where each array begins, in bytes."""
    lives: Mapping[Buffer, Life]

    def conflicts(self) -> list[tuple[Buffer, Buffer]]:
        """Return the pairs of arrays that share bytes while both are needed: there must be none."""
        arrays = list(self.offsets)
        return [(a, b) for k, a in enumerate(arrays) for b in arrays[:k]
                if self.lives[a].meets(self.lives[b]) and self.offsets[a] < self.offsets[b] + b.nbytes
                and self.offsets[b] < self.offsets[a] + a.nbytes]

    def __str__(self) -> str:
        """Return the lives of arrays as text: one line each, a column for each kernel."""
        if not self.offsets:
            return "no temporary arrays"
        end = 1 + max(life.last for life in self.lives.values())
        width = max(len(str(buffer)) for buffer in self.offsets)
        lines = [f"workspace of {self.nbytes} bytes, {end} kernels"]
        for buffer, offset in sorted(self.offsets.items(), key=lambda item: (item[1], self.lives[item[0]])):
            life = self.lives[buffer]
            bar = "." * life.first + "#" * (life.last - life.first + 1) + "." * (end - 1 - life.last)
            lines.append(f"{offset:>10} {buffer!s:{width}} {bar}")
        return "\n".join(lines)


def assign(kernels: Sequence[Kernel]) -> Memory:
    """Return where every workspace array of a program lies."""
    lives: dict[Buffer, Life] = {}
    _live(kernels, 0, lives)
    offsets: dict[Buffer, int] = {}
    taken: list[tuple[Life, int, int]] = []
    total = 0
    for buffer, life in lives.items():
        nbytes = max(buffer.nbytes, 1)
        alignment = PAGE if nbytes >= 16 * PAGE else ALIGNMENT
        offset = 0
        for other, start, size in sorted(taken, key=lambda entry: entry[1]):
            if other.meets(life) and offset < start + size:
                if offset + nbytes <= start:
                    break
                offset = -(-(start + size) // alignment) * alignment
        taken.append((life, offset, nbytes))
        offsets[buffer] = offset
        total = max(total, -(-(offset + nbytes) // ALIGNMENT) * ALIGNMENT)
    return Memory(total, {buffer: offsets[buffer] for buffer in _in_order(kernels)}, lives)


def _live(kernels: Sequence[Kernel], time: int, lives: dict[Buffer, Life]) -> int:
    """Note when each array is needed, from `time` on; Returns the time afterwards."""
    for kernel in kernels:
        start = time
        for program in inner_programs(kernel):
            time = _live(program, time, lives)
        for buffer in _arrays(kernel):
            if buffer.space == "workspace":
                life = lives.get(buffer, Life(start, time))
                lives[buffer] = Life(min(life.first, start), max(life.last, time))
        time += 1
    return time


def _arrays(kernel: Kernel) -> Iterator[Buffer]:
    yield from kernel.writes
    yield from kernel.reads
    if isinstance(kernel, Repeat):
        for pair in kernel.exchanges:
            yield from (pair.first, pair.second)
        yield from (view.base for view in kernel.views)


def _in_order(kernels: Sequence[Kernel]) -> dict[Buffer, None]:
    """Return the workspace arrays of a program, inner programs included, in the order of first use."""
    found: dict[Buffer, None] = {}
    for kernel in kernels:
        found.update((buffer, None) for buffer in _arrays(kernel) if buffer.space == "workspace")
        for program in inner_programs(kernel):
            found |= _in_order(program)
    return found
