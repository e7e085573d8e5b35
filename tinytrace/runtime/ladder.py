"""The failure ladder: `load(source)` finds a program in memory, on disk, or compiles it, and steps down when it must.

    memory -> disk -> compiler -> (disk unusable) memory only -> (no working compiler) NoCompiler: interpret it

`stats` counts where programs came from; nothing else about the path taken is visible in the answer.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields

from tinytrace._runtime import lib
from tinytrace.codegen.csource import CSource
from tinytrace.config import config
from tinytrace.runtime.blas import provide_blas
from tinytrace.runtime.compiler import LIBRARY, SOURCE, Compiler, command_stamp, find_command, probe
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.failures import CompileError, NoCompiler, step_down
from tinytrace.runtime.keys import ArtifactKey, sha256
from tinytrace.runtime.store import (
    Store,
    StoreUnusableError,
    open_store,
    read_file,
    scratch_folder,
    write_file,
)

_KEPT_IN_MEMORY = 4096  # executables, the least recently asked for is dropped


@dataclass
class Stats:
    """Where loaded programs came from, since the process started or the last `reset()`."""

    memory_hits: int = 0
    disk_hits: int = 0
    compiles: int = 0

    def reset(self) -> None:
        """Set every counter to 0."""
        for field in fields(self):
            setattr(self, field.name, 0)


stats = Stats()
_memory: OrderedDict[ArtifactKey, Executable] = OrderedDict()
_stores: dict[str, Store | None] = {}
_compilers: dict[tuple[str, str | None], Compiler] = {}
_key_locks: dict[ArtifactKey, tuple[threading.Lock, list[None]]] = {}
_lock: threading.Lock  # over the tables of this module and the counters, for moments
_asking: threading.Lock  # while somebody finds out what compiler and store there are


def _make_locks() -> None:
    """New locks, at import and in a forked child: who held them lives on in the parent only."""
    global _lock, _asking
    _lock, _asking = threading.Lock(), threading.Lock()
    _key_locks.clear()


_make_locks()
os.register_at_fork(after_in_child=_make_locks)


def load(source: CSource) -> Executable:
    """The loaded program of a C source: from memory, from disk, or compiled now. Threads that ask for one share it.

    Raises: NoCompiler if it cannot be compiled, after announcing why (once per process);
      StrictError instead of any step down when TINYTRACE_STRICT=1.
    """
    try:
        store = current_store()
        compiler = current_compiler(store)
        key = artifact_key(source, compiler)
        with _one_at_a_time(key):
            executable = _from_memory(key)
            if executable is None:
                executable = _from_disk_or_compiler(source, key, compiler, store)
                _remember(executable)
        return executable
    except CompileError as error:
        step_down("the interpreter", str(error), error.remedy)
        raise NoCompiler(error.reason) from error
    except OSError as error:
        reason, remedy = f"there is no room to compile a program: {error}", "set TMPDIR to a directory that has room"
        step_down("the interpreter", reason, remedy)
        raise NoCompiler(str(error)) from error


def artifact_key(source: CSource, compiler: Compiler) -> ArtifactKey:
    """The key of what a compiler makes of a source."""
    text = sha256(source.text.encode())
    flags = compiler.flags(source.exact, source.quick)
    return ArtifactKey(text, compiler.identity, flags, lib.tt_host_abi(), compiler.cpu)


def clear_memory() -> None:
    """Forget all loaded programs; they are found on disk again. Those still referenced stay usable."""
    with _lock:
        _memory.clear()


def _from_memory(key: ArtifactKey) -> Executable | None:
    with _lock:
        executable = _memory.get(key)
        if executable is not None:
            _memory.move_to_end(key)
            stats.memory_hits += 1
    return executable


def _remember(executable: Executable) -> None:
    with _lock:
        _memory[executable.key] = executable
        if len(_memory) > _KEPT_IN_MEMORY:
            _memory.popitem(last=False)


def _from_disk_or_compiler(source: CSource, key: ArtifactKey, compiler: Compiler, store: Store | None) -> Executable:
    if "->sgemm" in source.text or "->dgemm" in source.text:
        provide_blas()
    if store is None:
        return _compile_in_memory(source, key, compiler, None)
    if found := _from_disk(source, key, store):
        return found
    with store.compiling(key):
        return _from_disk(source, key, store) or _compile(source, key, compiler, store)


def _from_disk(source: CSource, key: ArtifactKey, store: Store) -> Executable | None:
    entry = store.find(key, source.text)
    if entry is None:
        return None
    executable = Executable(key, source, entry.path, entry.library)
    _count("disk_hits")
    return executable


def _compile(source: CSource, key: ArtifactKey, compiler: Compiler, store: Store) -> Executable:
    try:
        with store.building() as folder:
            _build(source, compiler, folder, store)
            entry = store.publish(folder, key, source.text)
    except OSError as error:
        _announce_memory_only(f"the cache directory {store.root} cannot be written: {error}")
        return _compile_in_memory(source, key, compiler, store)
    return Executable(key, source, entry.path, entry.library)


def _compile_in_memory(source: CSource, key: ArtifactKey, compiler: Compiler, store: Store | None) -> Executable:
    with scratch_folder() as folder:
        _build(source, compiler, folder, store)
        library = read_file(os.path.join(folder, LIBRARY))
    return Executable(key, source, "", library)


def _build(source: CSource, compiler: Compiler, folder: str, store: Store | None) -> None:
    write_file(os.path.join(folder, SOURCE), source.text.encode())
    _count("compiles")
    try:
        compiler.compile(folder, source.exact, source.quick, source.parts)
    except CompileError as error:
        if store is not None:
            with suppress(OSError):  # the error itself matters more than a copy of its source
                error.source_path = store.keep_failure(source.text)
        raise


# --- what is asked once per process ------------------------------------------------------------------------------

def current_store() -> Store | None:
    """The store on disk, None (announced) when its directory is unusable."""
    with _asking:
        if config.cache_dir not in _stores:
            try:
                _stores[config.cache_dir] = open_store()
            except StoreUnusableError as error:
                _announce_memory_only(str(error))
                _stores[config.cache_dir] = None
        return _stores[config.cache_dir]


def current_compiler(store: Store | None) -> Compiler:
    """The C compiler, as the store remembers it or as it says itself.

    Raises: CompileError if there is none that works.
    """
    asked = config.compiler, os.environ.get("PATH")
    with _asking:
        if asked not in _compilers:
            _compilers[asked] = _remembered_compiler(store)
        return _compilers[asked]


def _remembered_compiler(store: Store | None) -> Compiler:
    command = find_command()
    stamp = command_stamp(command)
    try:
        return Compiler.from_json(store.read_note(stamp)) if store else probe(command)
    except (TypeError, KeyError):
        pass  # nothing there, or nothing that can be read
    compiler = probe(command)
    assert store is not None
    try:
        store.write_note(stamp, compiler.to_json())
    except OSError as error:
        _announce_memory_only(f"the cache directory {store.root} cannot be written: {error}")
    return compiler


def _announce_memory_only(reason: str) -> None:
    remedy = "set TINYTRACE_CACHE_DIR to a directory that you own and only you can write to"
    step_down("memory only (every process compiles anew)", reason, remedy)


def _count(name: str) -> None:
    with _lock:
        setattr(stats, name, getattr(stats, name) + 1)


# --- one thread per key -------------------------------------------------------------------------------------------

@contextmanager
def _one_at_a_time(key: ArtifactKey) -> Iterator[None]:
    """Hold the lock of a key; locks exist as long as somebody holds or awaits them."""
    with _lock:
        lock, users = _key_locks.setdefault(key, (threading.Lock(), []))
        users.append(None)
    try:
        with lock:
            yield
    finally:
        with _lock:
            users.pop()
            if not users:
                del _key_locks[key]
