"""`check_jaxpr`: is this a well-formed program? Variables defined before use and once, and every type re-derived.

Tests run it after each pass; `jax.core.check_jaxpr` is its public name.
"""
from __future__ import annotations

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinytrace.core.printer import eqn_to_text


class JaxprTypeError(TypeError):
    """A jaxpr is not a program: the message names the equation and what is wrong with it."""


def check_jaxpr(program: Jaxpr | ClosedJaxpr) -> None:
    """Check scoping, single assignment and types of `program` and of every jaxpr inside it.

    Raises: JaxprTypeError naming the equation.

    >>> import tinytrace as jax
    >>> check_jaxpr(jax.make_jaxpr(lambda x: x + 1)(3.0))
    """
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    if isinstance(program, ClosedJaxpr) and len(program.consts) != len(jaxpr.constvars):
        raise JaxprTypeError(f"{len(program.consts)} constants for {len(jaxpr.constvars)} constvars")
    defined: set[Var] = set()
    for var in [*jaxpr.constvars, *jaxpr.invars]:
        _define(var, defined, None)
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            _check_read(atom, defined, eqn)
        _check_types(eqn)
        for var in eqn.outvars:
            _define(var, defined, eqn)
        for inner in subjaxprs(eqn.params):
            check_jaxpr(inner)
    for atom in jaxpr.outvars:
        _check_read(atom, defined, None)


def _define(var: Var, defined: set[Var], eqn: JaxprEqn | None) -> None:
    if isinstance(var, DropVar):
        return
    if var in defined:
        raise JaxprTypeError(f"a variable of type {var.aval.str_short()} is defined twice{_at(eqn)}")
    defined.add(var)


def _check_read(atom: Atom, defined: set[Var], eqn: JaxprEqn | None) -> None:
    if isinstance(atom, Literal):
        if atom.aval.shape != ():
            raise JaxprTypeError(f"a literal of type {atom.aval.str_short()} is not a scalar{_at(eqn)}")
    elif atom not in defined:
        raise JaxprTypeError(f"a variable of type {atom.aval.str_short()} is read before it is defined{_at(eqn)}")


def _check_types(eqn: JaxprEqn) -> None:
    derived = eqn.primitive.abstract_eval(*[atom.aval for atom in eqn.invars], **eqn.params)
    out_avals = list(derived) if eqn.primitive.multiple_results else [derived]
    if len(out_avals) != len(eqn.outvars):
        raise JaxprTypeError(f"{len(eqn.outvars)} results written, {len(out_avals)} derived{_at(eqn)}")
    for var, aval in zip(eqn.outvars, out_avals, strict=True):
        if not _compatible(var.aval, aval):
            raise JaxprTypeError(f"a result is written as {var.aval.str_short()} but the rule of "
                                 f"{eqn.primitive.name} derives {aval.str_short()}{_at(eqn)}")


def _compatible(written: ShapedArray, derived: ShapedArray) -> bool:
    return written.shape == derived.shape and (written.dtype == derived.dtype or FLOAT0 in (written.dtype,
                                                                                            derived.dtype))


def _at(eqn: JaxprEqn | None) -> str:
    if eqn is None:
        return ""
    where = f"\n  from line {eqn.source}" if eqn.source is not None else ""
    return f", in equation\n  {eqn_to_text(eqn)}{where}"
