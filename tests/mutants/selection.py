"""Which tests belong to a fault: those that ran its line when the suite was recorded, the most likely to fail first."""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import re
import sqlite3
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator

from coverage import CoverageData

from tests.mutants.faults import Fault
from tests.mutants.trial import LEFT_OUT

SECONDS = (3.0, 8.0, 20.0)
"""Of tests that try a fault at first, then if it survives that, and at last: as recorded, which is half as fast."""
FILES = 3
"""From how many files the first ones come: reading a file of tests costs more than most of the tests in it."""
MANY = 1500

# What no recording sees: C, and Python in processes that tests start.
BY_PATH = {
    "csrc/math/threefry.h": ["tests/csrc/test_samples.py", "tests/random"],
    "csrc/math/sort.h": ["tests/primitives/test_sorting.py"],
    "csrc/math": ["tests/csrc", "tests/primitives/test_elementwise.py", "tests/primitives/test_extremes.py",
                  "tests/primitives/test_registry.py", "tests/random"],
    "csrc/alloc.c": ["tests/runtime/test_alloc.py", "tests/runtime/test_fork.py", "tests/core/test_array.py"],
    "csrc/blas.c": ["tests/runtime/test_blas.py", "tests/primitives/test_structural.py"],
    "csrc/gemm.inc": ["tests/runtime/test_blas.py", "tests/primitives/test_structural.py"],
    "csrc/call.c": ["tests/runtime/test_executable.py", "tests/runtime/test_interrupts.py", "tests/api/test_jit.py"],
    "csrc/pool.c": ["tests/runtime/test_threads.py", "tests/runtime/test_fork.py", "tests/runtime/test_blas.py"],
    "csrc/": ["tests/api/test_dispatch.py", "tests/core/test_array.py", "tests/api/test_eager.py", "tests/api",
              "tests/runtime"],
    "tinytrace/runtime": ["tests/runtime"],
}  # fmt: skip


class Selection:
    """The recording: contexts of coverage.py (one per test), and pytest's durations."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.data = CoverageData(str(folder / "coverage.db"))
        self.data.read()
        self.files = {name.partition("/tree/")[2]: name for name in self.data.measured_files()}
        self.breadth = lines_run(folder / "coverage.db")
        self.seconds: dict[str, float] = {}
        for case in ET.parse(folder / "durations.xml").iter("testcase"):
            if not {"failure", "error", "skipped"} & {child.tag for child in case}:
                test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
                self.seconds[test] = float(case.get("time", 0))

    def tests(self, fault: Fault) -> list[list[str]]:
        """Return the tests to run first, those to run when all of these pass, and so on."""
        inside = [test for path, tests in BY_PATH.items() if fault.path.startswith(path) for test in tests]
        if fault.path not in self.files:
            return [self.named(fault), *([test] for test in dict.fromkeys(inside))]
        lines = self.data.contexts_by_lineno(self.files[fault.path])
        last = fault.line + fault.before.count("\n")
        ran = self.known(context for line in range(fault.line, last + 1) for context in lines.get(line, []))
        if not ran:  # at import time, or never: whoever uses the file
            ran = self.known(itertools.chain.from_iterable(lines.values()))
        ordered = list(self.mixed(ran, fault.path))
        files = list(dict.fromkeys(test.partition("::")[0] for test in ordered))[:FILES]
        stages, used = [self.within([test for test in ordered if test.partition("::")[0] in files], SECONDS[0])], set()
        for seconds in SECONDS[1:]:
            used.update(stages[-1])
            stages.append(self.within([test for test in ordered if test not in used], seconds))
        return [*stages, inside]

    def named(self, fault: Fault) -> list[str]:
        """The cases of tests that bear the name of a C function, or of its file."""
        words = {re.sub(r"^tt_|_[fiub]\d+$", "", fault.function), pathlib.PurePath(fault.path).stem} - {""}
        tests = [test for test in self.seconds if any(word in test.partition("[")[2] for word in words)]
        return self.within(list(self.mixed(self.known(f"{test}|" for test in tests), fault.path)), SECONDS[1])

    def known(self, contexts: Iterable[str]) -> set[str]:
        """The tests that were recorded and passed."""
        tests = {context.rpartition("|")[0] for context in contexts}
        return {test for test in tests if test in self.seconds and not test.startswith(LEFT_OUT)}

    def mixed(self, tests: set[str], path: str) -> Iterator[str]:
        """Order tests: the first case of each test function, then the second ones; those that run least come first.

        A test that runs few lines asks for what they do. Before all others come the tests of the fault's own file.
        """
        cases = defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            cases[test.partition("[")[0]].append(test)
        own = f"test_{pathlib.PurePath(path).stem}"

        def rank(function: str) -> tuple[bool, float, str]:
            first = cases[function][0]
            work = self.breadth.get(first, 0) * (0.1 + self.seconds[first])
            return own not in function.partition("::")[0], work, first

        functions = sorted(cases, key=rank)
        for turn in itertools.zip_longest(*(cases[function] for function in functions)):
            yield from filter(None, turn)

    def within(self, tests: list[str], seconds: float) -> list[str]:
        """The longest beginning that takes no more than `seconds`."""
        chosen = []
        for test in tests[:MANY]:
            seconds -= self.seconds[test] + 0.005
            if seconds < 0 and chosen:
                break
            chosen.append(test)
        return chosen


def lines_run(recording: pathlib.Path) -> dict[str, int]:
    """How many lines of the package each test ran."""
    lines: dict[str, int] = defaultdict(int)
    query = "SELECT context, numbits FROM line_bits JOIN context ON context.id = context_id"
    with contextlib.closing(sqlite3.connect(recording)) as database:
        for context, numbits in database.execute(query):
            lines[context.rpartition("|")[0]] += int.from_bytes(numbits, "little").bit_count()
    return lines
