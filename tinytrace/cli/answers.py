"""What a command answers: a value for programs, a text for people, and whether all is well.

    0   all is well
    1   the command ran, and the answer is no: something is missing, damaged, or raised an error
    2   the command line is wrong: no such command, option, function, type, entry or file
    130 interrupted by Ctrl-C
"""

from __future__ import annotations

import os
import sys
from typing import Any

from tinytrace.records import NamedTuple

FINE, NOT_FINE, WRONG_USE, INTERRUPTED = 0, 1, 2, 130


class Answer(NamedTuple):
    """What a command found out: `value` is what `--json` prints, `text` what is printed otherwise."""

    value: Any
    text: str
    status: int = FINE


class WrongUse(Exception):
    """The command line asks for what is not there; the message says what would be right."""


def note(text: str) -> None:
    """Tell the user something that is not the answer."""
    print(f"tinytrace: {text}", file=sys.stderr)


def emphasized(text: str, code: str = "1") -> str:
    """Return a text in bold or colour where a terminal shows it and NO_COLOR does not forbid it.

    Source: https://no-color.org.
    """
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{code}m{text}\x1b[0m" if wanted else text
