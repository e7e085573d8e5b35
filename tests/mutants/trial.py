"""One fault in one copy of the tree: plant it, run the tests that belong to it, take it out again."""

from __future__ import annotations

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

from tests.mutants.faults import Fault

FACTOR, LEAST = 6, 90
"""A trial may take FACTOR times what its tests took when they were recorded, and LEAST seconds more."""
MEMORY = 12 << 30
LEFT_OUT = ("tests/runtime/test_sanitizers.py", "tests/mutants")
"""Sanitizers reserve more addresses than MEMORY."""


class Result(NamedTuple):
    """How a trial ended: caught (by which test), timeout, or survived; the seconds that it took."""

    outcome: str
    by: str
    seconds: float


class Copy:
    """A copy of the recorded tree, with extension modules and a cache of compiled programs of its own."""

    def __init__(self, folder: pathlib.Path, number: int) -> None:
        self.folder = folder / f"copy-{number}"
        self.tree = self.folder / "tree"
        self.pristine = folder / "cache"
        if not self.tree.exists():
            shutil.copytree(folder / "tree", self.tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))

    def environment(self) -> dict[str, str]:
        cache = str(self.folder / "cache")
        return {**os.environ, "PYTHONPATH": str(self.tree), "TINYTRACE_CACHE_DIR": cache, "HYPOTHESIS_PROFILE": "fast"}

    def try_out(self, fault: Fault | None, stages: list[list[str]], seconds: float) -> Result:
        """Run the tests in stages, until one fails; without a fault they must pass."""
        began = time.monotonic()
        outcome = ("survived", "")
        leaves_traces = fault is None or fault.path.startswith(("tinytrace/runtime", "csrc/"))
        if leaves_traces or not (self.folder / "cache").exists():
            self.renew_cache()
        path = self.tree / (fault.path if fault else "setup.py")
        kept, times = path.read_text(), path.stat()
        modules = {module: module.read_bytes() for module in (self.tree / "tinytrace").glob("*.so")}
        try:
            if fault:
                path.write_text(fault.planted(kept))
                self.forget(path)
                if fault.path.startswith("csrc/") and not self.compiles():
                    return Result("caught", "the C compiler", time.monotonic() - began)
            for tests in filter(None, stages):
                outcome = self.run(tests, seconds)
                if outcome[0] != "survived":
                    break
        finally:
            path.write_text(kept)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            self.forget(path)
            if leaves_traces:
                shutil.rmtree(self.folder / "cache", ignore_errors=True)
            if fault and fault.path.startswith("csrc/"):
                for module, content in modules.items():
                    module.write_bytes(content)
        return Result(*outcome, round(time.monotonic() - began, 1))

    def renew_cache(self) -> None:
        """Programs that a fault in how they are made or kept left behind must not be found by the next one.

        Other faults leave nothing wrong: programs are found by their text. Files are shared, folders are not.
        """
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        if self.pristine.exists():
            subprocess.run(["cp", "-al", self.pristine, self.folder / "cache"], check=True)

    def forget(self, path: pathlib.Path) -> None:
        """Python takes a compiled module for that of a text with the same size, written in the same second."""
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()

    def compiles(self) -> bool:
        command = [sys.executable, "-W", "ignore", "setup.py", "-q", "build_ext", "--inplace"]
        return subprocess.run(command, cwd=self.tree, env=self.environment(), capture_output=True).returncode == 0

    def run(self, tests: list[str], seconds: float) -> tuple[str, str]:
        (self.folder / "tests.txt").write_text("\n".join(tests) + "\n")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p",
                   "no:cov", "-m", "not slow", "--hypothesis-seed=0", *(f"--ignore={path}" for path in LEFT_OUT),
                   f"@{self.folder / 'tests.txt'}"]  # fmt: skip
        log = self.folder / "log.txt"
        with log.open("w") as output:
            process = subprocess.Popen(command, cwd=self.tree, env=self.environment(), stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=output, start_new_session=True, preexec_fn=limit)
            try:
                status = process.wait(FACTOR * seconds + LEAST)
            except subprocess.TimeoutExpired:
                return "timeout", ""
            finally:
                stop(process)
        text = log.read_text(errors="replace")
        if status == 0:
            return "survived", ""
        if status == 4 and "not found" in text:  # pytest found a test under another name
            return "error", text[-300:]
        blamed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
        return "caught", blamed[1] if blamed else f"pytest ended with status {status}"


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the session that the tests had: their child processes too."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return
    finally:
        process.wait()
