"""Short tracebacks: of an error that leaves this package only the user's own frames are shown.

    JAX_TRACEBACK_FILTERING=auto                   tracebackhide in IPython, else quiet_remove_frames
                            tracebackhide          frames stay and are marked, and IPython skips them
                            quiet_remove_frames    frames are removed, and a note says so
                            remove_frames          frames are removed, and the whole traceback is the error's cause
                            off                    nothing is done

An error passes *boundaries* on its way out: the functions that users call. The outermost one does the work, so that an
error that is caught inside costs a walk up the stack and no more; a call without an error costs nothing.

Source: `jax_traceback_filtering` of JAX 0.4.35 (https://docs.jax.dev/en/latest/config_options.html).
"""
from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from tinytrace.config import config

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
REMOVED = ("--------------------\nFor simplicity, JAX has removed its internal frames from the traceback of the "
           "following exception. Set JAX_TRACEBACK_FILTERING=off to include these.")
_APPENDED = ("The stack trace below excludes JAX-internal frames.\nThe preceding is the original exception that "
             "occurred, unmodified.\n\n--------------------")
_boundaries: set[CodeType] = set()
hidden_files: set[str] = set()
"""Files of other libraries, whose frames are no user's either."""


class UnfilteredStackTrace(Exception):
    """The cause of an error whose internal frames were removed: the traceback with all frames."""


class SimplifiedTraceback(Exception):
    """In JAX 0.4.35 the cause of such an error under Python 3.10, where errors have no notes; here it has the note."""

    def __str__(self) -> str:
        return REMOVED.partition("\n")[2]


SimplifiedTraceback.__module__ = "jax.errors"


def boundary(function: Function) -> Function:
    """Mark a function that handles its errors itself: `except Exception as error: shorten(error); raise`."""
    _boundaries.add(function.__code__)
    return function


def api_boundary(function: Function) -> Function:
    """Decorate a function that users call: errors that leave it have short tracebacks.

    Where one more frame for each call counts, use `boundary` and `shorten`.
    """

    @functools.wraps(function)
    def with_short_tracebacks(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return boundary(with_short_tracebacks)  # type: ignore[return-value]


def shorten(error: Exception) -> None:
    """Shorten the traceback of an error that leaves the boundary that calls this, if no other one is around it."""
    here = sys._getframe(1)
    mode = _mode()
    if mode == "off" or _is_inside_boundary(here):
        return
    _add_notes(error, here)
    if mode == "tracebackhide":
        _hide_frames(error.__traceback__)
        return
    whole = error.__traceback__
    error.__traceback__ = _filtered(whole)
    _shorten_causes(error)
    if mode == "remove_frames":
        _keep_as_cause(error, whole)
    else:
        _add_note(error, REMOVED)


def is_users(frame: FrameType) -> bool:
    """Is a frame one of the user's, or of another library?"""
    file = frame.f_code.co_filename
    return not (file.startswith(PACKAGE) or file in hidden_files)


def _mode() -> str:
    mode: str = config.traceback_filtering
    if mode != "auto":
        return mode
    return "tracebackhide" if "get_ipython" in vars(builtins) else "quiet_remove_frames"


def _is_inside_boundary(frame: FrameType) -> bool:
    around = frame.f_back
    while around is not None:
        if around.f_code in _boundaries:
            return True
        around = around.f_back
    return False


def _shorten_causes(error: BaseException) -> None:
    """Shorten what is printed before an error: what it followed from, or happened while it was handled."""
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        cause.__traceback__ = _filtered(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__


def _filtered(whole: TracebackType | None) -> TracebackType | None:
    """Return a traceback of the user's frames."""
    found = None
    for entry in reversed([*_entries(whole)]):
        if is_users(entry.tb_frame):
            found = TracebackType(found, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return found


def _entries(whole: TracebackType | None) -> Iterator[TracebackType]:
    while whole is not None:
        yield whole
        whole = whole.tb_next


def _hide_frames(whole: TracebackType | None) -> None:
    for entry in _entries(whole):
        if not is_users(entry.tb_frame):
            entry.tb_frame.f_locals["__tracebackhide__"] = True


def _keep_as_cause(error: Exception, whole: TracebackType | None) -> None:
    text = f"{type(error).__module__}.{type(error).__qualname__}: {error}"
    cause = UnfilteredStackTrace(f"{text}\n\n{_APPENDED}").with_traceback(whole)
    cause.__cause__, cause.__context__ = error.__cause__, error.__context__
    cause.__suppress_context__ = error.__suppress_context__
    error.__cause__, error.__context__ = cause, None


def _add_notes(error: Exception, here: FrameType) -> None:
    """Say which expression of the user's it was, if this package raised the error."""
    entries = [*_entries(error.__traceback__)]
    if not entries or is_users(entries[-1].tb_frame):
        return
    notes = importlib.import_module("tinytrace.inspection.error_notes")
    for note in notes.notes_of(error, here):
        _add_note(error, note)


def _add_note(error: Exception, note: str) -> None:
    """Add a note once; an error that the user has made unfit for notes goes on without it."""
    with contextlib.suppress(Exception):
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
