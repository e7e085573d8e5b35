"""What can go wrong between C text and a loaded program, and how it is told.

The ladder is memory, disk, compiler; then memory only when the disk is unusable, and the interpreter when there is no
working compiler. Each step down warns once per process, naming the reason and the remedy; the answer stays the same.
With TINYTRACE_STRICT=1 a step down raises StrictError instead.
"""

from __future__ import annotations

import warnings

from tinytrace.config import config


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
        remedy: str = "read what the compiler printed, or set CC to another C compiler",
    ) -> None:
        self.reason, self.command, self.output = reason, command, output
        self.source_path, self.remedy = source_path, remedy
        super().__init__(reason, command, output, source_path, remedy)

    def __str__(self) -> str:
        lines = [self.reason]
        lines += [f"  command: {' '.join(self.command)}"] if self.command else []
        lines += [f"  source:  {self.source_path}"] if self.source_path else []
        return "\n".join([*lines, *_first_lines(self.output)])


class NoCompiler(Exception):
    """A program cannot be compiled here: the interpreter must run it. It has been announced."""


class StrictError(RuntimeError):
    """A step down the failure ladder, refused because TINYTRACE_STRICT=1."""


class DegradedWarning(RuntimeWarning):
    """tinytrace goes on with the same answers, but slower than it could."""


_announced: set[str] = set()


def step_down(to: str, reason: str, remedy: str) -> None:
    """Announce a step down the ladder: a DegradedWarning the first time, a StrictError every time when strict.

    Args:
      to: the step that is taken instead, such as "memory only".
      reason: what happened.
      remedy: what the user can do about it.
    """
    message = f"{reason}\nGoing on with {to}; to mend it, {remedy}."
    if config.strict:
        raise StrictError(f"{message} (An error because TINYTRACE_STRICT=1.)")
    if to not in _announced:
        warnings.warn(message, DegradedWarning, stacklevel=2)
        _announced.add(to)


def forget_announcements() -> None:
    """Let every step down warn again, as in a new process."""
    _announced.clear()


def _first_lines(output: str, limit: int = 20) -> list[str]:
    lines = output.strip().splitlines()
    if len(lines) > limit:
        lines[limit:] = [f"... ({len(lines) - limit} more lines)"]
    return [f"  | {line}" for line in lines]
