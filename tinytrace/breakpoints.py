"""`jax.debug.breakpoint`: a prompt, `(jdb)`, where a running program comes to a line, with the values of that moment.

What is written down when the function is traced is the frames: their source, and their local variables, in which there
are tracers. These are the operands of a callback, so that each visit puts values in their places.

Source: `jax.debug.breakpoint` (https://docs.jax.dev/en/latest/debugging/print_breakpoint.html) of JAX 0.4.35. To walk
through a program equation by equation, see `tinytrace.debugger`.
"""
from __future__ import annotations

import cmd
import inspect
import pprint
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import IO, Any

from tinytrace.api.callbacks import pure_callback
from tinytrace.control_flow.bodies import keep, merge
from tinytrace.core.trace import Tracer
from tinytrace.core.trees import PyTreeDef, tree_flatten
from tinytrace.debug import callback
from tinytrace.lax import stop_gradient
from tinytrace.records import dataclass, replace
from tinytrace.tracebacks import is_users


@dataclass(frozen=True)
class DebuggerFrame:
    """One frame of the stack: where it is, its source, and its variables.

    Args: source: the lines around; offset: which of them is the line `lineno`, None where the source is not known.
    """

    filename: str
    locals: dict[str, Any]
    globals: dict[str, Any]
    code_context: Sequence[str] | None
    source: list[str]
    lineno: int
    offset: int | None

    @classmethod
    def from_frameinfo(cls, info: inspect.FrameInfo) -> DebuggerFrame:
        """Return what is to be known of an entry of `inspect.stack()`."""
        source, offset = _source_of(info)
        return cls(info.filename, dict(info.frame.f_locals), {}, info.code_context, source, info.lineno, offset)


def _source_of(info: inspect.FrameInfo) -> tuple[list[str], int | None]:
    try:
        lines, start = inspect.getsourcelines(info.frame)
    except OSError:
        return [], None
    source, offset = "".join(lines).split("\n"), info.lineno - max(start, 1)
    return (source, offset) if offset < len(source) else ([], None)  # code of `eval` may belong to another file


Debugger = Callable[..., None]
_debuggers: dict[str, tuple[int, Debugger]] = {}
_one_at_a_time = threading.Lock()


def get_debugger(backend: str | None = None) -> Debugger:
    """Return the debugger of this name, or the one of the highest priority where there is none of the name."""
    if backend in _debuggers:
        return _debuggers[backend][1]
    return max(_debuggers.values(), key=lambda registered: registered[0])[1]


def register_debugger(name: str, debugger: Debugger, priority: int) -> None:
    """Let `breakpoint(backend=name)` call `debugger(frames, thread_id, **kwargs)`.

    Raises: ValueError when there is one of that name.
    """
    if name in _debuggers:
        raise ValueError(f'Debugger with name "{name}" already registered.')
    _debuggers[name] = priority, debugger


def breakpoint(*, backend: str | None = None, filter_frames: bool = True, num_frames: int | None = None,
               ordered: bool = False, token: Any = None, **kwargs: Any) -> Any:
    """Stop at a prompt whenever the program comes to this place: `p x`, `bt`, `u`, `d`, `l`, `c`, `q`.

    Args:
      backend: "cli", or the name of what was registered by `register_debugger`.
      filter_frames: leave out the frames of tinytrace, and of files that libraries hide.
      num_frames: how many frames can be seen at most, from this one outwards.
      token: arrays that are returned, and that the program must have computed before it stops.
      kwargs: for the debugger: `stdin` and `stdout` of "cli".

    Raises: ValueError for both `ordered` and `token`.
    See https://docs.jax.dev/en/latest/_autosummary/jax.debug.breakpoint.html.

    >>> import io, tinytrace as jax
    >>> typed, shown = io.StringIO("p y\\nc\\n"), io.StringIO()
    >>> @jax.jit
    ... def f(x):
    ...     y = 2 * x
    ...     breakpoint(stdin=typed, stdout=shown)
    ...     return y
    >>> result = f(3.0)
    >>> print(shown.getvalue().splitlines()[1])
    (jdb) Array(6., dtype=float32)
    """
    if token is not None and ordered:
        raise ValueError("`ordered` and `token` are mutually exclusive arguments.")
    stack = [info for info in inspect.stack()[1:] if not filter_frames or is_users(info.frame)]
    frames = list(map(DebuggerFrame.from_frameinfo, stack))[:num_frames]
    flat = [_flat_variables(frame) for frame in frames]
    tracers = [x for leaves, _ in flat for x in leaves if isinstance(x, Tracer)]

    def stop(*values: Any) -> None:
        thread = None if threading.current_thread() is threading.main_thread() else threading.get_ident()
        debugger = get_debugger(backend)
        with _one_at_a_time:
            debugger(_with_values(frames, flat, values), thread, **kwargs)

    if token is None:
        callback(stop, *tracers, ordered=ordered)
        return None

    def stop_and_return(token: Any, *values: Any) -> Any:
        stop(*values)
        return token

    token, *tracers = stop_gradient((token, *tracers))
    return pure_callback(stop_and_return, token, token, *tracers)


def _flat_variables(frame: DebuggerFrame) -> tuple[list[Any], list[tuple[str, PyTreeDef]]]:
    """Return the leaves of all variables, and the names and trees to which they belong."""
    leaves: list[Any] = []
    trees = []
    for name, value in frame.locals.items():
        try:
            flat, tree = tree_flatten(value)
        except Exception:  # a node of the user's that fails, keys that cannot be compared: it is shown as no tree
            flat, tree = tree_flatten(_CANNOT_FLATTEN)
        leaves += flat
        trees.append((name, tree))
    return leaves, trees


class _CannotFlatten:
    def __repr__(self) -> str:
        return "<cant_flatten>"


_CANNOT_FLATTEN = _CannotFlatten()


def _with_values(frames: Sequence[DebuggerFrame], flat: Sequence[tuple[list[Any], list[tuple[str, PyTreeDef]]]],
                 values: Sequence[Any]) -> list[DebuggerFrame]:
    """Return the frames with `values`, in their order, where there were tracers."""
    rest, shown = list(values), []
    for frame, (leaves, trees) in zip(frames, flat, strict=True):
        traced = [isinstance(x, Tracer) for x in leaves]
        mine, rest = rest[:sum(traced)], rest[sum(traced):]
        found = merge(traced, keep(leaves, [not is_traced for is_traced in traced]), mine)
        variables = {}
        for name, tree in trees:
            variables[name] = tree.unflatten(found[:tree.num_leaves])
            found = found[tree.num_leaves:]
        shown.append(replace(frame, locals=variables))
    return shown


# --- the prompt ------------------------------------------------------------------------------------------------

class CliDebugger(cmd.Cmd):
    """The debugger "cli": a prompt on two streams, those of the process by default."""

    prompt = "(jdb) "
    intro = "Entering jdb:"

    def __init__(self, frames: Sequence[DebuggerFrame], thread_id: int | None, stdin: IO[str] | None = None,
                 stdout: IO[str] | None = None, completekey: str = "tab") -> None:
        super().__init__(stdin=stdin, stdout=stdout, completekey=completekey)
        self.use_rawinput = stdin is None
        self.frames, self.frame_index, self.thread_id = frames, 0, thread_id

    def current_frame(self) -> DebuggerFrame:
        """Return the frame that is looked at."""
        return self.frames[self.frame_index]

    def evaluate(self, expression: str) -> Any:
        """Return the value of a Python expression over the variables of the frame."""
        frame = self.current_frame()
        return eval(expression, {}, {**frame.globals, **frame.locals})

    def _say(self, text: str) -> None:
        print(text, file=self.stdout)

    def _say_value(self, expression: str, form: Callable[[Any], str]) -> None:
        try:
            self._say(form(self.evaluate(expression)))
        except Exception as error:
            self._say("*** " + traceback.format_exception_only(error)[-1].strip())

    def default(self, line: str) -> None:
        """Print the value of what is no command."""
        self._say_value(line, repr)

    def do_p(self, arg: str) -> None:
        """p expression
        Evaluates and prints the value of an expression
        """
        self._say_value(arg, repr)

    def do_pp(self, arg: str) -> None:
        """pp expression
        Evaluates and pretty-prints the value of an expression
        """
        self._say_value(arg, pprint.pformat)

    def do_up(self, arg: str) -> None:
        """u(p)
        Move down a stack frame.
        """
        if self.frame_index == len(self.frames) - 1:
            self._say("At topmost frame.")
        else:
            self.frame_index += 1
        self.print_context()

    def do_down(self, arg: str) -> None:
        """d(own)
        Move down a stack frame.
        """
        if self.frame_index == 0:
            self._say("At bottommost frame.")
        else:
            self.frame_index -= 1
        self.print_context()

    def do_list(self, arg: str) -> None:
        """l(ist)
        List source code for the current file.
        """
        self.print_context(num_lines=5)

    def do_continue(self, arg: str) -> bool:
        """c(ont(inue))
        Continue the program's execution.
        """
        return True

    def do_quit(self, arg: str) -> None:
        """q(uit)\n(exit)
        Quit the debugger. The program is given an exit command.
        """
        sys.exit(0)

    def do_where(self, arg: str) -> None:
        """w(here)
        Prints a stack trace with the most recent frame on the bottom.
        'bt' is an alias for this command.
        """
        self._say("Traceback:")
        for frame in self.frames[::-1]:
            line = "<no source>" if frame.offset is None else frame.source[frame.offset].strip()
            self._say(f'  File "{frame.filename}", line {frame.lineno}\n    {line}')

    do_u, do_d, do_l, do_c, do_cont = do_up, do_down, do_list, do_continue, do_continue
    do_q = do_EOF = do_exit = do_quit  # noqa: N815  (the command at the end of the input)
    do_w = do_bt = do_where

    def print_context(self, num_lines: int = 2) -> None:
        """Print the line of the frame among its neighbours."""
        frame = self.current_frame()
        self._say(f"> {frame.filename}({frame.lineno})")
        for i, line in enumerate(frame.source):
            at = frame.offset or 0
            if at - 1 - num_lines <= i <= at + num_lines:
                self._say(f"{'->' if i == at else '  '}  {line}")

    def run(self) -> None:
        """Answer commands until one of them goes on with the program; Ctrl-C goes back to the prompt."""
        while True:
            try:
                self.cmdloop()
                break
            except KeyboardInterrupt:
                print("--KeyboardInterrupt--", file=sys.stdout)


def run_debugger(frames: Sequence[DebuggerFrame], thread_id: int | None, **kwargs: Any) -> None:
    """Stop at the prompt of `CliDebugger`."""
    CliDebugger(frames, thread_id, **kwargs).run()


register_debugger("cli", run_debugger, -1)

__all__ = ["CliDebugger", "DebuggerFrame", "breakpoint", "get_debugger", "register_debugger"]
