"""Loops read matrices in the order of memory: one that each turn multiplies row by row is transposed once, before.

`W @ h` in the body of a scan is a sum along each row of W. With W transposed it is a sum of rows, whose elements are
neighbours: a vector instruction works on many results at once and no sum waits for the one before. Source: the
loop interchange of every optimising compiler; see R. Allen and K. Kennedy, "Optimizing Compilers" (2001), chapter 5.
"""
from __future__ import annotations

from tinytrace.control_flow.scan import scan_p
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var
from tinytrace.primitives.contraction import dot_general_p
from tinytrace.primitives.shaping import transpose_p

LARGEST = 1 << 18
"""Matrices with more elements are left to the BLAS and the cache."""


def loop_layout(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with the constant matrices of its scans laid out as the bodies read them."""
    if not any(eqn.primitive is scan_p for eqn in closed.jaxpr.eqns):
        return closed
    eqns: list[JaxprEqn] = []
    turned_back: dict[Atom, Atom] = {}
    """For each transpose of a matrix, and each matrix that is transposed, the other one."""
    for eqn in closed.jaxpr.eqns:
        if eqn.primitive is transpose_p and tuple(eqn.params["permutation"]) == (1, 0):
            turned_back.update({eqn.outvars[0]: eqn.invars[0], eqn.invars[0]: eqn.outvars[0]})
        eqns += _laid_out(eqn, turned_back) if eqn.primitive is scan_p else [eqn]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _laid_out(eqn: JaxprEqn, turned_back: dict[Atom, Atom]) -> list[JaxprEqn]:
    """Return a scan and, before it, the transposes of matrices that its body reads by rows."""
    body = eqn.params["jaxpr"]
    consts = body.jaxpr.invars[:eqn.params["num_consts"]]
    turned: dict[Var, Var] = {}
    eqns = [_by_columns(inner, consts, turned) for inner in body.jaxpr.eqns]
    if not turned or eqn.params["length"] < 2:
        return [eqn]
    before: list[JaxprEqn] = []
    operands: list[Atom] = []
    for v in turned:
        outside = eqn.invars[consts.index(v)]
        if outside not in turned_back:
            turned_back[outside] = result = Var(turned[v].aval)
            order = {"permutation": (1, 0)}
            before.append(JaxprEqn([outside], [result], transpose_p, order, source=eqn.source, ids=eqn.ids))
        operands.append(turned_back[outside])
    inner = body.jaxpr.replace(invars=[*turned.values(), *body.jaxpr.invars], eqns=eqns)
    params = {**eqn.params, "jaxpr": ClosedJaxpr(inner, body.consts), "num_consts": len(turned) + len(consts),
              "linear": (False,) * len(turned) + tuple(eqn.params["linear"])}
    return [*before, eqn.replace(invars=[*operands, *eqn.invars], params=params)]


def _by_columns(eqn: JaxprEqn, consts: list[Var], turned: dict[Var, Var]) -> JaxprEqn:
    """Return a matrix-vector product with the matrix transposed, if it is a constant that is read by rows."""
    if eqn.primitive is not dot_general_p:
        return eqn
    (contracting, batch) = eqn.params["dimension_numbers"]
    if any(batch) or any(len(dims) != 1 for dims in contracting):
        return eqn
    for k, atom in enumerate(eqn.invars):
        other = eqn.invars[1 - k]
        if isinstance(atom, Var) and atom in consts and _is_matrix(atom.aval) and other.aval.ndim == 1 \
                and tuple(contracting[k]) == (1,):
            turned.setdefault(atom, Var(atom.aval.update(shape=atom.aval.shape[::-1])))
            sides = [contracting[0], contracting[1]]
            sides[k] = (0,)
            invars = list(eqn.invars)
            invars[k] = turned[atom]
            return eqn.replace(invars=invars, params={**eqn.params, "dimension_numbers": (tuple(sides), batch)})
    return eqn


def _is_matrix(aval: ShapedArray) -> bool:
    return aval.ndim == 2 and 1 < aval.size <= LARGEST and min(aval.shape) > 1
