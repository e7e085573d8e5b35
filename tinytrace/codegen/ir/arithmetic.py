"""Index arithmetic: sums in one normal form, div and mod that vanish, guards that are decided where ranges tell.

Every function returns a node of `nodes`; an index is kept as `c + k1*n1 + k2*n2 + ...` over axes and the few operations
that are not sums. So the offset of an element behind any chain of transposes, slices, reshapes and their inverses is
again a short sum.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from tinytrace.codegen.ir.nodes import Node, Number, apply, cast, load, make, number, value_of
from tinytrace.core.dtypes import BOOL, is_float

Terms: TypeAlias = "tuple[tuple[Node, int], ...]"


def constant_of(node: Node) -> int | None:
    """Return the value of a constant index or guard, else None."""
    return node.args[0] if node.op == "affine" and not node.args[1] else None


def terms_of(node: Node) -> tuple[int, Terms]:
    """Return an index as (constant, ((node, factor), ...))."""
    return node.args if node.op == "affine" else (0, ((node, 1),))


def index_of(element: Node) -> Node:
    """Return an integer element as an index; what is made of places alone, within its type, is the sum that it says."""
    if element.dtype is None:
        return element
    if element.op == "apply" and (exact := _exact(element, DEEPEST)) is not None:
        return exact
    if element.op == "cast":
        return element.args[0]  # type: ignore[no-any-return]
    if element.op == "literal" and not is_float(element.dtype):
        return number(int(value_of(element)))
    low: Number = -math.inf
    high: Number = math.inf
    if element.dtype == BOOL:
        low, high = 0, 1
    elif element.dtype.itemsize <= 4:
        bits = 8 * element.dtype.itemsize
        low, high = (0, 2 ** bits - 1) if element.dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return make("index", (element,), (element,), None, low, high)


DEEPEST = 8
"""So many operations on integers are looked through."""


def _exact(element: Node, depth: int) -> Node | None:
    """Return what an integer element is as an index, if no operation behind it can leave its type; else None."""
    if element.op == "cast":
        return _within(element.args[0], element)
    if element.op == "literal" and element.dtype is not None and element.dtype.kind in "iu":
        return number(int(value_of(element)))
    if element.op != "apply" or not depth or element.dtype is None or element.dtype.kind not in "iu":
        return None
    name = element.args[0].name
    if name == "select_n":
        guard = _decided(element.children[0], depth - 1)
        return None if guard is None else _exact(element.children[1 + guard], depth - 1)
    combine = _OF_INTEGERS.get(name)
    operands = [_exact(x, depth - 1) for x in element.children] if combine and len(element.children) == 2 else []
    left, right = operands or (None, None)
    return None if combine is None or left is None or right is None else _within(combine(left, right), element)


def _decided(guard: Node, depth: int) -> int | None:
    """Return whether one place is less than another, if that is so, or not, wherever it is asked: `i < 0`."""
    if guard.op != "apply" or guard.args[0].name != "lt" or not depth:
        return None
    left, right = (_exact(x, depth - 1) for x in guard.children)
    return None if left is None or right is None else constant_of(compare("lt", left, right))


def _within(index: Node, element: Node) -> Node | None:
    """Return an index that holds what an integer type holds, or None."""
    if element.dtype is None or element.dtype.kind not in "iu":
        return None
    bits = 8 * element.dtype.itemsize
    low, high = (0, 2 ** bits) if element.dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return index if low <= index.low and index.high < high else None


# --- sums --------------------------------------------------------------------------------------------------------

def linear(constant: int, terms: Sequence[tuple[Node, int]]) -> Node:
    """Return `constant + sum of factor * node`."""
    total: dict[Node, int] = {}
    for node, factor in terms:
        c, inner = terms_of(node)
        constant += factor * c
        for n, k in inner:
            total[n] = total.get(n, 0) + factor * k
    if any(node.op == "mod" for node in total):
        constant += _rejoin(total)
    kept = tuple(sorted(((n, k) for n, k in total.items() if k), key=_serial))
    if not constant and len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    low: Number = constant
    high: Number = constant
    for node, factor in kept:
        low += factor * (node.low if factor > 0 else node.high)
        high += factor * (node.high if factor > 0 else node.low)
    return make("affine", (constant, kept), [n for n, _ in kept], None, low, high)


def _serial(term: tuple[Node, int]) -> int:
    return term[0].serial


def _rejoin(total: dict[Node, int]) -> int:
    """Replace k*d*(x // d) + k*(x % d) by k*x: a reshape and its inverse; Returns the constant that x brings.

    So is k*d*(x // d % e) + k*(x % d) by k*(x % (d * e)): an axis cut in three, of which two are neighbours again.
    """
    for node in [n for n in total if n.op == "mod"]:
        x, d = node.args[0], constant_of(node.args[1])
        k = total[node]
        quotient = floordiv(x, number(d)) if d is not None and k else None
        if quotient is None or d is None:
            continue
        rest = next((n for n in total if n.op == "mod" and n.args[0] is quotient and total[n] == k * d), None)
        if rest is not None and (e := constant_of(rest.args[1])) is not None:
            del total[node], total[rest]
            joined = mod(x, number(d * e))
            total[joined] = total.get(joined, 0) + k
            return _rejoin(total)
        if total.get(quotient) != k * d:
            continue
        del total[node], total[quotient]
        constant, terms = terms_of(x)
        for n, factor in terms:
            total[n] = total.get(n, 0) + k * factor
        return k * constant + _rejoin(total)
    return 0


def add(a: Node, b: Node) -> Node:
    """Return the index `a + b`."""
    return linear(0, ((a, 1), (b, 1)))


def subtract(a: Node, b: Node) -> Node:
    """Return the index `a - b`."""
    return linear(0, ((a, 1), (b, -1)))


def multiply(a: Node, b: Node) -> Node:
    """Return the index `a * b`."""
    for x, y in ((a, b), (b, a)):
        k = constant_of(y)
        if k is not None:
            return linear(0, ((x, k),))
    if all(math.isfinite(x) for x in (a.low, a.high, b.low, b.high)):
        products = [p * q for p in (a.low, a.high) for q in (b.low, b.high)]
        return make("mul", (a, b), (a, b), None, min(products), max(products))
    return make("mul", (a, b), (a, b))


def flat_offset(index: Sequence[Node], shape: Sequence[int]) -> Node:
    """Return where the element at `index` lies in a contiguous array of `shape`."""
    stride = 1
    terms = []
    for i, size in zip(reversed(index), reversed(shape), strict=True):
        terms.append((i, stride))
        stride *= size
    return linear(0, terms)


def unflattened(offset: Node, shape: Sequence[int]) -> tuple[Node, ...]:
    """Return the index of the element at flat `offset` of an array of `shape`."""
    index = []
    for size in reversed(shape[1:]):
        index.append(mod(offset, number(size)))
        offset = floordiv(offset, number(size))
    return (*([offset] if shape else []), *reversed(index))


def stride_along(index: Node, axis: Node) -> int | None:
    """Return how far `index` moves when `axis` moves by one, or None when that depends on where it is."""
    stride = 0
    for node, factor in terms_of(index)[1]:
        if node is axis:
            stride = factor
        elif axis in node.axes:
            return None
    return stride


# --- division ----------------------------------------------------------------------------------------------------

def floordiv(a: Node, b: Node) -> Node:
    """Return `a // b`, rounded towards minus infinity."""
    d = constant_of(b)
    return _divmod(a, d)[0] if d is not None and d > 0 else make("floordiv", (a, b), (a, b))


def mod(a: Node, b: Node) -> Node:
    """Return `a % b`, with the sign of `b`."""
    d = constant_of(b)
    return _divmod(a, d)[1] if d is not None and d > 0 else make("mod", (a, b), (a, b))


def _divmod(a: Node, d: int) -> tuple[Node, Node]:
    """Return (a // d, a % d): multiples of d leave, common factors cancel, small rests vanish."""
    if d == 1:
        return a, number(0)
    constant, terms = terms_of(a)
    whole = linear(constant // d, [(n, k // d) for n, k in terms if k % d == 0])
    rest = linear(constant % d, [(n, k) for n, k in terms if k % d])
    if math.isfinite(rest.low) and math.isfinite(rest.high) and rest.low // d == rest.high // d:
        q = int(rest.low // d)
        return linear(q, [(whole, 1)]), linear(-q * d, [(rest, 1)])
    constant, terms = terms_of(rest)
    for g in sorted({math.gcd(k, d) for _, k in terms} - {1}, reverse=True):
        small = linear(constant % g, [(n, k) for n, k in terms if k % g])
        if small.low >= 0 and small.high < g:  # rest = g * big + small, so rest // d = big // (d / g)
            big = linear(constant // g, [(n, k // g) for n, k in terms if k % g == 0])
            q_big, r_big = _divmod(big, d // g)
            return add(whole, q_big), linear(0, [(r_big, g), (small, 1)])
    remainder = make("mod", (rest, number(d)), (rest,), None, 0, d - 1)
    inner = constant_of(rest.args[1]) if rest.op == "floordiv" else None
    if inner is not None:  # (x // inner) // d = x // (inner * d)
        return add(whole, floordiv(rest.args[0], number(inner * d))), remainder
    quotient = make("floordiv", (rest, number(d)), (rest,), None, _floor(rest.low, d), _floor(rest.high, d))
    return add(whole, quotient), remainder


def _floor(bound: Number, d: int) -> Number:
    return bound // d if math.isfinite(bound) else bound


# --- bounds and guards -------------------------------------------------------------------------------------------

def minimum(a: Node, b: Node) -> Node:
    """Return the smaller index."""
    difference = subtract(a, b)
    if difference.high <= 0:
        return a
    return b if difference.low >= 0 else make("min", (a, b), (a, b), None, min(a.low, b.low), min(a.high, b.high))


def maximum(a: Node, b: Node) -> Node:
    """Return the larger index."""
    difference = subtract(a, b)
    if difference.low >= 0:
        return a
    return b if difference.high <= 0 else make("max", (a, b), (a, b), None, max(a.low, b.low), max(a.high, b.high))


def compare(op: str, a: Node, b: Node) -> Node:
    """Return the guard `a op b` for op in lt, le, eq."""
    difference = subtract(a, b)
    low, high = difference.low, difference.high
    if op == "lt" and (high < 0 or low >= 0):
        return number(int(high < 0))
    if op == "le" and (high <= 0 or low > 0):
        return number(int(high <= 0))
    if op == "eq" and (low > 0 or high < 0 or low == high == 0):
        return number(int(low == 0))
    return make(op, (a, b), (a, b), None, 0, 1)


def both(a: Node, b: Node) -> Node:
    """Return the guard `a and b`."""
    for x, y in ((a, b), (b, a)):
        k = constant_of(x)
        if k is not None:
            return y if k else number(0)
    return a if a is b else make("and", (a, b), (a, b), None, 0, 1)


def either(a: Node, b: Node) -> Node:
    """Return the guard `a or b`."""
    for x, y in ((a, b), (b, a)):
        k = constant_of(x)
        if k is not None:
            return number(1) if k else y
    return a if a is b else make("or", (a, b), (a, b), None, 0, 1)


def where(guard: Node, if_true: Node, if_false: Node) -> Node:
    """Return the node that is `if_true` where `guard` holds; the other side is not evaluated."""
    k = constant_of(guard)
    if k is not None:
        return if_true if k else if_false
    if if_true is if_false:
        return if_true
    low, high = min(if_true.low, if_false.low), max(if_true.high, if_false.high)
    return make("where", (guard, if_true, if_false), (guard, if_true, if_false), if_true.dtype, low, high)


_OF_INTEGERS = {"add": add, "sub": subtract, "mul": multiply, "min": minimum, "max": maximum}
"""Operations on integers that are exact as long as the result fits."""


# --- rebuilding --------------------------------------------------------------------------------------------------

_BINARY = {"mul": multiply, "floordiv": floordiv, "mod": mod, "min": minimum, "max": maximum, "and": both, "or": either}


def rebuild(node: Node, children: list[Node]) -> Node:
    """Return `node` over other children, simplified again."""
    op = node.op
    if op == "affine":
        return linear(node.args[0], [(child, k) for child, (_, k) in zip(children, node.args[1], strict=True)])
    if op in _BINARY:
        return _BINARY[op](*(children if len(children) == 2 else [children[0], node.args[1]]))
    match op:
        case "lt" | "le" | "eq":
            return compare(op, *children)
        case "where":
            return where(*children)
        case "load":
            assert node.dtype is not None
            return load(node.args[0], children[0], node.dtype)
        case "apply":
            return apply(node.args[0], children)
        case "cast":
            assert node.dtype is not None
            return cast(children[0], node.dtype)
        case "index":
            return index_of(children[0])
    raise AssertionError(f"a {op} has no children")
