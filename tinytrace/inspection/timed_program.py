"""A program's C with a look at the clock between its kernels: how long each of them takes, run after run.

The kernels are the program's own, in the same words; what is added is one line before each, which writes the time into
an array that is one more output. The program that calls run is another one: it knows nothing of this.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace._dispatch import Buffer as Block
from tinytrace.api.program import Program
from tinytrace.codegen.c.lines import named
from tinytrace.codegen.c.translation_unit import emit
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.core.array import Array, copy_of_block
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT64
from tinytrace.runtime.ladder import load

Times: TypeAlias = "np.ndarray[Any, Any]"

CLOCK = """struct tt_instant {
    long seconds, nanoseconds;
};
extern int clock_gettime(int clock, struct tt_instant *now);
static void tt_mark(double *marks, int k) {
    struct tt_instant now;
    clock_gettime(1, &now); /* CLOCK_MONOTONIC */
    marks[k] = (double)now.seconds * 1e9 + (double)now.nanoseconds;
}
"""


class TimedProgram:
    """A program that tells, with each run, when each of its kernels began."""

    def __init__(self, program: Program) -> None:
        self.program = program
        generated = program.generated
        kernels, source = generated.kernels, generated.source
        self.kernels = list(kernels)
        self.outputs = kernels.outputs
        marks = Buffer("marks", (len(self.kernels) + 1,), FLOAT64, "output")
        hidden = [buffer for buffer, _ in kernels.constants]
        outputs = [*kernels.outputs, marks]
        unit = emit(self.kernels, [*kernels.inputs, *hidden], outputs, kernels.memory(),
                    not program.exact, lambda k: f"tt_mark({named(marks.name)}, {k});")
        preamble = unit.preamble + CLOCK
        text = preamble + unit.text[len(unit.preamble):]
        avals = (*source.outputs, ShapedArray((len(self.kernels) + 1,), FLOAT64))
        self.executable = load(source._replace(text=text, preamble=len(preamble), parts=unit.parts, outputs=avals))
        self._sizes = [max(buffer.nbytes, 1) for buffer in outputs]
        self._scratch = source.workspace

    def run_on(self, args: Sequence[Any]) -> tuple[list[Array], Times]:
        """Run once: what the kernels compute, and the instants in nanoseconds at which they began, and the end."""
        run, outputs = self._prepared(args)
        run()
        results = [Array(aval, block) for aval, block in zip(self.program._computed_avals, outputs, strict=False)]
        return results, self._instants(outputs)

    def repeat(self, args: Sequence[Any], seconds: float, most: int = 10_000) -> Times:
        """Run for about so long, three times at least: instants, one row for each run."""
        run, outputs = self._prepared(args)
        run()
        deadline = time.monotonic() + seconds
        rows: list[Times] = []
        while len(rows) < 3 or (time.monotonic() < deadline and len(rows) < most):
            run()
            rows.append(self._instants(outputs))
        return np.stack(rows)

    def _prepared(self, args: Sequence[Any]) -> tuple[Callable[[], None], list[Any]]:
        """Return what runs the program on `args`, and the blocks of its outputs."""
        program = self.program
        inputs: list[Any] = [x.block for x in program.kernel_inputs(args)]
        outputs: list[Any] = [Block(size) for size in self._sizes]
        for k, position in program.generated.reused.items():
            outputs[k] = inputs[position] = copy_of_block(inputs[position])
        blocks = [*inputs, *[x.block for x in program._hidden], *outputs]
        if self._scratch:
            blocks.append(Block(self._scratch))
        return lambda: self.executable([block.address for block in blocks]), outputs

    def _instants(self, outputs: Sequence[Any]) -> Times:
        return np.ndarray((len(self.kernels) + 1,), np.float64, outputs[-1]).copy()
