"""`Executable`: a compiled program in this process's memory, called with the addresses of its buffers."""

from __future__ import annotations

import os
from contextlib import suppress

from tinytrace._dispatch import load_copy, load_file, symbol_of
from tinytrace._runtime import lib
from tinytrace.runtime.elf import is_whole
from tinytrace.runtime.failures import CompileError
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.runtime.places import scratch_folder, write_file
from tinytrace.runtime.status import raise_status


class Executable:
    """A loaded program: `executable(buffers)` runs it.

    Args:
      key: what the program was made from.
      symbol: the name of its entry.
      path: where the shared object is kept, empty when it is in memory only.
      library: the bytes of the object.

    Raises: CompileError if the object cannot be loaded.
    """

    __slots__ = ("__weakref__", "_library", "entry", "key", "path", "size")

    def __init__(self, key: ArtifactKey, symbol: str, path: str, library: bytes) -> None:
        self.key = key
        self.path = path
        self.size = len(library)
        if not is_whole(library):
            raise CompileError(f"{_FAILED}: it is an ELF file that is cut short ({self.size} bytes)")
        self._library = _loaded(path, library, key.digest[:12])
        try:
            # The address of the entry: valid as long as this object lives.
            self.entry = symbol_of(self._library, symbol)
        except OSError as error:
            raise CompileError(f"{_FAILED}: {error}") from error

    def __call__(self, buffers: list[int]) -> None:
        """Run the program on the addresses of its inputs, outputs and workspace, in this order.

        The GIL is released meanwhile; Ctrl-C (any signal's handler) takes effect when the program returns. Buffers are
        64-byte aligned with 64 readable bytes after their end.

        Raises: MemoryError, or whatever a host callback raised.
        """
        status = lib.tt_call(self.entry, buffers)
        if status:
            raise_status(status)

    def __repr__(self) -> str:
        where = self.path or "in memory only"
        return f"Executable(key={self.key.digest[:12]}, path={where!r}, size={self.size})"


_FAILED = "the compiled program cannot be loaded"


def _loaded(path: str, library: bytes, name: str) -> object:
    """Load an object: a copy in memory of the bytes that were verified, whatever happens to the file meanwhile.

    Where there are no such copies (or none may be made), the file itself is loaded, or one in a temporary directory.
    """
    with suppress(OSError):
        return load_copy(library, f"tinytrace:{name}")
    if path:
        with suppress(OSError):
            return load_file(os.fsencode(path))
    try:
        with scratch_folder() as folder:
            copy = os.path.join(folder, "kernel.so")
            write_file(copy, library)
            return load_file(os.fsencode(copy))
    except OSError as error:
        raise CompileError(f"{_FAILED}: {error}") from error
