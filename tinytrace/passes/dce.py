"""Dead code elimination: equations that neither an output nor an effect needs are dropped; inputs stay."""
from __future__ import annotations

from tinytrace.core.dce import dce_jaxpr
from tinytrace.core.jaxpr import ClosedJaxpr


def dce(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` without the equations that nobody needs."""
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    if not closed.consts:
        return ClosedJaxpr(jaxpr, [])
    used = {x for eqn in jaxpr.eqns for x in eqn.invars} | set(jaxpr.outvars)
    kept = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if v in used]
    return ClosedJaxpr(jaxpr.replace(constvars=[v for v, _ in kept]), [c for _, c in kept])
