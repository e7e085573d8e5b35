"""Positions are not carried through a sort: they are the order, which the sort finds anyway.

    b = iota[dimension=0]
    c d = sort[dimension=0 num_keys=1] a b     c d = sort_with_positions[num_keys=1] a

The rule: an operand that is no key counts along the sorted axis, and that is the last one. `argsort`, and the first
round of `random.permutation`, are of this kind.
"""
from __future__ import annotations

from tinytrace.core.dtypes import INT32, is_complex
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var
from tinytrace.primitives.broadcasting import broadcast_in_dim_p
from tinytrace.primitives.creation import iota_p
from tinytrace.primitives.sorted_positions import sort_with_positions_p
from tinytrace.primitives.sorting import sort_p

Makers = dict[Var, JaxprEqn]


def read_positions(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with sorts that positions go through as sorts that tell them."""
    jaxpr = closed.jaxpr
    if not any(eqn.primitive is sort_p for eqn in jaxpr.eqns):
        return closed
    makers: Makers = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    return ClosedJaxpr(jaxpr.replace(eqns=[_with_positions(eqn, makers) for eqn in jaxpr.eqns]), closed.consts)


def _with_positions(eqn: JaxprEqn, makers: Makers) -> JaxprEqn:
    """Return a sort without the operand that counts along its axis; any other equation as it is."""
    if eqn.primitive is not sort_p or any(is_complex(x.aval.dtype) for x in eqn.invars):
        return eqn
    dimension, shape = eqn.params["dimension"], eqn.invars[0].aval.shape
    num_keys = eqn.params["num_keys"]
    counting = [k for k, x in enumerate(eqn.invars) if k >= num_keys and _counts(x, dimension, makers)]
    if not counting or dimension != len(shape) - 1:
        return eqn
    others = [k for k in range(len(eqn.invars)) if k != counting[0]]
    return eqn.replace(primitive=sort_with_positions_p, params={"num_keys": num_keys},
                       invars=[eqn.invars[k] for k in others],
                       outvars=[eqn.outvars[k] for k in (*others, counting[0])])


def _counts(x: Atom, axis: int, makers: Makers) -> bool:
    """Does an array say of each element where along an axis it is?"""
    while isinstance(x, Var) and x in makers and (maker := makers[x]).primitive is broadcast_in_dim_p:
        axes, size = maker.params["broadcast_dimensions"], x.aval.shape[axis]
        x = maker.invars[0]
        if axis not in axes or x.aval.shape[axes.index(axis)] != size:
            return False  # the same everywhere
        axis = axes.index(axis)
    return isinstance(x, Var) and x in makers and makers[x].primitive is iota_p \
        and makers[x].params["dimension"] == axis and x.aval.dtype == INT32
