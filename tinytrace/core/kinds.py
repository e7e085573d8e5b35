"""What a primitive's `lower` may answer: a closed set of kinds, the whole vocabulary between rooms and codegen.

The code generator asks for the kind and never for a name, so a new primitive never touches it. Kinds say what
one element of the output is; the generator decides loops, fusion, buffers and threads.

An `Expr` is a C expression under construction. Rooms receive the output index as a tuple of integer `Expr`s and a
`read(operand, index)` function, and combine them with Python operators:

    slice      lambda i, read: read(0, tuple(s + t * k for s, t, k in zip(start, stride, i)))
    reverse    lambda i, read: read(0, (n - 1 - i[0],))
    pad        lambda i, read: where(inside(i), read(0, shifted(i)), read(1, ()))
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, is_half
from tinytrace.core.formulas import Formula
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn
from tinytrace.core.operations import Operation
from tinytrace.records import NamedTuple

# --- index expressions -----------------------------------------------------------------------------------------

class Expr:
    """A C expression tree: `op` applied to `args`. Integer operators fold constants as they are built.

    Ops: const (args: a Python int), index (args: loop axis number), add sub mul floordiv mod min max (int64),
    lt le gt ge eq ne and or not (truth values), where (guard, a, b: only the chosen side is evaluated),
    read (operand number, index tuple), cast (value, np.dtype), literal (element, np.dtype).
    """

    __slots__ = ("args", "op")

    def __init__(self, op: str, args: tuple[Any, ...]) -> None:
        self.op = op
        self.args = args

    def __add__(self, other: IntLike) -> Expr:
        return _fold("add", self, as_expr(other))

    def __radd__(self, other: IntLike) -> Expr:
        return _fold("add", as_expr(other), self)

    def __sub__(self, other: IntLike) -> Expr:
        return _fold("sub", self, as_expr(other))

    def __rsub__(self, other: IntLike) -> Expr:
        return _fold("sub", as_expr(other), self)

    def __mul__(self, other: IntLike) -> Expr:
        return _fold("mul", self, as_expr(other))

    def __rmul__(self, other: IntLike) -> Expr:
        return _fold("mul", as_expr(other), self)

    def __floordiv__(self, other: IntLike) -> Expr:
        return _fold("floordiv", self, as_expr(other))

    def __mod__(self, other: IntLike) -> Expr:
        return _fold("mod", self, as_expr(other))

    def __lt__(self, other: IntLike) -> Expr:
        return _fold("lt", self, as_expr(other))

    def __le__(self, other: IntLike) -> Expr:
        return _fold("le", self, as_expr(other))

    def __gt__(self, other: IntLike) -> Expr:
        return _fold("gt", self, as_expr(other))

    def __ge__(self, other: IntLike) -> Expr:
        return _fold("ge", self, as_expr(other))

    def __and__(self, other: Expr) -> Expr:
        return _fold("and", self, as_expr(other))

    def __or__(self, other: Expr) -> Expr:
        return _fold("or", self, as_expr(other))

    def equals(self, other: IntLike) -> Expr:
        return _fold("eq", self, as_expr(other))


IntLike: TypeAlias = "Expr | int"
Index: TypeAlias = "tuple[Expr, ...]"
Read: TypeAlias = "Callable[[int, Sequence[IntLike]], Expr]"


def as_expr(x: IntLike) -> Expr:
    """Return `x` as an `Expr`; Python ints become constants."""
    return x if isinstance(x, Expr) else Expr("const", (int(x),))


def where(guard: Expr, if_true: Expr, if_false: Expr) -> Expr:
    """Return the expression that is `if_true` where `guard` holds; the other side is not evaluated."""
    if guard.op == "const":
        return if_true if guard.args[0] else if_false
    return Expr("where", (guard, if_true, if_false))


def clamp(x: IntLike, low: IntLike, high: IntLike) -> Expr:
    """Return `min(max(x, low), high)`, as dynamic slices clamp their starts."""
    return _fold("min", _fold("max", as_expr(x), as_expr(low)), as_expr(high))


def cast(x: IntLike, dtype: np.dtype[Any]) -> Expr:
    """Return integer `x` (an index, say) as a value of `dtype`."""
    return Expr("cast", (as_expr(x), dtype))


def literal(value: object, dtype: np.dtype[Any]) -> Expr:
    """Return an element of `dtype` that is always `value`: what a gather gives where it finds nothing."""
    return Expr("literal", (value, dtype))


def all_of(guards: Sequence[Expr]) -> Expr:
    """Return the conjunction of `guards`."""
    result = as_expr(1)
    for guard in guards:
        result = guard if result.op == "const" and result.args[0] == 1 else result & guard
    return result


_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "and": lambda a, b: int(bool(a and b)), "or": lambda a, b: int(bool(a or b)),
}
_IDENTITIES = {("add", 0), ("sub", 0), ("mul", 1), ("floordiv", 1), ("and", 1), ("or", 0)}


def _fold(op: str, a: Expr, b: Expr) -> Expr:
    if a.op == "const" and b.op == "const":
        return as_expr(int(_FOLDS[op](a.args[0], b.args[0])))
    if b.op == "const":
        if (op, b.args[0]) in _IDENTITIES:
            return a
        if (op, b.args[0]) in (("mul", 0), ("mod", 1), ("and", 0)):
            return as_expr(0)
    if a.op == "const" and op in ("add", "mul", "and", "or"):
        return _fold(op, b, a)
    return Expr(op, (a, b))


# --- the kinds -------------------------------------------------------------------------------------------------

class Scalar(NamedTuple):
    """`out[i] = operation(in0[i], in1[i], ...)`, element by element over operands of one shape or scalars."""

    operation: Operation


class IndexMap(NamedTuple):
    """`out[i] = element(i, read)`: moves elements, computes nothing (or only an index, as iota does)."""

    element: Callable[[Index, Read], Expr]


class Gather(NamedTuple):
    """An `IndexMap` whose reads depend on data: `element` reads indices, clamps or guards them, and reads with them."""

    element: Callable[[Index, Read], Expr]


class Reduction(NamedTuple):
    """Fold `axes` away with `combine`: a name of `core/monoids.py`, or argmax, argmin.

    max and min propagate NaN; argmax and argmin take the first extreme and treat NaN as the extreme. The result has
    the output's dtype (argmax's index dtype included); sums of float16 and bfloat16 accumulate in float32.
    """

    combine: str
    axes: tuple[int, ...]


class Scan1D(NamedTuple):
    """Running `combine`, a name of `core/monoids.py`, along `axis`, from the end when `reverse`."""

    combine: str
    axis: int
    reverse: bool


class Contraction(NamedTuple):
    """dot_general: sum of products over contracting dimensions, batch dimensions first in the output."""

    lhs_contract: tuple[int, ...]
    rhs_contract: tuple[int, ...]
    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]


SMALL_PRODUCT = 16 * 1024
"""Matrix products of at most this many multiplications are loops of our own; larger ones go to the BLAS."""
SMALL_IN_BATCH = 1024
"""Of a batch, products of at most this many multiplications each are loops of our own: a call costs as much."""


def is_small_product(kind: Contraction, lhs: ShapedArray, rhs: ShapedArray, out: ShapedArray) -> bool:
    """Is this a product, of a type that a library multiplies, that loops of our own do as well, or better?"""
    count = out.size * math.prod(lhs.shape[a] for a in kind.lhs_contract)
    batch = math.prod(lhs.shape[a] for a in kind.lhs_batch)
    return count <= max(SMALL_PRODUCT, batch * SMALL_IN_BATCH) or is_product_with_vector(kind, lhs, rhs)


def is_product_with_vector(kind: Contraction, lhs: ShapedArray, rhs: ShapedArray) -> bool:
    """Has one operand no dimension of its own (of size over 1)?"""
    def free(aval: ShapedArray, *others: tuple[int, ...]) -> int:
        taken = {a for axes in others for a in axes}
        return math.prod(size for a, size in enumerate(aval.shape) if a not in taken)

    return 1 in (free(lhs, kind.lhs_contract, kind.lhs_batch), free(rhs, kind.rhs_contract, kind.rhs_batch))


def is_product_of_bytes(kind: Contraction, lhs: ShapedArray, rhs: ShapedArray, out: ShapedArray) -> bool:
    """Is this a product of matrices of int8, large enough to be packed, whose sums have 32 bits?"""
    if not lhs.dtype == rhs.dtype == np.int8 or out.dtype != np.int32:
        return False
    sizes = _sizes(kind, lhs, rhs)
    return min(sizes) >= 16 and math.prod(sizes) > SMALL_PRODUCT


def is_product_of_halves(kind: Contraction, lhs: ShapedArray, rhs: ShapedArray, out: ShapedArray) -> bool:
    """Is this a product of float16 or bfloat16, not a small one, whose result has their type or that of its sums?"""
    return is_half(lhs.dtype) and lhs.dtype == rhs.dtype and out.dtype in (lhs.dtype, FLOAT32) \
        and not is_small_product(kind, lhs, rhs, out)


def _sizes(kind: Contraction, lhs: ShapedArray, rhs: ShapedArray) -> tuple[int, int, int]:
    """Return how many rows and columns each product of a batch has, and how many terms their sums."""
    depth = math.prod(lhs.shape[a] for a in kind.lhs_contract)
    batch = math.prod(lhs.shape[a] for a in kind.lhs_batch)
    rows, columns = (math.prod(x.shape) // max(depth * batch, 1) for x in (lhs, rhs))
    return rows, columns, depth


class Scatter(NamedTuple):
    """`out = copy(in0); for i over operand `updates`' shape, in order: out[target(i)] combine= in_updates[i]`.

    `target(i, read)` returns (index into out, guard Expr or None); a false guard drops the update.
    `combine`: set add mul min max.
    """

    combine: str
    updates: int
    target: Callable[[Index, Read], tuple[Sequence[IntLike], Expr | None]]


class Loop(NamedTuple):
    """A counted or conditional loop over jaxprs.

    Counted (`length` set, scan): operands are consts..., carry..., xs...; `body` maps (consts, carry, x slices) to
    (carry, y slices); `reverse` runs from the end. Conditional (`cond` set, while): operands are cond_consts...,
    body_consts..., carry...; `cond` maps (cond_consts, carry) to a bool, or under vmap to a bool per element of a
    batch, whose axes lead every carry: the loop turns while any element wants to, and one that does not rests.
    """

    body: ClosedJaxpr
    num_consts: int
    num_carry: int
    length: int | None = None
    reverse: bool = False
    unroll: int = 1
    cond: ClosedJaxpr | None = None
    cond_num_consts: int = 0


class Branch(NamedTuple):
    """Evaluate one of `branches` on operands[1:], chosen by operand 0 (int32, clamped into range)."""

    branches: tuple[ClosedJaxpr, ...]


class Call(NamedTuple):
    """Evaluate `jaxpr` on the operands; normally inlined by the passes before codegen."""

    jaxpr: ClosedJaxpr


class Routine(NamedTuple):
    """Call hand-written functions, of csrc/math or of the host, on whole contiguous buffers, one after the other.

    In `calls` the places in0, in1, ... and out0, ... are pointers to the operands and results; the place scratch is a
    workspace of `scratch` uint32, if there is one. Where there is a `batch`, these are the leading dimensions of all
    operands and results: the calls are for what is left of them, once for each index, in any order, and take `flops`.
    So are those for `pieces` of the first result, in which the place piece says where that piece begins.
    """

    calls: tuple[Formula, ...]
    scratch: int | None = None
    batch: tuple[int, ...] = ()
    flops: int = 0
    pieces: int = 1
    piece: int = 0  # elements from the beginning of a piece to that of the next
    has_status: bool = False  # do the calls return what an entry returns (csrc/tt_host.h)?
    takes_complex: bool = False
    separate: int = 0  # so many of the last calls make the first results, one each: not called where nobody reads it
    alone: tuple[Formula | None, ...] = ()  # for each of these, what is called instead if nobody reads another result
    optional: bool = False  # is the address of a result that nobody reads 0?


class HostCall(NamedTuple):
    """Return to Python for one call (debug.print, pure_callback): `function` maps ndarrays to ndarrays."""

    function: Callable[..., Any]


Kind: TypeAlias = (Scalar | IndexMap | Gather | Reduction | Scan1D | Contraction | Scatter | Loop | Branch | Call
                   | Routine | HostCall)


def kind_of(eqn: JaxprEqn) -> Kind:
    """Return what the primitive of an equation answers to `lower`.

    Raises: NotImplementedError if it has no meaning in C.
    """
    kind: Kind = eqn.primitive.lower([x.aval for x in eqn.invars], [v.aval for v in eqn.outvars], **eqn.params)
    return kind
