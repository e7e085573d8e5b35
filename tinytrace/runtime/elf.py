"""Is the file that a compiler wrote whole? To load a library whose end is missing kills the process with SIGBUS.

The loader maps what the program headers name without a look at the file's size.

Source: the ELF format, https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html.
"""

from __future__ import annotations

import struct

_MAGIC = b"\x7fELF"
_LOADED, _DYNAMIC = 1, 2  # types of segments
_MAIN = {1: "<HHIIIIIHHH", 2: "<HHIQQQIHHH"}  # by class, 32 or 64 bits: the header after its 16 bytes of identity
_SEGMENT = {1: "<8I", 2: "<IIQQQQQQ"}


def is_whole(library: bytes) -> bool:
    """Whether all that an ELF library says it has is there; other formats are left to their loaders.

    >>> is_whole(b""), is_whole(b"\\x7fELF"), is_whole(b"another format")
    (False, False, True)
    """
    if not library.startswith(_MAGIC):
        return bool(library) and not _MAGIC.startswith(library[:4])
    try:
        segments = _segments(library)
    except (struct.error, KeyError):
        return False
    inside = all(offset + size <= len(library) for _, offset, size in segments)
    return inside and {_LOADED, _DYNAMIC} <= {kind for kind, _, _ in segments}


def _segments(library: bytes) -> list[tuple[int, int, int]]:
    """Type, offset and size in the file of each segment."""
    width = library[4] if len(library) > 4 else 0
    order = "<" if library[5:6] == b"\x01" else ">"
    _, _, _, _, start, _, _, _, size, count = struct.unpack_from(_MAIN[width].replace("<", order), library, 16)
    segments = []
    for k in range(count):
        fields = struct.unpack_from(_SEGMENT[width].replace("<", order), library, start + k * size)
        offset, in_file = (fields[2], fields[5]) if width == 2 else (fields[1], fields[4])
        segments.append((fields[0], offset, in_file))
    return segments
