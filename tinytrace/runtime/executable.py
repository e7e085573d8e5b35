"""`Executable`: a compiled program in this process's memory, called with the addresses of its buffers."""

from __future__ import annotations

import atexit  # noqa: F401 - weakref.finalize imports it at its first use, and a worker must import nothing
import os
import weakref
from contextlib import suppress

from tinytrace._runtime import ffi, lib
from tinytrace.codegen.csource import CSource
from tinytrace.runtime.elf import is_whole
from tinytrace.runtime.failures import CompileError
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.runtime.places import scratch_folder, write_file
from tinytrace.runtime.status import raise_status


class Executable:
    """A loaded program: `executable(buffers)` runs it.

    Args:
      key: what the program was made from.
      source: its C text with the avals of its buffers.
      path: where the shared object is kept, empty when it is in memory only.
      library: the bytes of the object.

    Raises: CompileError if the object cannot be loaded.
    """

    __slots__ = ("__weakref__", "entry", "key", "path", "size", "source")

    def __init__(self, key: ArtifactKey, source: CSource, path: str, library: bytes) -> None:
        self.key = key
        self.source = source
        self.path = path
        self.size = len(library)
        if not is_whole(library):
            raise CompileError(f"{_FAILED}: it is an ELF file that is cut short ({self.size} bytes)")
        handle = _open(path, library, key.digest[:12])
        # The address of the entry: valid as long as this object lives.
        self.entry: int = lib.tt_symbol(handle, source.symbol.encode())
        if not self.entry:
            reason = _last_error()
            lib.tt_close(handle)
            raise CompileError(f"{_FAILED}: {reason}")
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


_FAILED = "the compiled program cannot be loaded"
_opened_in_memory = 0


def _open(path: str, library: bytes, name: str) -> int:
    """Load an object: a copy in memory of the bytes that were verified, whatever happens to the file meanwhile.

    Where there are no such copies (or none may be made), the file itself is loaded, or one in a temporary directory.
    """
    with suppress(AttributeError, OSError), open(os.memfd_create(f"tinytrace:{name}", os.MFD_CLOEXEC), "wb") as file:
        file.write(library)
        file.flush()
        if handle := int(lib.tt_open(f"/proc/self/fd{_unique_dots()}/{file.fileno()}".encode())):
            return handle
    if path and (handle := int(lib.tt_open(os.fsencode(path)))):
        return handle
    try:
        with scratch_folder() as folder:
            copy = os.path.join(folder, "kernel.so")
            write_file(copy, library)
            if handle := int(lib.tt_open(os.fsencode(copy))):
                return handle
    except OSError as error:
        raise CompileError(f"{_FAILED}: {error}") from error
    raise CompileError(f"{_FAILED}: {_last_error()}")


def _unique_dots() -> str:
    """A part of a path that means nothing and is new each time.

    The loader takes a path that it has seen for the library that it has loaded from it, and descriptors are reused.
    """
    global _opened_in_memory
    _opened_in_memory += 1
    return "".join("//." if bit == "1" else "/." for bit in f"{_opened_in_memory:b}")


def _last_error() -> str:
    return str(ffi.string(lib.tt_error()).decode(errors="replace"))
