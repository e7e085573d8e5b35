"""Matrix products by the host's BLAS: operands as they lie, transposed or not; anything else is copied first.

Small products, and those with a vector, do not come here: they are loops (`plan/products.py`).
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinytrace.codegen.ir.arithmetic import flat_offset, linear, rebuild, stride_along
from tinytrace.codegen.ir.kernel import Kernel, Nest
from tinytrace.codegen.ir.nodes import Node, number, rewrite
from tinytrace.codegen.ir.procedures import Procedure
from tinytrace.codegen.ir.statements import Buffer, Call, For, Place, Stmt
from tinytrace.codegen.plan.elements import Index, domain_axes
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.schedule.collapse import merge_loops
from tinytrace.codegen.schedule.copies import store_nest
from tinytrace.core.formulas import call_host, constant, place
from tinytrace.core.jaxpr import Atom, JaxprEqn
from tinytrace.core.kinds import Contraction


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


def product(scope: Scope, eqn: JaxprEqn, kind: Contraction) -> list[Kernel]:
    """Return the kernels of a large dot_general: copies where an operand needs one, then the product of each batch."""
    (lhs, rhs), out = eqn.invars, eqn.outvars[0]
    batch = [lhs.aval.shape[a] for a in kind.lhs_batch]
    depth = [lhs.aval.shape[a] for a in kind.lhs_contract]
    rows = _others(lhs, kind.lhs_batch, kind.lhs_contract)
    columns = _others(rhs, kind.rhs_batch, kind.rhs_contract)
    m, n, k = (math.prod(x) for x in ([lhs.aval.shape[a] for a in rows], [rhs.aval.shape[a] for a in columns], depth))

    axes = domain_axes(batch)
    before: list[Kernel] = []
    left = _matrix(scope, lhs, axes, kind.lhs_batch, rows, kind.lhs_contract, before)
    right = _matrix(scope, rhs, axes, kind.rhs_batch, kind.rhs_contract, columns, before)
    result = scope.result_array(out)
    gemm = _gemm("sgemm" if out.aval.dtype == np.float32 else "dgemm", m, n, k, left, right)
    loops, offsets = merge_loops(axes, [left.offset, right.offset, linear(0, [(flat_offset(axes, batch), m * n)])])
    places: dict[str, Place] = {"lhs": (left.array, offsets[0]), "rhs": (right.array, offsets[1]),
                                "out": (result, offsets[2])}
    body: list[Stmt] = [Call(gemm, places, ("out",), flops=2 * m * n * k, rows=m)]
    for axis in reversed(loops):
        body = [For(axis, number(0), number(axis.args[1]), body, independent=True)]
    return [*before, Nest(scope.equations(eqn), body=body)]


def _gemm(name: str, m: int, n: int, k: int, left: Matrix, right: Matrix) -> Procedure:
    """Return the product of an m * k and a k * n matrix at the places lhs and rhs, stored at the place out."""
    one, zero = ("1.0f", "0.0f") if name == "sgemm" else ("1.0", "0.0")
    call = call_host(name, int(left.transposed), int(right.transposed), m, n, k, constant(one), place("lhs"),
                     left.stride, place("rhs"), right.stride, constant(zero), place("out"), n)

    def meaning(places: dict[str, np.ndarray[Any, Any]]) -> None:
        a, b = left.seen(places["lhs"], m, k), right.seen(places["rhs"], k, n)
        places["out"][:m * n] = (a @ b).reshape(-1)

    return Procedure(name, (call,), meaning)


def _others(operand: Atom, *axes: tuple[int, ...]) -> tuple[int, ...]:
    taken = {a for group in axes for a in group}
    return tuple(a for a in range(operand.aval.ndim) if a not in taken)


def _matrix(scope: Scope, operand: Atom, batch: Index, batch_dims: Sequence[int], row_dims: Sequence[int],
            column_dims: Sequence[int], before: list[Kernel]) -> Matrix:
    shape = operand.aval.shape
    axes = domain_axes([*map(_extent, batch), *(shape[d] for d in (*row_dims, *column_dims))])
    at: dict[int, Node] = dict(zip((*batch_dims, *row_dims, *column_dims), axes, strict=True))
    node = scope.resolved(scope.elements(operand, tuple(at[d] for d in range(len(shape)))))
    rows, columns = axes[len(batch):len(batch) + len(row_dims)], axes[len(batch) + len(row_dims):]
    found = _as_it_lies(node, rows, columns)
    if found is None:
        name = scope.unit.names.fresh("packed")
        copy = Buffer(name, tuple(_extent(a) for a in axes), operand.aval.dtype, "workspace")
        before.append(store_nest(node, axes, copy))
        height, width = math.prod(map(_extent, rows)), math.prod(map(_extent, columns))
        which = flat_offset(axes[:len(batch)], copy.shape[:len(batch)])
        found = Matrix(copy, linear(0, [(which, height * width)]), width, False)
    return found


def _as_it_lies(node: Node, rows: Index, columns: Index) -> Matrix | None:
    """Return the matrix that an operand is without moving it, if BLAS can read it so."""
    if node.op != "load":
        return None
    array, offset = node.args
    height, width = math.prod(map(_extent, rows)), math.prod(map(_extent, columns))
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


def _extent(axis: Node) -> int:
    return int(axis.args[1]) if axis.op == "axis" else 1

