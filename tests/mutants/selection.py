"""Which tests belong to a fault: those that ran its line when the suite was recorded, the most likely to fail first."""

from __future__ import annotations

import itertools
import pathlib
import re
import sqlite3
import statistics
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from coverage.numbits import nums_to_numbits, register_sqlite_functions

from tests.mutants.faults import Fault
from tests.mutants.trial import LEFT_OUT

SECONDS = (1.5, 5.0, 12.0)
"""Of tests that try a fault at first, then if it survives that, and at last: as recorded, which is half as fast."""
FILES = 2
"""From how many files the first ones come: reading a file of tests costs more than most of the tests in it."""
MANY = 1500

# What no recording sees: C, and Python in processes that tests start.
BY_PATH = {
    "csrc/math/threefry.h": ["tests/csrc/test_samples.py", "tests/random"],
    **{f"csrc/{name}": ["tests/primitives/test_sorting.py"]
       for name in ("sort", "radix.inc", "quicksort.inc", "sort_values.inc", "sort_lines.inc", "long_keys.inc",
                    "buckets.inc", "short_lines.inc", "short_values.inc", "exchanges.inc",
                    "taking.inc", "select.c", "top_k.c", "choosing.inc", "chosen.inc", "lanes.h", "unordered.inc")},
    "csrc/fft": ["tests/lax/test_fft.py"],
    "csrc/vectors": ["tests/lax/test_fft.py", "tests/primitives/test_lapack.py"],
    "csrc/members": ["tests/primitives/test_membership.py"],
    "csrc/math/small_matrices.h": ["tests/primitives/test_lapack.py", "tests/primitives/test_linear_algebra.py"],
    "csrc/math": ["tests/csrc", "tests/primitives/test_elementwise.py", "tests/primitives/test_extremes.py",
                  "tests/primitives/test_registry.py", "tests/random"],
    "csrc/alloc.c": ["tests/runtime/test_alloc.py", "tests/runtime/test_fork.py", "tests/core/test_array.py"],
    "csrc/openblas.c": ["tests/runtime/test_blas.py", "tests/runtime/test_fork.py"],
    **{f"csrc/{name}": ["tests/runtime/test_blas.py", "tests/primitives/test_structural.py"]
       for name in ("blas.c", "gemm.inc", "microkernel.inc", "packing.inc", "bands.inc", "small.inc")},
    **{f"csrc/{name}": ["tests/runtime/test_narrow_products.py"] for name in ("narrow.c", "tiles.h", "tile_packing.h")},
    "csrc/epilogue.h": ["tests/runtime/test_blas.py", "tests/codegen/passes/test_epilogue.py"],
    **{f"csrc/{name}": ["tests/primitives/test_lapack.py", "tests/primitives/test_linear_algebra.py"]
       for name in ("lapack.c", "factor.inc", "blocks.inc", "routines.inc", "matrices.h",
                    "triangles.inc", "kernels.inc", "substitution.inc", "pivoting.inc", "qr.inc",
                    "reflections.inc")},
    "csrc/call.c": ["tests/runtime/test_executable.py", "tests/runtime/test_interrupts.py", "tests/api/test_jit.py"],
    "csrc/pool.c": ["tests/runtime/test_threads.py", "tests/runtime/test_fork.py", "tests/runtime/test_blas.py"],
    "csrc/": ["tests/api/test_dispatch.py", "tests/core/test_array.py", "tests/api/test_eager.py", "tests/api",
              "tests/runtime"],
    "tinytrace/runtime": [f"tests/runtime/test_{name}.py" for name in (
        "store", "ladder", "compiler", "process", "keys", "flags", "executable", "interrupts")],
}  # fmt: skip


class Selection:
    """The recording: contexts of coverage.py (one per test), and pytest's durations."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.recording = sqlite3.connect(folder / "coverage.db")
        register_sqlite_functions(self.recording)
        self.files = {name.partition("/tree/")[2]: key
                      for key, name in self.recording.execute("SELECT id, path FROM file")}
        self.breadth = self.lines_run()
        self.seconds: dict[str, float] = {}
        for case in ET.parse(folder / "durations.xml").iter("testcase"):
            if not {"failure", "error", "skipped"} & {child.tag for child in case}:
                test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
                self.seconds[test] = float(case.get("time", 0))

    def tests(self, fault: Fault) -> list[list[str]]:
        """Return the tests to run first, those to run when all of these pass, and so on."""
        inside = [test for path, tests in BY_PATH.items() if fault.path.startswith(path) for test in tests]
        module = fault.path.removesuffix(".py").replace("/", ".")
        inside += [test for test in [f"tests/test_docstrings.py::test_examples[{module}]"] if test in self.seconds]
        if fault.path not in self.files:
            return [self.named(fault), *([test] for test in dict.fromkeys(inside))]
        place = range(fault.line, fault.line + fault.before.count("\n") + 1)
        ran = self.known(self.contexts(fault.path, place))
        if not ran:  # at import time, or never: whoever uses the file
            ran = self.known(self.contexts(fault.path))
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

    def contexts(self, path: str, lines: Iterable[int] | None = None) -> Iterator[str]:
        """Yield the contexts in which a file, or one of some lines of it, was run."""
        query = "SELECT context FROM line_bits JOIN context ON context.id = context_id WHERE file_id = ?"
        arguments: tuple[Any, ...] = (self.files[path],)
        if lines is not None:
            query += " AND numbits_any_intersection(numbits, ?)"
            arguments += (nums_to_numbits(lines),)
        for context, in self.recording.execute(query, arguments):
            yield context

    def lines_run(self) -> dict[str, int]:
        """Return how many lines of the package each test ran."""
        lines: dict[str, int] = defaultdict(int)
        query = "SELECT context, numbits FROM line_bits JOIN context ON context.id = context_id"
        for context, numbits in self.recording.execute(query):
            lines[context.rpartition("|")[0]] += int.from_bytes(numbits, "little").bit_count()
        return lines

    def known(self, contexts: Iterable[str]) -> set[str]:
        """The tests that were recorded and passed."""
        tests = {context.rpartition("|")[0] for context in contexts}
        return {test for test in tests if test in self.seconds and not test.startswith(LEFT_OUT)}

    def mixed(self, tests: set[str], path: str) -> Iterator[str]:
        """Order tests: the first case of each test function, then the second ones.

        First the tests of the fault's own file, then those of its package, then the others, short ones first. Tests
        that run few lines beside the rest expect an error, and see no result: they come last.
        """
        cases = defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            cases[test.partition("[")[0]].append(test)
        usual = statistics.median(self.breadth.get(test, 0) for test in tests) if tests else 0
        package, own = f"tests/{path.split('/')[1]}/", f"test_{pathlib.PurePath(path).stem}"

        def rank(function: str) -> tuple[bool, bool, bool, float, str]:
            file, first = function.partition("::")[0], cases[function][0]
            ends_early = self.breadth.get(first, 0) < usual / 2
            return own not in file, ends_early, not file.startswith(package), self.seconds[first], first

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
