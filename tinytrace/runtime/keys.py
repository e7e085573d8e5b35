"""`ArtifactKey`: everything that determines a compiled object, by name, and nothing else.

No path, time, process id or environment enters it. Equal keys mean equal C for the same target.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tinytrace.core import views
from tinytrace.core.key_diff import KeyDiff, KeyRow
from tinytrace.records import dataclass
from tinytrace.util import lazy

# Python's own module, as `random` does: hashlib loads OpenSSL, which takes as long as twenty modules of ours.
try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as _sha256  # type: ignore[import-not-found, unused-ignore]
    else:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    from hashlib import sha256 as _sha256


@dataclass(frozen=True)
class ArtifactKey:
    """The identity of one compiled program, in memory and on disk.

    Args:
      source: sha256 of the C text, in hex.
      compiler: name, version and target of the compiler.
      argv: the compiler's arguments, with the target's features spelled out.
      abi: the version of csrc/tt_host.h.
      cpu: the kind of processor.
    """

    source: str
    compiler: str
    argv: tuple[str, ...]
    abi: int
    cpu: str

    @lazy
    def digest(self) -> str:
        """sha256 of all fields, in hex: the name of the artifact in the store."""
        return sha256(json.dumps(self.to_json(), sort_keys=True).encode())

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values.

        >>> key = ArtifactKey("00ff", "gcc 12", ("-O2",), 1, "x86_64")
        >>> ArtifactKey.from_json(key.to_json()) == key
        True
        """
        return {"source": self.source, "compiler": self.compiler, "argv": list(self.argv), "abi": self.abi,
                "cpu": self.cpu}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ArtifactKey:
        """The key that `to_json` described; TypeError or KeyError if it is not one."""
        return cls(**{**value, "argv": tuple(value["argv"])})

    def diff(self, other: ArtifactKey) -> KeyDiff:
        """The fields that differ, as (mine, other's); of the arguments only those that one of the two has.

        >>> print(ArtifactKey("00ff", "gcc 12", (), 1, "x").diff(ArtifactKey("00ff", "gcc 13", (), 1, "x")))
        compiler: gcc 12 -> gcc 13  (another compiler makes other code)
        """
        rows = [KeyRow(field.name, getattr(self, field.name), getattr(other, field.name), _HINTS[field.name])
                for field in fields(self) if getattr(self, field.name) != getattr(other, field.name)]
        return KeyDiff([row._replace(mine=_only(row.mine, row.other), other=_only(row.other, row.mine))
                        if row.path == "argv" else row for row in rows])

    def __str__(self) -> str:
        return f"{self.digest[:12]} (C {self.source[:12]}, {self.compiler.partition(', ')[0]}, {' '.join(self.argv)})"

    def _repr_html_(self) -> str:
        return f"<p>ArtifactKey {self.digest[:12]}</p>" + views.tables.html_table(
            ("field", "value"), [(field.name, getattr(self, field.name)) for field in fields(self)])


_HINTS = {
    "source": "another C text: another program, or the same one for other types",
    "compiler": "another compiler makes other code",
    "argv": "other arguments of the compiler, as CC may have them",
    "abi": "made for another version of the runtime",
    "cpu": "made for another processor",
}


def _only(mine: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The words that the other has not; all of them if it is their order that differs."""
    return tuple(word for word in mine if word not in other) if set(mine) != set(other) else mine


def sha256(data: bytes) -> str:
    """The sha256 of some bytes, in hex."""
    return str(_sha256(data).hexdigest())
