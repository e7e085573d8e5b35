"""The store of compiled programs on disk: entries that name their content, appear whole, and are checked before use.

    <root>/<first two of digest>/<digest>/    one entry, a directory built aside and renamed into place once
        kernel.c                              the C text, compared with the requested one at every hit
        kernel.so                             the object
        meta.json                             the ArtifactKey, the sizes, the sha256 of the object
    <root>/<first two>/<digest>.lock          held while somebody compiles this entry
    <root>/building-*/                        an entry in the making, or what a killed process left of one
    <root>/compilers/<digest>.json            what a compiler said of itself
    <root>/failed/<digest>.c                  a C text that did not compile
    <root>/swept                              its age is the time since the last sweep

Nothing is ever written in place: a shared object that changes while it is mapped kills its process. There is no
index, no global lock and nothing to migrate; whatever is damaged, foreign or half-written is a miss.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from tinytrace.config import config
from tinytrace.runtime.compiler import LIBRARY, SOURCE
from tinytrace.runtime.keys import ArtifactKey, sha256

META = "meta.json"
_STALE_AFTER = 3600.0  # seconds after which an unfinished build or a lock belongs to nobody
_SWEEP_AFTER = 3600.0  # seconds from one sweep to the next


_held: set[int] = set()  # the descriptors of locks


def _let_go() -> None:
    """Close, in a forked child, what keeps its parent's locks held, should the parent die."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go)


class StoreUnusableError(Exception):
    """The directory is not there or cannot be trusted; the text says why."""


class Entry(NamedTuple):
    """A verified object: its path, and the bytes that were verified."""

    path: str
    library: bytes


class Store:
    """One directory of entries. Make it with `open_store`, which checks that only this user can write to it."""

    def __init__(self, root: str) -> None:
        self.root = root

    def __repr__(self) -> str:
        return f"Store({self.root!r})"

    def find(self, key: ArtifactKey, text: str) -> Entry | None:
        """The entry of a key if it is there, undamaged, this user's own, and made from exactly this text."""
        folder = self._folder(key)
        try:
            _require_private(os.lstat(folder), stat.S_ISDIR)
            meta = json.loads(_read_private(os.path.join(folder, META)))
            source = _read_private(os.path.join(folder, SOURCE))
            library = _read_private(os.path.join(folder, LIBRARY))
            intact = (
                meta["key"] == key.to_json()
                and source == text.encode()
                and meta["size"] == len(library)
                and meta["sha256"] == sha256(library)
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not intact:
            return None
        _touch(folder)
        return Entry(os.path.join(folder, LIBRARY), library)

    @contextmanager
    def building(self) -> Iterator[str]:
        """A new private folder for making an entry, gone at the end unless it was published."""
        folder = os.path.join(self.root, f"building-{os.getpid()}-{os.urandom(6).hex()}")
        os.mkdir(folder, 0o700)
        try:
            yield folder
        finally:
            remove(folder)

    def publish(self, folder: str, key: ArtifactKey, text: str) -> Entry:
        """Move a built folder (kernel.c and kernel.so in it) to its place, unless somebody else has been faster."""
        os.chmod(os.path.join(folder, LIBRARY), 0o700)  # whatever the umask was when the linker wrote it
        library = read_file(os.path.join(folder, LIBRARY))
        meta = {"key": key.to_json(), "size": len(library), "sha256": sha256(library)}
        write_file(os.path.join(folder, META), json.dumps(meta, indent=1).encode())
        place = self._folder(key)
        os.makedirs(os.path.dirname(place), 0o700, exist_ok=True)
        try:
            os.rename(folder, place)
        except OSError:
            if found := self.find(key, text):
                return found
            with self.building() as aside:  # a damaged entry is in the way
                os.rename(place, os.path.join(aside, "damaged"))
                os.rename(folder, place)
        self._sweep_now_and_then()
        return Entry(os.path.join(place, LIBRARY), library)

    @contextmanager
    def compiling(self, key: ArtifactKey) -> Iterator[None]:
        """Hold the lock of one key, so that several processes that miss it compile it once.

        A lock is a convenience: where locks do not work, everybody compiles and the first rename wins.
        """
        path = self._folder(key) + ".lock"
        try:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            yield
            return
        try:
            _held.add(descriptor)
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            _unlink(path)  # the entry is in place: whoever makes the next lock file finds it and does not compile
            if descriptor in _held:
                with suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for children that inherited the descriptor
                _held.remove(descriptor)
                os.close(descriptor)

    def read_note(self, name: str) -> Any:
        """A small JSON value kept under a name, None if there is none that can be trusted."""
        try:
            return json.loads(_read_private(self._note(name)))
        except (OSError, ValueError):
            return None

    def write_note(self, name: str, value: Any) -> None:
        """Keep a small JSON value under a name, replacing it whole."""
        os.makedirs(os.path.dirname(self._note(name)), 0o700, exist_ok=True)
        with self.building() as folder:
            aside = os.path.join(folder, META)
            write_file(aside, json.dumps(value, indent=1).encode())
            os.replace(aside, self._note(name))

    def keep_failure(self, text: str) -> str:
        """Keep the C text of a failed compilation and return its path."""
        folder = os.path.join(self.root, "failed")
        os.makedirs(folder, 0o700, exist_ok=True)
        path = os.path.join(folder, sha256(text.encode())[:16] + ".c")
        write_file(path, text.encode())
        return path

    def sweep(self) -> None:
        """Remove what killed processes left, and the entries used longest ago while the store is over its limit."""
        now = time.time()
        write_file(os.path.join(self.root, "swept"), b"")
        shards = [path for path in _paths(self.root) if len(os.path.basename(path)) == 2]
        leftovers = [path for path in _paths(self.root) if os.path.basename(path).startswith("building-")]
        entries = [path for shard in shards for path in _paths(shard)]
        for path in leftovers + [path for path in entries if path.endswith(".lock")]:
            if _age(path, now) > _STALE_AFTER:
                remove(path)
        sizes = {path: sum(_size(file) for file in _paths(path)) for path in entries}
        total = sum(sizes.values())
        for path in sorted(entries, key=lambda path: _age(path, now), reverse=True):
            if total <= config.cache_mib << 20:
                break
            remove(path)
            total -= sizes[path]

    def _sweep_now_and_then(self) -> None:
        now = time.time()
        if _age(os.path.join(self.root, "swept"), now, missing=now) > _SWEEP_AFTER:
            self.sweep()

    def _folder(self, key: ArtifactKey) -> str:
        return os.path.join(self.root, key.digest[:2], key.digest)

    def _note(self, name: str) -> str:
        return os.path.join(self.root, "compilers", sha256(name.encode())[:32] + ".json")


def open_store() -> Store:
    """The store that TINYTRACE_CACHE_DIR names, or the one in the user's cache home; made if it is missing.

    Raises: StoreUnusableError if it cannot be made, or others could write to it: to load an object is to run it.
    """
    root = os.path.realpath(os.path.expanduser(config.cache_dir or _cache_home()))
    try:
        os.makedirs(root, 0o700, exist_ok=True)
        _require_private(os.lstat(root), stat.S_ISDIR)
    except OSError as error:
        raise StoreUnusableError(f"the cache directory {root} is unusable: {error.strerror or error}") from error
    return Store(root)


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A private folder outside the store, for a compiler to work in; gone at the end.

    Raises: OSError if there is no directory that can be written.
    """
    folder = _make_scratch_folder()
    try:
        yield folder
    finally:
        remove(folder)


def _make_scratch_folder() -> str:
    name = f"tinytrace-{os.getpid()}-{os.urandom(6).hex()}"
    for base in filter(None, (os.environ.get("TMPDIR"), "/tmp", "/dev/shm", os.getcwd())):
        try:
            os.mkdir(os.path.join(base, name), 0o700)
        except OSError:
            continue
        return os.path.join(base, name)
    raise OSError("no temporary directory can be written: set TMPDIR to one that can")


def _cache_home() -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    return os.path.join(home, "tinytrace")


def _require_private(status: os.stat_result, is_kind: Any) -> None:
    if not is_kind(status.st_mode):
        raise PermissionError("not of the expected kind of file")
    if status.st_uid != os.geteuid():
        raise PermissionError(f"it belongs to user {status.st_uid}, not to user {os.geteuid()}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others may write to it (mode {stat.S_IMODE(status.st_mode):o})")


def _read_private(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        _require_private(os.fstat(descriptor), stat.S_ISREG)
        return file.read()


def read_file(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def write_file(path: str, data: bytes) -> None:
    """Write a file that only this user can change."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)


def remove(path: str) -> None:
    """Remove a folder with all that is in it, or a file, as far as it is there and may be removed."""
    if not os.path.isdir(path) or os.path.islink(path):
        _unlink(path)
        return
    for inner in _paths(path):
        remove(inner)
    with suppress(OSError):
        os.rmdir(path)


def _paths(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def _touch(path: str) -> None:
    """Note that an entry is used: pruning drops those that were not used for longest."""
    with suppress(OSError):  # a store that can only be read is not pruned either
        os.utime(path)


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _age(path: str, now: float, missing: float = 0.0) -> float:
    try:
        return now - os.lstat(path).st_mtime
    except OSError:
        return missing


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
