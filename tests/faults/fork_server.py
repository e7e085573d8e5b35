"""Programs in forks of one small process that has imported everything: they start at once.

A process that runs tests grows to half a gigabyte, of which each of its forks would copy a part: a program of 0.1 s
would take 0.8 s. The server is started once per such process and does nothing but fork, so its children are small.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

import tests.runtime.programs  # noqa: F401
import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.runtime import discovery, ladder
from tinytrace.runtime.failures import forget_announcements

ROOT = pathlib.Path(__file__).parent.parent.parent
STREAMS = ("output", "errors", "report")
"""The files that a program writes: its standard output, its error output, and what its prelude reports."""


class ForkServer:
    """The end of those who want programs to be run; it starts with the first program."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def run(self, code: str, environment: dict[str, str], folder: pathlib.Path, work: pathlib.Path,
            timeout: float) -> tuple[bool, int]:
        """Run a program to its end; Returns whether it exceeded its time, and its exit status.

        Args:
          folder: has the files of its streams.
          work: its working directory.
        """
        request = {"code": code, "environment": environment, "folder": str(folder), "work": str(work),
                   "timeout": timeout}
        with self._connection().makefile("rw") as stream:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            answer = stream.readline()
        assert answer, "the fork server has ended"
        timed_out, status = json.loads(answer)
        return timed_out, status

    def _connection(self) -> socket.socket:
        if self._socket is None:
            self._socket, theirs = socket.socketpair()
            command = [sys.executable, "-c", f"from {__name__} import serve; serve({theirs.fileno()})"]
            with theirs:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                                                 env={**os.environ, "PYTHONPATH": str(ROOT)}, process_group=0)
        return self._socket

    def stop(self) -> None:
        """End the server, if it was started."""
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._process.wait(30)
            self._socket = self._process = None


def serve(descriptor: int) -> None:
    """Run one program after the other, each in a fork, until nobody can ask for more."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells let background commands ignore
    np.testing.assert_allclose(jax.jit(jnp.sin)(np.zeros(3, np.float32)), jnp.sin(jnp.zeros(3)))  # has all it needs
    os.set_inheritable(descriptor, False)
    gc.collect()
    gc.freeze()  # children that collect garbage would copy everything
    with socket.socket(fileno=descriptor) as connection, connection.makefile("rw") as stream:
        for line in stream:
            request = json.loads(line)
            timeout = request.pop("timeout")
            pid = os.fork()
            if pid == 0:
                os.close(descriptor)
                be_a_program(**request)
            stream.write(json.dumps(wait_for(pid, timeout)) + "\n")
            stream.flush()


def be_a_program(code: str, environment: dict[str, str], folder: str, work: str) -> NoReturn:
    """Become a process that runs a program and nothing else."""
    status = 1
    try:
        os.setpgid(0, 0)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(work)
        files = [os.open(os.path.join(folder, name), os.O_RDWR | os.O_APPEND) for name in STREAMS]
        for stream, descriptor in ((1, files[0]), (2, files[1])):
            os.dup2(descriptor, stream)
        os.environ["FAULTS_REPORT"] = str(files[2])
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        faulthandler.enable(sys.stderr)
        jax.config.update("tinytrace_cache_dir", environment["TINYTRACE_CACHE_DIR"])
        jax.config.update("tinytrace_compiler", environment.get("CC", ""))
        if "TINYTRACE_COMPILE_TIMEOUT" in environment:
            jax.config.update("tinytrace_compile_timeout", int(environment["TINYTRACE_COMPILE_TIMEOUT"]))
        forget()
        forget_announcements()
        exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def forget() -> None:
    """Forget the programs, the store and the compilers, as a new process would not know them."""
    jax.clear_caches()
    ladder.clear_memory()
    tables: Sequence[Any] = (discovery._compilers, discovery._stores, discovery._silent, discovery._remembered)
    for table in tables:
        table.clear()
    ladder.stats.reset()


def wait_for(pid: int, timeout: float) -> tuple[bool, int]:
    """Whether a child exceeded its time, and its exit status; what exceeds its time is aborted, then killed."""
    deadline, timed_out = time.monotonic() + timeout, False
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return timed_out, os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            for number in (signal.SIGCONT, signal.SIGKILL if timed_out else signal.SIGABRT):
                os.kill(pid, number)
            timed_out, deadline = True, deadline + 5
        time.sleep(0.005)
