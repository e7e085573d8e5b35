"""Elements of types that are only kept are computed in wider ones: read before each operation, rounded after it.

    c:f8_e5m2[3] = add a b      becomes      d:f16[3] = convert_element_type[new_dtype=float16] a
                                             e:f16[3] = convert_element_type[new_dtype=float16] b
                                             f:f16[3] = add d e
                                             c:f8_e5m2[3] = convert_element_type[new_dtype=float8_e5m2] f

What only moves elements stays as it is. So no later stage knows more of these types than how they are converted.
"""
from __future__ import annotations

from tinytrace.core.dtypes import DType
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from tinytrace.core.primitive import ALL
from tinytrace.core.storage_types import STORAGE_TYPES, computed_type, in_computed_types
from tinytrace.primitives.conversion import convert_element_type_p


def in_wider_types(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """Return the program that computes an equation in wider types; None for an equation that can stay as it is."""
    if STORAGE_TYPES.keys().isdisjoint([x.aval.dtype for x in eqn.invars + eqn.outvars]):
        return None
    reads = eqn.primitive.reads_of([x.aval for x in eqn.invars])
    computed = [*eqn.invars[reads], *(eqn.outvars if reads == ALL else ())]
    if STORAGE_TYPES.keys().isdisjoint([x.aval.dtype for x in computed]):
        return None
    eqns: list[JaxprEqn] = []
    invars = [Var(x.aval) for x in eqn.invars]
    operands = [*invars]
    operands[reads] = [_converted(x, computed_type(x.aval.dtype), eqns) for x in operands[reads]]
    params = in_computed_types(eqn.params)
    found = eqn.primitive.abstract_eval(*(x.aval for x in operands), **params)
    results = [Var(aval) for aval in (found if eqn.primitive.multiple_results else [found])]
    eqns.append(eqn.replace(invars=operands, outvars=results, params=params))
    outvars = [_converted(x, v.aval.dtype, eqns) for x, v in zip(results, eqn.outvars, strict=True)]
    return ClosedJaxpr(Jaxpr([], invars, outvars, eqns), [])


def _converted(x: Var, dtype: DType, eqns: list[JaxprEqn]) -> Var:
    """Return the variable that holds `x` as another type, after writing the equation that makes it."""
    if x.aval.dtype == dtype:
        return x
    params = {"new_dtype": dtype, "weak_type": x.aval.weak_type}
    converted = Var(x.aval.update(dtype=dtype))
    eqns.append(JaxprEqn([x], [converted], convert_element_type_p, params))
    return converted
