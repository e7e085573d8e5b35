"""Make a failing jaxpr minimal: every set of its equations is a program, so equations can be left out one by one.

What an equation that is left out would have computed becomes an input; with arguments, an input with the value that it
had. The search is delta debugging (A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input",
IEEE Transactions on Software Engineering 28, 2002): halves are left out first, then smaller parts, then single ones.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import stored
from tinytrace.core.avals import aval_of
from tinytrace.core.dce import dce_jaxpr
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var
from tinytrace.inspection.recording import as_array, record
from tinytrace.passes.inline import inline
from tinytrace.records import NamedTuple


class Shrunk(NamedTuple):
    """A minimal program that still fails, and the arguments on which it does (None where none were given)."""

    program: ClosedJaxpr
    args: list[Any] | None

    def __str__(self) -> str:
        if self.args is None:
            return str(self.program)
        return "\n".join([str(self.program), *map(repr, self.args)])

    def as_python(self) -> str:
        """Return a Python file that runs the program on the arguments."""
        if self.args is None:
            return self.program.as_python()
        jaxpr = self.program.jaxpr
        bound = jaxpr.replace(constvars=[*jaxpr.constvars, *jaxpr.invars], invars=[], debug_info=None)
        return ClosedJaxpr(bound, [*self.program.consts, *self.args]).as_python() + "\n\nprint(main())\n"


def shrink(program: Jaxpr | ClosedJaxpr, fails: Callable[..., bool], args: Sequence[Any] | None = None) -> Shrunk:
    """Return a smallest part of `program` for which `fails` still says True.

    Args:
      fails: called with a ClosedJaxpr and, if `args` are given, its arguments; an exception that it raises counts as
        "does not fail", so that one failure is not exchanged for another.
      args: flat arguments; they make the values of left out equations known.
    Raises: ValueError if `program` itself does not fail.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> closed = jax.make_jaxpr(lambda x: jnp.tanh(jnp.exp(jnp.sin(x) * 2) + 1))(1.0)
    >>> shrink(closed, lambda c: any(eqn.primitive.name == "exp" for eqn in c.eqns)).program
    { lambda ; a:f32[]. let b:f32[] = exp a in (b,) }
    """
    closed = _with_constants_as_inputs(program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, []))
    given = None if args is None else [*_constants(program), *args]
    if not _fails_with(fails, closed, given):
        raise ValueError("the program does not fail: there is nothing to shrink")
    without_calls = inline(closed)
    search = _Search(without_calls if _fails_with(fails, without_calls, given) else closed, given, fails)
    kept = search.equations(list(range(len(search.jaxpr.eqns))))
    smallest, values = search.part(kept)
    smallest, values = search.outputs(smallest, values)
    smallest = search.bodies(smallest, values)
    return Shrunk(smallest, search.simpler_arguments(smallest, values))


class _Search:
    """One program, the values of all of its variables where they are known, and the question whether a part fails."""

    def __init__(self, closed: ClosedJaxpr, args: list[Any] | None, fails: Callable[..., bool]) -> None:
        self.closed, self.jaxpr, self.args, self.fails = closed, closed.jaxpr, args, fails
        self.values: dict[Var, Any] = {}
        if args is not None:
            typed = [as_array(x, v.aval) for x, v in zip(args, self.jaxpr.invars, strict=True)]
            recording = record(closed, typed)
            self.values = recording.values_at(len(recording.events))
            self.values.update(zip(self.jaxpr.invars, typed, strict=True))

    def fails_with(self, program: ClosedJaxpr, args: Sequence[Any] | None) -> bool:
        return _fails_with(self.fails, program, args)

    def part(self, kept: Sequence[int]) -> tuple[ClosedJaxpr, list[Any] | None]:
        """Return the program of some equations: its inputs are what they read, its outputs what is read from them."""
        eqns = [self.jaxpr.eqns[i] for i in kept]
        computed = {v for eqn in eqns for v in eqn.outvars}
        chosen = set(kept)
        outside = [atom for i, eqn in enumerate(self.jaxpr.eqns) if i not in chosen for atom in eqn.invars]
        wanted = [*self.jaxpr.outvars, *outside]
        outvars = list(dict.fromkeys(atom for atom in wanted if isinstance(atom, Var) and atom in computed))
        invars = list(dict.fromkeys(atom for eqn in eqns for atom in eqn.invars
                                    if isinstance(atom, Var) and atom not in computed))
        program = ClosedJaxpr(Jaxpr([], invars, outvars, eqns), [])
        return program, None if self.args is None else [self.values[v] for v in invars]

    def equations(self, kept: list[int]) -> list[int]:
        """Leave out as many equations as possible: parts of half the size, of a quarter, and so on."""
        if not self.fails_with(*self.part(kept)):
            return kept
        size = len(kept)
        while size >= 1:
            reduced = False
            for start in range(0, len(kept), size):
                fewer = kept[:start] + kept[start + size:]
                if fewer and self.fails_with(*self.part(fewer)):
                    kept, reduced = fewer, True
                    break
            size = min(size, len(kept)) if reduced else size // 2
        return kept

    def outputs(self, program: ClosedJaxpr, args: list[Any] | None) -> tuple[ClosedJaxpr, list[Any] | None]:
        """Keep a single output, and what it needs, if one is enough."""
        jaxpr = program.jaxpr
        for chosen in range(len(jaxpr.outvars)):
            smaller, used = dce_jaxpr(jaxpr, [i == chosen for i in range(len(jaxpr.outvars))])
            values = None if args is None else [x for x, keep in zip(args, used, strict=True) if keep]
            if self.fails_with(ClosedJaxpr(smaller, program.consts), values):
                return ClosedJaxpr(smaller, program.consts), values
        return program, args

    def bodies(self, program: ClosedJaxpr, args: list[Any] | None) -> ClosedJaxpr:
        """Let equations inside of bodies be one of their operands, as long as the program fails."""
        smaller = next((other for other in _with_shorter_bodies(program) if self.fails_with(other, args)), None)
        return program if smaller is None else self.bodies(smaller, args)

    def simpler_arguments(self, program: ClosedJaxpr, args: list[Any] | None) -> list[Any] | None:
        """Put zeros or ones in the place of arguments, as long as the program fails."""
        if args is None:
            return None
        for i, value in enumerate(args):
            plain = stored(value)
            for simple in (np.zeros_like, np.ones_like) if plain.dtype.kind in "biuf" else ():
                changed = [*args[:i], as_array(simple(plain), aval_of(value)), *args[i + 1:]]
                if self.fails_with(program, changed):
                    args = changed
                    break
        return args


def _fails_with(fails: Callable[..., bool], program: ClosedJaxpr, args: Sequence[Any] | None) -> bool:
    try:
        return bool(fails(program) if args is None else fails(program, *args))
    except Exception:  # whatever the user's question meets in a program that it was not made for
        return False


def _with_shorter_bodies(program: ClosedJaxpr) -> Iterator[ClosedJaxpr]:
    """Yield the program with one equation of one body less."""
    for i, eqn in enumerate(program.jaxpr.eqns):
        for name, value in eqn.params.items():
            for shorter in _shorter(value):
                eqns = [*program.jaxpr.eqns]
                eqns[i] = eqn.replace(params={**eqn.params, name: shorter})
                yield ClosedJaxpr(program.jaxpr.replace(eqns=eqns), program.consts)


def _shorter(value: Any) -> Iterator[Any]:
    """Yield a parameter, a program or a tuple of programs, with one equation less."""
    if type(value) is tuple:
        for i, item in enumerate(value):
            for shorter in _shorter(item):
                yield (*value[:i], shorter, *value[i + 1:])
    if not isinstance(value, ClosedJaxpr):
        return
    for i, eqn in enumerate(value.jaxpr.eqns):
        like = [atom for atom in eqn.invars if len(eqn.outvars) == 1 and atom.aval == eqn.outvars[0].aval]
        for atom in like[:1]:
            yield ClosedJaxpr(_bypassed(value.jaxpr, i, atom), value.consts)
    yield from _with_shorter_bodies(value)


def _bypassed(jaxpr: Jaxpr, index: int, by: Atom) -> Jaxpr:
    """Return `jaxpr` without equation `index`, whose result is `by` instead."""
    gone = jaxpr.eqns[index].outvars[0]

    def renamed(atom: Atom) -> Atom:
        return by if atom is gone else atom

    eqns = [_reading(eqn, list(map(renamed, eqn.invars))) for i, eqn in enumerate(jaxpr.eqns) if i != index]
    return jaxpr.replace(eqns=eqns, outvars=list(map(renamed, jaxpr.outvars)))


def _reading(eqn: JaxprEqn, invars: list[Atom]) -> JaxprEqn:
    return eqn if invars == eqn.invars else eqn.replace(invars=invars)


def _with_constants_as_inputs(closed: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars], debug_info=None), [])


def _constants(program: Jaxpr | ClosedJaxpr) -> list[Any]:
    return list(program.consts) if isinstance(program, ClosedJaxpr) else []


