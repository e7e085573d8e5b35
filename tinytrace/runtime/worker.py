"""Work that no signal interrupts in the middle: Python runs signal handlers on the main thread, so it works elsewhere.

The main thread waits meanwhile, and holds no lock: a handler may do anything, compile the very same program too. An
exception of a handler, Ctrl-C among them, reaches the waiting; the work is then told to stop, cleans up, and ends.

The work imports nothing, not even the codec of a rare encoding: a handler may have begun in the middle of an import,
whose lock the main thread keeps as long as it waits.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tinytrace.config import config
from tinytrace.runtime.process import idle

Result = TypeVar("Result")
_LOOK_EVERY = 0.2  # seconds after which a forked child notices that its worker lives in the parent only
_CLEANING_UP = 10.0  # seconds that work which was told to stop is waited for


class Stopped(BaseException):
    """Raised in work that nobody waits for any more."""


def run_apart(work: Callable[[Callable[[], None]], Result]) -> Result:
    """Return `work(pulse)`, done by another thread if this is the main one.

    Args:
      work: must call `pulse` every now and then, and let through what it raises.
    """
    if _thread.get_ident() != threading.main_thread().ident:
        return work(idle)
    task = _Task(work)
    try:
        task.start()
        is_done = task.wait()
    except BaseException as error:
        if isinstance(error, RuntimeError) and not task.has_thread:  # no more threads, or the interpreter ends
            return work(idle)
        task.stop()
        raise
    return task.result() if is_done else run_apart(work)


class _Task(Generic[Result]):
    """Work and the thread that does it.

    The thread is a plain one: `threading.Thread.start` waits until its thread has begun, and a child that a signal
    handler forks just then has no such thread and would wait for ever.
    """

    def __init__(self, work: Callable[[Callable[[], None]], Result]) -> None:
        self._work = work
        self._settings = dict(config.__dict__)  # this thread's overrides
        self._is_begun = self._is_done = self._is_stopped = False
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self._ended = _thread.allocate_lock()  # not an Event: its wait is Python code, which signals interrupt
        self._ended.acquire()
        self._pid = os.getpid()
        self.has_thread = False

    def start(self) -> None:
        self._is_begun = True  # handlers run after calls, so none runs between this and the next line's call
        _thread.start_new_thread(self._run, ())
        self.has_thread = True

    def wait(self) -> bool:
        """Wait for the end; False in a child that a signal handler has forked, where there is no such thread."""
        while not self._ended.acquire(timeout=_LOOK_EVERY):
            if os.getpid() != self._pid:
                return self._ended.acquire(blocking=False)
        return True

    def stop(self) -> None:
        """Wait until the work has ended, for it cleans up: unless it has not begun, or has told its end already.

        Ctrl-C may come when `wait` has the lock, which nobody releases a second time.
        """
        self._is_stopped = True
        _stopped.append(self)
        has_ended = not self._is_begun or self._is_done or os.getpid() != self._pid
        if has_ended or self._ended.acquire(timeout=_CLEANING_UP):
            _stopped.remove(self)

    def result(self) -> Result:
        if self._error is not None:
            error, self._error = self._error, None  # no cycle with the frames in its traceback
            raise error
        return self._results.pop()

    def _run(self) -> None:
        config.__dict__.update(self._settings)
        try:
            self._results.append(self._work(self._pulse))
        except BaseException as error:
            self._error = error
        finally:
            del self._work  # what it closes over is given back, however long this thread takes to end
            self._is_done = True
            self._ended.release()

    def _pulse(self) -> None:
        if self._is_stopped:
            raise Stopped


_stopped: list[_Task[Any]] = []  # those that may still be cleaning up


@atexit.register
def _wait_for_stopped() -> None:
    for task in list(_stopped):
        task.stop()
