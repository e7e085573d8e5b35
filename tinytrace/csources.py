"""The C texts that generated programs paste: the host's interface and the vector math of csrc/math.

They are embedded in the extension module when it is built, so nothing here opens a file.
"""

from __future__ import annotations

from functools import cache

from tinytrace._runtime import ffi, lib


@cache
def host_source() -> str:
    """The text of csrc/tt_host.h: integer types and `struct tt_host`.

    >>> "struct tt_host {" in host_source()
    True
    """
    return _embedded()["tt_host.h"]


@cache
def math_source() -> dict[str, str]:
    """The texts of csrc/math/*.h by file name, in alphabetical order."""
    return {name: text for name, text in _embedded().items() if name != "tt_host.h"}


@cache
def _embedded() -> dict[str, str]:
    def text(pointer: ffi.CData) -> str:
        return str(ffi.string(pointer).decode())

    return {text(lib.tt_source_name(i)): text(lib.tt_source_text(i)) for i in range(lib.tt_source_count())}
