"""What can go wrong between C text and a loaded program, and how it is told.

The ladder is memory, disk, compiler; then memory only when the disk is unusable, and the interpreter when there is no
working compiler. Each step down warns once per process, naming the reason and the remedy; the answer stays the same.
With TINYTRACE_STRICT=1 a step down raises StrictError instead.
"""

from __future__ import annotations

import warnings

from tinytrace.config import config
from tinytrace.records import NamedTuple

READ_IT = "read what the compiler printed, or set CC to another C compiler"


class CompileError(RuntimeError):
    """There is no C compiler, it failed, it was stopped after its time limit, or what it made does not load.

    Attributes: `command`, the argv that failed; `output`, what it printed; `source_path`, a copy of the C text;
    `remedy`, what the user can do about it.
    """

    def __init__(
        self,
        reason: str,
        command: tuple[str, ...] = (),
        output: str = "",
        source_path: str = "",
        remedy: str = READ_IT,
    ) -> None:
        self.reason, self.command, self.output = reason, command, output
        self.source_path, self.remedy = source_path, remedy
        super().__init__(reason, command, output, source_path, remedy)

    def __str__(self) -> str:
        lines = [printable(self.reason, 1000)]
        lines += [f"  command: {printable(' '.join(self.command), 4000)}"] if self.command else []
        lines += [f"  source:  {printable(self.source_path, 4000)}"] if self.source_path else []
        return "\n".join([*lines, *_first_lines(self.output)])


class TimeLimitError(CompileError):
    """A compiler was stopped because it exceeded its time limit, TINYTRACE_COMPILE_TIMEOUT."""

    def __init__(self, reason: str, command: tuple[str, ...] = (), output: str = "", source_path: str = "",
                 remedy: str = "set TINYTRACE_COMPILE_TIMEOUT to more seconds, or CC to another C compiler") -> None:
        super().__init__(reason, command, output, source_path, remedy)


class NoCompiler(Exception):
    """A program cannot be compiled here: the interpreter must run it. It has been announced."""


class StrictError(RuntimeError):
    """A step down the failure ladder, refused because TINYTRACE_STRICT=1."""


class DegradedWarning(RuntimeWarning):
    """tinytrace goes on with the same answers, but slower than it could."""


class Step(NamedTuple):
    """One step down the ladder.

    Args:
      to: the step that is taken instead, such as "memory only".
      reason: what happened.
      remedy: what the user can do about it.
    """

    to: str
    reason: str
    remedy: str


_announced: set[str] = set()


def step_down(*steps: Step) -> None:
    """Announce steps down, the last one the lowest: in one DegradedWarning the first time, or a StrictError every time.

    Steps to the same are announced once per process.
    """
    new = steps if config.strict else [step for step in steps if step.to not in _announced]
    if not new:
        return
    reasons, remedies = dict.fromkeys(step.reason for step in new), dict.fromkeys(step.remedy for step in new)
    message = "\n".join([*reasons, f"Going on with {new[-1].to}; to mend it, {', and '.join(remedies)}."])
    if config.strict:
        raise StrictError(f"{message} (An error because TINYTRACE_STRICT=1.)")
    names = {step.to for step in new}
    _announced.update(names)  # first: another thread may be here too
    try:
        warnings.warn(message, DegradedWarning, stacklevel=2)
    except BaseException:  # where warnings are errors, each is one
        _announced.difference_update(names)
        raise


def forget_announcements() -> None:
    """Let every step down warn again, as in a new process."""
    _announced.clear()


def _first_lines(output: str, limit: int = 20) -> list[str]:
    lines = output.strip().splitlines()
    if len(lines) > limit:
        lines[limit:] = [f"... ({len(lines) - limit} more lines)"]
    return [f"  | {printable(line)}" for line in lines]


def printable(text: str, limit: int = 200) -> str:
    """A text for a message: in one line, of a bounded length, whatever bytes it is of.

    >>> printable("a\\nb\\udcff")
    'a\\\\nb\\\\xff'
    """
    shown = "".join(c if c.isprintable() else _escape(c) for c in text[:limit])
    return shown if len(text) <= limit and len(shown) <= limit else f"{shown[:limit]}... ({len(text)} characters)"


def _escape(c: str) -> str:
    if "\udc80" <= c <= "\udcff":  # a byte that is no UTF-8
        return f"\\x{ord(c) - 0xDC00:02x}"
    return ascii(c)[1:-1]
