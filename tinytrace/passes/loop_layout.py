"""Loops read matrices in the order of memory: one that each turn multiplies row by row is transposed once, before.

`W @ h` in the body of a scan is a sum along each row of W. With W transposed it is a sum of rows, whose elements are
neighbours: a vector instruction works on many results at once and no sum waits for the one before. Of arrays with
more axes, which are matrices one upon the other, the last axis becomes the first. Source: the
loop interchange of every optimising compiler; see R. Allen and K. Kennedy, "Optimizing Compilers" (2001), chapter 5.
"""
from __future__ import annotations

from tinytrace.control_flow.scan import scan_p
from tinytrace.control_flow.while_loop import while_p
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.contraction import dot_general_p
from tinytrace.primitives.shaping import transpose_p

LARGEST = 1 << 18
"""Matrices with more elements are left to the BLAS and the cache."""
TURNS = 8
"""How many turns are expected of a loop that does not say."""
LOOPS: dict[Primitive, tuple[str, str]] = {scan_p: ("jaxpr", "num_consts"), while_p: ("body_jaxpr", "body_nconsts")}
"""Where loops have their bodies, and how many of the operands are constants."""


def loop_layout(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with the constant matrices of its loops laid out as the bodies read them."""
    if not any(eqn.primitive in LOOPS for eqn in closed.jaxpr.eqns):
        return closed
    eqns: list[JaxprEqn] = []
    turned_before: dict[Atom, Atom] = {}
    """Arrays that there are with their last axis first, too."""
    for eqn in closed.jaxpr.eqns:
        if eqn.primitive is transpose_p:
            order = tuple(eqn.params["permutation"])
            if order == _last_first(len(order)):
                turned_before[eqn.invars[0]] = eqn.outvars[0]
            if order == (*range(1, len(order)), 0):
                turned_before[eqn.outvars[0]] = eqn.invars[0]
        eqns += _laid_out(eqn, turned_before) if eqn.primitive in LOOPS else [eqn]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _laid_out(eqn: JaxprEqn, turned_before: dict[Atom, Atom]) -> list[JaxprEqn]:
    """Return a loop and, before it, the transposes of matrices that its body reads by rows."""
    program, count = LOOPS[eqn.primitive]
    body, first = eqn.params[program], eqn.params.get("cond_nconsts", 0)
    consts = body.jaxpr.invars[:eqn.params[count]]
    turned: dict[Var, Var] = {}
    eqns = [_by_columns(inner, consts, turned) for inner in body.jaxpr.eqns]
    if not turned or eqn.params.get("length", TURNS) < 2:
        return [eqn]
    before: list[JaxprEqn] = []
    operands: list[Atom] = []
    for v in turned:
        outside = eqn.invars[first + consts.index(v)]
        if outside not in turned_before:
            turned_before[outside] = result = Var(turned[v].aval)
            order = {"permutation": _last_first(v.aval.ndim)}
            before.append(JaxprEqn([outside], [result], transpose_p, order, source=eqn.source, ids=eqn.ids))
        operands.append(turned_before[outside])
    inner = body.jaxpr.replace(invars=[*turned.values(), *body.jaxpr.invars], eqns=eqns)
    params = {**eqn.params, program: ClosedJaxpr(inner, body.consts), count: len(turned) + len(consts)}
    if eqn.primitive is scan_p:
        params["linear"] = (False,) * len(turned) + tuple(eqn.params["linear"])
    return [*before, eqn.replace(invars=[*eqn.invars[:first], *operands, *eqn.invars[first:]], params=params)]


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
                and tuple(contracting[k]) == (atom.aval.ndim - 1,):
            shape = tuple(atom.aval.shape[axis] for axis in _last_first(atom.aval.ndim))
            turned.setdefault(atom, Var(atom.aval.update(shape=shape)))
            sides = [contracting[0], contracting[1]]
            sides[k] = (0,)
            invars = list(eqn.invars)
            invars[k] = turned[atom]
            return eqn.replace(invars=invars, params={**eqn.params, "dimension_numbers": (tuple(sides), batch)})
    return eqn


def _is_matrix(aval: ShapedArray) -> bool:
    return aval.ndim >= 2 and 1 < aval.size <= LARGEST and 1 < aval.shape[-1] < aval.size


def _last_first(ndim: int) -> tuple[int, ...]:
    return (ndim - 1, *range(ndim - 1))
