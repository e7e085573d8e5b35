"""Primitives whose meaning is a program of other primitives: said once, it is run, and compiled in their place."""
from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive
from tinytrace.core.structure import typed_items
from tinytrace.core.trace import Trace, Tracer, current_trace, interpreting, set_current_trace


class Composite(Primitive):
    """The family: `program` is both the meaning and, recorded, what is compiled."""

    composite = True

    def program(self, *args: Any, **params: Any) -> Any:
        """Return the result for `args`, made by other primitives."""
        raise NotImplementedError(f"'{self.name}' has no program")

    def impl(self, *args: Any, **params: Any) -> Any:
        return interpreted(self.program, *args, **params)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return Call(recorded(functools.partial(self.program, **params), in_avals))


class OnParts(Primitive):
    """The family: of complex numbers, what is compiled is a program on their parts; see `on_complex.py`."""

    on_parts: Callable[..., Any] | None = None
    """That program; None: there is none, or none is needed."""

    def program_on_parts(self, in_avals: Sequence[ShapedArray], params: dict[str, Any]) -> Kind:
        """Return the program for operands of these types, as what is compiled."""
        if self.on_parts is None:
            raise not_of_complex(self.name)
        try:
            return _recorded_on_parts(self, tuple(in_avals), typed_items(params), tuple(params.items()))
        except TypeError:  # a parameter without hash
            return Call(recorded(functools.partial(self.on_parts, **params), in_avals))


def not_of_complex(name: str) -> NotImplementedError:
    """Return the error of an operation that complex numbers do not have here."""
    return NotImplementedError(f"{name} of complex numbers is not implemented in tinytrace: apply it to the real "
                               "and the imaginary part.")


@functools.lru_cache(maxsize=1024)
def _recorded_on_parts(primitive: OnParts, in_avals: tuple[ShapedArray, ...], _key: tuple[Hashable, ...],
                       params: tuple[Any, ...]) -> Kind:
    assert primitive.on_parts is not None
    return Call(recorded(functools.partial(primitive.on_parts, **dict(params)), in_avals))


def interpreted(program: Callable[..., Any], *args: Any, **params: Any) -> np.ndarray[Any, Any]:
    """Return what a program gives for NumPy arrays, computed by NumPy."""
    with interpreting():
        result = program(*args, **params)
    return np.asarray(result._value if isinstance(result, Array) else result)


def recorded(function: Callable[..., Any], in_avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return the program of `function`, which maps arrays to an array or a list, and uses no array from outside.

    The tracer of user programs (transforms/staging.py) stands above this layer; this one has no user to answer to.
    """
    recorder = _Recorder()
    with set_current_trace(recorder):
        args = [_Recorded(recorder, Var(aval)) for aval in in_avals]
        out = function(*args)
    outs = [_atom(x) for x in (out if isinstance(out, list) else [out])]
    return ClosedJaxpr(Jaxpr([], [x._var for x in args], outs, recorder.eqns), [])


class _Recorder(Trace):
    name = "Recorder"

    def __init__(self) -> None:
        self.parent = current_trace()
        self.eqns: list[JaxprEqn] = []

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        invars = [_atom(x) for x in args]
        out = primitive.abstract_eval(*(x.aval for x in invars), **params)
        outvars = [Var(aval) for aval in (out if primitive.multiple_results else [out])]
        self.eqns.append(JaxprEqn(invars, outvars, primitive, params))
        results = [_Recorded(self, var) for var in outvars]
        return results if primitive.multiple_results else results[0]


class _Recorded(Tracer):
    """Stands for a variable of the program that is recorded."""

    __slots__ = ("_var", "aval")
    aval: ShapedArray

    def __init__(self, trace: Trace, var: Var) -> None:
        super().__init__(trace)
        self._var, self.aval = var, var.aval


def _atom(x: Any) -> Atom:
    if isinstance(x, _Recorded):
        return x._var
    value = np.asarray(x._value if isinstance(x, Array) else x)
    assert value.ndim == 0, "a program of a room uses no arrays from outside"
    aval = aval_of(x)
    return Literal(value.astype(aval.dtype)[()], aval)
