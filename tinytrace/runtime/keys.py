"""`ArtifactKey`: everything that determines a compiled object, by name, and nothing else.

No path, time, process id or environment enters it. Equal keys mean equal C for the same target.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tinytrace.util import lazy


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
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "argv": list(self.argv)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ArtifactKey:
        """The key that `to_json` described; TypeError or KeyError if it is not one."""
        return cls(**{**value, "argv": tuple(value["argv"])})

    def diff(self, other: ArtifactKey) -> dict[str, tuple[Any, Any]]:
        """The fields that differ, by name, as (mine, other's).

        >>> ArtifactKey("00ff", "gcc 12", (), 1, "x").diff(ArtifactKey("00ff", "gcc 13", (), 1, "x"))
        {'compiler': ('gcc 12', 'gcc 13')}
        """
        pairs = {field.name: (getattr(self, field.name), getattr(other, field.name)) for field in fields(self)}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def sha256(data: bytes) -> str:
    """The sha256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()
