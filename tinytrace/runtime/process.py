"""Running external commands: by argv, never a shell; as pipelines; with limits of time and output; to their end.

This is os.posix_spawn and one pipe for all that the commands print: when that pipe ends, they have ended. Against
subprocess it saves its import and a millisecond per process, which counts for compiles of 20 ms.
"""

from __future__ import annotations

import fcntl
import operator
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress

from tinytrace.records import NamedTuple
from tinytrace.util import unforkable

_PROGRESS_AFTER = 1.0  # seconds until a line of progress appears on a terminal
_LOOK_EVERY = 0.05  # seconds from one look at silent commands to the next
_KEPT = 1 << 20  # bytes of output that are kept
_MOST = 1 << 26  # bytes of output after which a command is taken for endless


class Finished(NamedTuple):
    """How commands ended.

    Args:
      status: the first exit status that is not 0; negative: a signal's number.
      output: what was printed, up to a MiB of it; bytes that are no UTF-8 are surrogates, as in file names.
      stopped: why the commands were killed, empty if they ended by themselves.
    """

    status: int
    output: str
    stopped: str = ""


TIME_IS_UP = "did not end within its time limit and was stopped"
ENDLESS = "printed without end"


def idle() -> None:
    """What is done while commands run: nothing."""


def run(*commands: Sequence[str], stdin: str = os.devnull, timeout: float = 60.0, task: str = "") -> Finished:
    """Run a pipeline of commands to its end.

    Args:
      commands: the argv of each; each one's standard output is the next one's standard input.
      stdin: the file that the first one reads; the last one's standard output joins everybody's error output.
      timeout: seconds after which all of them are killed, their children too.
      task: what a line of progress on a terminal calls it, from the first second on; empty for no line.

    Raises: OSError if a program cannot be started, ValueError if an argument holds a null character.

    >>> run(["echo", "two words"], ["tr", "a-z", "A-Z"])
    Finished(status=0, output='TWO WORDS\\n', stopped='')
    """
    return run_together([commands], stdin, timeout, task)


def run_together(pipelines: Sequence[Sequence[Sequence[str]]], stdin: str = os.devnull, timeout: float = 60.0,
                 task: str = "", pulse: Callable[[], None] = idle,
                 variables: Mapping[str, str] | None = None, ahead: Ahead | None = None) -> Finished:
    """Run several pipelines at the same time, each as `run` does, and all of them on the same file.

    Args:
      pulse: called every now and then; what it raises ends the commands and passes on.
      variables: what their environment has besides this process's.
      ahead: the first command of the first pipeline, if it was started before; it gets its input now.
    """
    watch = _Watch(timeout, _Progress(task), pulse)
    environment = _environment(variables)
    pids: list[int] = []
    reader = -1
    try:
        # A child forked meanwhile would keep ends of the commands' pipes, and who reads from them would never end.
        with unforkable:
            reader, writer = map(_above_standard, os.pipe())
            try:
                _start(pipelines, stdin, writer, environment, pids, ahead)
            finally:
                os.close(writer)
        output, stopped = _read_to_end(reader, pids, watch)
        status = 0
        while pids and not stopped:
            status = status or _wait(pids[0])
            del pids[0]
        return Finished(-signal.SIGKILL if stopped else status, os.fsdecode(output), stopped)
    finally:
        for pid in pids:  # an exception, Ctrl-C among them, or a limit
            _wait(pid, kill=True)
        if reader >= 0:
            os.close(reader)
        watch.progress.clear()


class Ahead:
    """The first of some commands, started before its input is known; its output is the next one's input.

    What it prints as errors is lost, and of a last one all that it prints. Who makes one closes it, whether it was
    given its input or not.
    """

    LARGEST = 1 << 16
    """Bytes of an input: as many as a pipe holds while nobody reads from it."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = tuple(argv)
        self._pid = 0
        self._ends: list[int] = []
        self._told: bytes | None = None

    def start(self) -> None:
        """Start it.

        Raises: OSError if that is impossible, ValueError if an argument holds a null character.
        """
        with unforkable:
            _waiting.add(self)  # a child that is forked from now on closes its copies
            with ExitStack() as theirs:
                error = _above_standard(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
                theirs.callback(os.close, error)
                source, ours = map(_above_standard, os.pipe())
                theirs.callback(os.close, source)
                self._ends.append(ours)
                ours, output = map(_above_standard, os.pipe())
                theirs.callback(os.close, output)
                self._ends.append(ours)
                self._pid = _spawned(self.argv, _environment(), (source, output, error))

    def tell(self, data: bytes) -> None:
        """Give it its input, if it is waiting and that is not too large; where its output goes is said later.

        In a child that a signal's handler forks meanwhile there are no ends any more, after any call.
        """
        if not self._pid or self._told is not None or len(data) > self.LARGEST:
            return
        self._told, rest = data, memoryview(data)
        with suppress(BrokenPipeError):  # it has ended, and its status tells why
            while rest and self._ends:
                rest = rest[os.write(self._ends[0], rest):]
        if self._ends:
            os.close(self._ends.pop(0))

    def given(self, stdin: str, pids: list[int]) -> int:
        """Give it a file that it can be given; from now on it is one of `pids`. Returns: where its output is read."""
        self.tell(_bytes_of(stdin))
        pids.append(self._pid)
        self._pid = 0
        return self._ends.pop()

    def can_be_given(self, stdin: str) -> bool:
        """Is it waiting, and the file not too large? If it was told something, is it that?"""
        if not self._pid or os.path.getsize(stdin) > self.LARGEST:
            return False
        return self._told is None or self._told == _bytes_of(stdin)

    def close(self) -> None:
        """End it, if it was given nothing."""
        _waiting.discard(self)
        self._close_ends()
        if self._pid:
            _wait(self._pid, kill=True)
            self._pid = 0

    def _close_ends(self) -> None:
        while self._ends:
            os.close(self._ends.pop())

    def forget(self) -> None:
        """Let go of it in a child, to which it does not belong."""
        self._pid = 0
        self._close_ends()


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


_waiting: set[Ahead] = set()


def _forget_waiting() -> None:
    while _waiting:
        _waiting.pop().forget()


os.register_at_fork(after_in_child=_forget_waiting)


def _environment(variables: Mapping[str, str] | None = None) -> Mapping[str, str]:
    return {**os.environ, "LC_ALL": "C", **(variables or {})}


def _start(pipelines: Sequence[Sequence[Sequence[str]]], stdin: str, printed: int, environment: Mapping[str, str],
           pids: list[int], ahead: Ahead | None) -> None:
    """Start all commands, those first that read the file.

    What starts while every core is at work waits for its turn, and so does who starts it: those that have work to do
    start at once, side by side, and those that wait for their output after them.
    """
    commands: list[tuple[int, Sequence[str], int, int]] = []
    with ExitStack() as ends:
        for pipeline in pipelines:
            if ahead is not None:
                source, pipeline, ahead = ahead.given(stdin, pids), pipeline[1:], None
            else:
                source = _above_standard(os.open(stdin, os.O_RDONLY | os.O_CLOEXEC))
            ends.callback(os.close, source)
            for readers, argv in zip(reversed(range(len(pipeline))), pipeline, strict=True):
                next_source, sink = map(_above_standard, os.pipe()) if readers else (-1, printed)
                if readers:
                    ends.callback(os.close, next_source)
                    ends.callback(os.close, sink)
                commands.append((readers, argv, source, sink))
                source = next_source
        for _, argv, source, sink in sorted(commands, key=operator.itemgetter(0), reverse=True):
            pids.append(_spawned(argv, environment, (source, sink, printed)))


def _spawned(argv: Sequence[str], environment: Mapping[str, str], streams: tuple[int, int, int]) -> int:
    """Start a command. It has a session of its own: Ctrl-C reaches Python alone, which then kills it and its children.

    Python ignores SIGPIPE, and a command would inherit that.
    """
    actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate(streams)]
    return os.posix_spawnp(argv[0], list(argv), environment, file_actions=actions, setsid=True,
                           setsigdef=[signal.SIGPIPE])  # fmt: skip


def _above_standard(descriptor: int) -> int:
    """The descriptor, or one like it that is no standard stream: where those are closed, pipes take their numbers."""
    if descriptor > 2:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(descriptor)


def _read_to_end(reader: int, pids: list[int], watch: _Watch) -> tuple[bytes, str]:
    """What is printed until the commands have ended, and why they have to be stopped, if they have."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    kept, printed, pause = b"", 0, 0.0001
    at_end = have_ended = False
    with ExitStack() as stack:
        ends = [_end_of(pid, stack) for pid in pids]
        for end in ends:
            if end >= 0:
                poll.register(end, select.POLLIN)
        while not watch.is_up():
            if at_end and -1 in ends:  # they have closed their output, and end now or later
                time.sleep(pause)
                pause = min(2 * pause, _LOOK_EVERY)
            else:
                ready = [descriptor for descriptor, _ in poll.poll(0 if have_ended else _LOOK_EVERY * 1000)]
                for end in set(ready) - {reader}:
                    poll.unregister(end)
                if reader in ready:
                    chunk = os.read(reader, 65536)
                    printed += len(chunk)
                    kept += chunk[:max(0, _KEPT - len(kept))]
                    if printed > _MOST:
                        return kept, ENDLESS
                    if chunk:
                        continue
                    at_end = True
                    poll.unregister(reader)
            # Without the pipe's end too: what a command has left running may keep the pipe open. And not before another
            # look: they may have printed since the last one.
            if have_ended:
                return kept, ""
            have_ended = all(map(_has_ended, pids))
    return kept, TIME_IS_UP


def _end_of(pid: int, stack: ExitStack) -> int:
    """A descriptor that can be read from once a command has ended, -1 where there is none (before Linux 5.3)."""
    try:
        end = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1
    stack.callback(os.close, end)
    return end


def _has_ended(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _wait(pid: int, kill: bool = False) -> int:
    """The exit status of a command; what it started and left in its group ends with it."""
    try:
        if kill:
            os.killpg(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # until it is waited for, its number is nobody else's
        os.killpg(pid, signal.SIGKILL)
    except (ChildProcessError, ProcessLookupError, PermissionError):
        pass
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0  # somebody else's handler took the status: what the command should have made tells the rest


class _Watch:
    """The time limit of commands, and what is done while they run."""

    def __init__(self, timeout: float, progress: _Progress, pulse: Callable[[], None]) -> None:
        self.progress, self._pulse = progress, pulse
        self._begun = time.monotonic()
        self._timeout = timeout

    def is_up(self) -> bool:
        passed = time.monotonic() - self._begun
        self.progress.show(passed)
        self._pulse()
        return passed > self._timeout


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
