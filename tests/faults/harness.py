"""Programs in child processes, and what is left when they have ended.

A `Sandbox` is one user with one cache: a home, a temporary, a working and a cache directory of its own. A program that
runs in it must give the right answer or a clear error, warn at most once, die of no signal, end in time, and leave
neither processes nor temporary files behind: `Ended.require_right()` asks for all of this.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tests.faults.fork_server import ROOT, STREAMS, ForkServer

LIMIT = 60.0
"""Seconds that a program may take, on a machine that does other things too; then it hangs."""

RIGHT = "right"
"""What a program prints when every answer was right."""

_PRELUDE = """\
import json, os, sys, warnings
def _report(message, category, filename, lineno, file=None, line=None):
    text = str(message).encode(errors="backslashreplace").decode()[:4000]
    os.write(int(os.environ["FAULTS_REPORT"]), json.dumps([category.__name__, text]).encode() + b"\\n")
warnings.showwarning = _report
warnings.simplefilter("always")
del _report
"""

ANSWER = """\
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
from tests.faults.fork_server import forget
X = np.linspace(-1, 1, 16, dtype=np.float32)
def check(n=2):
    np.testing.assert_allclose(jax.jit(lambda x: jnp.sin(x) * n + x)(X), np.sin(X) * n + X, 1e-5)
"""
"""Begins a program: `check(n)` compiles a function that is another for each n, and raises if its answer is wrong.

After `forget()` it is as if a new process came to the same store and compiler.
"""


LOADING = """\
from tests.faults.fork_server import forget
from tests.runtime.programs import adder, answer, expected
from tinytrace.config import config
from tinytrace.runtime.ladder import load, stats
def right(n=1):
    assert answer(load(adder(n))) == expected(n)
"""
"""Begins a program that traces nothing: `right(n)` loads a program that is another for each n."""


SILENT = """
from tinytrace.runtime import locks
locks.SILENCE = 0.6  # seconds: that a holder stands still is noticed sooner
"""


@dataclass
class Ended:
    """How a program ended: its exit status (negative: a signal's number) and everything it left."""

    status: int
    output: str
    errors: str
    warnings: list[str]
    seconds: float
    timed_out: bool
    processes: list[str] = field(default_factory=list)
    """Command lines of the processes that it started and that outlived it."""
    files: list[str] = field(default_factory=list)
    """What it left in its temporary, home and working directories."""

    def require_clean(self) -> Ended:
        """Assert that it ended in time, of no signal, and left no process and no file."""
        assert not self.timed_out, f"it hangs: {self.errors[-4000:]}"
        assert self.status >= 0, f"it died of {signal.Signals(-self.status).name}: {self.errors[-4000:]}"
        assert not self.processes, f"processes are left: {self.processes}"
        assert not self.files, f"files are left: {self.files}"
        return self

    def require_right(self, warned: Sequence[int] = (0, 1), output: str = RIGHT) -> Ended:
        """Assert that it is clean, printed `output` last, and warned as often as `warned` allows, with a remedy."""
        self.require_clean()
        assert self.status == 0, self.errors[-4000:]
        assert self.output.strip().endswith(output), self.output[-2000:]
        assert len(self.warnings) in warned, self.warnings
        for warning in self.warnings:
            assert "DegradedWarning" in warning, warning
            assert "; to mend it, " in warning, warning
        return self


class Running:
    """A program that runs: it can be sent signals, and must be waited for."""

    def __init__(self, sandbox: Sandbox, program: str, environment: Mapping[str, str], cwd: str | os.PathLike[str],
                 arguments: Sequence[str] = (), prefix: Sequence[str] = ()) -> None:
        self.sandbox = sandbox
        self.mark = uuid.uuid4().hex
        self.begun = time.monotonic()
        self._report, writer = os.pipe()
        os.set_blocking(self._report, False)
        whole = {**environment, "FAULTS_REPORT": str(writer), "FAULTS_MARK": self.mark}
        command = [*prefix, sys.executable, "-X", "faulthandler", "-c", _PRELUDE + textwrap.dedent(program), *arguments]
        # A group of its own: Ctrl-C at the terminal of the tests is not for it.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=whole, cwd=cwd, pass_fds=[writer], process_group=0)
        os.close(writer)

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: int) -> None:
        """Send a signal to the program, not to what it has started."""
        self.process.send_signal(number)

    def line(self) -> str:
        """The next line that the program prints: how it says that it is ready."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode(errors="replace").strip()

    def tell(self, line: str) -> None:
        """Give the program a line to read."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, timeout: float = LIMIT) -> Ended:
        """How it ended; a program that exceeds its time is aborted, and its stacks are in `errors`."""
        timed_out = False
        try:
            output, errors = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGABRT)
            try:
                output, errors = self.process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                output, errors = self.process.communicate()
        seconds = time.monotonic() - self.begun
        processes = _end_processes(self.mark)
        return Ended(self.process.returncode, output.decode(errors="replace"), errors.decode(errors="replace"),
                     self._warnings(), seconds, timed_out, processes, self.sandbox.files_left())

    def _warnings(self) -> list[str]:
        chunks = []
        with suppress(BlockingIOError):  # a process that outlived it still holds the other end
            while chunk := os.read(self._report, 1 << 20):
                chunks.append(chunk)
        os.close(self._report)
        return [": ".join(json.loads(line)) for line in b"".join(chunks).splitlines()]


class Sandbox:
    """One user on one machine: `run(program)` runs a Python program with a cache, home and TMPDIR of its own."""

    def __init__(self, folder: pathlib.Path, server: ForkServer) -> None:
        self.folder, self.server = folder, server
        self.cache, self.tmp, self.home, self.work = (folder / name for name in ("cache", "tmp", "home", "work"))
        for path in (self.tmp, self.home, self.work):
            path.mkdir(mode=0o700)
        self.environment = {
            **{name: value for name, value in os.environ.items()
               if not name.startswith(("TINYTRACE_", "JAX_", "XDG_")) and name != "CC"},
            "TINYTRACE_CACHE_DIR": str(self.cache), "TMPDIR": str(self.tmp), "HOME": str(self.home),
            "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    def start(self, program: str, env: Mapping[str, str | None] | None = None,
              cwd: str | os.PathLike[str] | None = None, arguments: Sequence[str] = (),
              prefix: Sequence[str] = ()) -> Running:
        """Start a program; `env` adds variables to the sandbox's, or removes those that are None.

        prefix: a command that runs the program, such as `unshare`.
        """
        merged = {**self.environment, **(env or {})}
        whole = {name: value for name, value in merged.items() if value is not None}
        return Running(self, program, whole, cwd or self.work, arguments, prefix)

    def run(self, program: str, env: Mapping[str, str | None] | None = None,
            cwd: str | os.PathLike[str] | None = None, timeout: float = LIMIT,
            arguments: Sequence[str] = (), prefix: Sequence[str] = ()) -> Ended:
        """Run a program to its end, at most `timeout` seconds."""
        return self.start(program, env, cwd, arguments, prefix).wait(timeout)

    def fork(self, program: str, env: Mapping[str, str] | None = None, timeout: float = LIMIT) -> Ended:
        """Run a program as `run` does, in a fork of a process that has imported everything: it starts at once.

        For programs to which it does not matter how their process begins.
        """
        begun, mark = time.monotonic(), uuid.uuid4().hex
        files = [self.folder / name for name in STREAMS]
        for file in files:
            file.write_text("")
        environment = {**self.environment, **(env or {}), "FAULTS_MARK": mark}
        timed_out, status = self.server.run(_PRELUDE + textwrap.dedent(program), environment, self.folder, self.work,
                                            timeout)
        output, errors, report = (file.read_text(errors="replace") for file in files)
        told = [": ".join(json.loads(line)) for line in report.splitlines()]
        return Ended(status, output, errors, told, time.monotonic() - begun, timed_out, _end_processes(mark),
                     self.files_left())

    def entries(self) -> list[pathlib.Path]:
        """The folders of the entries in the store."""
        return sorted(self.cache.glob("*/entries/??/*"))

    def leftovers(self) -> list[pathlib.Path]:
        """What is in the store that is neither an entry nor a note."""
        return sorted(path for name in ("building", "locks", "aside") for path in self.cache.glob(f"*/{name}/*"))

    def script(self, text: str, name: str = "bin/cc") -> str:
        """Write an executable shell script and return its path."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o700)
        return str(path)

    def files_left(self) -> list[str]:
        """What is in the temporary, home and working directories, where nothing should be."""
        return sorted(str(path.relative_to(self.folder))
                      for base in (self.tmp, self.home, self.work) for path in base.rglob("*"))


def _end_processes(mark: str) -> list[str]:
    """The command lines of processes that carry the mark two seconds after their parent's end; they are killed."""
    deadline = time.monotonic() + 2
    while (left := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return list(left.values())


def _marked(mark: str) -> dict[int, str]:
    wanted = f"FAULTS_MARK={mark}".encode()
    found = {}
    for name in os.listdir("/proc"):
        with suppress(OSError):  # not a process, somebody else's, or gone meanwhile
            folder = pathlib.Path("/proc", name)
            if name.isdecimal() and wanted in (folder / "environ").read_bytes():
                found[int(name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found
