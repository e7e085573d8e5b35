"""Runs tests with the C runtime and all compiled programs under gcc's sanitizers: `make sanitize`.

`python -m tests.sanitized [pytest's arguments]` builds the extension modules with a sanitizer in a folder of their own
under build/ and runs that copy of the package. The arguments of CC make compiled programs the same way; they are part
of a program's key, so the sorts are never taken for each other. Python itself is not instrumented: it is started with
the sanitizers' libraries loaded. `python -m tests.sanitized threads` runs the part that is about threads alone.

What counts as an error, with -fsanitize=address,undefined: an access outside of what was asked for, be it a block of
the pool (csrc/alloc.c hides free blocks, and the spare bytes after one in use, from the sanitizer's point of view), an
array on the stack or NumPy's memory; a misaligned access, a shift by too much, an integer division by zero, an index
outside of an array's bounds, a float that does not fit the integer it is converted to. Signed overflow is no error in
compiled programs: -fwrapv defines it.

With -fsanitize=thread: two threads at one place in memory, one of which writes, with nothing that orders them. Nothing
is suppressed: what CPython's own locks order (the GIL is a pthread mutex and a condition) the sanitizer sees, and code
that it did not instrument, CPython's and NumPy's, it does not report.

The first error ends the process. With -n (pytest-xdist) the test is then named, and the other tests go on.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parent.parent
SECONDS = 60
"""How long threads share objects, under each of the sanitizers."""


class Sanitizer(NamedTuple):
    """One build of the package: where it is, gcc's flags for it, the libraries that must be loaded first, options."""

    folder: pathlib.Path
    flags: str
    libraries: tuple[str, ...]
    options: dict[str, str]


ADDRESSES = Sanitizer(
    ROOT / "build" / "sanitized",
    "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer -g1",
    ("libasan.so", "libubsan.so"),
    # Python ends without freeing everything, and asks for more memory than there is to hear that there is none.
    {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
     "UBSAN_OPTIONS": "print_stacktrace=1"})
# The fences of csrc/pool.c are not modelled, which gcc warns of: what they order is atomic, and ordered by `turn` too.
THREADS = Sanitizer(ROOT / "build" / "sanitized-threads", "-fsanitize=thread -fno-omit-frame-pointer -g1 -Wno-tsan",
                    ("libtsan.so",), {"TSAN_OPTIONS": "halt_on_error=1 exitcode=66"})

PARTS = ["tests/api", "tests/codegen", "tests/control_flow", "tests/csrc", "tests/lax", "tests/numpy/test_goldens.py",
         "tests/numpy/test_sets.py", "tests/numpy/test_updates.py", "tests/primitives", "tests/random",
         "tests/runtime", "tests/scipy", "tests/testing"]  # fmt: skip
OTHERS = ["tests/codegen/test_passes.py",  # runs kernels in NumPy, nothing that is compiled
          "tests/runtime/test_alloc.py",  # writes into the spare bytes after blocks, to see that they are there
          "tests/runtime/test_compiler.py", "tests/runtime/test_sanitizers.py"]  # run gcc themselves  # fmt: skip
LEFT_OUT = [
    # Ask for digits that sums have in vectors; with checks in them, loops are not vectorised.
    "tests/codegen/schedule/test_split_reduction.py::test_long_sums_lose_few_digits",
    "tests/codegen/schedule/test_split_reduction.py::test_long_sums_of_equal_terms_lose_few_digits",
    "tests/codegen/schedule/test_split_reduction.py::test_mean_and_variance_read_once_as_exactly_as_twice",
    "tests/codegen/schedule/test_split_reduction.py::test_variance_where_samples_mislead",
    "tests/api/test_export_c.py::test_its_makefile_builds_it",  # without checks, so its sums have lanes
    "tests/api/test_recipes.py::test_numpys_arrays_do_not_come_from_fresh_pages",  # the sanitizer's own blocks do
    "tests/runtime/test_ladder.py::test_no_compiler",  # names the compilers that are looked for without CC
    "tests/runtime/test_keys.py::test_no_path_time_or_process_enters",  # names a compiler without CC's arguments
    "tests/runtime/test_inventory.py::test_the_recorded_commands_by_hand",  # what sanitizers add has random names
    # Objects call the sanitizer, and so are linked once more, with its library.
    "tests/runtime/test_ahead.py::test_the_compiler_starts_before_there_is_a_text",
    "tests/runtime/test_ahead.py::test_another_form_of_the_compiler_than_was_thought_of",
    "tests/runtime/test_ahead.py::test_a_linker_that_was_started_before_makes_the_same_library",
]


def build(sanitizer: Sanitizer) -> None:
    """Compile the extension modules and copy the package beside them."""
    subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "-q", "build", "--build-base", sanitizer.folder / "objects",
         "--build-lib", sanitizer.folder / "lib"],
        env={**os.environ, "CFLAGS": sanitizer.flags, "LDFLAGS": sanitizer.flags}, cwd=ROOT, check=True,
    )  # fmt: skip


def run(sanitizer: Sanitizer, *arguments: str) -> int:
    """Run Python with these arguments on what `build` made; its exit status."""
    environment = {
        **os.environ, **sanitizer.options,
        "LD_PRELOAD": " ".join(map(library, sanitizer.libraries)),
        "CC": f"gcc {sanitizer.flags}",
        "TINYTRACE_CACHE_DIR": str(ROOT / ".cache" / sanitizer.folder.name),
        # This copy of the package, not the one in ROOT, which is there for the tests.
        "PYTHONPATH": os.pathsep.join([str(sanitizer.folder / "lib"), str(ROOT)]), "PYTHONSAFEPATH": "1",
        "HYPOTHESIS_PROFILE": "fast",
    }  # fmt: skip
    return subprocess.run([sys.executable, *arguments], env=environment, cwd=ROOT).returncode


def library(name: str) -> str:
    """Where gcc has a library."""
    answer = subprocess.run(["gcc", f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True, check=True)
    path = answer.stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"gcc has no {name} on this machine: install its sanitizers")
    return path


def run_threads() -> int:
    """Let threads share objects under each sanitizer, and plant a race, which must be seen."""
    failed = run(THREADS, *pytest_on(THREADS), "-q", "tests/runtime/test_planted.py")
    for each in (THREADS, ADDRESSES):
        failed |= run(each, "-m", "tests.shared_by_threads", str(SECONDS))
    return failed


def pytest_on(sanitizer: Sanitizer) -> list[str]:
    """The arguments of Python that run pytest on what `build` made: pyproject.toml would put ROOT before it."""
    folders = [sanitizer.folder / "lib", ".", "tutorials", "tutorials/build"]
    return ["-m", "pytest", "--import-mode=append", "-o", f"pythonpath={' '.join(map(str, folders))}"]


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments, or all parts and the threads; the exit status."""
    build(ADDRESSES)
    if arguments and arguments != ["threads"]:
        return run(ADDRESSES, *pytest_on(ADDRESSES), *arguments)
    build(THREADS)
    failed = run_threads()
    if not arguments:
        chosen = [*PARTS, *(f"--ignore={path}" for path in OTHERS), *(f"--deselect={test}" for test in LEFT_OUT)]
        failed |= run(ADDRESSES, *pytest_on(ADDRESSES), *chosen, "-q", "-n", "auto", "--thorough")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
