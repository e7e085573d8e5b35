"""Small files in the store beside its entries, each believed whole or not at all, and made again where one is missing.

A file ends with a digest of its name and of what it holds. It is written in its place, once: who reads it meanwhile
finds it cut short, and that is nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress

from tinytrace._dispatch import read_private
from tinytrace.runtime.keys import sha256
from tinytrace.runtime.store import Store


def recall(store: Store, folder: str, name: str, largest: int) -> bytes | None:
    """What was remembered under a name, None if that is nothing.

    What is there and is not what was written is removed, as far as that is possible, and remembered anew.

    largest: bytes of a file that is read at all.
    """
    try:
        (data,) = read_private((os.fsencode(store.root), folder.encode()), ((name.encode(), largest),),
                               os.geteuid(), os.geteuid())
    except (OSError, ValueError):
        return None
    told, _, check = data.rpartition(b"\n")
    if check == _check(name, told):
        return told
    with suppress(OSError), store.folder() as root, root.inner(folder) as inner:
        inner.unlink(name)
    return None


def is_there(store: Store, folder: str, name: str) -> bool:
    """Does something lie there under a name?"""
    return os.path.lexists(os.path.join(store.root, folder, name))


def remember(store: Store, folder: str, name: str, told: bytes) -> None:
    """Remember something, unless it is there, or cannot be written: then the next process makes it again."""
    with suppress(OSError), store.folder() as root, root.made(folder) as inner:
        inner.write(name, told + b"\n" + _check(name, told))


def _check(name: str, told: bytes) -> bytes:
    return sha256(name.encode() + told).encode()
