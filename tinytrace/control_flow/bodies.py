"""Bodies: the user's functions inside loops and branches, staged once into jaxprs; and what runs them uncompiled.

A value that a body closes over is an operand of the equation: `stage_body` returns such values, `consts`, and they
are the leading inputs of the body's jaxpr.
"""
from __future__ import annotations

import contextlib
import inspect
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, UnusedVar, eval_jaxpr
from tinytrace.core.key_paths import SequenceKey, keystr
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis
from tinytrace.core.numpy_calls import to_numpy
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import Tracer, current_trace, interpreting
from tinytrace.core.tree_paths import tree_flatten_with_path
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.records import NamedTuple
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr
from tinytrace.util import cache_by_jaxpr, cache_context


class StagedBody(NamedTuple):
    """A function as a jaxpr, the values it closed over, and the structure of its result."""

    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: PyTreeDef

    @property
    def closed(self) -> ClosedJaxpr:
        """The body as an equation's parameter: its consts are its first inputs."""
        return ClosedJaxpr(hoist_consts(self.jaxpr), ())


def stage_body(fun: Callable[..., Any], in_tree: PyTreeDef, in_avals: Sequence[ShapedArray],
               name: str) -> tuple[ClosedJaxpr, list[Any], PyTreeDef]:
    """Trace `fun` at `in_avals`, the leaves of its tuple of arguments `in_tree`; `name` is for error messages.

    The same function at the same types gives the same jaxpr object, so that later stages find it in their caches.
    """
    staged, closed = _stage(fun, in_tree, tuple(in_avals), name)
    return closed, staged.consts, staged.out_tree


def stage_branches(funs: Sequence[Callable[..., Any]], in_tree: PyTreeDef, in_avals: Sequence[ShapedArray],
                   name: str) -> tuple[list[ClosedJaxpr], list[Any], list[PyTreeDef]]:
    """Trace the branches of a conditional; each takes the constants of all of them, in order, and ignores most."""
    both = [_stage(fun, in_tree, tuple(in_avals), name) for fun in funs]
    staged = [s for s, _ in both]
    const_avals = [[v.aval for v in s.jaxpr.constvars] for s in staged]
    jaxprs = []
    for i, (s, closed) in enumerate(both):
        before = [UnusedVar(aval) for avals in const_avals[:i] for aval in avals]
        after = [UnusedVar(aval) for avals in const_avals[i + 1:] for aval in avals]
        invars = [*before, *s.jaxpr.constvars, *after, *s.jaxpr.invars]
        jaxprs.append(ClosedJaxpr(s.jaxpr.replace(constvars=[], invars=invars), ()) if before or after else closed)
    return jaxprs, [c for s in staged for c in s.consts], [s.out_tree for s in staged]


def _stage(fun: Callable[..., Any], in_tree: PyTreeDef, in_avals: tuple[ShapedArray, ...],
           name: str) -> tuple[StagedBody, ClosedJaxpr]:
    key = in_tree, in_avals, name
    known = _bodies.get(fun, key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    out_tree: list[PyTreeDef] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        results, tree = tree_flatten(fun(*tree_unflatten(in_tree, leaves)))
        out_tree.append(tree)
        return results

    jaxpr, consts = trace_to_jaxpr(flat_fun, in_avals, describe(fun, in_tree, name))
    staged = StagedBody(jaxpr, consts, out_tree[0])
    result = staged, staged.closed
    _bodies.put(fun, key, result, consts)
    return result


_trace_caches: list[TraceCache] = []


def forget_bodies() -> None:
    """Forget what loops, branches and other functions inside of programs were traced to."""
    for cache in _trace_caches:
        cache.clear()


class TraceCache:
    """What functions were traced to, for as long as they live.

    A trace that closes over tracers is good for the current trace only; the others are, until `clear_caches()`.
    """

    def __init__(self) -> None:
        self._everywhere: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
        _trace_caches.append(self)

    def clear(self) -> None:
        """Forget every trace."""
        self._everywhere.clear()

    def get(self, fun: Callable[..., Any], key: Hashable) -> Any:
        """Return what was put, or None."""
        key = key, cache_context()
        try:
            known = self._everywhere.get(fun, {}).get(key)
            return current_trace().memo.get((self, fun, key)) if known is None else known
        except TypeError:  # without hash or weak references: traced every time
            return None

    def put(self, fun: Callable[..., Any], key: Hashable, value: Any, consts: Sequence[Any]) -> None:
        """Remember `value` for `fun`, which closes over `consts`."""
        key = key, cache_context()
        with contextlib.suppress(TypeError):
            if any(isinstance(c, Tracer) for c in consts):
                current_trace().memo[self, fun, key] = value
            else:
                self._everywhere.setdefault(fun, {})[key] = value


_bodies = TraceCache()


def describe(fun: Callable[..., Any], in_tree: PyTreeDef, name: str) -> DebugInfo:
    """Return what error messages say of `fun`, traced for `name`: where it stands and what its arguments are called."""
    code = getattr(inspect.unwrap(fun), "__code__", None)
    where = f"{code.co_name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else str(fun)
    try:
        parameters = list(inspect.signature(fun).parameters)
    except (ValueError, TypeError):
        parameters = []
    names: list[str | None] = []
    for path, _ in tree_flatten_with_path(tree_unflatten(in_tree, [0] * in_tree.num_leaves))[0]:
        first = path[0]
        known = isinstance(first, SequenceKey) and first.idx < len(parameters)
        names.append(parameters[first.idx] + keystr(path[1:]) if known else None)
    return DebugInfo(where, name, tuple(names))


class _Evaluation(threading.local):
    """How bodies are evaluated in this thread: equation by equation, unless `by` says otherwise for a while."""

    def __init__(self) -> None:
        self.run: Callable[[Any, list[Any]], Sequence[Any]] = _equation_by_equation

    @contextlib.contextmanager
    def by(self, run: Callable[[Any, list[Any]], Sequence[Any]]) -> Iterator[None]:
        """Let `run(body, arrays)` evaluate the bodies of loops, branches and calls, as a debugger does."""
        previous, self.run = self.run, run
        try:
            yield
        finally:
            self.run = previous


def _equation_by_equation(body: ClosedJaxpr, arrays: list[Any]) -> list[Any]:
    return eval_jaxpr(body.jaxpr, body.consts, *arrays)


evaluation = _Evaluation()


def run_body(body: ClosedJaxpr, args: Iterable[Any]) -> list[Any]:
    """Evaluate a body on NumPy values (or Arrays), operation by operation; Returns NumPy values."""
    arrays = [array_from_numpy(stored(x), aval) for x, aval in zip(args, body.in_avals, strict=True)]
    with interpreting():
        outs = evaluation.run(body, arrays)
    return [to_numpy(x, aval_of(x)) for x in outs]


def stored(x: Any) -> np.ndarray[Any, Any]:
    """Return the NumPy array that holds the elements of `x` (typed keys as words)."""
    return x._value if isinstance(x, Array) else np.asarray(x)


def split(xs: Sequence[Any], *lengths: int) -> list[list[Any]]:
    """Cut `xs` into pieces of the given lengths and a last piece with the rest."""
    pieces, start = [], 0
    for length in lengths:
        pieces.append(list(xs[start:start + length]))
        start += length
    return [*pieces, list(xs[start:])]


def keep(xs: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Return the elements of `xs` that are marked."""
    return [x for x, flag in zip(xs, flags, strict=True) if flag]


def drop(xs: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Return the elements of `xs` that are not marked."""
    return [x for x, flag in zip(xs, flags, strict=True) if not flag]


def merge(flags: Sequence[bool], unmarked: Iterable[Any], marked: Iterable[Any]) -> list[Any]:
    """Put the two parts of a list together again: the opposite of `drop` and `keep`."""
    on, off = iter(marked), iter(unmarked)
    return [next(on) if flag else next(off) for flag in flags]


def either(a: Sequence[bool], b: Sequence[bool]) -> list[bool]:
    """Return where `a` or `b` is marked."""
    return [x or y for x, y in zip(a, b, strict=True)]


def fixpoint(flags: Sequence[bool], step: Callable[[list[bool]], tuple[Any, list[bool]]]) -> tuple[Any, list[bool]]:
    """Mark carries until the body marks no more of its outputs than of its inputs.

    `step(flags)` transforms the body for these marked carries and says which carries come out marked. Every round
    marks one more carry at least, so the end is certain. Returns: the body for the final marks, and the marks.
    """
    marked = list(flags)
    while True:
        body, out = step(marked)
        wanted = either(marked, out)
        if wanted == marked:
            return body, marked
        marked = wanted


def batch_size(args: Sequence[Any], dims: Sequence[int | None]) -> int:
    """Return how many elements a batch rule works on."""
    return next(int(np.shape(x)[dim]) for x, dim in zip(args, dims, strict=True) if dim is not None)


class WithPrograms(Primitive):
    """A primitive with programs among its parameters: these may ask for the name of a mapped axis, so it is told."""

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        return self.batch_along(Axis(batch_size(args, dims)), args, dims, **params)


class CallsProgram(WithPrograms):
    """A primitive whose meaning is a call of the program `call_jaxpr`, whatever rules it has besides.

    called: the name of that parameter, where it is another one.
    """

    multiple_results = True
    called = "call_jaxpr"

    def effects(self, *avals: ShapedArray, **params: Any) -> frozenset[Any]:
        return self._program(params).effects

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        return self._program(params).out_avals

    def impl(self, *args: Any, **params: Any) -> list[Any]:
        return run_body(self._program(params), args)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return Call(self._program(params))

    def _program(self, params: dict[str, Any]) -> ClosedJaxpr:
        program: ClosedJaxpr = params[self.called]
        return program


@cache_by_jaxpr
def rearranged(closed: ClosedJaxpr, ins: tuple[int, ...], outs: tuple[int, ...]) -> ClosedJaxpr:
    """Reorder the inputs and the outputs of a jaxpr: position `k` gets what stood at `ins[k]`, `outs[k]`."""
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=[jaxpr.invars[i] for i in ins], outvars=[jaxpr.outvars[i] for i in outs],
                                     debug_info=None), closed.consts)


def beside(groups: Sequence[int], companions: Sequence[int]) -> tuple[int, ...]:
    """Return the order that brings groups of values, followed by groups of companions, to group, companions, group, ...

    >>> beside([2, 1], [1, 1])
    (0, 1, 3, 2, 4)
    """
    order: list[int] = []
    first, second = 0, sum(groups)
    for count, companion in zip(groups, companions, strict=True):
        order += range(first, first + count)
        order += range(second, second + companion)
        first, second = first + count, second + companion
    return tuple(order)
