"""Holds every pass to its word: kernels are well formed after it, and give what they gave before it.

Used by tests and by `lower(debug=True)`. What a pass leaves as it was is not looked at again. The inputs are numbers
drawn with a fixed seed.
"""
from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tinytrace.codegen.ir.claims import Claim
from tinytrace.codegen.ir.evaluation import Endless, KernelError
from tinytrace.codegen.ir.statements import Buffer, are_same
from tinytrace.codegen.ir.verifier import verify
from tinytrace.codegen.program import Kernels
from tinytrace.core.storage import storage_type

NDArray: TypeAlias = "np.ndarray[Any, Any]"

MOST_WORK = 20_000_000
"""Elements and operations of a program that is run after every pass; a larger one is only verified."""


class Checker:
    """Sees a program after every pass; raises KernelError when a pass has changed what it means.

    inputs: what to run it on; drawn when not given.
    """

    def __init__(self, inputs: list[Any] | None = None) -> None:
        self.inputs = inputs
        self.unproven: list[Claim] = []
        """What has to hold of the last program and is not proven by ranges and strides."""
        self.programs = 0
        """How many programs it was shown: what a pass leaves as it was is none."""
        self.runs = 0
        """How often a program was run."""
        self._last: Kernels | None = None
        self._expected: list[NDArray] | None = None
        self._ends = True
        """Do its loops end on these inputs? If not, it is only verified."""

    def __call__(self, name: str, kernels: Kernels) -> None:
        if self._last is not None and are_same(self._last, kernels):
            return
        self._last = kernels
        self.programs += 1
        try:
            self.unproven = verify(kernels)
            if self._is_worth_running(kernels):
                self._compare(name, kernels)
        except KernelError as error:
            raise KernelError(f"after {name}: {error}") from None

    def finish(self, kernels: Kernels) -> None:
        """Check the last program once more, on the bytes that its temporary arrays share."""
        for a, b in kernels.memory().conflicts():
            raise KernelError(f"{a} and {b} share bytes while both are needed")
        if self._is_worth_running(kernels):
            self._compare("the layout of the workspace", kernels, shared=True)

    def _is_worth_running(self, kernels: Kernels) -> bool:
        work = sum(kernel.flops + kernel.bytes_read + kernel.bytes_written for kernel in kernels)
        return self._ends and work <= MOST_WORK and not kernels.has_callbacks

    def _compare(self, name: str, kernels: Kernels, shared: bool = False) -> None:
        if self.inputs is None:
            rng = np.random.default_rng(0)
            self.inputs = [drawn(buffer, rng) for buffer in kernels.inputs]
        try:
            found = kernels.run_in(kernels.memory() if shared else None, *self.inputs)
        except Endless:
            if self._expected is not None:  # it ended before this pass
                raise
            self._ends = False
            return
        self.runs += 1
        if self._expected is None:
            self._expected = found
        for buffer, ours, before in zip(kernels.outputs, found, self._expected, strict=True):
            wrong = np.flatnonzero(differ(ours, before))
            if wrong.size:
                k = int(wrong[0])
                raise KernelError(f"element {k} of {buffer} is {ours.flat[k]} and was {before.flat[k]} before")


def differ(ours: NDArray, theirs: NDArray) -> NDArray:
    """Return where two arrays differ; a NaN is a NaN."""
    return np.asarray((ours != theirs) & ~((ours != ours) & (theirs != theirs)))


def drawn(buffer: Buffer, rng: np.random.Generator) -> NDArray:
    """Return numbers for an input: small ones, so that loops end and indices often lie inside."""
    dtype = storage_type(buffer.dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, buffer.shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 8, buffer.shape).astype(dtype)
    return rng.normal(size=buffer.shape).astype(dtype)
