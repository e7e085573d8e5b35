"""Running external commands: by argv, never a shell; as pipelines; with a time limit; leaving nothing behind.

This is os.posix_spawn and one pipe for all that the commands print: when that pipe ends, they have ended. Against
subprocess it saves its import and a millisecond per process, which counts for compiles of 20 ms.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

_PROGRESS_AFTER = 1.0  # seconds until a line of progress appears on a terminal
_LOOK_EVERY = 0.05  # seconds from one look at silent commands to the next


class Finished(NamedTuple):
    """How commands ended: the first exit status that is not 0 (negative: a signal's number), and what was printed."""

    status: int
    output: str
    timed_out: bool = False


def run(*commands: Sequence[str], stdin: str = os.devnull, timeout: float = 60.0, task: str = "") -> Finished:
    """Run a pipeline of commands to its end.

    Args:
      commands: the argv of each; each one's standard output is the next one's standard input.
      stdin: the file that the first one reads; the last one's standard output joins everybody's error output.
      timeout: seconds after which all of them are killed, their children too.
      task: what a line of progress on a terminal calls it, from the first second on; empty for no line.

    Raises: OSError if a program cannot be started.

    >>> run(["echo", "two words"], ["tr", "a-z", "A-Z"])
    Finished(status=0, output='TWO WORDS\\n', timed_out=False)
    """
    return run_together([commands], stdin, timeout, task)


def run_together(pipelines: Sequence[Sequence[Sequence[str]]], stdin: str = os.devnull, timeout: float = 60.0,
                 task: str = "") -> Finished:
    """Run several pipelines at the same time, each as `run` does, and all of them on the same file."""
    progress = _Progress(task)
    pids: list[int] = []
    reader, writer = os.pipe()
    try:
        try:
            for commands in pipelines:
                _start(commands, stdin, writer, pids)
        finally:
            os.close(writer)
        output, timed_out = _read_to_end(reader, pids, timeout, progress)
        status = 0
        while pids and not timed_out:
            status = status or _wait(pids[0])
            del pids[0]
        return Finished(-signal.SIGKILL if timed_out else status, output.decode(errors="replace"), timed_out)
    finally:
        for pid in pids:  # an exception, Ctrl-C among them, or the time limit
            _kill(pid)
        os.close(reader)
        progress.clear()


def _start(commands: Sequence[Sequence[str]], stdin: str, printed: int, pids: list[int]) -> None:
    source = os.open(stdin, os.O_RDONLY)
    environment = {**os.environ, "LC_ALL": "C"}
    for number, argv in enumerate(commands, 1):
        next_source, sink = os.pipe() if number < len(commands) else (-1, printed)
        try:
            actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate((source, sink, printed))]
            # A session of its own: Ctrl-C reaches Python alone, which then kills the command with all its children.
            # Python ignores SIGPIPE, and a command would inherit that.
            pids.append(os.posix_spawnp(argv[0], list(argv), environment, file_actions=actions, setsid=True,
                                        setsigdef=[signal.SIGPIPE]))  # fmt: skip
        finally:
            os.close(source)
            if sink != printed:
                os.close(sink)
            source = next_source


def _read_to_end(reader: int, pids: list[int], timeout: float, progress: _Progress) -> tuple[bytes, bool]:
    """All that is printed until the pipe ends, and whether the time was up before that."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    start = time.monotonic()
    chunks: list[bytes] = []
    while (left := start + timeout - time.monotonic()) > 0:
        progress.show(time.monotonic() - start)
        if poll.poll(min(left, _LOOK_EVERY) * 1000):
            chunk = os.read(reader, 65536)
            chunks.append(chunk)
            if not chunk:
                return b"".join(chunks), False
        elif all(map(_has_ended, pids)):  # another thread has forked meanwhile, and its child keeps the pipe open
            return b"".join(chunks), False
    return b"".join(chunks), True


def _has_ended(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _wait(pid: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0  # somebody else's handler took the status: what the command should have made tells the rest


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it ended by itself meanwhile
        os.killpg(pid, signal.SIGKILL)
    _wait(pid)


class _Progress:
    """One line on a terminal that says what is running and for how long, erased at the end."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.shown = 0  # seconds

    def show(self, seconds: float) -> None:
        passed = int(seconds / _PROGRESS_AFTER)
        if passed > self.shown and self.task and sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{self.task}: {seconds:.0f} s")
            sys.stderr.flush()
            self.shown = passed

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
