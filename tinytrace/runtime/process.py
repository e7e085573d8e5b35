"""Running external commands: by argv, never a shell; as a pipeline; with a time limit; leaving nothing behind.

This is os.posix_spawn and one pipe for all that the commands print: when that pipe ends, they have ended. It starts a
process in a third of subprocess's time and costs no import, which counts for compiles of 20 ms.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

_PROGRESS_AFTER = 1.0  # seconds until a line of progress appears on a terminal


@dataclass(frozen=True)
class Finished:
    """How a pipeline ended: the first exit status that is not 0 (negative: a signal's number), and what was printed."""

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
    progress = _Progress(task)
    pids: list[int] = []
    reader, writer = os.pipe()
    try:
        try:
            _start(commands, stdin, writer, pids)
        finally:
            os.close(writer)
        output, timed_out = _read_to_end(reader, timeout, progress)
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
            actions = [(os.POSIX_SPAWN_DUP2, source, 0), (os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_DUP2, printed, 2)]
            # A session of its own: Ctrl-C reaches Python alone, which then kills the command with all its children.
            # Python ignores SIGPIPE, and a command would inherit that.
            pids.append(os.posix_spawnp(argv[0], argv, environment, file_actions=actions, setsid=True,
                                        setsigdef=[signal.SIGPIPE]))  # fmt: skip
        finally:
            os.close(source)
            if sink != printed:
                os.close(sink)
            source = next_source


def _read_to_end(reader: int, timeout: float, progress: _Progress) -> tuple[bytes, bool]:
    """All that is printed until everybody has closed the pipe, and whether the time was up before that."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    start = time.monotonic()
    chunks: list[bytes] = []
    while (left := start + timeout - time.monotonic()) > 0:
        if not poll.poll(min(left, _PROGRESS_AFTER) * 1000):
            progress.show(time.monotonic() - start)
        elif chunk := os.read(reader, 65536):
            chunks.append(chunk)
        else:
            return b"".join(chunks), False
    return b"".join(chunks), True


def _wait(pid: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0  # somebody else's handler took the status: what the command should have made tells the rest


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended by itself meanwhile
    _wait(pid)


class _Progress:
    """One line on a terminal that says what is running and for how long, erased at the end."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.shown = False

    def show(self, seconds: float) -> None:
        if self.task and sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{self.task}: {seconds:.0f} s")
            sys.stderr.flush()
            self.shown = True

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
