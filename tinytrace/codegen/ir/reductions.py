"""Folds in loops: where they start, how they take one more, and what vectorises; which there are: `core/monoids.py`.

A maximum must be NaN when any element is. Written as one operation that is right from either side, but which compilers
do not turn into a vector reduction; so a loop that folds into one variable keeps two, the maximum of the numbers and
whether a NaN was seen (`NAN_BLIND`), and a fold into many places uses the one operation.
"""
from __future__ import annotations

from typing import Any

from tinytrace.codegen.ir.inserted_operations import fold_operation
from tinytrace.codegen.ir.nodes import Node
from tinytrace.core.dtypes import FLOAT32, FLOAT64, DType, is_complex, is_float, is_half
from tinytrace.core.monoids import monoids
from tinytrace.core.operations import Operation
from tinytrace.primitives.multiply_add import fma_p, fnma_p
from tinytrace.records import NamedTuple


class Fold(NamedTuple):
    """An associative operation on elements."""

    operation: Operation
    """Of what is folded so far, and the next element."""
    is_vectorised: bool
    """Do compilers turn a loop that folds into one variable into vectors?"""


def fold_of(combine: str, dtype: DType) -> Fold:
    """Return the operation called `combine` on elements of type `dtype`."""
    is_vectorised = bool(monoids[combine].clause) and not is_complex(dtype)
    return Fold(fold_operation(combine, accumulator_type(dtype)), is_vectorised)


def propagating(combine: str, dtype: DType) -> str:
    """Return the name of the operation that is right for NaN when it stands alone."""
    return f"nan_{combine}" if combine in ("max", "min") and is_float(dtype) else combine


class Product(NamedTuple):
    """What takes `a * b` into a sum with one rounding: `operation(a, b, sum)`."""

    operation: Operation
    factors: tuple[Node, Node]


def product_taken_in(combine: str, element: Node) -> Product | None:
    """Return how a sum takes in an element that is a product of floats; None for other folds and elements.

    One rounding, where the machine can: the loops that this is written in are the same for every length. Not in a loop
    that waits for its fold (`c/clauses.py`): there it would make each step longer.
    """
    fused = {"sum": fma_p, "sub": fnma_p}.get(combine)
    if fused is None or element.op != "apply" or element.dtype not in (FLOAT32, FLOAT64):
        return None
    factors = element.args[0].factors
    if factors is None:
        return None
    j, k = factors
    return Product(fused.operation(element.dtype, element.dtype, element.dtype),
                   (element.children[j], element.children[k]))


def accumulator_type(dtype: DType) -> DType:
    """Return the type in which elements of type `dtype` are folded."""
    return FLOAT32 if is_half(dtype) else dtype


def identity(combine: str, dtype: DType) -> Any:
    """Return the element that changes nothing."""
    return monoids[combine].identity(dtype)
