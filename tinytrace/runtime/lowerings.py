"""What lowering gave, remembered on disk: a process that finds its programs compiled writes no C, and plans no kernels.

    lowered/<digest>        for one program as it is lowered (the digest of its `canonical_form`, of the settings and of
                            the code that lowers): which C it became, and what a caller must know of that C

The C itself, and the object, are an entry of the store as ever, found by the same `ArtifactKey`. What is remembered
here is believed only whole (`kept_files.py`); without it a program is lowered, and found by its C.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tinytrace.codegen.csource import CSource
from tinytrace.records import NamedTuple
from tinytrace.runtime import kept_files
from tinytrace.runtime.keys import sha256
from tinytrace.runtime.store import Store, parse_json
from tinytrace.runtime.store_layout import LOWERED

LARGEST = 1 << 16
"""Bytes of a file that is read at all."""


class Lowering(NamedTuple):
    """What must be known of a C text to find what was compiled from it, and to call that.

    Args:
      digest: sha256 of the text, in hex.
      symbol, workspace, quick, needs_blas: as `CSource` tells them.
      reused: for each output that takes the place of a donated input: the output, the input.
      constants: the arrays that follow the inputs, each by its number among those that the program's loops close over.
    """

    digest: str
    symbol: str
    workspace: int
    quick: int
    needs_blas: bool
    reused: tuple[tuple[int, int], ...] = ()
    constants: tuple[int, ...] = ()

    @classmethod
    def of(cls, source: CSource, reused: Mapping[int, int], constants: Sequence[int] = ()) -> Lowering:
        """What is to be remembered of a C text."""
        return cls(sha256(source.text.encode()), source.symbol, source.workspace, source.quick, source.needs_blas,
                   tuple(sorted(reused.items())), tuple(constants))


def name_of(code: str, form: bytes) -> str:
    """The name of a program: what tells of the code that lowers, and its canonical form."""
    return sha256(code.encode() + form)


def recall(store: Store, name: str) -> Lowering | None:
    """What was remembered under a name, None if that is nothing."""
    try:
        digest, symbol, workspace, quick, needs_blas, reused, constants = parse_json(
            kept_files.recall(store, LOWERED, name, LARGEST) or b"")
        return Lowering(digest, symbol, workspace, quick, needs_blas, tuple((k, i) for k, i in reused),
                        tuple(constants))
    except (ValueError, TypeError):
        return None


def is_there(store: Store, name: str) -> bool:
    """Does something lie there under a name?"""
    return kept_files.is_there(store, LOWERED, name)


def remember(store: Store, name: str, lowering: Lowering) -> None:
    """Remember a lowering, unless it is there, or cannot be written: then the next process lowers again."""
    kept_files.remember(store, LOWERED, name, json.dumps(lowering).encode())
