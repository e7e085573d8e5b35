"""`structure_of`: what two jaxprs have in common that are one program, written twice.

A fresh lambda is traced to fresh variables, and yet nothing has to be compiled again: variables are compared by their
place, avals by identity, parameters by type and value, and numbers by their bits, for 0.0 and -0.0 are equal, and so
are 1 and True, but they are not the same program.
"""
from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, subjaxprs


def structure_of(jaxpr: Jaxpr) -> Hashable | None:
    """Return a key that is equal for two jaxprs only if they compute the same, whatever their variables are called.

    Returns: None where that cannot be told: a parameter is not hashable, or the program has constants or callbacks of
    its own, which a key would keep alive.
    """
    if _holds_values(jaxpr):
        return None
    key = _program(jaxpr)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def typed(value: Any) -> Hashable:
    """Return a parameter in such a form that only what is the same is equal: not 1, 1.0 and True, not 0.0 and -0.0."""
    kind = type(value)
    if kind is tuple or isinstance(value, tuple):
        return kind, tuple(map(typed, value))
    if isinstance(value, (float, complex, np.generic)):
        return kind, np.asarray(value).tobytes()
    if kind is ClosedJaxpr:
        return _program(value.jaxpr), tuple(map(id, value.consts))
    if kind is Jaxpr:
        return _program(value)
    return kind, value


def typed_items(params: Mapping[str, Any]) -> tuple[Hashable, ...]:
    """Return parameters by name as part of a key of what depends on them.

    Raises: TypeError, where the key is looked up, for a parameter that has no hash.
    """
    return tuple([(name, typed(value)) for name, value in params.items()])


def literal_key(literal: Literal) -> Hashable:
    """Return a number by its type and its bits."""
    aval = literal.aval
    return aval, np.asarray(literal.val, aval.dtype).tobytes() if isinstance(aval.dtype, np.dtype) else literal.val


def _holds_values(jaxpr: Jaxpr) -> bool:
    return any("callback" in eqn.params or any(inner.constvars or _holds_values(inner)
                                               for inner in subjaxprs(eqn.params))
               for eqn in jaxpr.eqns if eqn.params)


def _program(jaxpr: Jaxpr) -> Hashable:
    place: dict[Any, int] = {v: i for i, v in enumerate((*jaxpr.constvars, *jaxpr.invars))}
    key: list[Hashable] = [len(jaxpr.constvars), *[v.aval for v in place]]

    def operand(atom: Atom) -> Hashable:
        return literal_key(atom) if type(atom) is Literal else place[atom]

    for eqn in jaxpr.eqns:
        params = tuple([(name, typed(value)) for name, value in eqn.params.items()]) if eqn.params else ()
        key.append((eqn.primitive, params, *map(operand, eqn.invars)))
        for v in eqn.outvars:
            place[v] = len(place)
            key.append((type(v), v.aval))
    key.append(tuple(map(operand, jaxpr.outvars)))
    return tuple(key)
