"""The roots of each kind of equation: its loops, and what is computed in them."""
from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tinytrace.codegen.ir.arithmetic import linear
from tinytrace.codegen.ir.inserted_operations import at_rank, factor, fold_operation, mul, position_of, rank
from tinytrace.codegen.ir.nodes import Node, apply, cast, element, literal, number, own_by
from tinytrace.codegen.plan.elements import Elements, Index, domain_axes
from tinytrace.codegen.plan.lowering import Spread
from tinytrace.codegen.plan.partition import Root
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import INT16, is_float, is_half
from tinytrace.core.jaxpr import Atom, JaxprEqn, Var
from tinytrace.core.kinds import Contraction, Reduction, Scan1D

Extremes: TypeAlias = dict[tuple[str, tuple[int, ...], int, Node], Var]
"""Which values are the extremes of what is folded: `x.max(1)` beside `x.argmax(1)`."""


def map_root(eqn: JaxprEqn, var: Var, elements: Elements) -> Root:
    """A kept value that is an expression of its index: a loop over its elements."""
    shape = var.aval.shape
    value, eqns = elements.value_of(var, domain_axes(shape))
    return Root(var, eqn, shape, len(shape), value, eqns=eqns)


def copy_root(elements: Elements, atom: Atom) -> Root:
    """A loop that copies a value that is kept, so that no equation is between it and its copy."""
    shape = atom.aval.shape
    return Root(Var(atom.aval), None, shape, len(shape), elements(atom, domain_axes(shape)))


def reduction_roots(eqn: JaxprEqn, kind: Reduction, elements: Elements, extremes: Extremes) -> list[Root]:
    """A loop over the operand that folds into the result; two for the position of an extreme, one if that is known."""
    operand, var = eqn.invars[0], eqn.outvars[0]
    if kind.combine.startswith("arg"):
        return _position_roots(eqn, kind, elements, extremes)
    domain, at = _folded_last(operand.aval, kind.axes)
    value, free = elements(operand, at), len(domain) - len(kind.axes)
    eqns = frozenset(eqn.ids) | elements.moved_by(operand, at)
    if kind.combine in ("max", "min"):
        extremes.setdefault((kind.combine, domain, free, value), var)
        if is_half(operand.aval.dtype) and value.op == "load" and 0 not in domain:
            return _roots_of_ranks(var, eqn, domain, free, value, kind.combine, eqns)
    return [Root(var, eqn, domain, free, value, kind.combine, eqns=eqns)]


def _roots_of_ranks(var: Var, eqn: JaxprEqn, domain: tuple[int, ...], free: int, value: Node, combine: str,
                    eqns: frozenset[int]) -> list[Root]:
    """An extreme of two-byte floats in memory is that of integers in their order, which are not widened."""
    ranks = Var(ShapedArray(domain[:free], INT16))
    of_each = rank(value, combine)
    extreme = apply(at_rank(var.aval.dtype), (element(ranks, domain_axes(domain[:free])),))
    own_by(of_each, eqns)
    own_by(extreme, eqns)
    return [Root(ranks, eqn, domain, free, of_each, combine, eqns=eqns),
            Root(var, eqn, domain[:free], free, extreme, eqns=eqns)]


def part_root(eqn: JaxprEqn, kind: Spread, k: int, elements: Elements) -> Root:
    """One of several reductions side by side: that of element k of the last dimension."""
    operand = eqn.invars[0]
    axes = kind.reduction.axes
    kept = [a for a in range(operand.aval.ndim - 1) if a not in axes]
    domain = tuple(operand.aval.shape[a] for a in (*kept, *axes))
    at = dict(zip((*kept, *axes), domain_axes(domain), strict=True)) | {operand.aval.ndim - 1: number(k)}
    place = tuple(at[a] for a in range(operand.aval.ndim))
    value = elements(operand, place)
    eqns = frozenset(eqn.ids) | elements.moved_by(operand, place)
    return Root(kind.parts[k], eqn, domain, len(kept), value, kind.reduction.combine, eqns=eqns)


def _position_roots(eqn: JaxprEqn, kind: Reduction, elements: Elements, extremes: Extremes) -> list[Root]:
    """First the extreme, then the smallest position at which it stands; where it is NaN, the first NaN's."""
    operand, var = eqn.invars[0], eqn.outvars[0]
    domain, at = _folded_last(operand.aval, kind.axes)
    free, dtype = len(domain) - 1, var.aval.dtype
    assert isinstance(dtype, np.dtype)
    value, combine = elements(operand, at), kind.combine.removeprefix("arg")
    known = extremes.get((combine, domain, free, value))
    extreme = known or Var(ShapedArray(domain[:free], operand.aval.dtype))
    position = cast(domain_axes(domain)[-1], dtype)
    none = literal(np.iinfo(dtype).max, dtype)
    found = apply(position_of(operand.aval.dtype, dtype, is_float(operand.aval.dtype)),
                  (value, element(extreme, domain_axes(domain)[:free]), position, none))
    found.eqns = eqns = frozenset(eqn.ids) | elements.moved_by(operand, at)
    first = [] if known else [Root(extreme, eqn, domain, free, value, combine, eqns=eqns)]
    return [*first, Root(var, eqn, domain, free, found, "min", eqns=eqns)]


def scan_root(eqn: JaxprEqn, kind: Scan1D, elements: Elements) -> Root:
    """A loop that folds and stores what is folded so far."""
    operand, var = eqn.invars[0], eqn.outvars[0]
    domain, at = _folded_last(operand.aval, (kind.axis,))
    if kind.reverse:
        at = tuple(linear(domain[-1] - 1, [(i, -1)]) if a == kind.axis else i for a, i in enumerate(at))
    value = elements(operand, at)
    eqns = frozenset(eqn.ids) | elements.moved_by(operand, at)
    return Root(var, eqn, domain, len(domain) - 1, value, kind.combine, running=True, place=at, eqns=eqns)


def product_root(eqn: JaxprEqn, kind: Contraction, elements: Elements) -> Root:
    """A small matrix product: a loop over batch, rows, columns and what is summed."""
    (lhs, rhs), var = eqn.invars, eqn.outvars[0]
    summed = tuple(lhs.aval.shape[a] for a in kind.lhs_contract)
    domain = (*var.aval.shape, *summed)
    axes = domain_axes(domain)
    batch, rest = axes[:len(kind.lhs_batch)], axes[len(kind.lhs_batch):]
    rows = lhs.aval.ndim - len(kind.lhs_batch) - len(summed)
    inner = axes[var.aval.ndim:]
    left_at = _operand_index(lhs, kind.lhs_batch, kind.lhs_contract, batch, rest[:rows], inner)
    right_at = _operand_index(rhs, kind.rhs_batch, kind.rhs_contract, batch, rest[rows:], inner)
    left, right = elements(lhs, left_at), elements(rhs, right_at)
    dtype = var.aval.dtype
    operation = fold_operation("and", dtype) if dtype.kind == "b" else mul(dtype)
    product = apply(operation, (factor(left, dtype), factor(right, dtype)))
    eqns = frozenset(eqn.ids) | elements.moved_by(lhs, left_at) | elements.moved_by(rhs, right_at)
    product.eqns |= eqns
    return Root(var, eqn, domain, var.aval.ndim, product, "or" if dtype.kind == "b" else "sum",
                is_product=True, eqns=eqns)


def _operand_index(operand: Atom, batch_dims: tuple[int, ...], summed_dims: tuple[int, ...], batch: Index, free: Index,
                   summed: Index) -> Index:
    at: dict[int, Node] = dict(zip(batch_dims, batch, strict=True)) | dict(zip(summed_dims, summed, strict=True))
    others = iter(free)
    return tuple(at[a] if a in at else next(others) for a in range(operand.aval.ndim))


def _folded_last(operand: ShapedArray, folded: tuple[int, ...]) -> tuple[tuple[int, ...], Index]:
    """Return the loops over an operand, those over `folded` dimensions last, and the operand's index in them."""
    kept = [a for a in range(operand.ndim) if a not in folded]
    domain = tuple(operand.shape[a] for a in (*kept, *folded))
    axes = dict(zip((*kept, *folded), domain_axes(domain), strict=True))
    return domain, tuple(axes[a] for a in range(operand.ndim))
