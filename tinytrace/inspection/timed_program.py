"""A program's C with a look at the clock between its kernels: how long each of them takes, run after run.

The kernels are the program's own, in the same words; what is added is one line before each, which writes the time into
an array that is one more output. The program that calls run is another one: it knows nothing of this.
"""
from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace._dispatch import Buffer as Block
from tinytrace.api.program import Program
from tinytrace.codegen.c.lines import named
from tinytrace.codegen.c.translation_unit import emit
from tinytrace.codegen.ir.statements import Buffer
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

    def __init__(self, program: Program, args: Sequence[Any]) -> None:
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
        self._inputs = [*program.kernel_inputs(args), *program._hidden]
        self._outputs: list[Any] = [Block(max(buffer.nbytes, 1)) for buffer in outputs]
        self._workspace: Any = Block(max(source.workspace, 1))
        self._addresses = [x.address for x in [*self._inputs, *self._outputs]]
        if source.workspace:
            self._addresses.append(self._workspace.address)

    def run(self) -> Times:
        """Run once: the instants in nanoseconds at which kernels began, and the end."""
        self.executable(self._addresses)
        return np.ndarray((len(self.kernels) + 1,), np.float64, self._outputs[-1]).copy()

    def repeat(self, seconds: float, most: int = 10_000) -> Times:
        """Run for about so long, three times at least: instants, one row for each run."""
        self.run()
        deadline = time.monotonic() + seconds
        rows = [self.run() for _ in range(3)]
        while time.monotonic() < deadline and len(rows) < most:
            rows.append(self.run())
        return np.stack(rows)
