"""Which machine code computes one operation on small arrays: a loop of NumPy's ufunc, or one of csrc/own_loops.c.

A loop walks over addresses with strides. Operands of the result's shape and scalars are walked over at once, those that
are broadcast (a row that is added to each row) row by row.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace._dispatch import has_own_loop
from tinytrace.api.exactness import kind_or_none
from tinytrace.config import config
from tinytrace.core.array import Array
from tinytrace.core.dtypes import BOOL, FLOAT32, FLOAT64, DType, KeyType, is_float, is_inexact
from tinytrace.core.formulas import Formula
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.core.kinds import Scalar
from tinytrace.core.primitive import Primitive
from tinytrace.core.storage_types import STORAGE_TYPES
from tinytrace.primitives.arithmetic import div_p, max_p, min_p, rem_p
from tinytrace.primitives.broadcasting import broadcast_in_dim_p
from tinytrace.primitives.multiply_add import fma_p, fms_p, fnma_p
from tinytrace.primitives.select import select_n_p

InnerLoop = tuple["np.ufunc | str", int, tuple[tuple[int, int, int], ...], tuple[int, int], int,
                  "tuple[int, tuple[tuple[bool, bool], ...]] | None"]
"""A ufunc and which of its loops, or the name of one of ours, and 0; of each operand, where it comes from, NumPy's
number of its dtype, and its bytes; the latter two of the result; its elements, -1 for as many as the entry's result
has; rows, and whether each has its own elements of an operand, and more than one (csrc/loops.c)."""
InnerLoops = tuple[tuple[InnerLoop, ...], tuple[Array, ...]]
"""A few of them, one after the other, and constants. An operand is an argument (0, 1, ...), a constant (-1, -2, ...) or
what an earlier loop made (MADE, MADE + 1, ...)."""
MADE, MOST_LOOPS, FEW_LOOPS = 1 << 20, 16, 4
"""So many loops csrc/loops.c takes; so few take a call no longer than a compiled program does."""
MOST_OPERANDS = 4
"""Of an inner loop that is called directly."""
SHORTEST_ROW = 8
"""Elements: the loop is begun anew for each row."""
FUSED = frozenset({fma_p, fms_p, fnma_p})
OF_OWN_LOOPS = FUSED | {max_p, min_p}
"""Of floats; see csrc/own_loops.c."""
UFUNCS: dict[Callable[..., Any], np.ufunc] = {operator.eq: np.equal, operator.ne: np.not_equal}
"""Those for numbers of operations that keys have too."""
OF_FLOATS: dict[Primitive, np.ufunc] = {div_p: np.divide, rem_p: np.fmod}
OF_SYMBOLS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
OF_INTEGERS: dict[Primitive, np.ufunc] = {max_p: np.maximum, min_p: np.minimum}
"""Operations that are a ufunc for some dtypes, and more than that for others."""


def numpy_function(eqn: JaxprEqn) -> Callable[..., Any]:
    """Return what NumPy calls the operation: of numbers a ufunc where there is one, which has inner loops."""
    function = eqn.primitive.in_numpy(eqn.params)
    dtypes = [x.aval.dtype for x in eqn.invars]
    if not all(isinstance(dtype, np.dtype) and dtype.names is None for dtype in dtypes):
        return function
    if dtypes and eqn.primitive in OF_FLOATS and is_float(dtypes[0]):
        return OF_FLOATS[eqn.primitive]
    if dtypes and eqn.primitive in OF_INTEGERS and not is_inexact(dtypes[0]):
        return OF_INTEGERS[eqn.primitive]
    return UFUNCS.get(function, function)


def own_loop(eqn: JaxprEqn) -> str | None:
    """Return the name of our own loop for the operation, None where there is none."""
    primitive, dtypes = eqn.primitive, [x.aval.dtype for x in eqn.invars]
    if primitive is select_n_p and len(dtypes) == 3 and dtypes[0] == BOOL:
        return primitive.name
    if primitive in FUSED and not agrees(primitive.name, dtypes[0]):
        return None
    return primitive.name if primitive in OF_OWN_LOOPS and dtypes[0] in (FLOAT32, FLOAT64) else None


def math_loop(eqn: JaxprEqn) -> str | None:
    """Return the name of the function of csrc/math that the operation is, if there is a loop of it."""
    kind, dtypes = kind_or_none(eqn), {x.aval.dtype for x in (*eqn.invars, *eqn.outvars)}
    if dtypes != {FLOAT32} or not isinstance(kind, Scalar):
        return None
    match kind.operation.formula:
        case Formula(op="call", args=(str(name), *operands)) if [
                part.args[0] for part in operands if isinstance(part, Formula) and part.op == "operand"
                ] == list(range(len(eqn.invars))) and agrees(name, FLOAT32):
            return name
    return None


def arithmetic(eqn: JaxprEqn) -> Formula | None:
    """Return the formula of an operation that is several sums, differences, products and quotients of floats."""
    kind, dtypes = kind_or_none(eqn), {x.aval.dtype for x in (*eqn.invars, *eqn.outvars)}
    if dtypes not in ({FLOAT32}, {FLOAT64}) or not isinstance(kind, Scalar):
        return None
    return kind.operation.formula if kind.operation.is_arithmetic and not kind.operation.is_one_step else None


def agrees(name: str, dtype: DType) -> bool:
    """Is there a loop of a function that fuses products and sums, and does so as compiled programs do?

    A `-m` option in CC may say that these do not.
    """
    return " -m" not in config.compiler and has_own_loop(name, dtype.num, dtype.itemsize)


def is_broadcast(eqn: JaxprEqn) -> bool:
    """Does the equation do to its operand what NumPy does by itself where another operand is larger?"""
    if eqn.primitive is not broadcast_in_dim_p or len(eqn.invars) != 1:
        return False
    ndim, shape = eqn.invars[0].aval.ndim, eqn.params["shape"]
    return tuple(eqn.params["broadcast_dimensions"]) == tuple(range(len(shape) - ndim, len(shape)))


def inner_loop(function: Callable[..., Any], own: str | None, places: Sequence[int], dtypes: Sequence[DType],
               shapes: Sequence[tuple[int, ...]] | None, result: DType, shape: tuple[int, ...],
               is_number: bool = False) -> InnerLoop | None:
    """Return the loop that takes the operands as they are and gives what is asked for, None if none does.

    places: where each operand comes from.  shapes: of the operands; None where all are scalars or of one shape; then
    `is_number` says whether the result is a scalar, too.
    """
    if len(dtypes) > MOST_OPERANDS or any(isinstance(x, KeyType) or x in STORAGE_TYPES for x in (*dtypes, result)):
        return None  # the letters of some of the latter are also those of NumPy's types
    index = 0
    if isinstance(function, np.ufunc) and own is None:
        signature = f"{''.join(dtype.char for dtype in dtypes)}->{result.char}"
        if function.nout != 1 or function.signature is not None or signature not in function.types:
            return None
        index = function.types.index(signature)
    rows = None if shapes is None or set(shapes) <= {(), shape} else _rows(shapes, shape)
    loop = function if isinstance(function, np.ufunc) and own is None else own
    if rows is NotImplemented or loop is None:
        return None
    operands = tuple([(place, int(dtype.num), dtype.itemsize) for place, dtype in zip(places, dtypes, strict=True)])
    size = math.prod(shape) if shapes is not None else 1 if is_number else -1
    return loop, index, operands, (int(result.num), result.itemsize), size, rows


def _rows(shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> Any:
    """Return how many rows operands of these shapes are walked over by, and which steps they take; NotImplemented: more
    than one loop over rows would be needed, or they are short."""
    padded = [(1,) * (len(shape) - len(each)) + each for each in shapes]
    for k in range(1, len(shape)):
        parts = [(each[:k], each[k:]) for each in padded]
        if all(math.prod(part) == 1 or part == whole
               for each in parts for part, whole in zip(each, (shape[:k], shape[k:]), strict=True)):
            if math.prod(shape[k:]) < SHORTEST_ROW:
                return NotImplemented
            return math.prod(shape[:k]), tuple([(math.prod(row) > 1, math.prod(rest) > 1) for row, rest in parts])
    return NotImplemented
