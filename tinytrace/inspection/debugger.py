"""A debugger for equations: step, look at every variable under its own name, go back, change a value and go on.

    session = debugger(f)(x)         a Session at the first equation
    session.step(); session.until(primitive="exp"); session.back(); session["y"]; session["y"] = 0.0
    tinytrace.debug(f)(x)            the same in the terminal, with commands: `h` lists them

A session walks through a recording of the whole run (see `recording`), so that going back costs nothing. A changed
value makes a new recording, in which everything behind it follows from it.
"""
from __future__ import annotations

import cmd
import html
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.control_flow.bodies import stored
from tinytrace.core.dtypes import is_float
from tinytrace.core.jaxpr import ClosedJaxpr, Var
from tinytrace.core.printer import VarNames
from tinytrace.core.trees import tree_leaves
from tinytrace.core.user_names import user_names
from tinytrace.inspection.recording import Event, Recording, as_array, record


class Session:
    """A place in a recording, and the ways to move from it. `position` is the number of the event that runs next."""

    def __init__(self, program: ClosedJaxpr, args: list[Any], limit: int = 100_000) -> None:
        self.program = program
        self.args = args
        self.limit = limit
        self.changes: dict[tuple[int, Var], Any] = {}
        self.recording = record(program, args, self.changes, limit)
        self.position = 0
        self._names = VarNames()
        self._names.give(user_names(program.jaxpr))

    # --- where we are ---

    @property
    def event(self) -> Event | None:
        """The equation that runs next; None at the end."""
        events = self.recording.events
        return events[self.position] if self.position < len(events) else None

    @property
    def values(self) -> dict[str, Any]:
        """The variables of the program that is being run, by name, as far as they are known."""
        return {self._names[v]: x for v, x in self.recording.values_at(self.position).items()}

    @property
    def results(self) -> list[Any]:
        """What the program returned.

        Raises: the error that the run ended with, if it did; RuntimeError where the recording was too long.
        """
        if self.recording.error is not None:
            raise self.recording.error
        if self.recording.results is None:
            raise RuntimeError(f"the run has more than {self.limit} equations: give the debugger a larger limit")
        return self.recording.results

    def __getitem__(self, name: str) -> Any:
        values = self.values
        if name not in values:
            raise KeyError(f"no variable {name!r} has a value here; there are: {', '.join(values)}")
        return values[name]

    def __str__(self) -> str:
        return "\n".join([*self.where(), *self.listing()])

    def __repr__(self) -> str:
        return f"<debugger at equation {self.position} of {len(self.recording.events)}>\n{self}"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(summary(value))}</td></tr>"
                       for name, value in self.values.items())
        return f"<pre>{html.escape(repr(self))}</pre><table>{rows}</table>"

    def where(self) -> list[str]:
        """Return the equations that we are inside of, the outermost first, and the user's line."""
        event = self.event
        if event is None:
            error = self.recording.error
            return ["the end" if error is None else f"the end: {type(error).__name__}: {error}"]
        lines = [f"line {event.equation.source}" if event.equation.source is not None else "line unknown"]
        frame = event.frame
        while frame.parent is not None:
            parent = self.recording.events[frame.parent]
            lines.append(f"in {parent.equation.primitive.name}, run {frame.iteration}")
            frame = parent.frame
        return lines[::-1]

    def listing(self, around: int = 3) -> list[str]:
        """Return the equations around the next one, which is marked, with the values that are known."""
        event = self.event
        if event is None:
            return []
        values = self.recording.values_at(self.position)
        lines = []
        for i, eqn in enumerate(event.frame.jaxpr.eqns):
            if abs(i - event.index) <= around:
                left = " ".join(f"{self._names[v]}:{v.aval.str_short()}" for v in eqn.outvars)
                right = " ".join(self._names[atom] for atom in eqn.invars)
                known = "  # " + ", ".join(summary(values[v]) for v in eqn.outvars) \
                    if eqn.outvars and all(v in values for v in eqn.outvars) else ""
                lines.append(f"{'->' if i == event.index else '  '} {left} = {eqn.primitive.name} {right}{known}")
        return lines

    # --- moves ---

    def step(self) -> Session:
        """Go to the next equation, into the first one of a body where there is one."""
        self.position = min(self.position + 1, len(self.recording.events))
        return self

    def next(self) -> Session:
        """Go to the next equation of this program, over the bodies of this one."""
        event = self.event
        if event is not None:
            self.position = event.last + 1
        return self

    def out(self) -> Session:
        """Go to the equation behind the one whose body we are in."""
        event = self.event
        parent = event.frame.parent if event is not None else None
        self.position = len(self.recording.events) if parent is None else self.recording.events[parent].last + 1
        return self

    def back(self, count: int = 1) -> Session:
        """Go back by `count` equations."""
        self.position = max(0, self.position - count)
        return self

    def to(self, number: int) -> Session:
        """Go to the equation that runs as number `number`."""
        self.position = min(max(0, number), len(self.recording.events))
        return self

    def until(self, *, line: int | None = None, primitive: str | None = None, nan: bool = False,
              condition: Callable[[dict[str, Any]], bool] | None = None) -> Session:
        """Go to the next equation, behind this one, for which one of these holds; to the end if there is none.

        Args:
          line: it was written in this line.
          primitive: it has this name.
          nan: it computes a NaN or an infinity from numbers that are none.
          condition: a function of the variables, by name; those that it asks for must have values.
        """
        def stops(event: Event) -> bool:
            return self._stops(event, line, primitive, nan, condition)

        found = self.recording.find(stops, self.position + 1)
        self.position = len(self.recording.events) if found is None else found
        return self

    def _stops(self, event: Event, line: int | None, primitive: str | None, nan: bool,
               condition: Callable[[dict[str, Any]], bool] | None) -> bool:
        source = event.equation.source
        if line is not None and source is not None and source.line == line:
            return True
        if primitive is not None and event.equation.primitive.name == primitive:
            return True
        if nan and makes_nonfinite(event):
            return True
        if condition is None:
            return False
        values = {self._names[v]: x for v, x in self.recording.values_at(event.number).items()}
        try:
            return bool(condition(values))
        except KeyError:
            return False

    # --- changes ---

    def __setitem__(self, name: str, value: Any) -> None:
        """Give a variable another value, and run everything behind it again."""
        var, number = self._origin(name)
        new = as_array(value, var.aval)
        if number is None:
            binders = self.program.jaxpr.invars
            self.args = [new if v is var else x for v, x in zip(binders, self.args, strict=True)]
        else:
            self.changes[number, var] = new
        self.recording = record(self.program, self.args, self.changes, self.limit)
        self.position = min(self.position, len(self.recording.events))

    def _origin(self, name: str) -> tuple[Var, int | None]:
        """Return the variable that `name` is here, and the number of the event that computed it (None: an argument)."""
        self[name]
        known = self.recording.values_at(self.position)
        var = next(v for v in known if self._names[v] == name)
        event = self.event
        frame = event.frame if event is not None else self.recording.outermost
        for earlier in reversed(self.recording.events[:self.position]):
            if earlier.frame is frame and var in earlier.equation.outvars:
                return var, earlier.number
        if frame.parent is not None or var in frame.jaxpr.constvars:
            raise ValueError(f"{name} comes into this program from outside: change it where it is computed "
                             "(`out`, then `back`)")
        return var, None


def debugger(fun: Callable[..., Any], limit: int = 100_000) -> Callable[..., Session]:
    """Return a function that runs `fun` un-jitted, equation by equation, and returns a `Session` at the first one.

    Args: limit: how many equations are recorded at most, those of each iteration of a loop counted.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> def f(x):
    ...     y = jnp.exp(x)
    ...     return y - jnp.inf * 0
    >>> session = debugger(f)(1.0)
    >>> session.step()["y"]
    Array(2.7182817, dtype=float32, weak_type=True)
    """
    def start(*args: Any, **kwargs: Any) -> Session:
        program = make_jaxpr(fun)(*args, **kwargs)
        leaves = tree_leaves((args, kwargs))
        return Session(program, [as_array(x, v.aval) for x, v in zip(leaves, program.jaxpr.invars, strict=True)], limit)
    return start


def makes_nonfinite(event: Event) -> bool:
    """Say whether an equation computed a NaN or an infinity, and was given none."""
    return any(map(_nonfinite, event.results or ())) and not any(map(_nonfinite, event.inputs))


def _nonfinite(value: Any) -> bool:
    plain = stored(value)
    return is_float(plain.dtype) and not bool(np.isfinite(plain.astype(np.float64)).all())


def summary(value: Any) -> str:
    """Return a value in a few characters: its numbers, or its range where they are many."""
    plain = stored(value)
    if plain.size <= 6:
        return np.array2string(plain, separator=", ", precision=6).replace("\n", " ")
    if plain.dtype.kind not in "iuf":
        return f"{plain.size} values"
    bad = int((~np.isfinite(plain)).sum()) if plain.dtype.kind == "f" else 0
    return f"{plain.size} values from {plain.min():.6g} to {plain.max():.6g}" + (f", {bad} not finite" if bad else "")


# --- the terminal --------------------------------------------------------------------------------------------------

class Terminal(cmd.Cmd):
    """The commands of the debugger in a terminal; each is one method of `Session`."""

    prompt = "(jaxpr) "

    def __init__(self, session: Session, **streams: Any) -> None:
        super().__init__(**streams)
        self.session = session
        self.intro = f"{len(session.recording.events)} equations; h for help\n{session}"

    def do_s(self, _: str) -> None:
        """s: step to the next equation, into bodies"""
        self.show(self.session.step())

    def do_n(self, _: str) -> None:
        """n: next equation, over bodies"""
        self.show(self.session.next())

    def do_o(self, _: str) -> None:
        """o: out of this body"""
        self.show(self.session.out())

    def do_b(self, count: str) -> None:
        """b [COUNT]: back by one equation, or by COUNT"""
        self.show(self.session.back(int(count or 1)))

    def do_u(self, what: str) -> None:
        """u LINE | PRIMITIVE | nan: run until a line, a primitive, or a NaN or infinity made of finite numbers"""
        if not what:
            self.say("until what? A line number, a primitive, or nan")
        elif what == "nan":
            self.show(self.session.until(nan=True))
        else:
            self.show(self.session.until(line=int(what)) if what.isdigit() else self.session.until(primitive=what))

    def do_c(self, _: str) -> None:
        """c: continue to the end"""
        self.show(self.session.to(len(self.session.recording.events)))

    def do_p(self, name: str) -> None:
        """p [NAME]: print a variable, or all of them"""
        values = self.session.values
        names = shlex.split(name) or list(values)
        for key in names:
            self.say(f"{key} = {values[key]!r}" if name and key in values else f"{key} = {summary(values[key])}"
                     if key in values else f"no variable {key!r} has a value here; there are: {', '.join(values)}")

    def do_set(self, text: str) -> None:
        """set NAME = NUMBER: give a variable another value, and run what follows again"""
        name, found, number = text.partition("=")
        try:
            if not found:
                raise ValueError("set NAME = NUMBER")
            old = self.session[name.strip()]
            self.session[name.strip()] = np.full(np.shape(old), float(number), stored(old).dtype)
        except (KeyError, ValueError, TypeError) as error:
            self.say(str(error.args[0]))
        else:
            self.show(self.session)

    def do_w(self, _: str) -> None:
        """w: where we are, and the equations around"""
        self.show(self.session)

    def do_h(self, _: str) -> None:
        """h: this list"""
        commands = sorted(name for name in dir(self) if name.startswith("do_") and name != "do_help")
        self.say("\n".join(str(getattr(self, name).__doc__) for name in commands))

    def do_q(self, _: str) -> bool:
        """q: quit"""
        return True

    do_EOF = do_q  # noqa: N815  (the name that cmd wants)

    def emptyline(self) -> bool:
        return bool(self.onecmd(self.lastcmd)) if self.lastcmd else False

    def show(self, session: Session) -> None:
        self.say(str(session))

    def say(self, text: str) -> None:
        self.stdout.write(text + "\n")


def debug(fun: Callable[..., Any], limit: int = 100_000) -> Callable[..., Any]:
    """Return a function that runs `fun` in the debugger, in the terminal, and returns its flat results at the end."""
    def start(*args: Any, **kwargs: Any) -> list[Any]:
        session = debugger(fun, limit)(*args, **kwargs)
        Terminal(session).cmdloop()
        return session.results
    return start


__all__ = ["Recording", "Session", "Terminal", "debug", "debugger", "makes_nonfinite", "summary"]
