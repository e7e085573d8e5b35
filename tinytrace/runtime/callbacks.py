"""Python functions that compiled programs call back, such as those of `debug.callback` and `pure_callback`.

A program reads the id of its callback from an input buffer, so that its text does not depend on the process.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from tinytrace._runtime import ffi, lib

DONE = 0x600D
"""What a callback returns to C when it is done (csrc/call.c). Anything else is an error: also the 0 that cffi returns
for a function that could not be called at all."""

_ids = itertools.count(1)
_functions: weakref.WeakValueDictionary[int, HostFunction] = weakref.WeakValueDictionary()
_raised = threading.local()


class HostFunction:
    """A function that compiled programs can call, by its `number`, as long as this object lives.

    Args:
      function: takes the addresses of its buffers, inputs then outputs, and fills the outputs.
      buffers: how many there are.
    """

    def __init__(self, function: Callable[[list[int]], None], buffers: int) -> None:
        self.function, self.buffers = function, buffers
        self.number = next(_ids)
        _functions[self.number] = self


def pending_exception() -> BaseException:
    """The exception that the callback which has just failed in this thread raised."""
    exception = _raised.__dict__.pop("exception", None)
    # None: what interrupted the callback was itself interrupted before it could be kept.
    return exception if exception is not None else KeyboardInterrupt("a callback of a compiled program was interrupted")


def keep_exception(kind: type[BaseException], exception: BaseException, traceback: Any) -> None:
    """Keep what a callback raised, wherever it was raised: Ctrl-C may come before its first line."""
    _raised.exception = exception.with_traceback(traceback)


@ffi.def_extern(name="tt_python_callback", error=0, onerror=keep_exception)  # type: ignore[untyped-decorator]
def _call(number: int, buffers: ffi.CData) -> int:
    """Call one back. C cannot pass exceptions on: they wait, in `keep_exception`, until the program has returned."""
    callback = _functions[number]
    callback.function(ffi.unpack(buffers, callback.buffers))
    return DONE


lib.tt_set_callback(lib.tt_python_callback)
