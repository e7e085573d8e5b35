"""A result takes the place of a temporary array that it is made from and that nobody reads afterwards.

    t[i] = f(x[i]);  ...;  y[i] = g(t[i])    is    y[i] = f(x[i]);  ...;  y[i] = g(y[i])
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.kernel import Kernel, Nest, Repeat
from tinytrace.codegen.ir.merging import merge_places
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.codegen.passes.in_place import copies, reads_before_writing


def reuse_temporaries(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program with fewer temporary arrays."""
    return _Reuse(kernels).kernels()


class _Reuse:
    """The program, which kernels touch an array first and last, and which arrays have taken the place of which."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.program = kernels
        self.places: dict[Buffer, Buffer] = {}
        self.first: dict[Buffer, int] = {}
        self.written: dict[Buffer, tuple[int, int]] = {}
        self.last_read: dict[Buffer, int] = {}
        for k, kernel in enumerate(kernels):
            for buffer in kernel.accesses[1]:
                self.written[buffer] = self.written.get(buffer, (k,))[0], k
            self.last_read.update(dict.fromkeys(kernel.accesses[0], k))
            for buffer in _arrays(kernel):
                self.first.setdefault(buffer, k)

    def kernels(self) -> list[Kernel]:
        kept = [kernel for k, kernel in enumerate(self.program)
                if not isinstance(kernel, Nest) or not self._becomes_nothing(k, kernel)]
        return merge_places(kept, {buffer: self._place(buffer) for buffer in self.places})

    def _becomes_nothing(self, k: int, kernel: Nest) -> bool:
        """Let the results of kernel number `k` take the places of its operands; was one the copy of the other?"""
        nothing = False
        for new in kernel.writes:
            for old in kernel.reads:
                if self._may_share(k, kernel, old, new):
                    place = self._place(old)
                    self.places |= {place: new} if new.space == "output" else {new: place}
                    nothing = nothing or copies(kernel, old, new)
                    break
        return nothing

    def _may_share(self, k: int, kernel: Nest, old: Buffer, new: Buffer) -> bool:
        """Is `old` a temporary made before kernel `k` and not needed after it, and `new` untouched before it?"""
        place = self._place(old)
        return (place.space == "workspace" and new.space in ("workspace", "output") and new not in self.places
                and not new.given
                and old.nbytes == new.nbytes and old.dtype == new.dtype
                and old in self.written and self.written[old][1] < k and self.last_read[old] <= k <= self.first[new]
                and not any(place is self._place(b) for b in kernel.writes)  # another result has it already
                and reads_before_writing(kernel, old, new))

    def _place(self, buffer: Buffer) -> Buffer:
        while buffer in self.places:
            buffer = self.places[buffer]
        return buffer


def _arrays(kernel: Kernel) -> set[Buffer]:
    arrays = {*kernel.accesses[0], *kernel.accesses[1]}
    if isinstance(kernel, Repeat):
        arrays |= {b for pair in kernel.exchanges for b in (pair.first, pair.second)}
    return arrays
