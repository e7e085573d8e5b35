"""Maxima wait for each other in one variable, so a loop folds into several, each over a part of the elements.

    for i < 1000: m = max(m, x[i])    is    for i < 240: { m = max(m, x[i]);  m_1 = max(m_1, x[240 + i]);
                                                            m_2 = max(m_2, x[480 + i]);  m_3 = max(m_3, x[720 + i]) }
                                            for i < 40: m = max(m, x[960 + i])
                                            m = max(m, m_1);  m = max(m, m_2);  m = max(m, m_3)

A CPU begins two maxima in each cycle, but the next one in the same variable has to wait four; a loop that does little
else waits most of its time. Only where the order of a fold is nobody's business: maxima, minima, and, or; never sums of
floats. And only where elements come from the caches: processors fetch ahead of one reader, not of four that change
places every 2 KB. A maximum of 10 million float32 takes 0.35 of the time in one variable, of 2.5 to 16 MB 0.85 (Zen 4).

What vectors leave over of a shorter loop, a row of 200, is the last vector once more: to take an element in twice
changes none of these folds, and gcc takes what is left over in one by one.

    for i < 200: m = max(m, x[i])    is    for i < 192: m = max(m, x[i])
                                           for i < 16: m = max(m, x[184 + i])

Products of complex numbers, of which compilers make no vectors where they are folded, are those of 64 lanes:

    for i < 1000: p *= x[i]    is    for j < 64: p_lanes[j] = 1
                                     for k < 15: for j < 64 simd: p_lanes[j] *= x[64 * k + j]
                                     for i < 40: p *= x[960 + i]
                                     for j < 64: p *= p_lanes[j]
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, linear
from tinytrace.codegen.ir.cost import steps
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, literal, load, local, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.reductions import identity
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Combine, Declare, Either, For, Row, Stmt, Store, expressions
from tinytrace.codegen.passes.prefetch import LARGER_THAN_SECOND_CACHE
from tinytrace.codegen.passes.strips import map_vector_loops, without_variables
from tinytrace.core.dtypes import element_size, is_complex

PARTS = 4
"""Variables in the place of one."""
FEWEST = 512
"""Iterations from which the parts are longer than what ends them."""
ALIGNED = 16
"""Parts have a multiple of so many elements: they begin where vectors do."""
WIDE = 64
"""Bytes of a vector of 512 bits; what fills those of half as many is left as it is where there are no wider ones."""
LANES = 64
"""Products of complex numbers: eight vectors of 512 bits, none of which waits for another."""
MOST_STEPS = 8
"""A loop that computes more than this waits for no fold."""
SLOW, ANY_ORDER = {"max", "min"}, {"max", "min", "and", "or"}


def fold_side_by_side(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops of maxima have several of each."""
    return map_bodies(kernels, lambda body: map_vector_loops(body, _in_parts), keep_titles=True)


def _in_parts(loop: For) -> list[Stmt]:
    extent = int(loop.axis.args[1])
    if extent < 2 * ALIGNED or constant_of(loop.begin) != 0 or constant_of(loop.end) != extent:
        return [loop]
    folds = [stmt for stmt in without_variables(loop.body) if isinstance(stmt, Combine)]
    if extent < FEWEST:
        return _overlapping(loop, folds) if extent % ALIGNED and _have_any_order(folds, loop) else [loop]
    if _are_complex_products(folds, loop):
        return _in_lanes(loop, folds)
    if not _wait(folds, loop):
        return [loop]
    size, name = extent // PARTS // ALIGNED * ALIGNED, str(loop.axis.args[0])
    places = [fold.place for fold in folds if isinstance(fold.place, Node)]
    variables = [[_part(place, k) if k else place for place in places] for k in range(PARTS)]
    lane, rest = axis(name, size), axis(name, -(-(extent - PARTS * size) // ALIGNED) * ALIGNED)
    body = [Combine(variable, fold.op, fold.value) for k in range(PARTS)
            for variable, fold in zip(variables[k], _at(folds, loop, k * size, lane), strict=True)]
    result: list[Stmt] = [Declare(variable, _start(variable, fold.op)) for k in range(1, PARTS)
                          for variable, fold in zip(variables[k], folds, strict=True)]
    result.append(For(lane, number(0), number(size), body, True, loop.independent))
    if rest.args[1]:
        left = _at(folds, loop, extent - int(rest.args[1]), rest)
        result.append(For(rest, number(0), number(rest.args[1]), left, True, loop.independent))
    return [*result, *(Combine(place, fold.op, variables[k][j]) for k in range(1, PARTS)
                       for j, (place, fold) in enumerate(zip(places, folds, strict=True)))]


def _overlapping(loop: For, folds: Sequence[Combine]) -> list[Stmt]:
    """Return a loop as one over whole vectors and one over the last of them, which takes some elements in again."""
    extent, name = int(loop.axis.args[1]), str(loop.axis.args[0])
    whole, last = axis(name, extent // ALIGNED * ALIGNED), axis(name, ALIGNED)
    read = [node.args[0] for node in walk(root for fold in folds for root in expressions(fold)) if node.op == "load"]
    row = extent * min((element_size(buffer.dtype) for buffer in read), default=1)
    if row % WIDE == 0:
        return [loop]
    result: list[Stmt] = [
        For(lane, number(0), number(lane.args[1]), list(_at(folds, loop, begin, lane)), True, loop.independent)
        for lane, begin in ((whole, 0), (last, extent - ALIGNED))]
    return result if row % (WIDE // 2) else [Either("__AVX512F__", result, [loop])]


def _are_complex_products(folds: Sequence[Combine], loop: For) -> bool:
    return bool(folds) and len(folds) == len(loop.body) and all(
        fold.op == "prod" and isinstance(fold.place, Node) and fold.value.dtype == fold.place.dtype
        and fold.value.dtype is not None and is_complex(fold.value.dtype) for fold in folds)


def _in_lanes(loop: For, folds: Sequence[Combine]) -> list[Stmt]:
    """Return a loop that multiplies complex numbers as one of lanes, each of which has its own product."""
    extent, name = int(loop.axis.args[1]), str(loop.axis.args[0])
    blocks = extent // LANES
    block, lane, rest = axis(name, blocks), axis("lane", LANES), axis(name, extent - LANES * blocks)
    rows = [Buffer(f"{fold.place.args[0]}_lanes", (LANES,), fold.place.dtype, "row", fold.place.eqns)
            for fold in folds if isinstance(fold.place, Node) and fold.place.dtype is not None]

    def over_lanes(body: list[Stmt], simd: bool = True) -> For:
        return For(lane, number(0), number(LANES), body, simd)

    moved = Replacement({loop.axis: linear(0, [(block, LANES), (lane, 1)])}).of(folds)
    inside: list[Stmt] = [Combine((row, lane), fold.op, fold.value) for row, fold in zip(rows, moved, strict=True)
                          if isinstance(fold, Combine)]
    last = Replacement({loop.axis: linear(LANES * blocks, [(rest, 1)])}).of(folds) if rest.args[1] else []
    return [*map(Row, rows), over_lanes([Store((row, lane), literal(1, row.dtype)) for row in rows]),
            For(block, number(0), number(blocks), [over_lanes(inside)]),
            *([For(rest, number(0), number(rest.args[1]), last)] if last else []),
            over_lanes([Combine(fold.place, fold.op, load(row, lane, row.dtype))
                        for row, fold in zip(rows, folds, strict=True)], simd=False)]


def _wait(folds: Sequence[Combine], loop: For) -> bool:
    """Does a loop fold in any order, and is there little else to do meanwhile, nor memory to wait for?"""
    return SLOW.intersection(fold.op for fold in folds) != set() and _have_any_order(folds, loop) and not any(
        node.op == "load" and node.args[0].nbytes >= LARGER_THAN_SECOND_CACHE
        for node in walk(root for fold in folds for root in expressions(fold)))


def _have_any_order(folds: Sequence[Combine], loop: For) -> bool:
    """Does a loop do nothing but fold, in any order and however often an element, and little besides?"""
    variables = [fold.place for fold in folds]
    nodes = walk(root for fold in folds for root in expressions(fold))
    return (bool(folds) and len({*variables}) == len(loop.body) - sum(isinstance(s, Declare) for s in loop.body)
            and all(isinstance(variable, Node) for variable in variables)
            and ANY_ORDER.issuperset(fold.op for fold in folds)
            and not any(node in variables or node.op == "where" for node in nodes)
            and len(folds) + sum(steps(node.args[0]) for node in nodes if node.op == "apply") <= MOST_STEPS)


def _at(folds: Sequence[Combine], loop: For, begin: int, lane: Node) -> list[Combine]:
    """Return the folds of the elements from `begin` on."""
    moved = Replacement({loop.axis: linear(begin, [(lane, 1)])}).of(folds)
    return [stmt for stmt in moved if isinstance(stmt, Combine)]


def _part(variable: Node, k: int) -> Node:
    part = local(f"{variable.args[0]}_{k}", variable.dtype)
    part.eqns |= variable.eqns
    return part


def _start(variable: Node, op: str) -> Node:
    assert variable.dtype is not None
    return literal(identity(op, variable.dtype), variable.dtype)
