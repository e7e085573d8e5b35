"""Products of narrow matrices: blocks of rows, each packed and multiplied by a function of csrc/math.

    for block: out[block] = a[block] @ b

Sums of int8 have 32 bits, wrap and are exact, so it does not matter in which order they are added, nor by which
instructions. bfloat16 is multiplied so by tile registers, where a CPU has them, and added in floats; elsewhere its
products are the BLAS's, of floats.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.codegen.ir.arithmetic import flat_offset, linear
from tinytrace.codegen.ir.nodes import Node, axis, number
from tinytrace.codegen.ir.procedures import Procedure
from tinytrace.codegen.ir.statements import Buffer, Call, For, Place, Stmt
from tinytrace.codegen.plan.elements import Index
from tinytrace.codegen.schedule.collapse import merge_loops
from tinytrace.codegen.whole.gemm import Matrix, Operand, as_it_lies, extent
from tinytrace.core.formulas import call_named, place
from tinytrace.records import NamedTuple


class Blocks(NamedTuple):
    """A function of csrc/math that multiplies a block of rows."""

    function: str
    most_rows: int
    """Of a block; each packs the second matrix anew."""
    dtype: type
    """In which the meaning adds."""


BYTES = Blocks("tt_product_i8", 128, np.int32)
"""TT_MOST_ROWS of csrc/math/products.h."""
TILES = Blocks("tt_product_bf16", 256, np.float64)
"""csrc/math/tiles.h: packing a matrix costs there as much as multiplying some tens of rows by it."""


def rows_as_they_lie(operand: Operand) -> Matrix | None:
    """Return the matrix that an operand is without moving it, if its rows lie in memory as rows."""
    matrix = as_it_lies(operand)
    return None if matrix is None or matrix.transposed else matrix


def product_in_blocks(blocks: Blocks, batch: Index, first: Matrix, second: Matrix, result: Buffer,
                      sizes: tuple[int, int, int], name: str) -> list[Stmt]:
    """Return the loops over blocks of rows of the products of `first`: [m, k] and `second`: [k, n], for each batch."""
    m, n, k = sizes
    rows = -(-m // -(-m // blocks.most_rows))
    stmts: list[Stmt] = []
    for begin, count, height in ((0, m // rows, rows), (m // rows * rows, 1, m % rows)):
        if not height:
            continue
        block = axis(name if not begin else f"{name}_rest", count)
        which = flat_offset(batch, tuple(map(extent, batch)))
        offsets = [linear(begin * first.stride, [(first.offset, 1), (block, height * first.stride)]), second.offset,
                   linear(begin * n, [(which, m * n), (block, height * n)])]
        loops, (left, right, out) = merge_loops([*batch, block], offsets)
        places: dict[str, Place] = {"lhs": (first.array, left), "rhs": (second.array, right), "out": (result, out)}
        procedure = _procedure(blocks, first, second, height, n, k)
        stmts += _looped(loops, Call(procedure, places, ("out",), flops=2 * height * n * k))
    return stmts


def _looped(loops: Sequence[Node], call: Call) -> list[Stmt]:
    body: list[Stmt] = [call]
    for a in reversed(loops):
        body = [For(a, number(0), number(a.args[1]), body, independent=True)]
    return body


def _procedure(blocks: Blocks, first: Matrix, second: Matrix, m: int, n: int, k: int) -> Procedure:
    """Return the product of the m * k and k * n matrices at the places lhs and rhs, stored at the place out."""
    matrices = map(place, ("lhs", "rhs", "out"))
    call = call_named(blocks.function, *matrices, m, n, k, first.stride, second.stride, n)

    def meaning(places: dict[str, np.ndarray[Any, Any]]) -> None:
        a, b = first.seen(places["lhs"], m, k), second.seen(places["rhs"], k, n)
        places["out"][:m * n] = (a.astype(blocks.dtype) @ b.astype(blocks.dtype)).reshape(-1)

    return Procedure("product of rows", (call,), meaning)
