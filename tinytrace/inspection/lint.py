"""A linter for traced functions: what will surprise its caller, each finding with its line.

    print(tinytrace.lint(f)(x))

    model.py:12: constant: `weights`, f32[512,512], 1048576 bytes, is part of the program
    model.py:30: dead: `rest` (exp, f32[8]) is computed for nobody
    model.py:8: weak type: `rate` is a Python number: a call with an array of f32[] will trace again

The function is traced once; nothing is compiled or run.
"""
from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of, is_valid_type
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, subjaxprs
from tinytrace.core.printer import VarNames
from tinytrace.core.source_info import SourceInfo, Transformed
from tinytrace.core.trace import Tracer
from tinytrace.core.user_names import assigned_name, user_names
from tinytrace.inspection.prefixes import program_with_arguments
from tinytrace.passes.dce import dce
from tinytrace.records import NamedTuple, dataclass

LARGE = 1024
"""Bytes from which on a constant is worth a line of its own."""


class Finding(NamedTuple):
    """One thing to look at: `file:line: kind: message`."""

    kind: str
    """constant, global, mutation, weak type, dead, or callback."""
    message: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file else ""
        return f"{place}{self.kind}: {self.message}"


class Findings(tuple[Finding, ...]):
    """What a linter found; printed, a line for each."""

    def of(self, kind: str) -> list[Finding]:
        """Return the findings of one kind."""
        return [finding for finding in self if finding.kind == kind]

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "nothing found"

    __repr__ = __str__


def lint(fun: Callable[..., Any]) -> Callable[..., Findings]:
    """Return a function that traces `fun` and returns what will surprise: a `Findings`.

    >>> import tinytrace.numpy as jnp
    >>> def f(x):
    ...     unused = jnp.exp(x)
    ...     return x * 2
    >>> [finding.message for finding in lint(f)(jnp.arange(3.0)).of("dead")]
    ['`unused` (exp, f32[3]) is computed for nobody']
    """
    def check(*args: Any, **kwargs: Any) -> Findings:
        captured = captures(fun)
        before = {name: _content(value) for name, value in captured.items()}
        closed, leaves = program_with_arguments(fun, args, kwargs)
        here = _definition(fun)
        return Findings([
            *_constants(closed, captured, here), *_numbers(fun, here), *_mutations(captured, before, here),
            *_weak_types(closed, leaves, here), *_dead(closed), *_callbacks(closed.jaxpr)])
    return check


# --- what a function captures ---------------------------------------------------------------------------------------

def captures(fun: Callable[..., Any]) -> dict[str, Any]:
    """Return the values that a function, and the functions that it captures, read from outside, by name."""
    found: dict[str, Any] = {}
    queue, seen = [inspect.unwrap(fun)], set()
    while queue:
        function = queue.pop()
        if id(function) in seen or not inspect.isfunction(function):
            continue
        seen.add(id(function))
        outside = inspect.getclosurevars(function)
        for name, value in {**outside.globals, **outside.nonlocals}.items():
            if inspect.isfunction(value) and not (value.__module__ or "").startswith("tinytrace"):
                queue.append(value)
            elif not (inspect.ismodule(value) or inspect.isclass(value) or callable(value)):
                found.setdefault(name, value)
    return found


def _definition(fun: Callable[..., Any]) -> tuple[str, int]:
    code = getattr(inspect.unwrap(fun), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)


def _constants(closed: ClosedJaxpr, captured: Mapping[str, Any], here: tuple[str, int]) -> Iterator[Finding]:
    """Arrays that stand in the program: each call of the function reads them, and a change of them is not seen."""
    for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        name = next((name for name, x in _named_leaves(captured) if x is value), None)
        readers = closed.jaxpr.users(var)
        file, line = _place(readers[0].source if readers else None) or here
        aval = aval_of(value)
        what = f"`{name}`, {aval.str_short()}, {aval.nbytes} bytes," if name else \
            f"an array without a name, {aval.str_short()}, {aval.nbytes} bytes,"
        if name is not None:
            advice = "is captured: pass it as an argument if it may change"
            yield Finding("global", f"{what} {advice}", file, line)
        if name is None or aval.nbytes >= LARGE:
            yield Finding("constant", f"{what} is part of the program", file, line)


def _numbers(fun: Callable[..., Any], here: tuple[str, int]) -> Iterator[Finding]:
    """Numbers of the module that the function reads, but for those whose names say that they do not change."""
    function = inspect.unwrap(fun)
    outside = inspect.getclosurevars(function).globals if inspect.isfunction(function) else {}
    for name, value in outside.items():
        if type(value) in (bool, int, float) and not name.isupper():
            yield Finding("global", f"`{name}`, {value!r}, is part of the program: a change of it is not seen", *here)


def _named_leaves(captured: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in captured.items():
        yield name, value
        if isinstance(value, (dict, list, tuple)):
            for k, x in value.items() if isinstance(value, dict) else enumerate(value):
                yield f"{name}[{k!r}]", x


def _mutations(captured: Mapping[str, Any], before: Mapping[str, Any], here: tuple[str, int]) -> Iterator[Finding]:
    """Containers that the function changes while it is traced: a later call, which is not traced, does not."""
    for name, value in captured.items():
        if _content(value) != before[name]:
            leaked = any(isinstance(x, Tracer) for x in _items(value))
            kept = ", and keeps tracers, which mean nothing afterwards" if leaked else ""
            yield Finding("mutation", f"tracing changes `{name}`{kept}: a call that is a hit does not", *here)
        elif isinstance(value, np.ndarray) and value.flags.writeable and value.ndim:
            yield Finding("mutation", f"`{name}` is a NumPy array: what is written into it after the first call is "
                                      "not seen", *here)


def _content(value: Any) -> Any:
    """Return what tells whether a captured value was changed."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, (dict, list, set, bytearray)):
        return [id(x) if not isinstance(x, (int, float, str)) else x for x in _items(value)]
    return id(value)


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return list(value) if isinstance(value, (list, tuple, set, bytearray)) else []


# --- what a call will do --------------------------------------------------------------------------------------------

def _weak_types(closed: ClosedJaxpr, leaves: Sequence[Any], here: tuple[str, int]) -> Iterator[Finding]:
    """Python's numbers are weakly typed: a call with an array in their place is of another kind."""
    names = closed.jaxpr.debug_info.arg_names if closed.jaxpr.debug_info is not None else ()
    for name, leaf in zip(names, leaves, strict=False):
        if is_valid_type(leaf) and aval_of(leaf).weak_type:
            kind = "an array of weak type" if isinstance(leaf, Array) else f"a Python {type(leaf).__name__}"
            yield Finding("weak type", f"{f'`{name}`' if name else 'an argument'} is {kind}: a call with an array of "
                                       f"{aval_of(leaf).str_short()} will trace again", *here)


def _dead(closed: ClosedJaxpr) -> Iterator[Finding]:
    """Equations whose results nobody needs: they cost tracing, and often are a line that was forgotten.

    Of what differentiation wrote much is needed by nobody; there only names count that the function never reads.
    """
    needed = {eqn.ids[0] for eqn in dce(closed).jaxpr.walk()}
    for eqn in _written_by_users(closed.jaxpr):
        if eqn.ids[0] not in needed:
            kinds = f"{eqn.primitive.name}, {' '.join(v.aval.str_short() for v in eqn.outvars)}"
            name = assigned_name(eqn.source)
            if eqn.source is not None and any(isinstance(scope, Transformed) for scope in eqn.source.scopes) \
                    and (name is None or _reads(eqn.source.code, name)):
                continue
            what = f"`{name}` ({kinds})" if name else f"a result ({kinds})"
            yield Finding("dead", f"{what} is computed for nobody", *(_place(eqn.source) or ("", 0)))


def _reads(code: CodeType, name: str) -> bool:
    """Say whether a function, or one inside it, reads a variable."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return any(step.opname.startswith("LOAD_") and step.argval == name for step in dis.get_instructions(code)) \
        or any(_reads(function, name) for function in inner)


def _written_by_users(jaxpr: Jaxpr, around: tuple[Any, ...] = ()) -> Iterator[JaxprEqn]:
    """Yield equations, but not those that a library wrote into a body: they come from the place of the whole."""
    for eqn in jaxpr.eqns:
        place = (eqn.source.code, eqn.source.instruction) if eqn.source is not None else ()
        if not place or place != around:
            yield eqn
        for inner in subjaxprs(eqn.params):
            yield from _written_by_users(inner, place)


def _callbacks(jaxpr: Jaxpr, loop: str = "") -> Iterator[Finding]:
    """Calls of Python inside a loop: one for each iteration."""
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if loop and name.endswith("_callback"):
            message = f"{name} inside {loop}: Python is called in every iteration"
            yield Finding("callback", message, *(_place(eqn.source) or ("", 0)))
        inside = f"a {name} of {eqn.params['length']} iterations" if name == "scan" else \
            "a while loop" if name == "while" else loop
        for inner in subjaxprs(eqn.params):
            yield from _callbacks(inner, inside)


def _place(source: SourceInfo | None) -> tuple[str, int] | None:
    return (source.file, source.line) if source is not None else None


# --- tracers --------------------------------------------------------------------------------------------------------

@dataclass(frozen=True, repr=False)
class Explanation:
    """What a tracer is: printed, a sentence for each field."""

    name: str | None
    """The user's name for it."""
    type: str
    born: str
    """Where it was made: an argument of which function, or which operation on which line."""
    reason: str
    """Why it has no value."""

    def __str__(self) -> str:
        name = f"`{self.name}`" if self.name else "a value without a name"
        return f"{name} is {self.type}\nborn: {self.born}\nno value: {self.reason}"

    __repr__ = __str__


def explain(tracer: Any) -> Explanation:
    """Return what a tracer is: its name, its type, where it was made, and why it has no value.

    >>> import tinytrace as jax
    >>> def f(x):
    ...     print(jax.explain(x).name, jax.explain(x).type)
    ...     return x
    >>> _ = jax.jit(f)(1.0)
    x f32[], weakly typed
    """
    if not isinstance(tracer, Tracer):
        return Explanation(None, aval_of(tracer).str_short(), "computed", f"it has one: {tracer!r}")
    trace = tracer._trace
    aval = tracer.aval
    kind = aval.str_short() + (", weakly typed" if aval.weak_type else "")
    var, source = getattr(tracer, "_var", None), getattr(tracer, "_source", None)
    info = getattr(trace, "debug_info", None)
    traced_for = f"{info.function}, traced for {info.traced_for}" if info is not None else "a function being traced"
    if var is not None:
        name, born = _staged(trace, var, source, traced_for)
        reason = f"{traced_for}: it stands for the values of all calls, which come when the program runs" \
            if trace.alive else f"the trace of {traced_for} has ended, and this was kept beyond it"
        return Explanation(name, kind, born, reason)
    inner = next((x for _, x in tracer._contents() if isinstance(x, Tracer)), None)
    born = f"line {source}" if source is not None else f"by {trace.name}"
    if tracer.to_concrete_value() is not None:
        return Explanation(None, kind, born, f"it has one, {tracer.to_concrete_value()!r}, beside which {trace.name} "
                                             "carries something")
    below = explain(inner) if inner is not None else None
    what = {"BatchTrace": "it stands for one row of a batch, whichever it is"}.get(
        trace.name, f"{trace.name} has wrapped a value that is not known")
    return Explanation(below.name if below else None, kind, born, f"{what}; {below.reason}" if below else what)


def _staged(trace: Any, var: Any, source: SourceInfo | None, traced_for: str) -> tuple[str | None, str]:
    """Return the name of a variable of the jaxpr that is being written, and where it was made."""
    if var in trace.invars:
        k = trace.invars.index(var)
        paths = trace.debug_info.arg_names if trace.debug_info is not None else ()
        name = paths[k] if k < len(paths) else None
        return name, f"argument {k} of {traced_for}"
    maker = next((eqn for eqn in trace.eqns if var in eqn.outvars), None)
    if maker is None:
        return None, f"line {source}" if source is not None else "a constant"
    so_far = Jaxpr([], trace.invars, [var], trace.eqns, debug_info=trace.debug_info)
    named = user_names(so_far)
    names = VarNames()
    names.give(named)
    operands = " ".join(names[x] for x in maker.invars)
    return named.get(var), f"{maker.primitive.name} {operands}, line {source}"
