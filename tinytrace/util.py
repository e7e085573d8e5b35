"""Small tools that every layer uses."""
from __future__ import annotations

import functools
import gc
import importlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Generic, TypeVar

from tinytrace._dispatch import TraceState
from tinytrace.config import trace_context

Result = TypeVar("Result")

PACKAGE_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
"""Where tinytrace's own files lie."""


class lazy(Generic[Result]):  # noqa: N801  (a decorator)
    """A property that is computed when it is first read, and kept in the instance.

    Threads may compute it at the same time; what the first of them gets is what all of them get.
    Python 3.11's functools.cached_property does so under one lock for all instances, which makes compiles of different
    programs wait for each other, and hangs a child that is forked meanwhile.
    """

    def __init__(self, compute: Callable[[Any], Result]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Result:
        if instance is None:
            return self  # type: ignore[return-value]
        value: Result = instance.__dict__.setdefault(self.name, self.compute(instance))
        return value


def counted(n: int, thing: str) -> str:
    """Return a count in words.

    >>> counted(1, "kernel"), counted(2, "kernel")
    ('1 kernel', '2 kernels')
    """
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def unzip(pairs: Iterable[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    """Return the firsts and the seconds of pairs, of which there may be none.

    >>> unzip([(1, "a"), (2, "b")])
    ([1, 2], ['a', 'b'])
    """
    firsts, seconds = [], []
    for first, second in pairs:
        firsts.append(first)
        seconds.append(second)
    return firsts, seconds


def toposort(ends: Iterable[Any]) -> list[Any]:
    """Return the nodes that `ends` need, each after its `parents`.

    Among the many such orders it is this: from the ends backwards, a node is taken as soon as all its uses are, the
    latest such node first. Source: Kahn, "Topological sorting of large networks" (1962).
    """
    ends = list({id(node): node for node in ends}.values())
    uses = {id(node): 0 for node in ends}
    pending = list(ends)
    while pending:
        for parent in pending.pop().parents:
            if id(parent) not in uses:
                uses[id(parent)] = 0
                pending.append(parent)
            uses[id(parent)] += 1
    ready, backwards = [node for node in ends if not uses[id(node)]], []
    while ready:
        node = ready.pop()
        backwards.append(node)
        for parent in node.parents:
            uses[id(parent)] -= 1
            if not uses[id(parent)]:
                ready.append(parent)
    return backwards[::-1]


class _Collections:
    paused = False
    """Has somebody here told Python not to collect, who will tell it otherwise, or was interrupted before that?"""


def uncollected(function: Callable[..., Result]) -> Callable[..., Result]:
    """Decorate what makes many objects that live on: Python looks for garbage in cycles afterwards only.

    A collection looks at every object of the process, and there would be one for every quarter of these that is added:
    a fifth of the time of compiling a large program. If Python was told not to collect, so it stays.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Result:
        collects = _Collections.paused = gc.isenabled() or _Collections.paused
        try:
            gc.disable()
            return function(*args, **kwargs)
        finally:
            if collects:
                gc.enable()
                _Collections.paused = False

    return call


def lazy_submodules(package: str, *names: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package (PEP 562) that imports its submodules `names` when they are first used."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in names:
            return absent_names(package)(name)
        return _imported(f"{package}.{name}")

    return __getattr__


def is_imported(name: Callable[[], object]) -> bool:
    """Import what a name needs; it is not there in a signal's handler that interrupts its first import."""
    try:
        name()
    except AttributeError:
        return False
    except ImportError as error:
        if "partially initialized module" not in str(error):  # its import has begun
            raise
        return False
    return True


def absent_names(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module (PEP 562) that says of JAX's names which it lacks what to do instead."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name.startswith("_") or _is_asked_by_import():
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return _imported("tinytrace.missing").absent(module, name)

    return __getattr__


def _is_asked_by_import() -> bool:
    """Does `from package import name` only look whether `name` is a submodule that is to be imported first?"""
    frame = sys._getframe(2)
    while frame.f_code.co_name == "__getattr__" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name == "_handle_fromlist"


unforkable = threading.RLock()
"""Held by a thread that does what a child forked meanwhile would never see the end of; and by a thread that forks.

It is made with the package. A module that made it when it is imported could come too late: a fork that has begun does
not call the hooks of what other threads import while it waits for them.
"""

_importing: list[int] = []
"""The threads that are importing a submodule."""


@uncollected
def _imported(name: str) -> ModuleType:
    this_thread = threading.get_ident()
    if this_thread in _importing:  # a fork waits for it
        return importlib.import_module(name)
    try:
        with unforkable:
            _importing.append(this_thread)
        return importlib.import_module(name)
    finally:
        if this_thread in _importing:  # Ctrl-C may have come before
            _importing.remove(this_thread)


def _before_fork() -> None:
    """Let the imports of other threads end: their locks would be held in the child for ever."""
    unforkable.acquire()
    deadline, this_thread = time.monotonic() + 10, threading.get_ident()
    while any(thread != this_thread for thread in tuple(_importing)) and time.monotonic() < deadline:
        time.sleep(0.001)


def _after_fork_in_child() -> None:
    _importing[:] = [thread for thread in _importing if thread == threading.get_ident()]
    unforkable.release()


os.register_at_fork(before=_before_fork, after_in_parent=unforkable.release, after_in_child=_after_fork_in_child)


def lazy_names(package: str, homes: dict[str, str], module: str = "") -> Callable[[str], Any]:
    """Return the `__getattr__` of a package (PEP 562) for names whose modules are imported when they are first used.

    `from package import *` asks for `__all__`, which is there for that: all names, these too.

    Args: homes: for each name, the submodule of `package` that defines it.  module: who asks, if not the package.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name == "__all__":
            return [each for each in {**vars(sys.modules[module or package]), **homes} if not each.startswith("_")]
        if name not in homes:
            return absent_names(module or package)(name)
        value = getattr(_imported(f"{package}.{homes[name]}"), name)
        return vars(sys.modules[module or package]).setdefault(name, value)

    return __getattr__


current_trace_state = TraceState()
"""Where the operations of a thread go: `Primitive.bind` asks it, `core.trace` says where they go at first."""


class _Nesting(threading.local):
    depth = 0


nesting = _Nesting()
"""`depth`: how many evaluations of jaxprs, one inside the other, this thread is in."""


def cache_context() -> tuple[Any, ...]:
    """Return the part of a cache key that is not an argument: the configuration, where we are, and the named axes.

    What is traced inside an evaluation of a jaxpr is kept apart from what is traced outside. It is so in JAX (an
    evaluation enters the `compute_on` context of each equation, and the stack of these is part of the key), and decides
    which programs are one object, and print once.
    """
    return trace_context(), nesting.depth, current_trace_state.trace.named_axes


def cache_by_jaxpr_anywhere(fun: Callable[..., Result]) -> Callable[..., Result]:
    """Cache `fun(jaxpr, *key)` as `cache_by_jaxpr` does, but whatever the context."""
    return _cached(fun, tuple)


def cache_by_jaxpr(fun: Callable[..., Result]) -> Callable[..., Result]:
    """Cache `fun(jaxpr, *key)` for as long as the jaxpr lives.

    A second request gives the same object: two equations that share a body before a transformation share it after,
    and print it once. The result must not hold `jaxpr` itself, or neither would ever be freed.
    """
    return _cached(fun, cache_context)


def _cached(fun: Callable[..., Result], context: Callable[[], tuple[Any, ...]]) -> Callable[..., Result]:
    results_of: weakref.WeakKeyDictionary[Any, dict[Any, Result]] = weakref.WeakKeyDictionary()

    @functools.wraps(fun)
    def cached(jaxpr: Any, *key: Any) -> Result:
        results = results_of.setdefault(jaxpr, {})
        full_key = *key, context()
        if full_key not in results:
            results[full_key] = fun(jaxpr, *key)
        return results[full_key]

    return cached


_OF_JAX = """
    HashableFunction as_hashable_function cache curry merge_lists partition_list safe_map safe_zip split_dict split_list
    split_list_checked split_merge subvals unzip2 unzip3 wrap_name wraps
"""  # of `jax.util`
__getattr__ = lazy_names("tinytrace", dict.fromkeys(_OF_JAX.split(), "extend.functions"), __name__)
