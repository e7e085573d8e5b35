"""What lowering gave, remembered on disk: a process that finds its programs compiled writes no C, and plans no kernels.

    lowered/<digest>        for one program as it is lowered (the digest of its `canonical_form`, of the settings and of
                            the code that lowers): which C it became, and what a caller must know of that C

The C itself, and the object, are an entry of the store as ever, found by the same `ArtifactKey`. What is remembered
here is believed only whole, as everything in the store; without it a program is lowered, and found by its C.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress

from tinytrace._dispatch import read_private
from tinytrace.codegen.csource import CSource
from tinytrace.records import NamedTuple
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
    """

    digest: str
    symbol: str
    workspace: int
    quick: bool
    needs_blas: bool
    reused: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, source: CSource, reused: Mapping[int, int]) -> Lowering:
        """What is to be remembered of a C text."""
        return cls(sha256(source.text.encode()), source.symbol, source.workspace, source.quick, source.needs_blas,
                   tuple(sorted(reused.items())))


def name_of(code: str, form: bytes) -> str:
    """The name of a program: what tells of the code that lowers, and its canonical form."""
    return sha256(code.encode() + form)


def recall(store: Store, name: str) -> Lowering | None:
    """What was remembered under a name, None if that is nothing.

    What is there and is not what was written is removed, as far as that is possible, and remembered anew.
    """
    try:
        (data,) = read_private((os.fsencode(store.root), LOWERED.encode()), ((name.encode(), LARGEST),),
                               os.geteuid(), os.geteuid())
        told, _, check = data.rpartition(b"\n")
        if check != _check(name, told):
            _remove(store, name)
            return None
        digest, symbol, workspace, quick, needs_blas, reused = parse_json(told)
        return Lowering(digest, symbol, workspace, quick, needs_blas, tuple((k, i) for k, i in reused))
    except (OSError, ValueError, TypeError):
        return None


def is_there(store: Store, name: str) -> bool:
    """Does something lie there under a name?"""
    return os.path.lexists(os.path.join(store.root, LOWERED, name))


def remember(store: Store, name: str, lowering: Lowering) -> None:
    """Remember a lowering, unless it is there, or cannot be written: then the next process lowers again.

    The file is written in its place, once: who reads it meanwhile finds it cut short, and that is nothing.
    """
    told = json.dumps(lowering).encode()
    with suppress(OSError), store.folder() as root, root.made(LOWERED) as folder:
        folder.write(name, told + b"\n" + _check(name, told))


def _remove(store: Store, name: str) -> None:
    with suppress(OSError), store.folder() as root, root.inner(LOWERED) as folder:
        folder.unlink(name)


def _check(name: str, told: bytes) -> bytes:
    return sha256(name.encode() + told).encode()
