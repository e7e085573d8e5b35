"""The operations that the code generator puts in itself: arithmetic on partial results, tests for NaN, folds.

Each has a record like those of rooms (`core/operations.py`), so that passes, the C writer and the interpreter need not
know where an operation comes from. Arithmetic has the names and formulas that rooms use: equal expressions are one.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinytrace.codegen.ir.nodes import Node, apply
from tinytrace.core.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, INT16, DType, is_half
from tinytrace.core.formulas import Formula, call, call_named, cast, choose, either, operand, product
from tinytrace.core.monoids import monoids
from tinytrace.core.operations import BITS_OF_HALVES, HALVES_OF_BITS, Operation, operation

NDArray: TypeAlias = "np.ndarray[Any, Any]"

# --- arithmetic --------------------------------------------------------------------------------------------------

@functools.cache
def add(dtype: DType) -> Operation:
    """Return `x + y`."""
    return _of_two("add", dtype, lambda x, y: x + y, np.add, "commutative")


@functools.cache
def sub(dtype: DType) -> Operation:
    """Return `x - y`."""
    return _of_two("sub", dtype, lambda x, y: x - y, np.subtract)


@functools.cache
def mul(dtype: DType) -> Operation:
    """Return `x * y`."""
    return _of_two("mul", dtype, product, np.multiply, "commutative")


@functools.cache
def div(dtype: DType) -> Operation:
    """Return `x / y`, of floats."""
    return _of_two("div", dtype, lambda x, y: x / y, np.divide)


@functools.cache
def neg(dtype: DType) -> Operation:
    """Return `-x`."""
    return operation("neg", (dtype,), dtype, -operand(0, dtype), np.negative, laws=("odd", "involution"))


@functools.cache
def reciprocal(dtype: DType) -> Operation:
    """Return what an integer is divided by y with, by products: `tt_reciprocal_u32` in csrc/math tells it."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return operation("reciprocal", (dtype,), unsigned, call("reciprocal", operand(0, dtype)),
                     lambda y: np.array([_reciprocal(int(v), 8 * dtype.itemsize) for v in np.ravel(y)],
                                        unsigned).reshape(np.shape(y)), 0)


def _reciprocal(y: int, width: int) -> int:
    divisor = abs(y) or 1
    bits = (divisor - 1).bit_length()
    return (((1 << bits) - divisor) << width) // divisor + 1


@functools.cache
def divided(plain: Operation) -> Operation:
    """Return the quotient or remainder `plain` of x and y, by the reciprocal of y, which is the third operand."""
    x, y = (operand(k, dtype) for k, dtype in enumerate(plain.operands))
    by = operand(2, np.dtype(f"u{plain.result.itemsize}"))
    return operation(f"{plain.name}_by", (*plain.operands, np.dtype(f"u{plain.result.itemsize}")), plain.result,
                     call(f"{plain.name}_by", x, y, by), lambda x, y, by: plain.numpy(x, y), 0)


@functools.cache
def half_by_number(dtype: DType, divisor: float) -> tuple[Operation, Any] | None:
    """Return the quotient of a two-byte float by a number as a product, and the float to multiply by.

    None unless all have the same quotient: most have, for a float has more than twice as many bits.
    """
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        inverse = np.float32(1) / np.float32(divisor)
        by_quotient = (every.astype(np.float32) / np.float32(divisor)).astype(dtype)
        by_product = _times_float(every, inverse)
        are_nan = (by_quotient != by_quotient) & (by_product != by_product)
    if not np.isfinite(inverse) or not (are_nan | (by_quotient.view(np.uint16) == by_product.view(np.uint16))).all():
        return None
    formula = operand(0, dtype) * operand(1, FLOAT32)
    return operation("times", (dtype, FLOAT32), dtype, formula, _times_float, 0.5), inverse


def _times_float(x: NDArray, y: Any) -> NDArray:
    product: NDArray = (x.astype(np.float32) * y).astype(x.dtype)
    return product


def converted(node: Node, dtype: DType) -> Node:
    """Return an element as one of type `dtype`: `node` itself, if it is one."""
    if node.dtype == dtype:
        return node
    assert node.dtype is not None
    return apply(_convert(node.dtype, dtype), (node,))


@functools.cache
def _convert(source: DType, dtype: DType) -> Operation:
    return operation("convert", (source,), dtype, operand(0, source), lambda x: x.astype(dtype))


def factor(node: Node, dtype: DType) -> Node:
    """Return an element as a factor of a product of type `dtype`.

    C multiplies in the types of the factors, whatever the product is added to: of two int32_t it is an int32_t.
    """
    if node.dtype is None or node.dtype == dtype or (is_half(node.dtype) and dtype != BOOL) or is_half(dtype):
        return converted(node, dtype)
    return apply(_factor(node.dtype, dtype), (node,))


@functools.cache
def _factor(source: DType, dtype: DType) -> Operation:
    name = {"f4": "float", "f8": "double"}.get(f"{dtype.kind}{dtype.itemsize}", f"{dtype.name}_t")
    x = operand(0, source)
    return operation("factor", (source,), dtype, x.differs(0) if dtype == BOOL else cast(name, x),
                     lambda x: x.astype(dtype))


# --- choices and tests -------------------------------------------------------------------------------------------

@functools.cache
def select(dtype: DType, flag: DType = BOOL) -> Operation:
    """Return `which ? x : y`."""
    formula = choose(operand(0, flag), operand(1, dtype), operand(2, dtype))
    return operation("select", (flag, dtype, dtype), dtype, formula, np.where)


@functools.cache
def is_nan(dtype: DType) -> Operation:
    """Return `x != x`, as an integer that is as wide as x: a vector of flags is no narrower than one of elements."""
    x, flag = operand(0, dtype), np.dtype(f"i{dtype.itemsize}")
    return operation("is_nan", (dtype,), flag, x.differs(x), lambda x: np.isnan(x).astype(flag))


@functools.cache
def is_set(dtype: DType) -> Operation:
    """Return `x != 0`, the truth value of a flag."""
    return operation("is_set", (dtype,), BOOL, operand(0, dtype).differs(0), lambda x: x != 0)


@functools.cache
def finite_or_zero(dtype: DType) -> Operation:
    """Return x, or 0 for an infinity or NaN."""
    x = operand(0, dtype)
    return operation("finite_or_zero", (dtype,), dtype, choose((x - x).equals(0), x, 0),
                     lambda x: np.where(np.isfinite(x), x, x.dtype.type(0)), 0, ("idempotent",))


@functools.cache
def if_finite(dtype: DType) -> Operation:
    """Return y where x is finite, else z."""
    x, y, z = (operand(k, dtype) for k in range(3))
    return operation("if_finite", (dtype, dtype, dtype), dtype, choose((x - x).equals(0), y, z),
                     lambda x, y, z: np.where(np.isfinite(x), y, z), 0)


@functools.cache
def nan_unless_finite(dtype: DType) -> Operation:
    """Return x, or NaN where y is infinite or NaN: x + 0 * y."""
    return _of_two("nan_unless_finite", dtype, lambda x, y: x + 0 * y, lambda x, y: x + x.dtype.type(0) * y)


@functools.cache
def position_of(dtype: DType, positions: DType, propagates: bool) -> Operation:
    """Return `position` where x is the extreme, else `none`; where a NaN is the extreme, every NaN is it."""
    x, extreme, position, none = operand(0, dtype), operand(1, dtype), operand(2, positions), operand(3, positions)
    test = either(x.equals(extreme), x.differs(x)) if propagates else x.equals(extreme)
    return operation("position_of", (dtype, dtype, positions, positions), positions, choose(test, position, none),
                     lambda x, extreme, position, none: np.where((x == extreme) | (x != x), position, none))


def is_search(value: Node) -> bool:
    """Does a loop that folds `value` look for the place of an extreme?"""
    return value.op == "apply" and value.args[0].name == "position_of"


# --- two-byte floats as integers ---------------------------------------------------------------------------------

_INFINITY = {FLOAT16: 0x7C00, BFLOAT16: 0x7F80}
"""Their bits; those of a NaN are more, but for the sign."""
_RANK_OF_NAN = {"max": 0x7FFF, "min": -0x8000}


def rank(node: Node, combine: str) -> Node:
    """Return an integer for a two-byte float in memory: as they are ordered; NaN is what a `max` or `min` gives."""
    assert node.dtype is not None
    return apply(_rank_of_bits(node.dtype, combine), (apply(_bits_of(node.dtype), (node,)),))


@functools.cache
def _bits_of(dtype: DType) -> Operation:
    return operation("bits_of", (dtype,), INT16, cast("int16_t", call_named(BITS_OF_HALVES[dtype], operand(0, dtype))),
                     lambda x: x.view(INT16), 0)


@functools.cache
def _rank_of_bits(dtype: DType, combine: str) -> Operation:
    infinity, of_nan = _INFINITY[dtype], _RANK_OF_NAN[combine]
    return operation("rank_of_bits", (INT16,), INT16,
                     call_named("tt_rank_of_bits", operand(0, INT16), infinity, of_nan),
                     lambda bits: np.where((bits & 0x7FFF) > infinity, of_nan, _turned(bits)).astype(INT16), 0)


@functools.cache
def at_rank(dtype: DType) -> Operation:
    """Return the two-byte float that `rank` gives an integer for."""
    infinity, nan = _INFINITY[dtype], int(np.array(np.nan, dtype).view(INT16))
    bits = call_named("tt_bits_at_rank", operand(0, INT16), infinity, nan)

    def of_ranks(ranks: NDArray) -> NDArray:
        bits = _turned(ranks)
        return np.where((bits & 0x7FFF) > infinity, nan, bits).astype(INT16).view(dtype)

    return operation("at_rank", (INT16,), dtype, call_named(HALVES_OF_BITS[dtype], bits), of_ranks, 0)


def _turned(bits: NDArray) -> NDArray:
    """Return bits in the order of the floats that have them, and those back: of a negative one all but the sign."""
    turned: NDArray = bits ^ (bits >> 15 & 0x7FFF)
    return turned


# --- folds -------------------------------------------------------------------------------------------------------

@functools.cache
def fold_operation(combine: str, dtype: DType) -> Operation:
    """Return the operation that takes one more element, its second operand, into what is folded so far."""
    fold = monoids[combine]
    return _of_two(fold.operation, dtype, fold.formula, fold.of_two or fold.ufunc, fold.laws)


def _of_two(name: str, dtype: DType, formula: Callable[[Formula, Formula], Formula], numpy: Callable[..., object],
            laws: str = "") -> Operation:
    x, y = operand(0, dtype), operand(1, dtype)
    return operation(name, (dtype, dtype), dtype, formula(x, y), numpy, laws=laws.split())
