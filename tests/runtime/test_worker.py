"""Work that another thread does: what it held is given back when it is done."""

from __future__ import annotations

import _thread
import time
import weakref

from tinytrace.runtime import worker


class LateThread:
    """A lock whose thread lingers after it has told that the work is done."""

    def __init__(self):
        self._lock = _thread.allocate_lock()
        self.acquire = self._lock.acquire

    def release(self):
        self._lock.release()
        time.sleep(0.5)


def test_a_thread_that_ends_late_holds_nothing_of_the_work(monkeypatch):
    class Held:
        pass

    class Locks:
        allocate_lock = LateThread
        get_ident, start_new_thread = _thread.get_ident, _thread.start_new_thread

    def make():
        held = Held()
        assert worker.run_apart(lambda pulse: (held, "done")[1]) == "done"
        return weakref.ref(held)

    monkeypatch.setattr(worker, "_thread", Locks)
    assert make()() is None
