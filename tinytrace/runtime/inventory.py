"""What lies in a store: its entries as values that print themselves, are verified, and are built again.

    tinytrace.cache.store                   a mapping from digests to entries; prints as a table
    tinytrace.cache.store["3f2a"]           one entry, by a digest or the beginning of one
    entry.verify(rebuild=True)              are its files what they were, and does the compiler make the same of its C?
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from tinytrace.codegen.csource import CSource
from tinytrace.codegen.effort import ALL_EFFORT, LEAST_EFFORT, LESS_EFFORT
from tinytrace.core.key_diff import KeyDiff
from tinytrace.core.views.tables import html_table, text_table
from tinytrace.records import dataclass
from tinytrace.runtime.compiler import LIBRARY, SOURCE, Compiler, Pipeline
from tinytrace.runtime.discovery import current_compiler, current_store, shared_store
from tinytrace.runtime.failures import CompileError, Step
from tinytrace.runtime.folders import Folder
from tinytrace.runtime.keys import ArtifactKey, sha256
from tinytrace.runtime.ladder import artifact_key, is_loaded
from tinytrace.runtime.places import read_library, scratch_folder, write_file
from tinytrace.runtime.process import idle
from tinytrace.runtime.store import LARGEST_NOTE, Store, parse_meta
from tinytrace.runtime.store_layout import ENTRIES, IS_DIGEST, IS_SHARD, JAXPR, LARGEST_OBJECT, META


@dataclass(frozen=True, repr=False)
class StoredEntry:
    """One compiled program on disk.

    Args:
      store: where it is.
      key: what it was made of.
      size: bytes of the object.
      files: the sha256 of each of its files.
      commands: what made the object, in its folder.
      used: when it was last of use, in seconds since 1970.
    """

    store: Store
    key: ArtifactKey
    size: int
    files: dict[str, str]
    commands: tuple[Pipeline, ...]
    used: float

    @property
    def digest(self) -> str:
        """Its name in the store."""
        return self.key.digest

    @property
    def path(self) -> str:
        """The folder with its files."""
        return os.path.join(self.store.root, ENTRIES, self.digest[:2], self.digest)

    @property
    def text(self) -> str:
        """The C text; OSError if it is gone."""
        return self.read(SOURCE).decode()

    @property
    def jaxpr(self) -> str:
        """The program that the C was written from; empty for entries of earlier versions."""
        with suppress(OSError):
            return self.read(JAXPR).decode()
        return ""

    def read(self, name: str) -> bytes:
        """The bytes of one of its files; OSError if it cannot be read, or trusted."""
        with _folder(self.store, self.digest) as folder:
            return folder.read(name, LARGEST_OBJECT)

    def verify(self, rebuild: bool = False) -> list[str]:
        """Return what is wrong with the entry, nothing if all is well.

        rebuild: compile its C again, and compare byte for byte.
        Raises: CompileError if it was made by another compiler or for another processor than this one.
        """
        problems = []
        for name, digest in self.files.items():
            try:
                if sha256(self.read(name)) != digest:
                    problems.append(f"{name} is not what was stored")
            except OSError as error:
                problems.append(f"{name} cannot be read: {error.strerror or error}")
        if not problems and self.files.get(SOURCE, self.key.source) != self.key.source:
            problems.append(f"{SOURCE} is not the text that the key names")
        return problems if problems or not rebuild else self._rebuilt()

    def _rebuilt(self) -> list[str]:
        compiler = current_compiler(current_store([]), [], idle)
        if foreign := foreign_to(self.key, compiler):
            raise CompileError(f"entry {self.digest[:12]} was made elsewhere: {foreign}",
                               remedy="rebuild it where it was made")
        in_parts = sum(bool(pipeline.stdin) for pipeline in self.commands) > 1
        built = [self._compiled(compiler, parts) for parts in ([in_parts] if self.commands else [False, True])]
        library, (_, commands) = self.read(LIBRARY), built[0]
        problems = [] if any(made == library for made, _ in built) else [f"{LIBRARY}: the same C gives other bytes now"]
        if self.commands and commands != self.commands:
            stored, now = ("; ".join(map(str, ran)) for ran in (self.commands, commands))
            problems.append(f"the commands are not those that were stored: {stored}, now {now}")
        return problems

    def _compiled(self, compiler: Compiler, in_parts: bool) -> tuple[bytes, tuple[Pipeline, ...]]:
        """What the compiler makes of the C now, and how it was called."""
        with scratch_folder() as folder:
            write_file(os.path.join(folder, SOURCE), self.read(SOURCE))
            commands = compiler.compile(folder, _quickness(self.key, compiler), in_parts, cores=2)
            return read_library(folder), commands

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {"digest": self.digest, "path": self.path, "key": self.key.to_json(), "size": self.size,
                "files": self.files, "commands": [str(pipeline) for pipeline in self.commands], "used": self.used}

    def __str__(self) -> str:
        lines = [f"entry {self.digest}", f"  path      {self.path}", f"  size      {self.size} bytes"]
        lines += [f"  {name:9} {getattr(self.key, name)}" for name in ("compiler", "cpu", "abi")]
        lines += [f"  argv      {' '.join(self.key.argv)}"]
        lines += [f"  command   {pipeline}" for pipeline in self.commands]
        return "\n".join([*lines, *[f"  sha256    {digest}  {name}" for name, digest in self.files.items()]])

    __repr__ = __str__


def _quickness(key: ArtifactKey, compiler: Compiler) -> int:
    """With how little effort was it compiled?"""
    return next((quick for quick in (LEAST_EFFORT, LESS_EFFORT) if key.argv == compiler.flags(quick)), ALL_EFFORT)


def foreign_to(key: ArtifactKey, compiler: Compiler) -> str:
    """Return how a key belongs to another compiler or processor than this one; empty if it does not."""
    if key.cpu != compiler.cpu:
        return f"for the processor `{key.cpu[:60]}`, this one is `{compiler.cpu[:60]}`"
    if key.compiler != compiler.identity:
        return f"by {key.compiler}, this one is {compiler.identity}"
    usual = [compiler.flags(quick) for quick in (ALL_EFFORT, LESS_EFFORT, LEAST_EFFORT)]
    return "" if key.argv in usual else f"with other arguments: {' '.join(set(key.argv) ^ set(usual[0]))}"


class Inventory(Mapping[str, StoredEntry]):
    """The entries of a store by digest; a beginning that only one entry has is enough to name it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __getitem__(self, digest: str) -> StoredEntry:
        names = list(self._beginning_with(digest)) if digest else []
        if len(names) != 1:
            raise KeyError(f"{len(names)} entries have a digest that begins with {digest!r}")
        entry = read_entry(self.store, names[0])
        if entry is None:
            raise KeyError(f"entry {names[0]} is damaged")
        return entry

    def __iter__(self) -> Iterator[str]:
        return self._beginning_with("")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def entries(self, source: str = "") -> Iterator[StoredEntry]:
        """Yield the entries that can be read, one after the other; those of one C text, if its digest is given."""
        for name in self:
            if entry := read_entry(self.store, name, source):
                yield entry

    def _beginning_with(self, digest: str) -> Iterator[str]:
        """Yield the names of entries; of other shards than that of `digest` none is looked at."""
        with suppress(OSError), self.store.folder() as root, root.inner(ENTRIES) as entries:
            for shard in sorted(name for name in filter(IS_SHARD, entries.names()) if name.startswith(digest[:2])):
                with suppress(OSError), entries.inner(shard) as folder:
                    yield from sorted(name for name in filter(IS_DIGEST, folder.names()) if name.startswith(digest))

    def __repr__(self) -> str:
        rows = [(entry.digest[:12], entry.size, entry.key.compiler.split(",")[0], _age(entry.used))
                for entry in self.entries()]
        return f"{self.store.root}\n{text_table(('entry', 'bytes', 'compiler', 'used'), rows)}"

    def _repr_html_(self) -> str:
        rows = [(entry.digest[:12], entry.size, entry.key.compiler, _age(entry.used)) for entry in self.entries()]
        return html_table(("entry", "bytes", "compiler", "used"), rows)


def current_inventory() -> Inventory:
    """The entries of the store that is in use; OSError if there is none."""
    steps: list[Step] = []
    store = current_store(steps)
    if store is None:
        raise OSError(steps[0].reason)
    return Inventory(store)


def read_entry(store: Store, digest: str, source: str = "") -> StoredEntry | None:
    """The entry of a digest, as far as it can be read and tells what it is; None otherwise.

    source: the digest of a C text. Of what was made of another one no more is read, which takes half of the time, and
      what is known to be is not opened: who asks for many programs asks a store of thousands each time.
    """
    if source and _sources.get(digest, source) != source:
        return None
    try:
        with _folder(store, digest) as folder:
            told = folder.read(META, LARGEST_NOTE)
            if named := _NAMED_SOURCE.search(told):
                _sources[digest] = named[1].decode()
            if source.encode() not in told:
                return None
            meta = parse_meta(told)
            used = os.fstat(folder.descriptor).st_mtime
        key = ArtifactKey.from_json(meta["key"])
        commands = tuple(Pipeline(stdin, tuple(map(tuple, argvs))) for stdin, argvs in meta.get("commands", ()))
        files = meta.get("files") or {SOURCE: key.source, LIBRARY: meta["sha256"]}
        return StoredEntry(store, key, meta["size"], files, commands, used) if key.digest == digest else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


_sources: dict[str, str] = {}
"""The digest of the C text that an entry was made of, by the entry's own, which follows from it."""
_NAMED_SOURCE = re.compile(rb'"source": "([0-9a-f]{64})"')


def origin_of(source: CSource) -> tuple[str, KeyDiff]:
    """Where `ladder.find` would take the program of a source from: `memory`, `disk`, `shared disk` or `compiler`.

    Returns: for the compiler also how the nearest entry on disk that was made of the same C differs.
    Raises: CompileError if there is no compiler.
    """
    steps: list[Step] = []
    store = current_store(steps)
    key = artifact_key(source, current_compiler(store, steps, idle))
    if is_loaded(key):
        return "memory", KeyDiff([])
    if store is not None and store.find(key, source.text):
        return "disk", KeyDiff([])
    shared = shared_store(steps)
    if shared is not None and shared.find(key, source.text):
        return "shared disk", KeyDiff([])
    others = [entry.key.diff(key) for entry in Inventory(store).entries(key.source) if entry.key.source == key.source] \
        if store is not None else []
    return "compiler", min(others, key=len, default=KeyDiff([]))


def _folder(store: Store, digest: str) -> Folder:
    with store.folder() as root, root.inner(ENTRIES) as entries, entries.inner(digest[:2]) as shard:
        return shard.inner(digest)


def _age(used: float) -> str:
    seconds = max(0.0, time.time() - used)
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} seconds ago"
