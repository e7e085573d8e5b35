"""Math functions' objects on disk: a fresh process links what an earlier one compiled.

    math/<digest>           for one function (the digest of the compiler, its arguments and the text): the object

Without it a function is compiled again, beside the program that calls it.
"""

from __future__ import annotations

from tinytrace.records import NamedTuple
from tinytrace.runtime import kept_files
from tinytrace.runtime.compiler import Compiler
from tinytrace.runtime.keys import sha256
from tinytrace.runtime.store import Store
from tinytrace.runtime.store_layout import MATH

LARGEST = 1 << 18
"""Bytes of an object that is read at all; a sine has 5,000."""


class MathOnDisk(NamedTuple):
    """The objects that a compiler has made, in a store."""

    store: Store
    compiler: Compiler

    def recall(self, made_from: str) -> bytes | None:
        """The object that was made from something, None if there is none that can be trusted."""
        return kept_files.recall(self.store, MATH, self._name(made_from), LARGEST)

    def remember(self, made_from: str, data: bytes) -> None:
        """Keep an object, if that is possible."""
        kept_files.remember(self.store, MATH, self._name(made_from), data)

    def _name(self, made_from: str) -> str:
        return sha256("\0".join((self.compiler.identity, self.compiler.cpu, made_from)).encode())
