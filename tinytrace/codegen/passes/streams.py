"""Sums of rows are computed several at once: none waits for another, and memory is read from several places.

    for i < 4096: { s = 0;  for k < 16: { ask ahead;  t = 0;  for j: t += a[i, 256 k + j];  s += t };  b[i] = s }

is, where vectors have at most 256 bits,

    for g < 1024: { s = s_1 = s_2 = s_3 = 0
                    for k < 16: { t = t_1 = t_2 = t_3 = 0
                                  for j: { t += a[4 g, 256 k + j];  t_1 += a[4 g + 1, 256 k + j];  ... }
                                  s += t;  s_1 += t_1;  ... }
                    b[4 g] = s;  b[4 g + 1] = s_1;  ... }

Each sum is the same to the bit. One stream of reads does not keep as many lines on their way as memory gives: on a
Zen 3 a loop that only adds gets 22 GB/s from one stream, 25 from two and 30 from four or eight, which have to lie a
page apart (15 from four within a page). Asking ahead costs more there than it gains. With AVX-512, where asking has
been measured to gain, it stays (`prefetch.py`).

Arrays that lie in caches are read faster than one variable of 256 bits can take in: each addition waits for the one
before. A product of a matrix of 200 x 1000 and a vector takes 0.7 of the time, one of 100 x 20000 half of it.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, linear, stride_along
from tinytrace.codegen.ir.cost import steps, waits_for_folds
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, local, number, walk
from tinytrace.codegen.ir.procedures import PREFETCH
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Call,
    Combine,
    Declare,
    Either,
    For,
    Stmt,
    Store,
    When,
    expressions,
    nested,
    with_body,
)
from tinytrace.codegen.passes.prefetch import LARGER_THAN_SECOND_CACHE
from tinytrace.codegen.passes.streaming_stores import rest_of
from tinytrace.codegen.passes.strips import fresh_name
from tinytrace.core.dtypes import element_size
from tinytrace.records import replace

WIDE = "__AVX512F__"
"""What compilers say where vectors may have 512 bits."""
STREAMS = 4
"""Rows that are read at once."""
VECTOR = 32
"""Bytes."""
PAGE = 4096
"""Bytes between them at least, where memory is waited for."""
APART = 3072
"""Where additions are: so many are on another page most of the time."""
LEAST_ROW = 1024
"""Bytes of a row that is worth a loop over four of them."""
MOST_READ = 2
"""Arrays that are read so."""
MOST_STEPS = 8
"""A loop that computes more than this waits for no memory."""
MOST_FOLDS = 2
"""In a loop. Three for each of four rows hardly fit into registers: a mean and variance of 64 MB would take 0.95 of the
time that it takes with one stream that is asked for, where a sum takes 0.75 (Zen 3), and be compiled in pieces."""


def read_in_streams(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops that fold rows, and wait for memory or for their sums, fold several rows at once."""
    return map_bodies(kernels, _body, keep_titles=True)


def _body(body: Sequence[Stmt]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.independent and not stmt.simd and _is_worth_it(stmt):
            stmt = Either(WIDE, [stmt], _side_by_side(stmt))
        elif isinstance(stmt, (For, When)):
            stmt = with_body(stmt, _body(stmt.body))
        result.append(stmt)
    return result


def _is_worth_it(loop: For) -> bool:
    """Does `loop` fold rows, and can several of them be folded at once, to the same bits?"""
    inside = nested(loop.body)
    if constant_of(loop.begin) != 0 or constant_of(loop.end) != loop.axis.args[1] or loop.axis.args[1] < 4 * STREAMS:
        return False
    loops = [stmt for stmt in inside if isinstance(stmt, For) and stmt.simd]
    if any(_leaves_some_over(stmt) or len(_folds(stmt)) > MOST_FOLDS for stmt in loops):
        return False
    made = {stmt.local for stmt in inside if isinstance(stmt, Declare)}
    return all(_can_be_repeated(stmt, made) for stmt in _without_asking(loop.body)) and any(
        _folds_rows(stmt, loop) or _adds_rows(stmt, loop) for stmt in (loop, *inside)
        if isinstance(stmt, For) and not stmt.simd)


def _folds(loop: For) -> list[Combine]:
    return [stmt for stmt in loop.body if isinstance(stmt, Combine)]


def _leaves_some_over(loop: For) -> bool:
    """Is more left than whole vectors of 256 bits? Compilers add it in an order that depends on what else there is."""
    sizes = [element_size(node.args[0].dtype) for node in _loads(loop)]
    return bool(int(loop.axis.args[1]) * min(sizes, default=1) % VECTOR)


def _loads(loop: For) -> list[Node]:
    return [node for node in walk(root for stmt in loop.body for root in expressions(stmt)) if node.op == "load"]


def _folds_rows(around: For, rows: For) -> bool:
    """Does the one loop in `around` fold large arrays as they lie, whose rows are a page apart, and do little else?"""
    loops = [stmt for stmt in around.body if isinstance(stmt, For) and stmt.simd]
    if len(loops) != 1 or not _folds(loops[0]):
        return False
    nodes = walk(root for stmt in nested(loops) for root in expressions(stmt))
    read = {node.args[:2] for node in nodes if node.op == "load" and node.args[0].nbytes >= LARGER_THAN_SECOND_CACHE}
    work = sum(steps(node.args[0]) for node in nodes if node.op == "apply")
    return work <= MOST_STEPS and 0 < len(read) <= MOST_READ and all(
        stride_along(offset, loops[0].axis) == 1
        and (stride_along(offset, rows.axis) or 0) * element_size(buffer.dtype) >= PAGE for buffer, offset in read)


def _adds_rows(around: For, rows: For) -> bool:
    """Does the one loop in `around` wait for sums of rows, which lie in caches or on pages of their own?"""
    loops = [stmt for stmt in around.body if isinstance(stmt, For) and stmt.simd]
    if len(loops) != 1 or not waits_for_folds(loops[0]) or any(fold.op != "sum" for fold in _folds(loops[0])):
        return False
    lane, read = loops[0].axis, _loads(loops[0])
    steps_of = {x: (stride_along(x.args[1], rows.axis) or 0) * element_size(x.args[0].dtype) for x in read}
    are_rows = any(steps_of[x] and stride_along(x.args[1], lane) == 1 for x in read)
    return bool(_folds(loops[0])) and are_rows and len(read) <= MOST_READ and all(
        stride_along(x.args[1], lane) in (0, 1) and int(lane.args[1]) * element_size(x.args[0].dtype) >= LEAST_ROW
        and (x.args[0].nbytes < LARGER_THAN_SECOND_CACHE or not steps_of[x] or steps_of[x] >= APART) for x in read)


def _asks(stmt: Stmt) -> bool:
    """Is it what `prefetch` puts before a block?"""
    return isinstance(stmt, When) and all(isinstance(inner, For) and all(
        isinstance(call, Call) and call.procedure is PREFETCH for call in inner.body) for inner in stmt.body)


def _without_asking(body: Sequence[Stmt]) -> Iterator[Stmt]:
    for stmt in body:
        if not _asks(stmt):
            yield stmt
            if isinstance(stmt, For):
                yield from _without_asking(stmt.body)


def _can_be_repeated(stmt: Stmt, made: set[Node]) -> bool:
    """Is it a loop between numbers, a new variable, or a change of an array or of one of the variables `made`?"""
    if isinstance(stmt, For):
        return constant_of(stmt.begin) is not None and constant_of(stmt.end) is not None
    if isinstance(stmt, (Store, Combine)):
        return not isinstance(stmt.place, Node) or stmt.place in made
    return isinstance(stmt, Declare)


def _side_by_side(loop: For) -> list[Stmt]:
    """Return `loop` as one over four rows at once, and a loop over those that are left."""
    extent = int(loop.axis.args[1])
    groups, name = extent // STREAMS, str(loop.axis.args[0])
    variables = [stmt.local for stmt in nested(loop.body) if isinstance(stmt, Declare)]
    taken = {str(variable.args[0]) for variable in variables}
    group = axis(f"{name}_group", groups)
    copies = []
    for k in range(STREAMS):
        new: dict[Node, Node] = {variable: _renamed(variable, k, taken) for variable in variables if k}
        copies.append(Replacement({loop.axis: linear(k, [(group, STREAMS)]), **new}))
    main = For(group, number(0), number(groups), _together(loop.body, copies), independent=True,
               grain=-(-loop.grain // STREAMS))
    return [main, *rest_of(loop, STREAMS * groups, extent)]


def _renamed(variable: Node, k: int, taken: set[str]) -> Node:
    other = local(fresh_name(f"{variable.args[0]}_row_{k}", taken), variable.dtype)
    other.eqns |= variable.eqns
    return other


def _together(body: Sequence[Stmt], copies: Sequence[Replacement]) -> list[Stmt]:
    """Return each statement of a body once for each of `copies`, in the same loops; each is rounded as if alone."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            together = with_body(stmt, _together(stmt.body, copies))
            result.append(replace(together, waits=waits_for_folds(stmt)))
        elif not _asks(stmt):
            for copy in copies:
                result += copy.of([stmt])
    return result
