"""The profiler: time, bytes, operations of each kernel, and its share of what this machine can do.

    profile = tinytrace.profile(f)(x)
    print(profile)                          the table
    profile.roofline(), profile.liveness()  SVG: kernels under the measured roof; temporary arrays over time
    profile.save_chrome_trace("trace.json") for chrome://tracing and https://ui.perfetto.dev
"""
from __future__ import annotations

import html
import json
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.program import Program
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.memory import Memory
from tinytrace.inspection.prefixes import lowered_with_arguments
from tinytrace.inspection.roofline import Point, Roof, measured_roof, roofline_svg
from tinytrace.inspection.timed_program import TimedProgram
from tinytrace.records import dataclass
from tinytrace.util import counted

SECONDS = 0.2
"""How long a program is run to be measured."""


@dataclass(frozen=True)
class KernelProfile:
    """One kernel, measured.

    Args:
      title: what kind of kernel it is.
      equations: the text of each equation in it.
      least, median: nanoseconds over all runs.
      nbytes: bytes that it reads and writes; flops: operations on elements.
      share: of the measured roof: 1.0 is as fast as this machine can be.
    """

    title: str
    equations: tuple[str, ...]
    least: float
    median: float
    nbytes: int
    flops: int
    share: float


class Profile:
    """A program, measured kernel by kernel: printed, a table; in a notebook, with its plots."""

    def __init__(self, name: str, kernels: Sequence[Kernel], instants: Any, memory: Memory, roof: Roof) -> None:
        self.name, self.memory, self.roof = name, memory, roof
        self.instants = instants
        """Nanoseconds at which kernels began, and the end: one row for each run."""
        times = np.diff(instants, axis=1)
        self.kernels = [_measured(kernel, times[:, k], roof) for k, kernel in enumerate(kernels)]

    @property
    def runs(self) -> int:
        """How often the program was run."""
        return len(self.instants)

    def __str__(self) -> str:
        total = sum(k.median for k in self.kernels) or 1.0
        rows = [("", "min", "median", "of all", "bytes", "flop", "of the roof", "kernel")]
        for n, k in enumerate(self.kernels):
            rows.append((str(n), time_text(k.least), time_text(k.median), f"{k.median / total:.0%}", _amount(k.nbytes),
                         _amount(k.flops), f"{k.share:.0%}", f"{k.title}: {_first(k.equations)}"))
        widths = [max(len(row[i]) for row in rows) for i in range(7)]
        lines = ["  ".join([*(cell.rjust(w) for cell, w in zip(row[:7], widths, strict=True)), row[7]]) for row in rows]
        whole = np.median(self.instants[:, -1] - self.instants[:, 0]) if self.kernels else 0.0
        kernels = counted(len(self.kernels), "kernel")
        return "\n".join([f"{self.name}: {kernels}, {time_text(whole)} (median of {self.runs} runs)", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>{self.roofline()}{self.liveness()}"

    def roofline(self) -> str:
        """Return the kernels under the roof of this machine, as SVG."""
        labels = [f"{n} {k.title}: {_first(k.equations)}" for n, k in enumerate(self.kernels)]
        points = [Point(k.flops / max(k.nbytes, 1), k.flops / max(k.least, 1.0), label)
                  for k, label in zip(self.kernels, labels, strict=True)]
        return roofline_svg(points, self.roof)

    def liveness(self) -> str:
        """Return which temporary arrays are needed while which kernel runs, and where they lie, as SVG."""
        return liveness_svg(self.memory)

    def chrome_trace(self) -> str:
        """Return the runs as a trace for chrome://tracing and Perfetto: JSON, an event for each kernel of each run.

        Source: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
        """
        events: list[dict[str, Any]] = [{"name": "process_name", "ph": "M", "pid": os.getpid(),
                                         "args": {"name": f"tinytrace: {self.name}"}}]
        for run, instants in enumerate(self.instants - (self.instants[0, 0] if self.runs else 0)):
            for n, k in enumerate(self.kernels):
                events.append({
                    "name": f"{n} {k.title}", "cat": "kernel", "ph": "X", "pid": os.getpid(), "tid": 0,
                    "ts": instants[n] / 1e3, "dur": (instants[n + 1] - instants[n]) / 1e3,
                    "args": {"equations": list(k.equations), "bytes": k.nbytes, "flop": k.flops, "run": run}})
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})

    def save_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write `chrome_trace()` to a file."""
        pathlib.Path(path).write_text(self.chrome_trace())


def profile(fun: Callable[..., Any], seconds: float = SECONDS) -> Callable[..., Profile]:
    """Return a function that compiles `fun` with a clock between its kernels, runs it, and returns a `Profile`.

    Args: seconds: how long it is run.
    Raises: NoCompiler where there is no C compiler: what is interpreted has no kernels to measure; ValueError for a
      program with effects, such as prints: it runs many times.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> measured = jax.profile(lambda x: jnp.sin(x).sum(), seconds=0.01)(jnp.ones(1000))
    >>> [kernel.flops > 0 for kernel in measured.kernels]
    [True]
    """
    def run(*args: Any, **kwargs: Any) -> Profile:
        lowered, arrays = lowered_with_arguments(fun, args, kwargs)
        program: Program = lowered._program
        if program.jaxpr.effects:
            raise ValueError("profile runs a program thousands of times, and this one has effects each time "
                             f"({', '.join(sorted(map(str, program.jaxpr.effects)))}): take its callbacks out first.")
        name = getattr(fun, "__name__", "function")
        if not program.kernel_jaxpr.jaxpr.eqns:
            return Profile(name, [], np.zeros((0, 1)), Memory(0, {}, {}), measured_roof())
        timed = TimedProgram(program)
        instants = timed.repeat(arrays, seconds)
        return Profile(name, timed.kernels, instants, program.generated.kernels.memory(), measured_roof())

    return run


def _measured(kernel: Kernel, times: Any, roof: Roof) -> KernelProfile:
    nbytes, flops = kernel.bytes_read + kernel.bytes_written, kernel.flops
    least = float(times.min())
    share = min(1.0, roof.least(nbytes, flops) / max(least, 1.0))
    equations = tuple(map(str, kernel.equations))
    return KernelProfile(kernel.title(), equations, least, float(np.median(times)), nbytes, flops, share)


def _first(equations: Sequence[str]) -> str:
    """Return the first equation, and how many more there are."""
    if not equations:
        return "copies"
    first = equations[0] if len(equations[0]) <= 60 else equations[0][:57] + "..."
    return first + (f" and {len(equations) - 1} more" if len(equations) > 1 else "")


def time_text(nanoseconds: float) -> str:
    """Return a time in three digits.

    >>> time_text(2345.6)
    '2.35 us'
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def _amount(x: float) -> str:
    for prefix in ("", "k", "M", "G"):
        if x < 1000 or prefix == "G":
            return f"{x:.3g} {prefix}".rstrip()
        x /= 1000
    raise AssertionError


# --- temporary arrays over time -------------------------------------------------------------------------------------

def liveness_svg(memory: Memory) -> str:
    """Return a chart: a bar for each temporary array, from the first kernel that needs it to the last, at its bytes."""
    kernels = 1 + max((life.last for life in memory.lives.values()), default=0)
    width, height = 640.0, 240.0
    across, up = (width - 20) / kernels, (height - 30) / max(memory.nbytes, 1)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
             'font-family="sans-serif" font-size="11" fill="currentColor">'
             f'<title>{len(memory.offsets)} temporary arrays in {memory.nbytes} bytes over {kernels} kernels</title>']
    for buffer, offset in memory.offsets.items():
        life = memory.lives[buffer]
        x, y = 10 + life.first * across, 10 + offset * up
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{(life.last - life.first + 1) * across:.1f}" '
                     f'height="{max(buffer.nbytes * up, 2):.1f}" fill="#56b4e9" stroke="#0072b2">'
                     f'<title>{html.escape(str(buffer))}: {buffer.nbytes} bytes at {offset}, kernels {life.first} to '
                     f'{life.last}</title></rect>')
        parts.append(f'<text x="{x + 3:.1f}" y="{y + 12:.1f}">{html.escape(buffer.name)}</text>')
    parts.append(f'<text x="10" y="{height - 6:.0f}">{"kernels from left to right, bytes of the workspace downwards"}'
                 "</text>")
    return "\n".join([*parts, "</svg>"])
