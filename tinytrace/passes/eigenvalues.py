"""Eigenvectors that nobody reads are not computed: the eigenvalues alone take half of the time.

    v, w = eigh a                          w = eigh_values a

The rule: no equation and no result reads the vectors, and the matrices are not so small that they are factored without
LAPACK. `jnp.linalg.eigvalsh` is of this kind.
"""
from __future__ import annotations

from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal
from tinytrace.primitives.factorization import eigh_p, eigh_values_p
from tinytrace.primitives.lapack import is_small

SMALLEST = 8
"""Matrices of so many rows, and smaller ones, are factored by one program, vectors and all."""


def leave_vectors_out(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` without eigenvectors that nobody reads."""
    jaxpr = closed.jaxpr
    if not any(eqn.primitive is eigh_p for eqn in jaxpr.eqns):
        return closed
    read = {x for eqn in jaxpr.eqns for x in eqn.invars if not isinstance(x, Literal)} | {*jaxpr.outvars}
    eqns = [_values_alone(eqn) if eqn.primitive is eigh_p and eqn.outvars[0] not in read else eqn for eqn in jaxpr.eqns]
    return ClosedJaxpr(jaxpr.replace(eqns=eqns), closed.consts)


def _values_alone(eqn: JaxprEqn) -> JaxprEqn:
    matrices = eqn.invars[0].aval
    if eqn.params["subset_by_index"] not in (None, (0, matrices.shape[-1])) or is_small(matrices, SMALLEST):
        return eqn
    return eqn.replace(primitive=eigh_values_p, outvars=eqn.outvars[1:], params={"lower": eqn.params["lower"]})
