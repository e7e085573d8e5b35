"""Matrix products by the host: operands as they lie, transposed or not; anything else is copied first.

Small products, and those with a vector, do not come here: they are loops (`plan/products.py`). What has the elements of
an array again and again, as the windows of a convolution do, is copied a block at a time (`panels.py`).
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tinytrace.codegen.ir.arithmetic import flat_offset, linear
from tinytrace.codegen.ir.kernel import Kernel, Nest
from tinytrace.codegen.ir.nodes import Node, number
from tinytrace.codegen.ir.statements import Buffer, Call, Either, For, Place, Stmt
from tinytrace.codegen.plan.elements import Index, domain_axes
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.schedule.collapse import merge_loops
from tinytrace.codegen.schedule.copies import store_nest
from tinytrace.codegen.whole.gemm import NARROW, Matrix, Operand, as_it_lies, extent, gemm_of, narrow_gemm_of
from tinytrace.codegen.whole.matrices_of_bytes import product_of_bytes
from tinytrace.codegen.whole.panels import product_in_panels
from tinytrace.core.dtypes import DType
from tinytrace.core.jaxpr import Atom, JaxprEqn
from tinytrace.core.kinds import Contraction, is_product_of_halves


def product(scope: Scope, eqn: JaxprEqn, kind: Contraction) -> list[Kernel]:
    """Return the kernels of a large dot_general: copies where an operand needs one, then the product of each batch."""
    (lhs, rhs), out = eqn.invars, eqn.outvars[0]
    batch = [lhs.aval.shape[a] for a in kind.lhs_batch]
    rows = _others(lhs, kind.lhs_batch, kind.lhs_contract)
    columns = _others(rhs, kind.rhs_batch, kind.rhs_contract)
    axes = domain_axes(batch)
    left = _operand(scope, lhs, axes, kind.lhs_batch, rows, kind.lhs_contract)
    right = _operand(scope, rhs, axes, kind.rhs_batch, kind.rhs_contract, columns)
    sizes = _size(left.rows), _size(right.columns), _size(left.columns)
    before: list[Kernel] = []
    body: list[Stmt]
    wide, result = out.aval.dtype, scope.result_array(out)
    if is_product_of_halves(kind, lhs.aval, rhs.aval, out.aval):
        first, second = (as_it_lies(operand) or _copied(scope, operand, before) for operand in (left, right))
        body = _by_host(axes, first, second, result, sizes)
        return [*before, Nest(scope.equations(eqn), body=body)]
    if lhs.aval.dtype == np.int8:
        body = [_of_bytes(scope, axes, left, right, result, sizes, before)]
        return [*before, Nest(scope.equations(eqn), body=body)]
    for k, (operand, other) in enumerate(((left, right), (right, left))):
        if as_it_lies(operand, wide) is None and operand.is_repeated:
            matrix = as_it_lies(other, wide) or _copied(scope, other, before, wide)
            name = scope.unit.names.fresh("panel")
            panels = product_in_panels(operand, not k, matrix, result, name)
            return [*before, Nest(scope.equations(eqn), body=panels)]
    first, second = (as_it_lies(operand, wide) or _copied(scope, operand, before, wide) for operand in (left, right))
    return [*before, Nest(scope.equations(eqn), body=_by_host(axes, first, second, result, sizes))]


def _by_host(batch: Index, first: Matrix, second: Matrix, result: Buffer, sizes: tuple[int, int, int]) -> list[Stmt]:
    """Return the product of each batch as a call of the host."""
    m, n, k = sizes
    dtype = first.array.dtype
    gemm = narrow_gemm_of(dtype, result.dtype, m, n, k, first, second) if dtype.name in NARROW else \
        gemm_of(result.dtype, m, n, k, first, second)
    which = flat_offset(batch, tuple(map(extent, batch)))
    loops, offsets = merge_loops(batch, [first.offset, second.offset, linear(0, [(which, m * n)])])
    places: dict[str, Place] = {"lhs": (first.array, offsets[0]), "rhs": (second.array, offsets[1]),
                                "out": (result, offsets[2])}
    body: list[Stmt] = [Call(gemm, places, ("out",), flops=2 * m * n * k, rows=m)]
    for axis in reversed(loops):
        body = [For(axis, number(0), number(axis.args[1]), body, independent=True)]
    return body


def _of_bytes(scope: Scope, batch: Index, left: Operand, right: Operand, result: Buffer, sizes: tuple[int, int, int],
              before: list[Kernel]) -> Either:
    """Return the product by the host where it has tile registers; else in blocks, of operands that lie row by row."""
    matrices = [as_it_lies(operand) or _copied(scope, operand, before) for operand in (left, right)]
    rows: list[Matrix] = []
    copies: list[Kernel] = []
    for operand, matrix in zip((left, right), matrices, strict=True):
        rows.append(_copied(scope, operand, copies) if matrix.transposed else matrix)
    blocks = [stmt for copy in copies if isinstance(copy, Nest) for stmt in copy.body]
    blocks += product_of_bytes(batch, rows[0], rows[1], result, sizes, scope.unit.names.fresh("rows"))
    return Either("has_tiles", _by_host(batch, matrices[0], matrices[1], result, sizes), blocks, is_asked=True)


def _size(axes: Index) -> int:
    return math.prod(map(extent, axes))


def _others(operand: Atom, *axes: tuple[int, ...]) -> tuple[int, ...]:
    taken = {a for group in axes for a in group}
    return tuple(a for a in range(operand.aval.ndim) if a not in taken)


def _operand(scope: Scope, atom: Atom, batch: Index, batch_dims: Sequence[int], row_dims: Sequence[int],
             column_dims: Sequence[int]) -> Operand:
    shape = atom.aval.shape
    axes = domain_axes([*map(extent, batch), *(shape[d] for d in (*row_dims, *column_dims))])
    at: dict[int, Node] = dict(zip((*batch_dims, *row_dims, *column_dims), axes, strict=True))
    value = scope.resolved(scope.elements(atom, tuple(at[d] for d in range(len(shape)))))
    first = len(batch) + len(row_dims)
    return Operand(atom, value, axes[:len(batch)], axes[len(batch):first], axes[first:])


def _copied(scope: Scope, operand: Operand, before: list[Kernel], dtype: DType | None = None) -> Matrix:
    """Return an operand after copying it as a whole; dtype: the type of the copy, if it is another one."""
    shape = tuple(map(extent, operand.axes))
    copy = Buffer(scope.unit.names.fresh("packed"), shape, dtype or operand.atom.aval.dtype, "workspace")
    before.append(store_nest(operand.value, operand.axes, copy))
    height, width = math.prod(map(extent, operand.rows)), math.prod(map(extent, operand.columns))
    which = flat_offset(operand.batch, copy.shape[:len(operand.batch)])
    return Matrix(copy, linear(0, [(which, height * width)]), width, False)
