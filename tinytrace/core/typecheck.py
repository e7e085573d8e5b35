"""`check_jaxpr`: is this a well-formed program? Variables defined before use and once, and every type re-derived.

Tests run it after each pass; `jax.core.check_jaxpr` is its public name.
"""
from __future__ import annotations

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinytrace.core.printer import names_in


class JaxprTypeError(TypeError):
    """A jaxpr is not a program: the message names the equation and what is wrong with it."""


def check_jaxpr(program: Jaxpr | ClosedJaxpr) -> None:
    """Check scoping, single assignment and types of `program` and of every jaxpr inside it.

    Raises: JaxprTypeError naming the equation, with JAX's words where it has some.

    >>> import tinytrace as jax
    >>> check_jaxpr(jax.make_jaxpr(lambda x: x + 1)(3.0))
    """
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    if isinstance(program, ClosedJaxpr) and len(program.consts) != len(jaxpr.constvars):
        raise JaxprTypeError(f"{len(program.consts)} constants for {len(jaxpr.constvars)} constvars")
    defined: set[Var] = set()
    at = -1
    try:
        for var in [*jaxpr.constvars, *jaxpr.invars]:
            _define(var, var.aval, defined)
        for at, eqn in enumerate(jaxpr.eqns):  # noqa: B007  (read where it fails)
            for atom in eqn.invars:
                _check_read(atom, defined)
            for var, aval in zip(eqn.outvars, _derived(eqn), strict=True):
                _define(var, aval, defined)
            _check_effects(eqn, jaxpr)
        at = len(jaxpr.eqns)
        for atom in jaxpr.outvars:
            _check_read(atom, defined)
    except _Wrong as wrong:
        raise JaxprTypeError(_text(jaxpr, at, wrong)) from None
    for eqn in jaxpr.eqns:
        for inner in subjaxprs(eqn.params):
            check_jaxpr(inner)


class _Wrong(Exception):
    """What is wrong, in words in which `{}` is the name of a variable."""

    def __init__(self, message: str, var: Var | None = None) -> None:
        self.message, self.var = message, var


def _define(var: Var, aval: ShapedArray, defined: set[Var]) -> None:
    if not _compatible(var.aval, aval):
        raise _Wrong(f"Value for variable '{{}}' inconsistently typed as {aval.str_short()} for let-binder of type "
                     f"{var.aval.str_short()}", var)
    if isinstance(var, DropVar):
        return
    if var in defined:
        raise _Wrong("Variable '{}' already bound", var)
    defined.add(var)


def _check_read(atom: Atom, defined: set[Var]) -> None:
    if isinstance(atom, Literal):
        if atom.aval.shape != ():
            raise _Wrong(f"a literal of type {atom.aval.str_short()} is not a scalar")
    elif atom not in defined:
        raise _Wrong("Variable '{}' not defined", atom)


def _derived(eqn: JaxprEqn) -> list[ShapedArray]:
    """Return the types of the results of an equation, by the rules of its primitive."""
    avals = [atom.aval for atom in eqn.invars]
    try:
        eqn.primitive.check_params(*avals, **eqn.params)
    except TypeError as error:
        raise _Wrong(str(error)) from None
    derived = eqn.primitive.abstract_eval(*avals, **eqn.params)
    out_avals = list(derived) if eqn.primitive.multiple_results else [derived]
    if len(out_avals) != len(eqn.outvars):
        raise _Wrong(f"{len(eqn.outvars)} results written, {len(out_avals)} derived")
    return out_avals


def _check_effects(eqn: JaxprEqn, jaxpr: Jaxpr) -> None:
    """The effects of an equation are those of its primitive, and the program has them too."""
    inferred = eqn.primitive.effects(*[atom.aval for atom in eqn.invars], **eqn.params)
    if eqn.effects != inferred:
        raise _Wrong("Inferred effects do not match equation effects. "
                     f"Equation effects: {set(eqn.effects)}. Inferred effects: {set(inferred)}")
    for effect in eqn.effects:
        if effect not in jaxpr.effects:
            raise _Wrong("Equation effect not present in jaxpr effects. "
                         f"Equation effect: {effect}. Jaxpr effects: {set(jaxpr.effects)}")


def _compatible(written: ShapedArray, derived: ShapedArray) -> bool:
    return written.shape == derived.shape and (written.dtype == derived.dtype or FLOAT0 in (written.dtype,
                                                                                            derived.dtype))


def _text(jaxpr: Jaxpr, at: int, wrong: _Wrong) -> str:
    """Return a message for equation number `at`, or for what is before or behind the equations."""
    names = names_in(jaxpr)
    parts = [wrong.message if wrong.var is None else wrong.message.replace("{}", names[wrong.var])]
    if 0 <= at < len(jaxpr.eqns):
        eqn = jaxpr.eqns[at]
        parts += ["in equation:", names.text_of(eqn), f"from source: {eqn.source or 'unknown'}"]
    return "\n\n".join([*parts, "while checking jaxpr:", names.text_around(jaxpr, at if parts[1:] else 10)])
