"""`KeyDiff`: what differs between two cache keys, as data: one row for each place, with a hint."""
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tinytrace.core import views
from tinytrace.records import NamedTuple


class KeyRow(NamedTuple):
    """One place in which two keys differ.

    Args:
      path: where: `params['w'][0].shape`, `n`, `config.enable_x64`, `compiler`.
      mine, other: what the two keys have there; None where one of them has nothing.
      hint: what that means, or what to do; may be empty.
    """

    path: str
    mine: Any
    other: Any
    hint: str = ""

    def __str__(self) -> str:
        hint = f"  ({self.hint})" if self.hint else ""
        return f"{self.path}: {_shown(self.mine)} -> {_shown(self.other)}{hint}"


class KeyDiff(Sequence[KeyRow]):
    """The rows in which two keys differ; it is false when there are none, and prints one row per line.

    >>> diff = KeyDiff([KeyRow("x.shape", (3,), (4,), "another shape is another program")])
    >>> print(diff)
    x.shape: (3,) -> (4,)  (another shape is another program)
    >>> diff.paths
    ('x.shape',)
    """

    def __init__(self, rows: Sequence[KeyRow]) -> None:
        self.rows = tuple(rows)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the keys differ."""
        return tuple(row.path for row in self.rows)

    def __getitem__(self, index: Any) -> Any:
        """Return the row of a number, or of a path."""
        if isinstance(index, str):
            found = [row for row in self.rows if row.path == index]
            if not found:
                raise KeyError(f"there is no difference at {index!r}, but at {', '.join(self.paths) or 'no place'}")
            return found[0]
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[KeyRow]:
        return iter(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDiff) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.paths)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows)) or "no difference"

    def __repr__(self) -> str:
        return f"KeyDiff({list(self.rows)!r})"

    def to_json(self) -> list[dict[str, Any]]:
        """The rows as JSON values: numbers and texts as they are, everything else as it prints."""
        return [{"path": row.path, "mine": _plain(row.mine), "other": _plain(row.other), "hint": row.hint}
                for row in self.rows]

    def _repr_html_(self) -> str:
        return views.tables.html_table(("path", "this key", "the other", "hint"),
                                       [(row.path, _shown(row.mine), _shown(row.other), row.hint) for row in self.rows])


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value
