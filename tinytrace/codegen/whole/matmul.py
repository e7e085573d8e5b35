"""Matrix products by the host's BLAS: operands as they lie, transposed or not; anything else is copied first.

Small products, and those with a vector, do not come here: they are loops (`plan/products.py`). What has the elements of
an array again and again, as the windows of a convolution do, is copied a block at a time (`panels.py`).
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tinytrace.codegen.ir.arithmetic import flat_offset, linear
from tinytrace.codegen.ir.kernel import Kernel, Nest
from tinytrace.codegen.ir.nodes import Node, load, number
from tinytrace.codegen.ir.statements import Buffer, Call, Either, For, Place, Stmt
from tinytrace.codegen.plan.elements import Index, domain_axes
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.schedule.collapse import merge_loops
from tinytrace.codegen.schedule.copies import store_nest
from tinytrace.codegen.whole.gemm import Matrix, Operand, as_it_lies, extent, gemm_of
from tinytrace.codegen.whole.narrow_matrices import BYTES, TILES, product_in_blocks, rows_as_they_lie
from tinytrace.codegen.whole.panels import product_in_panels
from tinytrace.core.dtypes import DType
from tinytrace.core.jaxpr import Atom, JaxprEqn
from tinytrace.core.kinds import Contraction, is_product_of_bfloat16


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
    if lhs.aval.dtype == np.int8:
        first, second = (rows_as_they_lie(operand) or _copied(scope, operand, before) for operand in (left, right))
        name = scope.unit.names.fresh("rows")
        parts: list[Stmt] = product_in_blocks(BYTES, axes, first, second, scope.result_array(out), sizes, name)
        return [*before, Nest(scope.equations(eqn), body=parts)]
    wide = out.aval.dtype
    if is_product_of_bfloat16(kind, lhs.aval, rhs.aval, out.aval):
        either = _of_bfloat16(scope, axes, left, right, scope.result_array(out), sizes, before)
        return [*before, Nest(scope.equations(eqn), body=[either])]
    for k, (operand, other) in enumerate(((left, right), (right, left))):
        if as_it_lies(operand, wide) is None and operand.is_repeated:
            matrix = as_it_lies(other, wide) or _copied(scope, other, before, wide)
            name = scope.unit.names.fresh("panel")
            panels = product_in_panels(operand, not k, matrix, scope.result_array(out), name)
            return [*before, Nest(scope.equations(eqn), body=panels)]
    first, second = (as_it_lies(operand, wide) or _copied(scope, operand, before, wide) for operand in (left, right))
    return [*before, Nest(scope.equations(eqn), body=_by_blas(axes, first, second, scope.result_array(out), sizes))]


def _by_blas(batch: Index, first: Matrix, second: Matrix, result: Buffer, sizes: tuple[int, int, int]) -> list[Stmt]:
    """Return the product of each batch as a call of the host."""
    m, n, k = sizes
    gemm = gemm_of(result.dtype, m, n, k, first, second)
    which = flat_offset(batch, tuple(map(extent, batch)))
    loops, offsets = merge_loops(batch, [first.offset, second.offset, linear(0, [(which, m * n)])])
    places: dict[str, Place] = {"lhs": (first.array, offsets[0]), "rhs": (second.array, offsets[1]),
                                "out": (result, offsets[2])}
    body: list[Stmt] = [Call(gemm, places, ("out",), flops=2 * m * n * k, rows=m)]
    for axis in reversed(loops):
        body = [For(axis, number(0), number(axis.args[1]), body, independent=True)]
    return body


def _of_bfloat16(scope: Scope, batch: Index, left: Operand, right: Operand, result: Buffer,
                 sizes: tuple[int, int, int], before: list[Kernel]) -> Either:
    """Return the product by tile registers where the CPU has them; else of operands that are converted to floats."""
    rows = [rows_as_they_lie(operand) or _copied(scope, operand, before) for operand in (left, right)]
    tiles = product_in_blocks(TILES, batch, rows[0], rows[1], result, sizes, scope.unit.names.fresh("rows"))
    floats: list[Stmt] = []
    wide: list[Matrix] = []
    for operand, matrix in zip((left, right), rows, strict=True):
        nests: list[Kernel] = []
        value = operand.value
        if value.op != "load" or value.args[0] is not matrix.array:  # it was copied
            value = load(matrix.array, flat_offset(operand.axes, tuple(map(extent, operand.axes))), matrix.array.dtype)
        wide.append(_copied(scope, operand._replace(value=value), nests, result.dtype))
        floats += [stmt for nest in nests if isinstance(nest, Nest) for stmt in nest.body]
    floats += _by_blas(batch, wide[0], wide[1], result, sizes)
    return Either("tt_has_tiles_bf16", tiles, floats, is_asked=True, rounds_alike=False)


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
