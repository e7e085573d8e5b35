"""The store of compiled programs on disk: entries that name their content, appear whole, and are checked before use.

    <given directory>/tinytrace-store-1/            the store's own folder; what else is in the directory is the user's
        CACHEDIR.TAG                                the marker that the store wrote (and that backups know)
        entries/<first two of digest>/<digest>/     one entry, a directory built aside and renamed into place once
            kernel.c                                the C text, compared with the requested one at every hit
            kernel.so                               the object
            meta.json                               the ArtifactKey, the size of the object, the sha256 of each file,
                                                    and the commands that made it
            program.jaxpr                           the program that the C was written from
        locks/<digest>                              held while somebody compiles this entry
        building/<process id>-<random>/             an entry in the making; locked by its maker
        compilers/<digest>.json                     what a compiler said of itself
        failed/<digest>.c                           a C text that did not compile
        lowered/<digest>                            which C a program became: lowerings.py
        math/<digest>                               a math function's object: kept_math.py
        aside/                                      what lay in the place of an entry and was none
        swept                                       its age is the time since the last sweep

The rule: the store touches nothing outside of its own folder and deletes nothing that it did not write. It opens
nothing through a link, and whatever is damaged, foreign, half-written or of another kind than expected is a miss.
Nothing is ever written in place; there is no index, no global lock and nothing to migrate.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tinytrace._dispatch import read_private
from tinytrace.config import config
from tinytrace.records import NamedTuple
from tinytrace.runtime import locks
from tinytrace.runtime.compiler import LIBRARY, SOURCE, Pipeline
from tinytrace.runtime.folders import Folder, make_folders
from tinytrace.runtime.keys import ArtifactKey, sha256
from tinytrace.runtime.process import idle
from tinytrace.runtime.store_layout import (
    ASIDE,
    BUILDING,
    COMPILERS,
    ENTRIES,
    ENTRY_FILES,
    FAILED,
    JAXPR,
    LARGEST_OBJECT,
    LAYOUT,
    LOCKS,
    MARKER,
    MARKER_TEXT,
    META,
    NAME,
)  # fmt: skip
from tinytrace.runtime.sweeping import clear, remove_leftovers, sweep, sweep_is_due

LARGEST_NOTE = 1 << 20
"""Bytes of a JSON file that is believed."""
_META_BYTES, _SOURCE_BYTES, _LIBRARY_BYTES = META.encode(), SOURCE.encode(), LIBRARY.encode()
_PATIENCE = 20  # how often the own folder is made again when it goes while it is made


class StoreUnusableError(Exception):
    """The directory is not there or cannot be trusted; the text says why."""


class Entry(NamedTuple):
    """A verified object: where it is, and the bytes that were verified."""

    path: str
    library: bytes


class Building(NamedTuple):
    """A folder in the making: its path, its name, the store's own folder, the folder that it is in, and itself."""

    path: str
    name: str
    root: Folder
    parent: Folder
    folder: Folder

    def move(self, to: Folder, new_name: str) -> None:
        """Rename it into another folder of the store, where it stays."""
        self.parent.move(self.name, to, new_name)


class Store:
    """The entries in one directory. Make it with `open_store`, which says where.

    Args:
      given: the directory in which the store has its own folder; it must be this user's, and nobody else's to write to.

    Raises: OSError if it is not, or the own folder cannot be made.
    """

    def __init__(self, given: str) -> None:
        self.given = given
        self.root = os.path.join(given, NAME)
        self._open().close()

    def __repr__(self) -> str:
        return f"Store({self.root!r})"

    def find(self, key: ArtifactKey, text: str | None = None) -> Entry | None:
        """The entry of a key if it is there, undamaged, this user's own, and made from exactly this text.

        text: None where only its digest is known, which the key has.
        """
        source = None if text is None else text.encode()
        limit = LARGEST_OBJECT if source is None else len(source)
        files = (_META_BYTES, LARGEST_NOTE), (_SOURCE_BYTES, limit), (_LIBRARY_BYTES, LARGEST_OBJECT)
        try:
            told, stored, library = read_private((*self._outermost(), *_folders_of(key)), files, *self._owners())
            meta = parse_meta(told)
            is_source = sha256(stored) == key.source if source is None else stored == source
            intact = (is_source and meta["key"] == key.to_json() and meta["size"] == len(library)
                      and meta["sha256"] == sha256(library))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return Entry(self._path(key), library) if intact else None

    @contextmanager
    def building(self) -> Iterator[Building]:
        """A new private folder for compiling, gone at the end; nobody takes it for a leftover meanwhile."""
        with self._open() as root, root.made(BUILDING) as parent:
            while True:
                name = f"{os.getpid()}-{os.urandom(8).hex()}"
                with parent.temporary(name) as folder, locks.live(folder) as is_there:
                    if is_there:
                        yield Building(os.path.join(self.root, BUILDING, name), name, root, parent, folder)
                        return

    def publish(self, key: ArtifactKey, text: str, library: bytes, commands: Sequence[Pipeline] = (),
                jaxpr: str = "", building: Building | None = None) -> Entry:
        """Make the entry of a key, unless somebody else has been faster.

        commands, jaxpr: what made the library, and what the C text was made of, for those who look at the entry.
        building: the folder that becomes the entry; a new one if there is none. Of what a compiler left in it only the
          files stay that are those of the entry, byte for byte and under no other name.

        Raises: OSError if it cannot be written.
        """
        if building is None or not os.fstat(building.folder.descriptor).st_nlink:  # somebody has removed it
            with self.building() as new:
                return self.publish(key, text, library, commands, jaxpr, new)
        root = building.root
        remove_leftovers(root)
        if sweep_is_due(root):
            sweep(root, config.cache_mib << 20)
        shown = jaxpr.encode(errors="backslashreplace")  # a user's names may hold half a character
        files = {SOURCE: text.encode(), LIBRARY: library, **({JAXPR: shown} if jaxpr else {})}
        files[META] = _meta(key, files, commands)
        for name in building.folder.names():
            if not (name in files and building.folder.is_own(name, files[name])):
                building.folder.remove_tree(name)
            else:
                del files[name]
        for name, data in files.items():
            building.folder.write(name, data)
        with root.made(ENTRIES) as entries, entries.made(key.digest[:2]) as shard:
            try:
                building.move(shard, key.digest)
            except OSError:
                if found := self.find(key, text):
                    return found
                _set_aside(root, shard, key.digest)
                with suppress(FileExistsError):  # again somebody else was faster
                    building.move(shard, key.digest)
        return Entry(self._path(key), library)

    def discard(self, key: ArtifactKey) -> None:
        """Remove the entry of a key, as far as it is there and may be removed."""
        with (suppress(OSError), Folder(self.root) as root, root.inner(ENTRIES) as entries,
              entries.inner(key.digest[:2]) as shard):
            shard.remove(key.digest, ENTRY_FILES)

    @contextmanager
    def compiling(self, key: ArtifactKey, patience: float = 300.0, pulse: Any = idle) -> Iterator[locks.Turn]:
        """Hold the lock of one key, so that several processes that miss it compile it once; see `locks.hold`."""
        try:
            with self._open() as root:
                folder = root.made(LOCKS)
        except OSError:
            yield locks.Turn()
            return
        with folder, locks.hold(folder, key.digest, patience, pulse) as turn:
            yield turn

    def read_note(self, name: str) -> Any:
        """A small JSON value kept under a name, None if there is none that can be trusted."""
        try:
            with Folder(self.root) as root, root.inner(COMPILERS) as notes:
                return parse_json(notes.read(_note(name), LARGEST_NOTE))
        except (OSError, ValueError):
            return None

    def write_note(self, name: str, value: Any) -> None:
        """Keep a small JSON value under a name, replacing it whole; OSError if that fails."""
        self._replace(COMPILERS, _note(name), _json(value))

    def keep_failure(self, text: str) -> str:
        """Keep the C text of a failed compilation and return its path; OSError if that fails."""
        data = text.encode(errors="replace")
        name = sha256(data)[:16] + ".c"
        self._replace(FAILED, name, data)
        return os.path.join(self.root, FAILED, name)

    def sweep(self, mib: int | None = None) -> None:
        """Remove what killed processes left, and the entries used longest ago while the store is over its limit.

        mib: the limit; None takes that of the settings.
        """
        with self._open() as root:
            remove_leftovers(root)
            sweep(root, (config.cache_mib if mib is None else mib) << 20)

    def clear(self) -> None:
        """Remove all that the store has written, its own folder and what is not its own apart."""
        with self._open() as root:
            clear(root)

    def folder(self) -> Folder:
        """The own folder, to be read; OSError if it is not there."""
        return Folder(self.root)

    def _open(self) -> Folder:
        """The own folder, made and marked if it is not there."""
        for _ in range(_PATIENCE):
            with suppress(FileNotFoundError):  # somebody removes it at this moment
                return self._opened()
        return self._opened()

    def _opened(self) -> Folder:
        make_folders(self.given)
        with Folder(self.given) as given:
            root = given.made(NAME)
        try:
            _require_marker(root)
        except BaseException:
            root.close()
            raise
        return root

    def _replace(self, folder_name: str, name: str, data: bytes) -> None:
        with self.building() as building, building.root.made(folder_name) as folder:
            building.folder.write(name, data)
            try:
                building.folder.move(name, folder, name)
            except OSError:
                if folder.status(name) is None:
                    raise
                _set_aside(building.root, folder, name)
                building.folder.move(name, folder, name)

    def _outermost(self) -> tuple[bytes, ...]:
        """The own folder, from the first folder on in whose place no link is taken."""
        return (os.fsencode(self.root),)

    def _owners(self) -> tuple[int, int]:
        """The users whose files are read: one, or one and another."""
        return os.geteuid(), os.geteuid()

    def _path(self, key: ArtifactKey) -> str:
        return os.path.join(self.root, ENTRIES, key.digest[:2], key.digest, LIBRARY)


def _folders_of(key: ArtifactKey) -> tuple[bytes, ...]:
    return ENTRIES.encode(), key.digest[:2].encode(), key.digest.encode()


def _require_marker(root: Folder) -> None:
    """PermissionError unless the folder is marked as the store's; one that lost its marker gets it again.

    So an interrupted `rm -r` and a process that was killed while it made the folder are mended.
    """
    try:
        if MARKER_TEXT.startswith(root.read(MARKER, len(MARKER_TEXT))):
            return
    except FileNotFoundError:
        if set(root.names()) <= LAYOUT:
            with suppress(FileExistsError):
                root.write(MARKER, MARKER_TEXT)
            return
    raise PermissionError(f"the folder {NAME} in it was not made by tinytrace (no {MARKER} of it is there)")


def _set_aside(root: Folder, folder: Folder, name: str) -> None:
    """Make room in the place of an entry or a file; what the store did not write is kept in `aside`."""
    with root.made(ASIDE) as aside:
        new_name = f"{name}-{os.urandom(4).hex()}"
        folder.move(name, aside, new_name)
        aside.remove(new_name, ENTRY_FILES)


def _meta(key: ArtifactKey, files: Mapping[str, bytes], commands: Sequence[Pipeline]) -> bytes:
    """What is told of an entry: `size` and `sha256` are those of the library, `check` the digest of all before it."""
    library = files[LIBRARY]
    told = _json({"key": key.to_json(), "size": len(library), "sha256": sha256(library),
                  "files": {name: sha256(data) for name, data in files.items()},
                  "commands": [[pipeline.stdin, [list(argv) for argv in pipeline.commands]] for pipeline in commands]})
    before_check = told.removesuffix(b"\n}")
    return before_check + _CHECK + sha256(before_check).encode() + b'"\n}'


_CHECK = b',\n "check": "'
_FIELDS_OF_EARLIER_VERSIONS = frozenset(["key", "size", "sha256"])  # which tell no check


def parse_meta(told: bytes) -> dict[str, Any]:
    """What META tells of an entry, every byte of which counts.

    Raises: ValueError, TypeError or AttributeError if it is damaged.
    """
    meta: dict[str, Any] = parse_json(told)
    if meta.keys() > _FIELDS_OF_EARLIER_VERSIONS and meta.get("check") != sha256(told.rpartition(_CHECK)[0]):
        raise ValueError(f"{META} is not what was stored")
    return meta


def _note(name: str) -> str:
    return sha256(name.encode(errors="surrogateescape"))[:32] + ".json"


def _json(value: Any) -> bytes:
    """A JSON text with a line for each field: json's own indentation takes a third of the time of publishing.

    It ends with its last brace: without any one of its bytes it is no JSON.
    """
    if not isinstance(value, Mapping):
        return json.dumps(value).encode()
    fields = [f" {json.dumps(name)}: {json.dumps(field)}" for name, field in value.items()]
    return "{{\n{}\n}}".format(",\n".join(fields)).encode()


def parse_json(data: bytes) -> Any:
    """The value of a JSON text; ValueError if it is none."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
