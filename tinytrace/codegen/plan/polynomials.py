"""Expressions as polynomials in values that are known late: the mean, in the terms of a sum of squared differences.

With c = p + d for an early estimate p of c, a term t(x, c) that is a polynomial in c is one in d, whose coefficients
are known where x is read:

    (x - c)^2 = (x - p)^2 - 2 (x - p) d + d^2        so  sum (x - c)^2 = sum (x - p)^2 - 2 d sum (x - p) + n d^2

An identity whatever p is; the nearer to c, the fewer digits are lost. Arithmetic is read off the operations' formulas.
"""
from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TypeAlias

from tinytrace.codegen.ir.inserted_operations import add, div, mul, neg, sub
from tinytrace.codegen.ir.nodes import Node, apply, literal, walk
from tinytrace.core.dtypes import DType
from tinytrace.core.formulas import Formula
from tinytrace.records import NamedTuple

Monomial: TypeAlias = tuple[Node, ...]
"""The late values whose errors are multiplied, in order."""
Terms: TypeAlias = "dict[Node | None, float]"
"""A sum of expressions with factors; None stands for 1."""
MOST_MOMENTS = 5
"""Sums that consist of more parts than this are computed in a pass of their own."""
Errors: TypeAlias = "dict[Monomial, Terms]"


class Polynomial(NamedTuple):
    """`known + sum of terms * errors`: the value if the estimates were exact, and what their errors add."""

    known: Node
    errors: Errors


def late_values(value: Node, totals: Container[Node]) -> list[Node] | None:
    """Return the largest parts of `value` that depend on `totals` but on no axis; None: some are not linear in them."""
    depends = _dependent(value, totals)
    late: dict[Node, None] = {}
    stack, seen = [value], set[Node]()
    while stack:
        node = stack.pop()
        if node in depends and node not in seen:
            seen.add(node)
            if node.axes:
                stack += node.children
            else:
                late.setdefault(node)
    known = {total: total for total in depends if total in totals}
    for node in late:
        polynomial = _Reader(known, depends, node.dtype).read(node)
        if polynomial is None or any(len(monomial) > 1 for monomial in polynomial.errors):
            return None
    return list(late)


def polynomial(value: Node, late: dict[Node, Node]) -> Polynomial | None:
    """Return `value` as a polynomial in the errors of `late`, which gives the estimate of each late value; or None."""
    return _Reader(late, _dependent(value, late), value.dtype).read(value)


def is_around(value: Node, totals: Sequence[Node]) -> bool:
    """Is `value` a polynomial in values that are linear in `totals`, and can so be computed around estimates?"""
    late = late_values(value, totals)
    expanded = polynomial(value, {c: c for c in late}) if late else None
    return expanded is not None and sum(map(len, expanded.errors.values())) < MOST_MOMENTS


def _dependent(value: Node, sources: Container[Node]) -> set[Node]:
    found: set[Node] = set()
    for node in walk([value]):
        if node in sources or any(child in found for child in node.children):
            found.add(node)
    return found


class _Reader:
    """Reads expressions of one type, whose `dependent` parts are made of `late` values by arithmetic."""

    def __init__(self, late: dict[Node, Node], dependent: Container[Node], dtype: DType | None) -> None:
        self.late = late
        self.dependent = dependent
        self.dtype = dtype

    def read(self, node: Node) -> Polynomial | None:
        if node in self.late:
            return Polynomial(self.late[node], {(node,): {None: 1.0}})
        if node not in self.dependent:
            return Polynomial(node, {}) if node.dtype == self.dtype else None
        if node.op != "apply" or node.dtype != self.dtype:
            return None
        operands = [operand for operand in map(self.read, node.children) if operand is not None]
        return self._evaluated(node.args[0].formula, operands) if len(operands) == len(node.children) else None

    def _evaluated(self, formula: Formula, operands: list[Polynomial]) -> Polynomial | None:
        match formula.op, *formula.args:
            case "operand", int(k):
                return operands[k]
            case "prefix", "-", Formula() as inner:
                a = self._evaluated(inner, operands)
                return a and Polynomial(apply(neg(self._type), (a.known,)), _times({(): {None: -1.0}}, a.errors))
            case "infix", str(symbol), Formula() as left, Formula() as right:
                a, b = self._evaluated(left, operands), self._evaluated(right, operands)
                return None if a is None or b is None else self._combined(symbol, a, b)
            case "fma", Formula() as left, Formula() as right, Formula() as addend, str(negated):
                product, c = self._evaluated(left * right, operands), self._evaluated(addend, operands)
                if product is None or c is None:
                    return None
                pair = (c, product) if negated == "product" else (product, c)
                return self._combined("-" if negated else "+", *pair)
        return None

    def _combined(self, symbol: str, a: Polynomial, b: Polynomial) -> Polynomial | None:
        dtype, known = self._type, (a.known, b.known)
        match symbol:
            case "+":
                return Polynomial(apply(add(dtype), known), _plus(a.errors, b.errors))
            case "-":
                return Polynomial(apply(sub(dtype), known), _plus(a.errors, _times({(): {None: -1.0}}, b.errors)))
            case "*":
                errors = _plus(_times(a.errors, {(): {b.known: 1.0}}), _times({(): {a.known: 1.0}}, b.errors))
                return Polynomial(apply(mul(dtype), known), _plus(errors, _times(a.errors, b.errors)))
            case "/" if not b.errors:
                inverse = apply(div(dtype), (literal(1, dtype), b.known))
                return Polynomial(apply(div(dtype), known), _times(a.errors, {(): {inverse: 1.0}}))
        return None

    @property
    def _type(self) -> DType:
        assert self.dtype is not None
        return self.dtype


def _plus(a: Errors, b: Errors) -> Errors:
    total = {monomial: dict(terms) for monomial, terms in a.items()}
    for monomial, terms in b.items():
        mine = total.setdefault(monomial, {})
        for node, factor in terms.items():
            mine[node] = mine.get(node, 0.0) + factor
    return total


def _times(a: Errors, b: Errors) -> Errors:
    total: Errors = {}
    for monomial, terms in a.items():
        for other, factors in b.items():
            key = tuple(sorted((*monomial, *other), key=lambda node: node.serial))
            total = _plus(total, {key: {_product(x, y): 0.0 for x in terms for y in factors}})
            for x, k in terms.items():
                for y, m in factors.items():
                    total[key][_product(x, y)] += k * m
    return total


def _product(x: Node | None, y: Node | None) -> Node | None:
    if x is None or y is None:
        return y if x is None else x
    assert x.dtype is not None
    return apply(mul(x.dtype), (x, y))
