"""Compiled programs in one file: `export_store` writes entries of a store to a zip file, `import_store` takes them in.

So a class, an image or a cluster compiles once. The file has one folder for each entry, as the store has it. What comes
in is checked first: names, sizes, digests, and that the key is that of the text. A program for another compiler or
processor is told and left out. To take in a file is to run what is in it: take it from whom you trust.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

from tinytrace.records import NamedTuple
from tinytrace.runtime.compiler import LIBRARY, SOURCE, Pipeline
from tinytrace.runtime.discovery import current_compiler
from tinytrace.runtime.inventory import Inventory, foreign_to
from tinytrace.runtime.keys import ArtifactKey, sha256
from tinytrace.runtime.process import idle
from tinytrace.runtime.store import LARGEST_NOTE, parse_json
from tinytrace.runtime.store_layout import IS_DIGEST, JAXPR, LARGEST_OBJECT, META

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # equal entries make equal files


class Imported(NamedTuple):
    """What became of the entries of a file.

    Args:
      added, present: digests of those that are new, and of those that were here.
      foreign: by digest, those that belong to another compiler or processor, and to which.
      damaged: by name, those that are not what they say, and why.
    """

    added: tuple[str, ...]
    present: tuple[str, ...]
    foreign: dict[str, str]
    damaged: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {**self._asdict(), "added": list(self.added), "present": list(self.present)}

    def __str__(self) -> str:
        lines = [f"{len(self.added)} added, {len(self.present)} present"]
        lines += [f"left out: {digest[:12]}, made {reason}" for digest, reason in self.foreign.items()]
        return "\n".join([*lines, *[f"left out: {name[:80]!r}: {reason}" for name, reason in self.damaged.items()]])


def export_store(inventory: Inventory, path: str, digests: Iterable[str] | None = None) -> list[str]:
    """Write entries to a new zip file, those of `digests` or all; those that are damaged are left out.

    Returns: the digests of those that were written.
    Raises: FileExistsError if there is such a file, OSError if it cannot be written, KeyError for an unknown digest.
    """
    names = list(inventory) if digests is None else [inventory[digest].digest for digest in digests]
    written = []
    part = f"{path}.part"
    with zipfile.ZipFile(part, "x", zipfile.ZIP_DEFLATED) as archive:
        try:
            for digest in names:
                entry = inventory[digest]
                if entry.verify():
                    continue
                for name in (META, *entry.files):
                    archive.writestr(zipfile.ZipInfo(f"{digest}/{name}", _FIRST_DATE), entry.read(name),
                                     zipfile.ZIP_DEFLATED)
                written.append(digest)
            os.link(part, path)  # the file appears whole, and replaces none
        finally:
            os.unlink(part)
    return written


def import_store(inventory: Inventory, path: str) -> Imported:
    """Take in the entries of a file that `export_store` wrote.

    Raises: OSError if the file cannot be read or the store not written, ValueError if it is no zip file.
    """
    compiler = current_compiler(inventory.store, [], idle)
    here = set(inventory)
    added: list[str] = []
    present: list[str] = []
    foreign: dict[str, str] = {}
    damaged: dict[str, str] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name, entry in _entries(archive):
                if isinstance(entry, str):
                    damaged[name] = entry
                elif reason := foreign_to(entry.key, compiler):
                    foreign[name] = reason
                else:
                    (present if name in here else added).append(name)
                    inventory.store.publish(entry.key, entry.text, entry.library, entry.commands, entry.jaxpr)
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path} is no file of compiled programs: {error}") from error
    return Imported(tuple(added), tuple(present), foreign, damaged)


class _Entry(NamedTuple):
    key: ArtifactKey
    text: str
    library: bytes
    commands: tuple[Pipeline, ...]
    jaxpr: str


def _entries(archive: zipfile.ZipFile) -> Iterator[tuple[str, _Entry | str]]:
    """Yield each entry of a file, or why it is none."""
    members: dict[str, dict[str, zipfile.ZipInfo]] = {}
    for info in archive.infolist():
        folder, _, name = info.filename.partition("/")
        members.setdefault(folder, {})[name] = info
    for folder, files in members.items():
        if not IS_DIGEST(folder):
            yield folder, "no digest"
            continue
        try:
            yield folder, _entry(folder, {name: _read(archive, info) for name, info in files.items()
                                          if name in (META, SOURCE, LIBRARY, JAXPR)})
        except (ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            yield folder, f"{type(error).__name__}: {error}"


def _entry(digest: str, files: dict[str, bytes]) -> _Entry:
    """Return the entry of a digest; ValueError, KeyError or TypeError if its files are not what they say."""
    meta = parse_json(files[META])
    key = ArtifactKey.from_json(meta["key"])
    if key.digest != digest or sha256(files[SOURCE]) != key.source:
        raise ValueError("the key is not that of the C text")
    if sha256(files[LIBRARY]) != meta["sha256"]:
        raise ValueError("the object is not the one that was stored")
    commands = tuple(Pipeline(stdin, tuple(map(tuple, argvs))) for stdin, argvs in meta.get("commands", ()))
    return _Entry(key, files[SOURCE].decode(), files[LIBRARY], commands, files.get(JAXPR, b"").decode())


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    limit = LARGEST_NOTE if info.filename.endswith(META) else LARGEST_OBJECT
    with archive.open(info) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"{info.filename} is longer than it may be")
    return data
