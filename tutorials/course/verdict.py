"""What a checker says: a value that prints itself for a terminal and for a notebook."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class CounterExample:
    """A case in which an answer differs from the solution.

    Args:
      law: the property that it breaks.
      program: the case, which runs as it is shown.
      expected: what the solution gives.
      got: what the answer gives.
      difference: the first element that differs.
    """

    law: str
    program: str
    expected: Any
    got: Any
    difference: str

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Titles and texts, in the order in which they are shown."""
        return [
            ("the law", self.law),
            ("broken by", self.program.strip("\n")),
            ("expected", shown(self.expected)),
            ("your answer", shown(self.got)),
            ("first difference", self.difference),
        ]


@dataclass(frozen=True)
class Verdict:
    """What the checker says of an answer.

    Args:
      exercise: its id.
      accepted: whether no case told it from the solution.
      message: what to take along, or what the mistake looks like; empty for a mistake that is new to the checker.
      recognised: which known wrong answer it behaves like: "stub", "wrong 0", ..., or nothing.
      counter_example: where it differs.
      seconds: what checking took.
    """

    exercise: str
    accepted: bool
    message: str
    recognised: str = ""
    counter_example: CounterExample | None = None
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return self.accepted

    @property
    def headline(self) -> str:
        """The verdict in two words."""
        state = "right" if self.accepted else "not started" if self.recognised == "stub" else "not yet"
        return f"Exercise {self.exercise}: {state}."

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What is shown below the headline; of the stub no counter-example: it breaks every law."""
        if self.counter_example is None or self.recognised == "stub":
            return []
        return self.counter_example.rows

    def __repr__(self) -> str:
        lines = [f"{self.headline} {self.message}".strip()]
        for title, content in self.rows:
            if "\n" in content:
                lines += [f"  {title}:", *(f"    {line}" for line in content.split("\n"))]
            else:
                lines.append(f"  {title + ':':18}{content}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colour = "green" if self.accepted else "gray" if self.recognised == "stub" else "crimson"
        cells = "".join(
            f"<tr><td style='text-align:left;vertical-align:top'>{html.escape(title)}</td>"
            f"<td style='text-align:left'><pre style='margin:0'>{html.escape(content)}</pre></td></tr>"
            for title, content in self.rows
        )
        table = f"<table>{cells}</table>" if cells else ""
        return (
            f"<div style='border-left:4px solid {colour};padding-left:1em'>"
            f"<p><b>{html.escape(self.headline)}</b> {markdown_line(self.message)}</p>{table}</div>"
        )


def markdown_line(line: str) -> str:
    """One line of Markdown as HTML: `code` and *emphasis*, nothing else.

    >>> markdown_line("`a < b` is *not* `b`")
    '<code>a &lt; b</code> is <em>not</em> <code>b</code>'
    """
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        f"<code>{html.escape(part[1:-1])}</code>"
        if part.startswith("`") and part.endswith("`") and len(part) > 1
        else re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", html.escape(part, quote=False))
        for part in parts
    )


def shown(value: Any) -> str:
    """A value as the learner sees it; texts of several lines as they are."""
    if isinstance(value, str) and "\n" in value:
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return f"{value.dtype.name} {value}"
    return str(value) if type(value).__name__ == "Raised" else repr(value)
