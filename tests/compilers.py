"""Runs what runs compiled programs with each C compiler that is installed: `make test-compilers`.

`python -m tests.compilers [compiler ...]`, all of those that `installed` finds if none is named. The programs of one
compiler are never taken for those of another: its name and version are part of their keys.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
PARTS = ["tests/primitives/test_registry.py", "tests/primitives/test_extremes.py", "tests/codegen",
         "tests/control_flow/test_goldens.py", "tests/numpy/test_goldens.py", "tests/testing"]  # fmt: skip
NO_HALF = ["gcc-11"]
"""Compilers without float16: programs with it are refused and interpreted."""


def installed() -> list[str]:
    """The gcc (from 11 on) and clang (from 14 on) that are found on PATH, by name and version."""
    named = [f"gcc-{k}" for k in range(11, 30)] + [f"clang-{k}" for k in range(14, 40)]
    found = [name for name in named if shutil.which(name)]
    paths = {os.path.realpath(shutil.which(name) or "") for name in found}
    plain = [name for name in ("gcc", "clang") if (path := shutil.which(name)) and os.path.realpath(path) not in paths]
    return plain + found


def main(names: list[str]) -> int:
    """Run the tests with one compiler after the other; return how many of them failed."""
    failed = []
    for first, name in enumerate(names or [name for name in installed() if name not in NO_HALF]):
        print(f"==> {name}", flush=True)
        environment = {**os.environ, "CC": name, "HYPOTHESIS_PROFILE": "fast"}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-m", "not slow",
                   "--thorough", "--sample=3", f"--first={first}", *PARTS]  # of long tables all, over three compilers
        if subprocess.run(command, cwd=ROOT, env=environment).returncode:
            failed.append(name)
    print(f"failed: {' '.join(failed)}" if failed else "all compilers pass")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
