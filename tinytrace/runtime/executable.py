"""`Executable`: a compiled program in this process's memory, called with the addresses of its buffers."""

from __future__ import annotations

import os
import weakref

from tinytrace._runtime import ffi, lib
from tinytrace.codegen.csource import CSource
from tinytrace.runtime.failures import CompileError
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.runtime.status import raise_status
from tinytrace.runtime.store import scratch_folder, write_file


class Executable:
    """A loaded program: `executable(buffers)` runs it.

    Args:
      key: what the program was made from.
      source: its C text with the avals of its buffers.
      path: the shared object, empty when it is in memory only.
      library: the bytes of the object.

    Raises: CompileError if the object cannot be loaded.
    """

    __slots__ = ("__weakref__", "entry", "key", "path", "size", "source")

    def __init__(self, key: ArtifactKey, source: CSource, path: str, library: bytes) -> None:
        self.key = key
        self.source = source
        self.path = path
        self.size = len(library)
        handle = lib.tt_open(os.fsencode(path)) if path else 0
        if not handle:  # a directory that forbids execution, an entry that was pruned meanwhile, or no directory
            self.path = ""
            handle = _open_in_memory(library)
        # The address of the entry: valid as long as this object lives.
        self.entry: int = lib.tt_symbol(handle, source.symbol.encode()) if handle else 0
        if not self.entry:
            raise CompileError(f"the compiled program cannot be loaded: {_last_error()}")
        weakref.finalize(self, lib.tt_close, handle).atexit = False

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


_opened_in_memory = 0


def _open_in_memory(library: bytes) -> int:
    """Load an object without a place of its own on disk. Returns 0 if that fails."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("tinytrace", os.MFD_CLOEXEC)
        with open(descriptor, "wb") as file:
            file.write(library)
            file.flush()
            return int(lib.tt_open(f"/proc/self/fd{_unique_dots()}/{descriptor}".encode()))
    with scratch_folder() as folder:
        path = os.path.join(folder, "kernel.so")
        write_file(path, library)
        return int(lib.tt_open(os.fsencode(path)))


def _unique_dots() -> str:
    """A part of a path that means nothing and is new each time.

    The loader takes a path that it has seen for the library that it has loaded from it, and descriptors are reused.
    """
    global _opened_in_memory
    _opened_in_memory += 1
    return "".join("//." if bit == "1" else "/." for bit in f"{_opened_in_memory:b}")


def _last_error() -> str:
    return str(ffi.string(lib.tt_error()).decode(errors="replace"))
