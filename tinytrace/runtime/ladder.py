"""The failure ladder: `load(source)` finds a program in memory, on disk, or compiles it, and steps down when it must.

    memory -> disk -> compiler -> (disk unusable) memory only -> (no working compiler) NoCompiler: interpret it

`stats` counts where programs came from; nothing else about the path taken is visible in the answer. A program is kept
on disk only after it was loaded: what a compiler wrote is not believed because its exit status is 0.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields

from tinytrace._runtime import lib
from tinytrace.codegen.csource import CSource
from tinytrace.config import config
from tinytrace.records import NamedTuple, dataclass
from tinytrace.runtime.blas import provide_blas
from tinytrace.runtime.compiler import SOURCE, Compiler, Pipeline
from tinytrace.runtime.discovery import (
    compiler_asked_again,
    current_compiler,
    current_store,
    known_compiler,
    memory_only,
    noted_compiler,
    shared_store,
)
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.failures import CompileError, NoCompiler, Step, TimeLimitError, step_down
from tinytrace.runtime.kept_math import MathOnDisk
from tinytrace.runtime.keys import ArtifactKey, sha256
from tinytrace.runtime.locks import Turn
from tinytrace.runtime.lowerings import Lowering
from tinytrace.runtime.places import read_library, scratch_folder, write_file
from tinytrace.runtime.process import TIME_IS_UP, Ahead
from tinytrace.runtime.store import Building, Entry, Store
from tinytrace.runtime.worker import run_apart

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
_key_locks: dict[ArtifactKey, tuple[threading.Lock, list[None]]] = {}
_lock: threading.RLock  # over the tables and counters, for moments; a signal handler may need it in such a moment


def _make_locks() -> None:
    """New locks, at import and in a forked child: who held them lives on in the parent only."""
    global _lock
    _lock = threading.RLock()
    _key_locks.clear()


_make_locks()
os.register_at_fork(after_in_child=_make_locks)


class Found(NamedTuple):
    """A loaded program, and how it was found.

    Args:
      origin: `memory`, `disk`, `shared disk` or `compiler`.
      compile_seconds, load_seconds: what it took now.
    """

    executable: Executable
    origin: str
    compile_seconds: float = 0.0
    load_seconds: float = 0.0


def load(source: CSource) -> Executable:
    """The loaded program of a C source; see `find`."""
    return find(source).executable


def find(source: CSource, describe: Callable[[], str] = str, ahead: Ahead | None = None) -> Found:
    """The loaded program of a C source: from memory, from disk, or compiled now. Threads that ask for one share it.

    describe: says what the source was made of, for the store; asked only when it is compiled.  ahead: see `Headstart`.

    Raises: NoCompiler if it cannot be compiled, after announcing why (once per process);
      StrictError instead of any step down when TINYTRACE_STRICT=1.
    """
    steps: list[Step] = []
    store = current_store(steps)
    if config.strict:
        step_down(*steps)
    if source.needs_blas:
        provide_blas()
    if (compiler := known_compiler()) and (at_once := _found_at_once(artifact_key(source, compiler), source, store)):
        step_down(*steps)
        return at_once
    try:
        found = run_apart(lambda pulse: _Search(source, store, steps, pulse, describe, ahead).result())
        step_down(*steps)
        return found
    except CompileError as error:
        step_down(*steps, Step("the interpreter", str(error), error.remedy))
        raise NoCompiler(error.reason) from error
    except OSError as error:
        step_down(*steps, Step("the interpreter", f"there is no room to compile a program: {error}",
                               "set TMPDIR to a directory that has room"))
        raise NoCompiler(str(error)) from error


def find_again(lowering: Lowering) -> Found | None:
    """The loaded program of a C text that an earlier process wrote, if it is in memory or in the user's own store.

    Nothing is told of what stands in the way; who finds nothing writes the C and asks `find`.
    """
    steps: list[Step] = []
    store = current_store(steps)
    compiler = noted_compiler(store)
    if store is None or compiler is None:
        return None
    if lowering.needs_blas:
        provide_blas()
    return _found_at_once(artifact_key(lowering, compiler), lowering, store)


def _found_at_once(key: ArtifactKey, source: CSource | Lowering, store: Store | None) -> Found | None:
    """A program in memory, or in the user's own store as long as nobody else looks for it.

    This is done by the main thread too, where signals' handlers run: it holds no lock while it reads or loads, each of
    which is one step of Python's, and a handler that wants the same program finds it by itself.
    """
    if executable := _from_memory(key):
        return Found(executable, "memory")
    with _lock:
        is_sought = key in _key_locks
    text = source.text if isinstance(source, CSource) else None
    if store is None or is_sought or (entry := store.find(key, text)) is None:
        return None
    return _loaded(key, source.symbol, entry, "disk")


def _loaded(key: ArtifactKey, symbol: str, entry: Entry, origin: str) -> Found | None:
    """A program from disk, None if it cannot be loaded; who was faster meanwhile wins."""
    begun = time.perf_counter()
    try:
        executable = Executable(key, symbol, entry.path, entry.library)
    except CompileError:
        return None
    with _lock:
        if sooner := _from_memory(key):
            return Found(sooner, "memory")
        _remember(executable)
        stats.disk_hits += 1
    return Found(executable, origin, 0.0, time.perf_counter() - begun)


def artifact_key(source: CSource | Lowering, compiler: Compiler) -> ArtifactKey:
    """The key of what a compiler makes of a source."""
    digest = source.digest if isinstance(source, Lowering) else sha256(source.text.encode())
    return ArtifactKey(digest, compiler.identity, compiler.flags(source.quick), lib.tt_host_abi(), compiler.cpu)


def clear_memory() -> None:
    """Forget all loaded programs; they are found on disk again. Those still referenced stay usable."""
    with _lock:
        _memory.clear()


def is_loaded(key: ArtifactKey) -> bool:
    """Is the program of a key in memory?"""
    with _lock:
        return key in _memory


def forget(executable: Executable) -> None:
    """Forget one loaded program; it stays usable as long as somebody holds it."""
    with _lock:
        _memory.pop(executable.key, None)


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


class _Search:
    """The way to one program that is not known to be in memory; `steps` gets the steps down that are taken."""

    def __init__(self, source: CSource, store: Store | None, steps: list[Step], pulse: Callable[[], None],
                 describe: Callable[[], str], ahead: Ahead | None) -> None:
        self.ahead = ahead
        self.source, self.store, self.steps, self.pulse, self.describe = source, store, steps, pulse, describe
        self.commands: tuple[Pipeline, ...] = ()
        """What the compiler was called with."""
        self.description: str | None = None

    def result(self) -> Found:
        compiler = current_compiler(self.store, self.steps, self.pulse)
        try:
            return self._with(compiler)
        except TimeLimitError:
            raise
        except CompileError:  # what a note says of a compiler is believed as long as it works
            fresh = compiler_asked_again(compiler, self.store, self.steps, self.pulse)
            if fresh is None:
                raise
            return self._with(fresh)

    def _with(self, compiler: Compiler) -> Found:
        key = artifact_key(self.source, compiler)
        with _one_at_a_time(key, self.pulse):
            if executable := _from_memory(key):
                return Found(executable, "memory")
            return self._from_disk(key) or self._from_shared_disk(key) or self._compiled_once(key, compiler)

    def _from_disk(self, key: ArtifactKey) -> Found | None:
        entry = self.store.find(key, self.source.text) if self.store else None
        if entry is None or self.store is None:
            return None
        found = _loaded(key, self.source.symbol, entry, "disk")
        if found is None:  # an entry that does not load is none
            self.store.discard(key)
        return found

    def _from_shared_disk(self, key: ArtifactKey) -> Found | None:
        store = shared_store(self.steps)
        entry = store.find(key, self.source.text) if store else None
        return _loaded(key, self.source.symbol, entry, "shared disk") if entry else None

    def _compiled_once(self, key: ArtifactKey, compiler: Compiler) -> Found:
        """Compile, or wait for another process that does."""
        if self.store is None:
            return self._compiled(key, compiler, Turn())
        limit = config.compile_timeout
        with self.store.compiling(key, limit, self.pulse) as turn:
            if turn.exceeded >= max(1, limit):
                raise TimeLimitError(f"the C compiler {TIME_IS_UP}, in a process that this one waited for")
            return self._from_disk(key) or self._compiled(key, compiler, turn)

    def _compiled(self, key: ArtifactKey, compiler: Compiler, turn: Turn) -> Found:
        with _lock:
            stats.compiles += 1
        with ExitStack() as place:
            found, library, building = self._built(key, compiler, turn, place)
            if self.store is not None:
                try:
                    entry = self.store.publish(key, self.source.text, library, self.commands, self._described(),
                                               building)
                    found.executable.path = entry.path
                except FileNotFoundError:
                    pass  # somebody removes the store at this moment
                except OSError as error:
                    self.steps.append(memory_only(f"the cache directory {self.store.given} cannot be written: {error}"))
        _remember(found.executable)
        return found

    def _built(self, key: ArtifactKey, compiler: Compiler, turn: Turn,
               place: ExitStack) -> tuple[Found, bytes, Building | None]:
        """Compile and load; the compiler is blamed only when that fails in two places, and not for lack of room.

        Returns: the program, the library, and the folder of the store that `place` keeps, if it was made in one.
        """
        failures: list[CompileError | OSError] = []
        for store in [self.store, None] if self.store else [None]:
            try:
                building = place.enter_context(store.building()) if store else None
                folder = building.path if building else place.enter_context(scratch_folder())
                begun = time.perf_counter()
                library = self._build(compiler, folder, turn)
                built = time.perf_counter()
                executable = Executable(key, self.source.symbol, "", library)
                found = Found(executable, "compiler", built - begun, time.perf_counter() - built)
                return found, library, building
            except TimeLimitError as error:
                turn.tell_exceeded(config.compile_timeout)
                failures.append(error)
                break
            except (CompileError, OSError) as error:
                failures.append(error)
                place.close()
        failure = next((error for error in reversed(failures) if isinstance(error, CompileError)), failures[-1])
        if isinstance(failure, CompileError) and self.store:
            with suppress(OSError):  # the error itself matters more than a copy of its source
                failure.source_path = self.store.keep_failure(self.source.text)
        raise failure

    def _described(self) -> str:
        if self.description is None:
            self.description = self.describe()
        return self.description

    def _build(self, compiler: Compiler, folder: str, turn: Turn) -> bytes:
        def pulse() -> None:
            self.pulse()
            turn.beat()
            if self.store is not None:
                self._described()  # now, while the compiler is at work

        write_file(os.path.join(folder, SOURCE), self.source.text.encode())
        math = MathOnDisk(self.store, compiler) if self.store else None
        self.commands = compiler.compile(folder, self.source.quick, self.source.parts, pulse, self.ahead, math)
        return read_library(folder)


@contextmanager
def _one_at_a_time(key: ArtifactKey, pulse: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a key among threads; locks exist as long as somebody holds or awaits them."""
    with _lock:
        lock, users = _key_locks.setdefault(key, (threading.Lock(), []))
        users.append(None)
    try:
        while not lock.acquire(timeout=0.1):
            pulse()
        try:
            yield
        finally:
            lock.release()
    finally:
        with _lock:
            users.pop()
            if not users:
                _key_locks.pop(key, None)
