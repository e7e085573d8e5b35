"""Python functions that compiled programs call back, such as those of `debug.callback` and `pure_callback`.

A program reads the id of its callback from an input buffer, so that its text does not depend on the process.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from tinytrace._runtime import ffi, lib

_ids = itertools.count(1)
_functions: dict[int, tuple[Callable[[list[int]], None], int]] = {}
_raised = threading.local()


def register(function: Callable[[list[int]], None], buffers: int) -> int:
    """Make a function callable from compiled programs and return its id.

    Args:
      function: takes the addresses of its buffers, inputs then outputs, and fills the outputs.
      buffers: how many there are.
    """
    number = next(_ids)
    _functions[number] = function, buffers
    return number


def release(number: int) -> None:
    """Forget a function; no program may call it any more."""
    del _functions[number]


def pending_exception() -> BaseException:
    """The exception that the callback which has just failed in this thread raised."""
    exception: BaseException = _raised.__dict__.pop("exception")
    return exception


@ffi.def_extern(name="tt_python_callback")  # type: ignore[untyped-decorator]
def _call(number: int, buffers: ffi.CData) -> int:
    try:
        function, count = _functions[number]
        function(ffi.unpack(buffers, count))
    except BaseException as exception:  # C cannot pass it on: it waits until the program has returned
        _raised.exception = exception
        return 2
    return 0


lib.tt_set_callback(lib.tt_python_callback)
