"""Folds over rows that lie apart fold whole rows first, then the one that is left: blocks of an image, groups.

    b: f32[h,w] = reduce_max[axes=(1, 3)] a: f32[h,8,w,8]

    c: f32[h,w,8] = reduce_max[axes=(1,)] a       neighbours in memory are folded side by side
    b: f32[h,w] = reduce_max[axes=(2,)] c         an eighth of the elements

The rule: the last axis is folded and so short that few vectors hold it, and so are axes before one that stays. Sums of
elements of two bytes would be rounded once more; they stay.
"""
from __future__ import annotations

import math

from tinytrace.core.dtypes import is_half
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Var
from tinytrace.primitives.broadcasting import reduce_sum_p
from tinytrace.primitives.reduction import reduce_and_p, reduce_max_p, reduce_min_p, reduce_or_p, reduce_prod_p

FOLDS = {reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p, reduce_and_p, reduce_or_p}
ROUNDING = {reduce_sum_p, reduce_prod_p}
LONGEST = 64
"""Elements of a row that are folded last: rows of more are vectors as they lie."""
FEWEST_ROWS = 4
"""So many rows are folded into one, at least."""
NEIGHBOURS = 16
"""Elements that lie side by side in memory and are folded into different ones, at least."""


def fold_rows_first(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with folds over short rows that lie apart as two: of the rows, and of the one that is left."""
    jaxpr = closed.jaxpr
    if not any(eqn.primitive in FOLDS and len(eqn.params["axes"]) > 1 for eqn in jaxpr.eqns):
        return closed
    eqns = [new for eqn in jaxpr.eqns for new in _rows_first(eqn)]
    return ClosedJaxpr(jaxpr.replace(eqns=eqns), closed.consts)


def _rows_first(fold: JaxprEqn) -> list[JaxprEqn]:
    """Return the two folds that stand for one; the one itself if there is nothing to gain."""
    if fold.primitive not in FOLDS:
        return [fold]
    shape, axes, dtype = fold.invars[0].aval.shape, fold.params["axes"], fold.outvars[0].aval.dtype
    kept = [k for k, size in enumerate(shape) if k not in axes and size > 1]
    if not kept or (fold.primitive in ROUNDING and is_half(dtype)):
        return [fold]
    first = tuple(k for k in axes if k < kept[-1])
    row = math.prod(shape[k] for k in axes if k > kept[-1])
    rows = math.prod(shape[k] for k in first)
    neighbours = math.prod(shape[max((k for k in first if shape[k] > 1), default=-1) + 1:])
    if not 1 < row <= LONGEST or rows < FEWEST_ROWS or neighbours < NEIGHBOURS:
        return [fold]
    middle = Var(fold.primitive.abstract_eval(fold.invars[0].aval, axes=first))
    left = tuple(k - sum(j < k for j in first) for k in axes if k not in first)
    return [fold.replace(outvars=[middle], params={"axes": first}),
            fold.replace(invars=[middle], params={"axes": left})]
