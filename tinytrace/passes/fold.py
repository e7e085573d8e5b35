"""Constant folding: an equation on numbers alone is computed now, by its own NumPy meaning."""
from __future__ import annotations

import numpy as np

from tinytrace.core.dtypes import FLOAT0, KeyType
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, subjaxprs
from tinytrace.passes.substitution import Substitution


def fold(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with scalar equations of literals replaced by their values."""
    replaced = Substitution()
    eqns: list[JaxprEqn] = []
    for eqn in closed.jaxpr.eqns:
        eqn = replaced.in_equation(eqn)
        value = _value_of(eqn)
        if value is None:
            eqns.append(eqn)
        else:
            replaced.update([(eqn.outvars[0], value)])
    outvars = [replaced[x] for x in closed.jaxpr.outvars]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)


def _value_of(eqn: JaxprEqn) -> Literal | None:
    """Return the number that an equation computes, if it does not depend on anything."""
    for x in eqn.invars:
        if not isinstance(x, Literal):
            return None
    if (eqn.effects or len(eqn.outvars) != 1 or eqn.primitive.multiple_results or not eqn.invars
            or any(True for _ in subjaxprs(eqn.params))):
        return None
    aval = eqn.outvars[0].aval
    dtypes = [x.aval.dtype for x in (*eqn.invars, *eqn.outvars)]
    if aval.shape or any(isinstance(dtype, KeyType) or dtype == FLOAT0 for dtype in dtypes):
        return None
    with np.errstate(all="ignore"):
        operands = [np.asarray(x.val, x.aval.dtype) for x in eqn.invars if isinstance(x, Literal)]
        result = np.asarray(eqn.primitive.impl(*operands, **eqn.params), aval.dtype)
    return Literal(result[()], aval)
