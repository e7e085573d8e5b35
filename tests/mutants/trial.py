"""One fault in one copy of the tree: plant it, run the tests that belong to it, take it out again."""

from __future__ import annotations

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from typing import NamedTuple, NoReturn

# Read once, for trials run in forks of this process: what most tests import.
import hypothesis.extra.numpy
import hypothesis.strategies  # noqa: F401
import ml_dtypes  # noqa: F401
import numpy.ma  # noqa: F401
import pytest

from tests.mutants.faults import Fault

WORK, FACTOR = 20, 4
"""Seconds of processor time that the tests of a trial may take, and FACTOR times what they took when recorded; a
program that does not end shows by them on a busy machine too. Those that wait for ever are stopped after a while."""
LONGEST = 150
MEMORY = 12 << 30
LEFT_OUT = ("tests/runtime/test_sanitizers.py", "tests/mutants", "tests/course", "tests/faults",
            "tests/test_tutorials.py", "tests/documents", "tests/api/test_one_meaning.py")  # fmt: skip
"""Sanitizers reserve more addresses than MEMORY. The others run everything in child processes, or at all sizes: they
would catch much, but late."""


class Result(NamedTuple):
    """How a trial ended: caught (by which test), timeout, survived, or open (so far); the seconds that it took."""

    outcome: str
    by: str
    seconds: float


class Copy:
    """A copy of the recorded tree, with extension modules and a cache of compiled programs of its own."""

    def __init__(self, folder: pathlib.Path, number: int) -> None:
        self.folder = folder / f"copy-{number}"
        self.tree = self.folder / "tree"
        self.cache = self.folder / "cache"
        if not self.tree.exists():
            shutil.copytree(folder / "tree", self.tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            if (folder / "cache").exists():
                subprocess.run(["cp", "-al", folder / "cache", self.cache], check=True)  # files are shared

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.tree), "TINYTRACE_CACHE_DIR": str(self.cache),
                "HYPOTHESIS_PROFILE": "fast"}

    def try_out(self, fault: Fault | None, stages: list[list[str]], seconds: float) -> Result:
        """Run the tests in stages, until one fails; without a fault they must pass.

        What a fault in how programs are kept leaves in the cache must not be found by the next one. Others leave
        nothing wrong there: programs are found by their text.
        """
        began = time.monotonic()
        outcome = ("survived", "")
        alone = fault is None or fault.path.startswith("tinytrace/runtime")
        self.cache = self.folder / ("empty" if alone else "cache")
        if alone:
            shutil.rmtree(self.cache, ignore_errors=True)
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
            if fault and fault.path.startswith("csrc/"):
                for module, content in modules.items():
                    module.write_bytes(content)
        return Result(*outcome, round(time.monotonic() - began, 1))

    def forget(self, path: pathlib.Path) -> None:
        """Python takes a compiled module for that of a text with the same size, written in the same second."""
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()

    def compiles(self) -> bool:
        command = [sys.executable, "-W", "ignore", "setup.py", "-q", "build_ext", "--inplace"]
        return subprocess.run(command, cwd=self.tree, env=self.environment(), capture_output=True).returncode == 0

    def run(self, tests: list[str], seconds: float) -> tuple[str, str]:
        (self.folder / "tests.txt").write_text("\n".join(tests) + "\n")
        log = self.folder / "log.txt"
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            self.become_pytest(log, round(WORK + FACTOR * seconds))
        status = wait(process, LONGEST + FACTOR * seconds)
        text = log.read_text(errors="replace")
        if status is None or status == -signal.SIGXCPU:
            return "timeout", ""
        if status == 0:
            return "survived", ""
        if status == 4 and "not found" in text:  # pytest found a test under another name
            return "error", text[-300:]
        if "while loading conftest" in text:
            return "caught", "the import of the package"
        blamed = re.search(r"^(?:FAILED|ERROR) (.+)", text, re.MULTILINE)
        if not blamed:
            return "caught" if status < 0 else "error", f"pytest ended with status {status}"
        names = [test for test in tests if blamed[1].startswith(test) and "::" in test]
        return "caught", max(names, key=len, default=blamed[1].partition(" - ")[0])

    def become_pytest(self, log: pathlib.Path, work: int) -> NoReturn:
        """Run the tests of the copy in this process, which was forked for that."""
        status = 3
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (work, work + 5))
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os.dup2(1, 2)
            os.environ.update(self.environment())
            here = os.getcwd()
            os.chdir(self.tree)
            sys.path[:] = [str(self.tree), *(path for path in sys.path if path not in ("", here))]
            for module in [name for name in sys.modules if name.partition(".")[0] in ("tests", "tinytrace")]:
                del sys.modules[module]
            status = int(pytest.main([
                "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:cov", "-m", "not slow", "-W",
                "ignore::pytest.PytestAssertRewriteWarning", "--hypothesis-seed=0",
                *(f"--ignore={path}" for path in LEFT_OUT), f"@{self.folder / 'tests.txt'}"]))
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)


def wait(process: int, seconds: float) -> int | None:
    """Return how a process ended, a signal as its negative number, or None after `seconds`; end its session."""
    until = time.monotonic() + seconds
    status = None
    while status is None and time.monotonic() < until:
        ended, code = os.waitpid(process, os.WNOHANG)
        if ended:
            status = os.waitstatus_to_exitcode(code)
        else:
            time.sleep(0.02)
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        return status
    if status is None:
        os.waitpid(process, 0)
    return status
