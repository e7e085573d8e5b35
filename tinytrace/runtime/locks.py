"""Locks between processes: a convenience that spares double work, and that nobody waits for without end.

Who holds one writes a growing number into its file while the work goes on. Who waits stops waiting when that number
stands still (the holder was stopped, or its machine is gone), and goes on without the lock. No clock of the disk and no
process id is looked at: a lock is held exactly as long as the kernel says so.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tinytrace.runtime.folders import Folder

SILENCE = 3.0  # seconds without a sign of life after which a holder is not waited for
_BEAT_EVERY = 0.2  # seconds from one sign of life to the next
_LONGEST_PAUSE = 0.05  # seconds from one look at a lock to the next
_WIDTH = 8  # bytes of each of the two numbers in the file: signs of life, and seconds of a time limit that was exceeded

_held: set[int] = set()  # the descriptors of locks


def _let_go() -> None:
    """Close, in a forked child, what keeps its parent's locks held, should the parent die."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go)


class Turn:
    """What a process may do while it has, or does without, the lock of a piece of work.

    Attributes: `exceeded`, the time limit in seconds that whoever held the lock before has exceeded while this process
    waited; 0 if none.
    """

    def __init__(self, descriptor: int = -1) -> None:
        self._descriptor = descriptor
        self._beats = 0
        self._last_beat = 0.0
        self.exceeded = 0

    def beat(self) -> None:
        """Give a sign of life, if the last one was some time ago."""
        now = time.monotonic()
        if self._descriptor >= 0 and now - self._last_beat > _BEAT_EVERY:
            self._beats, self._last_beat = self._beats + 1, now
            self._write(self._beats, 0)

    def tell_exceeded(self, limit: int) -> None:
        """Tell those who wait that the work takes longer than `limit` seconds."""
        if self._descriptor >= 0:
            self._write(limit, _WIDTH)

    def _write(self, number: int, place: int) -> None:
        with suppress(OSError):  # a full disk: others wait for a shorter time
            os.pwrite(self._descriptor, number.to_bytes(_WIDTH, "little"), place)


@contextmanager
def hold(folder: Folder, name: str, patience: float, pulse: Callable[[], None]) -> Iterator[Turn]:
    """Hold the lock `name` in `folder`, or go on without it where locks do not work or its holder does not move.

    Args:
      patience: seconds to wait at most.
      pulse: called while waiting; it may raise.
    """
    descriptor = _open(folder, name)
    turn, is_ours, works = Turn(), False, True
    try:
        if descriptor >= 0:
            _held.add(descriptor)
            try:
                is_ours = _wait(descriptor, patience, pulse)
            except OSError:
                works = False
            turn = Turn(descriptor if is_ours else -1)
            turn.exceeded = _numbers(descriptor)[1]
            turn.beat()
        yield turn
    finally:
        if is_ours or not works:
            folder.unlink(name)  # the work is done: whoever makes the next lock file finds it done
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for children that inherited the descriptor
        if descriptor in _held:  # not in a child, which has closed it
            _held.remove(descriptor)
            os.close(descriptor)


@contextmanager
def live(folder: Folder) -> Iterator[bool]:
    """Hold the lock of a directory itself: as long as it is held, `is_dead` says that it is somebody's."""
    try:
        _held.add(folder.descriptor)
        with suppress(OSError):
            fcntl.flock(folder.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield os.fstat(folder.descriptor).st_nlink > 0
    finally:
        if folder.descriptor in _held:
            _held.remove(folder.descriptor)
        else:
            folder.descriptor = -1  # in a child, which has closed it


def is_dead(folder: Folder, name: str) -> bool:
    """Whether nobody holds the lock of a file or directory; False also where that cannot be known."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC,
                             dir_fd=folder.descriptor)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _open(folder: Folder, name: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, 0o600, dir_fd=folder.descriptor)
    except OSError:
        return -1
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return -1


def _wait(descriptor: int, patience: float, pulse: Callable[[], None]) -> bool:
    """Wait until the lock is ours (True), or is not worth waiting for; OSError where locks do not work."""
    begun = heard = time.monotonic()
    before, pause = _numbers(descriptor), 0.001
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            pulse()
        now, numbers = time.monotonic(), _numbers(descriptor)
        if numbers != before:
            before, heard = numbers, now
        if now - heard > SILENCE or now - begun > patience:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _numbers(descriptor: int) -> tuple[int, int]:
    with suppress(OSError):
        data = os.pread(descriptor, 2 * _WIDTH, 0)
        return int.from_bytes(data[:_WIDTH], "little"), int.from_bytes(data[_WIDTH:], "little")
    return 0, 0
