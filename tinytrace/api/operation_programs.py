"""Operations as programs: an operation that is met outside of traces is a jitted function of one equation."""
from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tinytrace.api.exactness import kind_or_none
from tinytrace.api.loaded_code import cache_of_programs
from tinytrace.config import trace_context
from tinytrace.control_flow.pjit import pjit_p
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.kinds import HostCall
from tinytrace.core.primitive import Primitive
from tinytrace.core.structure import typed_items
from tinytrace.transforms.staging import one_equation


def operation_program(primitive: Primitive, avals: tuple[ShapedArray, ...],
                      params: dict[str, Any]) -> ClosedJaxpr | None:
    """Return the program of one operation; None for what has an effect, or is done by Python, however it is run."""
    key = typed_items(params)
    try:
        hash(key)
    except TypeError:
        return _new_program(primitive, avals, params)
    return _remembered_program(primitive, avals, tuple(params.items()), (key, trace_context()))


@cache_of_programs(1024)
def _remembered_program(primitive: Primitive, avals: tuple[ShapedArray, ...], items: tuple[tuple[str, Any], ...],
                        context: Hashable) -> ClosedJaxpr | None:
    return _new_program(primitive, avals, dict(items))


def _new_program(primitive: Primitive, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> ClosedJaxpr | None:
    if primitive is pjit_p:
        return params["jaxpr"]  # type: ignore[no-any-return]
    if primitive.compiled_eagerly:
        return one_equation(primitive, avals, params)
    if primitive.effects(*avals, **params) or any(aval.dtype == FLOAT0 for aval in avals):
        return None
    primitive.abstract_eval(*avals, **params)  # refuses what does not fit, also where no equation is written
    closed = one_equation(primitive, avals, params)
    return None if any(isinstance(kind_or_none(eqn), HostCall | None) for eqn in closed.eqns) else closed
