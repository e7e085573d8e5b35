"""Products of matrices of int8, summed in 32 bits: blocks of rows, each packed and multiplied by csrc/math/products.h.

    for block: out[block] = a[block] @ b

Sums wrap and are exact, so it does not matter in which order they are added, nor by which instructions.
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
from tinytrace.codegen.whole.gemm import Matrix, extent
from tinytrace.core.formulas import call_named, place

MOST_ROWS = 128
"""Rows of a block: TT_MOST_ROWS of csrc/math/products.h."""


def product_of_bytes(batch: Index, first: Matrix, second: Matrix, result: Buffer, sizes: tuple[int, int, int],
                     name: str) -> list[Stmt]:
    """Return the loops over blocks of rows of the products of `first`: [m, k] and `second`: [k, n], for each batch."""
    m, n, k = sizes
    rows = -(-m // -(-m // MOST_ROWS))
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
        procedure = _procedure(first, second, height, n, k)
        stmts += _looped(loops, Call(procedure, places, ("out",), flops=2 * height * n * k))
    return stmts


def _looped(loops: Sequence[Node], call: Call) -> list[Stmt]:
    body: list[Stmt] = [call]
    for a in reversed(loops):
        body = [For(a, number(0), number(a.args[1]), body, independent=True)]
    return body


def _procedure(first: Matrix, second: Matrix, m: int, n: int, k: int) -> Procedure:
    """Return the product of the m * k and k * n matrices at the places lhs and rhs, stored at the place out."""
    matrices = map(place, ("lhs", "rhs", "out"))
    call = call_named("tt_product_i8", *matrices, m, n, k, first.stride, second.stride, n)

    def meaning(places: dict[str, np.ndarray[Any, Any]]) -> None:
        a, b = first.seen(places["lhs"], m, k), second.seen(places["rhs"], k, n)
        places["out"][:m * n] = (a.astype(np.int32) @ b.astype(np.int32)).reshape(-1)

    return Procedure("product of bytes", (call,), meaning)
