"""Math functions that are compiled once, and linked to the programs that call them.

A program with a sine takes a compiler 80 ms, 50 of them for the sine. Where the compiler's stages are run one by one
programs declare such functions (`csources.linked_functions`), and get their objects from here. They are made beside
the first program that needs them, and kept in memory, and for later processes in the store (`KeptMath`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

LINKED = "-DTT_LINKED_MATH"
"""Told to the compiler where a program declares what it is linked to; else a program defines all that it calls."""

_kept: dict[str, bytes] = {}
"""Objects by what they were made from: command and text. There are as many as there are functions and sets of flags."""


class KeptMath(Protocol):
    """Where objects are kept from one process to the next."""

    def recall(self, made_from: str) -> bytes | None:
        """The object that was made from something, None if there is none that can be trusted."""

    def remember(self, made_from: str, data: bytes) -> None:
        """Keep an object, if that is possible."""


class MathObjects:
    """The objects that a program is linked to, in the folder where it is compiled.

    Args:
      proper: the argv of the compiler proper, which reads from stdin, "-", and is told so once.
      texts: the functions by name, each as a text that defines it.
      kept: what earlier processes have made.
    """

    def __init__(self, folder: str, proper: Sequence[str], texts: Mapping[str, str],
                 kept: KeptMath | None = None) -> None:
        self._folder, self._proper, self._texts, self._kept_on_disk = folder, tuple(proper), texts, kept
        self._made_from = {name: "\0".join((*self._proper, text)) for name, text in texts.items()}
        for made_from in self._made_from.values():
            if kept and made_from not in _kept and (data := kept.recall(made_from)) is not None:
                _kept[made_from] = data
        self._missing = [name for name, made_from in self._made_from.items() if made_from not in _kept]
        self.objects = tuple(f"{name}.o" for name in texts)
        self.files = (*self.objects, *(f"{name}.c" for name in self._missing))
        """What is in the folder until the program is linked."""

    def write(self) -> None:
        """Put what is known into the folder: objects, and the texts of those that are not there yet.

        Raises: OSError, if there is no room.
        """
        for name, text in self._texts.items():
            if name in self._missing:
                self._write(f"{name}.c", text.encode())
            else:
                self._write(f"{name}.o", _kept[self._made_from[name]])

    def commands(self) -> dict[str, tuple[str, ...]]:
        """Return by each object's file what makes its assembly; a command that reads nothing fails when it is run."""
        at = self._proper.index("-") if "-" in self._proper else len(self._proper)
        return {f"{name}.o": (*self._proper[:at], f"{name}.c", *self._proper[at + 1:]) for name in self._texts}

    def missing(self) -> list[str]:
        """Return the files of the objects that are to be made now."""
        return [f"{name}.o" for name in self._missing]

    def keep(self) -> None:
        """Remember what was compiled in the folder.

        Raises: OSError, if an object is not there.
        """
        for name in self._missing:
            with open(os.path.join(self._folder, f"{name}.o"), "rb") as file:
                _kept[self._made_from[name]] = data = file.read()
            if self._kept_on_disk:
                self._kept_on_disk.remember(self._made_from[name], data)

    def _write(self, name: str, data: bytes) -> None:
        with open(os.path.join(self._folder, name), "xb") as file:
            file.write(data)
