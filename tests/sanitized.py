"""Runs tests with the C runtime and all compiled programs under gcc's sanitizers: `make sanitize`.

`python -m tests.sanitized [pytest's arguments]` builds the extension modules with -fsanitize=address,undefined in a
folder of their own, build/sanitized, and runs pytest on that copy of the package. The arguments of CC make compiled
programs the same way; they are part of a program's key, so the two sorts are never taken for each other. Python itself
is not instrumented: it is started with the sanitizers' libraries loaded.

What counts as an error: an access outside of what was asked for, be it a block of the pool (csrc/alloc.c hides free
blocks, and the spare bytes after one in use, from the sanitizer's point of view), an array on the stack or NumPy's
memory; a misaligned access, a shift by too much, an integer division by zero, an index outside of an array's bounds, a
float that does not fit the integer it is converted to. Signed overflow is no error in compiled programs: -fwrapv
defines it.

The first error ends the process. With -n (pytest-xdist) the test is then named, and the other tests go on.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "build" / "sanitized"
FLAGS = "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"

PARTS = ["tests/api", "tests/codegen", "tests/control_flow", "tests/csrc", "tests/lax", "tests/numpy/test_goldens.py",
         "tests/primitives", "tests/random", "tests/runtime", "tests/testing"]  # fmt: skip
OTHERS = ["tests/runtime/test_alloc.py",  # writes into the spare bytes after blocks, to see that they are there
          "tests/runtime/test_compiler.py", "tests/runtime/test_sanitizers.py"]  # run gcc themselves  # fmt: skip
LEFT_OUT = [
    # Ask for digits that sums have in vectors; with checks in them, loops are not vectorised.
    "tests/codegen/schedule/test_split_reduction.py::test_long_sums_lose_few_digits",
    "tests/codegen/schedule/test_split_reduction.py::test_variance_where_samples_mislead",
    "tests/runtime/test_ladder.py::test_no_compiler",  # names the compilers that are looked for without CC
]


def build() -> None:
    """Compile the extension modules and copy the package beside them."""
    subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "-q", "build", "--build-base", FOLDER / "objects", "--build-lib",
         FOLDER / "lib"],
        env={**os.environ, "CFLAGS": FLAGS, "LDFLAGS": FLAGS}, cwd=ROOT, check=True,
    )  # fmt: skip


def environment() -> dict[str, str]:
    """What makes a Python process use what `build` made."""
    libraries = [library(name) for name in ("libasan.so", "libubsan.so")]
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python ends without freeing everything
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "CC": f"gcc {FLAGS}",
        "TINYTRACE_CACHE_DIR": str(ROOT / ".cache" / "sanitized"),
        # This copy of the package, not the one in ROOT, which is there for the tests.
        "PYTHONPATH": os.pathsep.join([str(FOLDER / "lib"), str(ROOT)]), "PYTHONSAFEPATH": "1",
        "HYPOTHESIS_PROFILE": "fast",
    }  # fmt: skip


def library(name: str) -> str:
    """Where gcc has a library."""
    answer = subprocess.run(["gcc", f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True, check=True)
    path = answer.stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"gcc has no {name} on this machine: install its sanitizers")
    return path


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments, or on all parts; its exit status."""
    build()
    chosen = arguments or [*PARTS, *(f"--ignore={path}" for path in OTHERS),
                           *(f"--deselect={test}" for test in LEFT_OUT), "-q", "-n", "auto"]
    command = [sys.executable, "-m", "pytest", "--import-mode=append", *chosen]
    return subprocess.run(command, env=environment(), cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
