"""Which store and which compiler there are: found out once per process, and again where it turns out to be wrong."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress

from tinytrace.codegen.csource import CSource
from tinytrace.config import config
from tinytrace.runtime.compiler import Compiler, find_command
from tinytrace.runtime.failures import CompileError, Step, TimeLimitError, printable
from tinytrace.runtime.places import open_store
from tinytrace.runtime.probe import Known, note_name, probe
from tinytrace.runtime.process import Ahead
from tinytrace.runtime.shared_store import SharedStore
from tinytrace.runtime.store import Store, StoreUnusableError
from tinytrace.runtime.worker import run_apart

_stores: dict[str, Store | str] = {}
"""By the directory that is configured: its store, or why there is none."""
_shared_stores: dict[str, SharedStore | str] = {}
"""The same for the store that is shared."""
_compilers: dict[tuple[str, str | None], Compiler] = {}
"""By CC and PATH."""
_remembered: set[Compiler] = set()
"""Those of which only a note in the store tells."""
_silent: dict[tuple[tuple[str, ...], int], TimeLimitError] = {}
"""Commands, with the times of change of their files, that did not answer in time: they are not asked again."""
_asking: threading.Lock  # while somebody asks a compiler what it is


def _make_lock() -> None:
    global _asking
    _asking = threading.Lock()


_make_lock()
os.register_at_fork(after_in_child=_make_lock)


def memory_only(reason: str) -> Step:
    """The step down from a store that cannot be used."""
    remedy = "set TINYTRACE_CACHE_DIR to a directory that you own and only you can write to"
    return Step("memory only (every process compiles anew)", reason, remedy)


def current_store(steps: list[Step]) -> Store | None:
    """The store on disk; None, with a step added to `steps`, when its directory is unusable."""
    name = config.cache_dir
    if name not in _stores:
        try:
            _stores[name] = open_store()
        except StoreUnusableError as error:
            _stores[name] = str(error)
    store = _stores[name]
    if isinstance(store, Store):
        return store
    steps.append(memory_only(store))
    return None


def shared_store(steps: list[Step]) -> SharedStore | None:
    """The store that many read and this user does not write; None, with a step if it is configured and unusable."""
    name = config.shared_cache
    if not name:
        return None
    if name not in _shared_stores:
        try:
            _shared_stores[name] = SharedStore(name)
        except OSError as error:
            reason = error.strerror or error
            _shared_stores[name] = f"TINYTRACE_SHARED_CACHE={printable(name)} is not used: {reason}"
    store = _shared_stores[name]
    if isinstance(store, SharedStore):
        return store
    remedy = "let it belong to you or to root, with nobody else allowed to write to it, or unset the variable"
    steps.append(Step("the user's own store", store, remedy))
    return None


def known_compiler() -> Compiler | None:
    """The compiler, if this process has found out which one it is."""
    return _compilers.get(_asked())


def noted_compiler(store: Store | None) -> Compiler | None:
    """The compiler, if this process or the store knows which one it is; nobody is asked, and nobody waits."""
    asked = _asked()
    if asked not in _compilers:
        with suppress(CompileError):  # there is none
            if known := _noted(store, find_command()):
                _remembered.add(known.compiler)
                _compilers.setdefault(asked, known.compiler)
    return _compilers.get(asked)


def current_compiler(store: Store | None, steps: list[Step], pulse: Callable[[], None]) -> Compiler:
    """The C compiler, as the store remembers it or as it says itself.

    Raises: CompileError if there is none that works.
    """
    asked = _asked()
    _acquire(_asking, pulse)
    try:
        if asked not in _compilers:
            command = find_command()
            if known := _noted(store, command):
                _remembered.add(known.compiler)
            else:
                known = _probe(store, command, steps, pulse)
            _compilers[asked] = known.compiler
        return _compilers[asked]
    finally:
        _asking.release()


def compiler_asked_again(compiler: Compiler, store: Store | None, steps: list[Step],
                         pulse: Callable[[], None]) -> Compiler | None:
    """What a compiler says itself where only a note told of it; None if that is nothing new."""
    if compiler not in _remembered:
        return None
    _remembered.discard(compiler)
    fresh = _probe(store, find_command(), steps, pulse).compiler
    _compilers[_asked()] = fresh
    return fresh if fresh != compiler else None


def _asked() -> tuple[str, str | None]:
    return config.compiler, os.environ.get("PATH")


def _noted(store: Store | None, command: tuple[str, ...]) -> Known | None:
    if store is None:
        return None
    try:
        known = Known.from_json(store.read_note(note_name(command)))
    except (TypeError, KeyError, ValueError):
        return None  # nothing there, or nothing that can be read
    return known if known.holds(command) else None


def _probe(store: Store | None, command: tuple[str, ...], steps: list[Step], pulse: Callable[[], None]) -> Known:
    silent = command, os.stat(command[0]).st_mtime_ns
    if silent in _silent:
        raise TimeLimitError(*_silent[silent].args)
    try:
        known = probe(command, pulse)
    except TimeLimitError as error:
        _silent[silent] = error
        raise
    if store is not None:
        try:
            store.write_note(note_name(command), known.to_json())
        except FileNotFoundError:
            pass  # somebody removes the store at this moment
        except OSError as error:
            steps.append(memory_only(f"the cache directory {store.given} cannot be written: {error}"))
    return known


def _acquire(lock: threading.Lock, pulse: Callable[[], None]) -> None:
    while not lock.acquire(timeout=0.1):
        pulse()


class Headstart:
    """The compiler, started before there is a text: it gets ready meanwhile, a third of what a small compile takes.

        with Headstart() as ahead:
            ahead.start()
            ahead.tell(source)
            ladder.find(source, ahead=ahead.given)
    """

    def __init__(self) -> None:
        self.given: Ahead | None = None
        """What was started. It ends with the `with`, if it was given no text."""

    def start(self) -> None:
        """Start the compiler for a small text; nothing is started where nobody would gain."""
        compiler = noted_compiler(current_store([]))
        ahead = self.given = compiler.ahead() if compiler is not None else None
        if ahead is not None:
            with suppress(OSError, ValueError):  # the search tells of it
                run_apart(lambda pulse: ahead.start())

    def tell(self, source: CSource) -> None:
        """Let it compile a text, if it is for such, while the disk is looked at for what may be there already."""
        if self.given is not None and not source.quick and not source.parts:
            self.given.tell(source.text.encode())

    def __enter__(self) -> Headstart:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.given is not None:
            self.given.close()
