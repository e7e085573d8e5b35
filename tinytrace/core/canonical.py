"""`canonical_form`: a program as bytes that two jaxprs share only if they are one program, in whichever process.

What `structure_of` tells within a process, this tells between processes: variables are written by their place, numbers
by their bits, parameters by type and value. An array that a loop or branch closes over is written by its type and its
number among these: programs with other arrays in these places have the same form. A program that holds what another
process cannot know, a function of the user's or a primitive that is not one of ours, has none.
"""
from __future__ import annotations

import enum
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import KEY_FRY, KEY_RBG, KEY_URBG
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal
from tinytrace.core.primitive import Primitive, registry
from tinytrace.own_code import is_own


def canonical_form(jaxpr: Jaxpr, *more: Any) -> bytes | None:
    """Return the bytes of a program and of what else is to be the same, None if there is no such form.

    >>> import tinytrace as jax
    >>> print(canonical_form(jax.make_jaxpr(lambda x: 2 * x)(3.0).jaxpr).decode())
    : float32()*
    mul literal float32()*:00000040 0: float32()*
    -> 1
    """
    try:
        form = _Form(closed_over(jaxpr))
        return "\n".join([*form.lines(jaxpr), *map(form.value, more)]).encode()
    except _NoFormError:
        return None


def closed_over(jaxpr: Jaxpr) -> list[Any]:
    """Return the arrays that the programs in a program close over, each once, in an order that its form tells.

    >>> import tinytrace as jax, numpy as np
    >>> c = np.ones(2)
    >>> times_c = jax.make_jaxpr(lambda xs: jax.lax.map(jax.jit(lambda x: x * c), xs))(np.ones((3, 2)))
    >>> [each is c for each in closed_over(times_c.jaxpr)]
    [True]
    """
    return list({id(const): const for const in _consts(jaxpr)}.values())


def _consts(value: Any) -> Iterator[Any]:
    """Yield what the programs close over that a program or a parameter holds."""
    if isinstance(value, ClosedJaxpr):
        yield from value.consts
        yield from _consts(value.jaxpr)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _consts(each)
    elif isinstance(value, Jaxpr):
        for eqn in value.eqns:
            for each in eqn.params.values():
                yield from _consts(each)


class _NoFormError(Exception):
    """Something has no form that means the same in another process."""


class _Form:
    """How the parts of one program are written."""

    def __init__(self, constants: list[Any]) -> None:
        self._numbers = {id(const): k for k, const in enumerate(constants)}
        self._own: set[Primitive] = set()  # those that are known to be

    def lines(self, jaxpr: Jaxpr) -> list[str]:
        place = {v: i for i, v in enumerate((*jaxpr.constvars, *jaxpr.invars))}

        def operand(atom: Atom) -> str:
            return _literal(atom) if type(atom) is Literal else str(place[atom])  # type: ignore[index]

        def written(eqn: JaxprEqn) -> str:
            self._check(eqn.primitive)
            words = [eqn.primitive.name]
            words += [f"{name}={self.value(value)}" for name, value in eqn.params.items()]
            words += [operand(atom) for atom in eqn.invars]
            results = []
            for v in eqn.outvars:
                place[v] = len(place)
                results.append(f"_ {_aval(v.aval)}" if type(v) is DropVar else _aval(v.aval))
            return f"{' '.join(words)}: {' '.join(results)}"

        head = f"{' '.join(_aval(v.aval) for v in jaxpr.constvars)}: {' '.join(_aval(v.aval) for v in jaxpr.invars)}"
        return [head, *map(written, jaxpr.eqns), f"-> {' '.join(map(operand, jaxpr.outvars))}"]

    def _check(self, primitive: Primitive) -> None:
        if primitive not in self._own:
            if registry.get(primitive.name) is not primitive or not is_own(type(primitive)):
                raise _NoFormError
            self._own.add(primitive)

    def value(self, value: Any) -> str:
        """Return a parameter; what differs in type or value is written differently."""
        kind: type = type(value)
        if value is None or kind in (bool, int, str):
            return repr(value)
        if kind is float:
            return str(value.hex())
        if kind is tuple or kind is list:
            return f"{kind.__name__}({', '.join(map(self.value, value))})"
        if isinstance(value, (enum.Enum, tuple)) and is_own(kind):
            fields = f".{value.name}" if isinstance(value, enum.Enum) else self.value(tuple(value))
            return f"{kind.__module__}.{kind.__qualname__}{fields}"
        if kind is ClosedJaxpr:
            return "".join(f"constant {self._numbers[id(const)]}, " for const in value.consts) + self.value(value.jaxpr)
        if kind is Jaxpr:
            return "{\n" + "\n".join(self.lines(value)) + "\n}"
        if kind is ShapedArray:
            return _aval(value)
        if isinstance(value, (np.dtype, np.generic)):
            return f"{_dtype(value.dtype)}:{value.tobytes().hex()}" if isinstance(value, np.generic) else _dtype(value)
        raise _NoFormError



@functools.lru_cache(256)  # a type is one object as long as somebody has it
def _aval(aval: Any) -> str:
    if type(aval) is not ShapedArray:
        raise _NoFormError
    shape = ",".join(map(str, aval.shape))
    return f"{_dtype(aval.dtype)}({shape}){'*' if aval.weak_type else ''}"


def _dtype(dtype: Any) -> str:
    is_known = not dtype.name.startswith("void") if isinstance(dtype, np.dtype) else dtype in _KEYS
    if not is_known:
        raise _NoFormError
    return str(dtype.name)


_KEYS = KEY_FRY, KEY_RBG, KEY_URBG  # types of keys of a user's generator are not the same in another process


def _literal(literal: Literal) -> str:
    aval = literal.aval
    return f"literal {_aval(aval)}:{np.asarray(literal.val, aval.dtype).tobytes().hex()}"
