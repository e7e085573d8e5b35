"""The demo: every program of the introductory texts, what it becomes, what it prints, and where its code came from."""

from __future__ import annotations

import importlib.resources
import linecache
from typing import Any

from tinytrace.api.stages import Traced
from tinytrace.cli import programs
from tinytrace.records import NamedTuple
from tinytrace.runtime.ladder import stats

LONGEST_C = 100
"""C texts of more lines are counted instead of shown."""


class Program(NamedTuple):
    """A program of the demo: its file, and the calls whose jaxpr and C are shown (`f.trace(x)` in its names)."""

    name: str
    calls: tuple[str, ...]


PROGRAMS = (
    Program("shapes", ("test.trace(x8)",)),
    Program("static_flag", ("f.trace(x, True)", "f.trace(x, False)")),
    Program("log2", ("jax.jit(log2).trace(8.0)",)),
    Program("selu", ("selu_jit.trace(x)",)),
    Program("conditions", ("loop_body.trace(0)",)),
    Program("jit_in_loops", ("jax.jit(unjitted_loop_body).trace(0)",)),
    Program("closure", ("example.trace(params1)",)),
)


def run_demo() -> None:
    """Runs all programs one after the other, and closes with a line of counters."""
    total = [0, 0, 0]
    for number, program in enumerate(PROGRAMS, 1):
        heading(f"{number} of {len(PROGRAMS)}: {program.name}")
        counts = run_program(program)
        total = [a + b for a, b in zip(total, counts, strict=True)]
    heading("summary")
    print(f"{len(PROGRAMS)} programs: {counters(total)}")
    if total[0] == 0:
        print("Nothing was compiled: every program was found on disk. `make clean` forgets them.")
    else:
        print("Run this again: the compiled programs are on disk now, and none will be compiled.")


def run_program(program: Program) -> list[int]:
    """Shows and runs one program; answers how many kernels were compiled, found on disk, and found in memory."""
    source = importlib.resources.files(programs).joinpath(f"{program.name}.py").read_text()
    file = f"{program.name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    print(source)

    section("prints")
    before = read_counters()
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    counts = [now - then for now, then in zip(read_counters(), before, strict=True)]

    for call in program.calls:
        traced = eval(call, names)
        section(f"jaxpr of {call}")
        print(traced.jaxpr)
        show_c(traced, call)
    section("cache")
    print(counters(counts))
    return counts


def show_c(traced: Traced, call: str) -> None:
    """Shows the C of a traced function, unless it is long; without what is the same in every file."""
    lowered = traced.lower()
    text, own = lowered.as_text(full=True), lowered.as_text().strip("\n")
    lines = own.count("\n") + 1
    if lines > LONGEST_C:
        section(f"C: {lines} lines, `print({call}.lower().as_text())` shows them")
    else:
        section(f"C of {call}, below the {text.count(chr(10)) - lines} lines that every file begins with")
        print(own)


def read_counters() -> tuple[int, int, int]:
    """How many kernels this process has compiled, found on disk, and found in memory."""
    return stats.compiles, stats.disk_hits, stats.memory_hits


def counters(counts: list[int]) -> str:
    """The counters in words: each look-up of a compiled program is a miss, a hit on disk, or a hit in memory."""
    compiled, disk, memory = counts
    verdict = "miss" if compiled else "hit" if disk or memory else "nothing to compile"
    return f"{verdict}: {compiled} compiled, {disk} from disk, {memory} from memory"


def heading(text: str) -> None:
    """A line that starts a program."""
    print(f"\n{'=' * 100}\n{text}\n{'=' * 100}")


def section(text: str) -> None:
    """A line that starts a part of a program."""
    print(f"\n--- {text} {'-' * max(0, 95 - len(text))}")
