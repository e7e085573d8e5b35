"""A recording: one run of a jaxpr, equation by equation, with every value that it computed.

    recording = record(closed, args)
    recording.events[3].equation, .inputs, .results         what ran, on what, to what
    recording.values_at(3)                                   every variable that is known before event 3

The debugger walks through a recording, forwards and backwards; nothing is run while it does. Loops, branches and calls
run by the meaning that their primitives have un-jitted: the events of their bodies follow their own, one frame for each
call or iteration.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import evaluation, stored
from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0, is_float, is_inexact
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinytrace.core.trace import eval_context
from tinytrace.core.user_names import user_names
from tinytrace.records import dataclass

Changes = Mapping[tuple[int, Var], Any]
"""Values that the user puts in the place of others: by the number of the event that computes them, and the variable."""


LARGEST = 2**30
"""Bytes of values that a recording keeps; the run is not followed further."""
FEW = 6
"""Values of an array that `summary` tells one by one."""


@dataclass(eq=False)
class Frame:
    """One evaluation of a program: the whole, or a body in one iteration of a loop.

    Args:
      parent: the number of the event whose body this is; None for the whole program.
      iteration: how many frames the same event opened before.
    """

    jaxpr: Jaxpr
    parent: int | None
    iteration: int
    depth: int
    inputs: dict[Var, Any]

    def __repr__(self) -> str:
        around = "the program" if self.parent is None else f"a body of event {self.parent}, run {self.iteration}"
        return f"<frame of {around}: {len(self.jaxpr.eqns)} equations>"


@dataclass(eq=False)
class Event:
    """One equation that was run.

    Args:
      number: its place in the recording; the events of its bodies come directly behind it.
      index: the place of the equation in its program.
      results: None until all of its bodies have run, and for ever if something was raised on the way.
      last: the number of the last event of its bodies, or its own.
    """

    number: int
    index: int
    equation: JaxprEqn
    frame: Frame
    inputs: list[Any]
    results: list[Any] | None = None
    last: int = 0

    def __repr__(self) -> str:
        return f"<event {self.number}: {str(self.equation).splitlines()[0]}>"


@dataclass
class Recording:
    """All events of one run, what it returned, and what it raised, if it did."""

    program: ClosedJaxpr
    events: list[Event] = field(default_factory=list)
    results: list[Any] | None = None
    error: BaseException | None = None
    complete: bool = True
    """Whether the run came to its end, by a result or by an error: not stopped at a limit."""

    def __repr__(self) -> str:
        end = "stopped at the limit" if not self.complete else f"ended by {type(self.error).__name__}" \
            if self.error is not None else "with results"
        return f"<recording of {len(self.events)} equations, {end}>"

    def __post_init__(self) -> None:
        self.names = user_names(self.program.jaxpr)
        self.outermost = Frame(self.program.jaxpr, None, 0, 0, {})

    def values_at(self, number: int) -> dict[Var, Any]:
        """Return the variables of the frame of event `number` that have values before it runs."""
        frame = self.events[number].frame if number < len(self.events) else self.outermost
        values = dict(frame.inputs)
        for event in self.events[:number]:
            if event.frame is frame and event.results is not None:
                values.update(zip(event.equation.outvars, event.results, strict=True))
        return values

    def find(self, wanted: Any, start: int = 0) -> int | None:
        """Return the number of the first event from `start` on for which `wanted(event)` holds; None: there is none."""
        return next((event.number for event in self.events[start:] if wanted(event)), None)


class _Limit(Exception):
    """The recording is as long, or as large, as it may be."""


def record(program: ClosedJaxpr, args: Sequence[Any], changes: Changes | None = None, limit: int = 100_000
           ) -> Recording:
    """Run `program` on flat `args` and keep everything.

    Args:
      changes: values that take the place of computed ones.
      limit: after so many events the recording ends, and when it keeps `LARGEST` bytes.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> record(jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0), [1.0]).events
    [<event 0: a:f32[] = sin b>, <event 1: a:f32[] = mul b 2.0>]
    """
    recording = Recording(program)
    recorder = _Recorder(recording, changes or {}, limit)
    try:
        with eval_context():
            recording.results = recorder.run(program, list(args))
    except _Limit:
        recording.complete = False
    except Exception as error:  # the user's own: a callback's, a check's
        recording.error = error
    return recording


class _Recorder:
    """Evaluates equations and appends their events; the bodies of equations come back to `run`."""

    def __init__(self, recording: Recording, changes: Changes, limit: int) -> None:
        self.recording, self.changes, self.limit = recording, changes, limit
        self.current: Event | None = None
        self.nbytes = 0
        self.opened: dict[int | None, itertools.count[int]] = {}

    def run(self, program: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
        jaxpr, parent = program.jaxpr, self.current
        binders = (*jaxpr.constvars, *jaxpr.invars)
        env: dict[Var, Any] = dict(zip(binders, (*program.consts, *args), strict=True))
        number = None if parent is None else parent.number
        iteration = next(self.opened.setdefault(number, itertools.count()))
        frame = Frame(jaxpr, number, iteration, 0 if parent is None else parent.frame.depth + 1, dict(env))
        if parent is None:
            self.recording.outermost = frame
        for index, eqn in enumerate(jaxpr.eqns):
            event = self.begin(index, eqn, frame, [_read(env, atom) for atom in eqn.invars])
            results = self.evaluate(eqn, event.inputs)
            event.results = [self.changes.get((event.number, v), x) for v, x in zip(eqn.outvars, results, strict=True)]
            event.last = len(self.recording.events) - 1
            self.nbytes += sum(v.aval.nbytes for v in eqn.outvars)
            env.update(zip(eqn.outvars, event.results, strict=True))
            self.current = parent
        return [_read(env, atom) for atom in jaxpr.outvars]

    def begin(self, index: int, eqn: JaxprEqn, frame: Frame, inputs: list[Any]) -> Event:
        events = self.recording.events
        if len(events) >= self.limit or self.nbytes > LARGEST:
            raise _Limit
        self.current = Event(len(events), index, eqn, frame, inputs, last=len(events))
        events.append(self.current)
        return self.current

    def evaluate(self, eqn: JaxprEqn, inputs: list[Any]) -> list[Any]:
        """Run one equation: bodies by the primitive's own meaning, which hands them to `run`; the rest un-jitted."""
        primitive = eqn.primitive
        if not any(subjaxprs(eqn.params)):
            results = primitive.bind(*inputs, **eqn.params)
            return list(results) if primitive.multiple_results else [results]
        with evaluation.by(self.run):
            results = primitive.impl(*map(stored, inputs), **eqn.params)
        results = results if primitive.multiple_results else [results]
        return [as_array(x, v.aval) for x, v in zip(results, eqn.outvars, strict=True)]


def makes_nonfinite(event: Event) -> bool:
    """Say whether an equation computed a NaN or an infinity, and was given none."""
    return has_nonfinite(event.results or ()) and not has_nonfinite(event.inputs)


def has_nonfinite(values: Iterable[Any], infinities: bool = True) -> bool:
    """Say whether there is a NaN in one of these arrays, or an infinity where those count."""
    arrays = [x if x.dtype.kind in "fc" else x.astype(np.float32) for x in map(stored, values) if is_inexact(x.dtype)]
    return any(bool((~np.isfinite(x) if infinities else np.isnan(x)).any()) for x in arrays)


def summary(value: Any) -> str:
    """Return a value in a few characters, in one line: its numbers, or the range of the finite ones where it has many.

    >>> summary(np.float32([1, np.nan] * 4))
    '8 values from 1 to 1, 4 not finite'
    """
    plain = stored(value)
    if plain.size <= FEW:
        return " ".join(np.array2string(plain, separator=", ", precision=6).split())
    if not is_float(plain.dtype) and plain.dtype.kind not in "iu":
        return f"{plain.size} values"
    numbers = plain if plain.dtype.kind in "iuf" else plain.astype(np.float32)
    finite = numbers[np.isfinite(numbers)]
    bad = plain.size - finite.size
    reach = f" from {finite.min():.6g} to {finite.max():.6g}" if finite.size else ""
    return f"{plain.size} values{reach}" + (f", {bad} not finite" if bad else "")


def _read(env: dict[Var, Any], atom: Atom) -> Any:
    return as_array(atom.val, atom.aval) if isinstance(atom, Literal) else env[atom]


def as_array(value: Any, aval: ShapedArray) -> Any:
    """Return `value`, of whatever kind the user gave it, as an array of type `aval`.

    Raises: TypeError where it has another type.
    """
    if aval.dtype == FLOAT0 or (isinstance(value, Array) and aval_of(value).str_short() == aval.str_short()):
        return value
    plain = stored(value)
    if isinstance(aval.dtype, np.dtype) and plain.shape == aval.shape \
            and (plain.dtype == aval.dtype or np.ndim(value) == 0 or np.can_cast(plain.dtype, aval.dtype, "same_kind")):
        return array_from_numpy(np.array(plain, aval.dtype), aval)
    if not isinstance(aval.dtype, np.dtype):
        return array_from_numpy(np.array(plain), aval)
    raise TypeError(f"a value of type {aval.str_short()} is wanted, not one of type {aval_of(value).str_short()}")
