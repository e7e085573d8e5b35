"""Products of matrices as the host's BLAS takes them: operands in memory, as they lie or the other way round."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinytrace.codegen.ir.arithmetic import rebuild, stride_along
from tinytrace.codegen.ir.nodes import Node, number, rewrite, walk
from tinytrace.codegen.ir.procedures import Procedure
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.codegen.plan.elements import Index
from tinytrace.codegen.plan.values import REPEATED
from tinytrace.core.dtypes import DType, is_half
from tinytrace.core.formulas import call_host, constant, place
from tinytrace.core.jaxpr import Atom
from tinytrace.records import NamedTuple


class Matrix(NamedTuple):
    """An operand as BLAS takes it: element (row, column) is at `offset + row * stride + column`, or the transpose."""

    array: Buffer
    offset: Node
    """Where the matrix begins; varies with the batch axes."""
    stride: int
    transposed: bool

    def seen(self, memory: np.ndarray[Any, Any], rows: int, columns: int) -> np.ndarray[Any, Any]:
        """Return the matrix that lies at the beginning of `memory`."""
        height, width = (columns, rows) if self.transposed else (rows, columns)
        size = memory.itemsize
        matrix = np.lib.stride_tricks.as_strided(memory, (height, width), (self.stride * size, size), writeable=False)
        return matrix.T if self.transposed else matrix


class Operand(NamedTuple):
    """An operand as what one of its elements is, over loops: those of the batch, then its rows, then its columns."""

    atom: Atom
    value: Node
    batch: Index
    rows: Index
    columns: Index

    @property
    def axes(self) -> Index:
        return (*self.batch, *self.rows, *self.columns)

    @property
    def is_repeated(self) -> bool:
        """Has it each element of what it is made of several times, and is it more than a core's cache holds?"""
        size = math.prod(map(extent, self.axes))
        arrays = {node.args[0] for node in walk([self.value]) if node.op == "load"}
        return size * self.atom.aval.dtype.itemsize >= LEAST_GATHERED and \
            REPEATED * sum(array.size for array in arrays) <= size


LEAST_GATHERED = 1 << 20
"""Bytes of an operand from which on it is gathered a block at a time."""


def gemm_of(dtype: DType, m: int, n: int, k: int, left: Matrix, right: Matrix, width: int = 0,
            adds: bool = False) -> Procedure:
    """Return the product of an m * k and a k * n matrix at the places lhs and rhs, stored at the place out.

    width: from one row of the result to the next; 0: n.  adds: is it added to what is there?
    """
    assert left.array.dtype == right.array.dtype == dtype, "the host multiplies matrices of one type"
    width = width or n
    name, one, zero = ("sgemm", "1.0f", "0.0f") if dtype == np.float32 else ("dgemm", "1.0", "0.0")
    call = call_host(name, int(left.transposed), int(right.transposed), m, n, k, constant(one), place("lhs"),
                     left.stride, place("rhs"), right.stride, constant(one if adds else zero), place("out"), width)

    def meaning(places: dict[str, np.ndarray[Any, Any]]) -> None:
        a, b = left.seen(places["lhs"], m, k), right.seen(places["rhs"], k, n)
        size = places["out"].itemsize
        out = np.lib.stride_tricks.as_strided(places["out"], (m, n), (width * size, size))
        out[...] = a @ b + out if adds else a @ b

    return Procedure(name, (call,), meaning)


def gemm_of_taps(dtype: DType, m: int, n: int, k: int, taps: int, tap: int, left: Matrix, right: Matrix, width: int,
                 adds: bool) -> Procedure:
    """Return the same, of rows of the left matrix that come in `taps` pieces of k elements, `tap` apart."""
    name, one, zero = ("sgemm_taps", "1.0f", "0.0f") if dtype == np.float32 else ("dgemm_taps", "1.0", "0.0")
    call = call_host(name, m, n, k, taps, tap, place("lhs"), left.stride, place("rhs"), right.stride,
                     constant(one if adds else zero), place("out"), width)

    def meaning(places: dict[str, np.ndarray[Any, Any]]) -> None:
        size, windows = places["out"].itemsize, np.lib.stride_tricks.as_strided
        a = windows(places["lhs"], (m, taps, k), (left.stride * size, tap * size, size), writeable=False)
        out = windows(places["out"], (m, n), (width * size, size))
        product = a.reshape(m, taps * k) @ right.seen(places["rhs"], taps * k, n)
        out[...] = product + out if adds else product

    return Procedure(name, (call,), meaning)


NARROW = {"float16": "shgemm", "bfloat16": "sbgemm", "int8": "i8gemm"}
"""The entries of the host for products of narrow types."""


def narrow_gemm_of(dtype: DType, out: DType, m: int, n: int, k: int, left: Matrix, right: Matrix) -> Procedure:
    """Return the same of a narrow type. Halves are added up as floats and rounded once, if the result is of halves."""
    rounds = [int(out == dtype)] if is_half(dtype) else []
    call = call_host(NARROW[dtype.name], int(left.transposed), int(right.transposed), m, n, k, place("lhs"),
                     left.stride, place("rhs"), right.stride, *rounds, place("out"), n)
    wide = np.float32 if is_half(dtype) else np.int32

    def meaning(places: dict[str, np.ndarray[Any, Any]]) -> None:
        a, b = left.seen(places["lhs"], m, k), right.seen(places["rhs"], k, n)
        places["out"][:m * n] = (a.astype(wide) @ b.astype(wide)).reshape(-1)

    return Procedure(NARROW[dtype.name], (call,), meaning)


def as_it_lies(operand: Operand, dtype: DType | None = None) -> Matrix | None:
    """Return the matrix that an operand is without moving it, if BLAS can read it so; dtype: the type that it wants."""
    if operand.value.op != "load" or (dtype is not None and operand.value.dtype != dtype):  # to NumPy None is float64
        return None
    rows, columns = operand.rows, operand.columns
    array, offset = operand.value.args
    height, width = math.prod(map(extent, rows)), math.prod(map(extent, columns))
    row_stride, column_stride = _common_stride(offset, rows, width), _common_stride(offset, columns, height)
    start, = rewrite([offset], {a: number(0) for a in (*rows, *columns) if a.op == "axis"}, rebuild)
    if column_stride == 1 and row_stride is not None and row_stride >= width:
        return Matrix(array, start, row_stride, False)
    if row_stride == 1 and column_stride is not None and column_stride >= height:
        return Matrix(array, start, column_stride, True)
    return None


def _common_stride(offset: Node, axes: Index, others: int) -> int | None:
    """Return the distance of neighbours when `axes` are walked through as one; None when there is no such distance.

    A single row or column has no neighbours: its distance is what suits the `others` along the matrix's other side.
    """
    real = [a for a in axes if a.op == "axis"]
    strides = [stride_along(offset, a) for a in real]
    if not real:
        return max(others, 1)
    expected = strides[-1]
    for a, stride in zip(reversed(real), reversed(strides), strict=True):
        if stride is None or stride != expected:
            return None
        expected = stride * a.args[1]
    return strides[-1]


def extent(axis: Node) -> int:
    """Return how many values a loop variable has; 1 for what stands where there is no choice."""
    return int(axis.args[1]) if axis.op == "axis" else 1
