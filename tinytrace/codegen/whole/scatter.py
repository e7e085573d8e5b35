"""Scatter: a copy of the operand, then updates one after the other; `in_place` takes the copy away where it can.

Many updates that add to (or multiply, or bound) few elements are made in chunks, on several threads, each of which has
elements of its own; these join the operand in the end. How many chunks there are depends on the shapes alone.

Updates whose places depend on data are made one by one. Where to and what with is computed before, vectorised, for a
strip of them:

    for i: x[w(k[i])] += f(i)    is    for each strip: { for j simd: { w_row[j] = w(k[i]);  f_row[j] = f(i) }
                                                         for j: x[w_row[j]] += f_row[j] }

An extreme of floats that is NaN where an update is takes two comparisons, and the next update of its element waits for
both. So a strip takes in its numbers, with one comparison; then, if it has a NaN, every NaN, in whatever order.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tinytrace.codegen.ir.arithmetic import flat_offset, linear, minimum, rebuild, stride_along, subtract
from tinytrace.codegen.ir.cost import WORTH_SPREADING, duration
from tinytrace.codegen.ir.inserted_operations import is_nan, is_set
from tinytrace.codegen.ir.kernel import Kernel, Nest
from tinytrace.codegen.ir.nodes import Node, apply, axis, literal, load, local, number, rewrite, walk
from tinytrace.codegen.ir.reductions import accumulator_type, identity, propagating
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Buffer,
    Combine,
    Declare,
    For,
    Place,
    Row,
    Stmt,
    Store,
    When,
    expressions,
    nested,
)
from tinytrace.codegen.plan.elements import UPDATES, as_index, domain_axes, node_of, reader, wrapped
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.schedule.collapse import merge_loops
from tinytrace.codegen.schedule.copies import store_nest
from tinytrace.core.dtypes import BOOL, is_half
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.core.kinds import Scatter, as_expr

CHUNKS = 16
"""So many chunks at most have elements of their own."""
USES = 4
"""At least so many updates there are for each element of each chunk."""
USES_OF_EXTREMES = 64
"""So many, where updates bound elements: CPUs guess wrongly whether one of the first few is beyond those before it."""
OWN_BYTES = 256 * 1024
"""The elements of a chunk stay in a core's cache."""

STRIP = 512
"""Updates of a strip: where they go to waits in the first-level cache."""


def scatter(scope: Scope, eqn: JaxprEqn, kind: Scatter) -> list[Kernel]:
    """Return the two kernels of a scatter: the copy and the updates."""
    operand, updates, out = eqn.invars[0], eqn.invars[kind.updates], eqn.outvars[0]
    result = scope.result_array(out)
    axes = domain_axes(out.aval.shape)
    copy = store_nest(scope.resolved(scope.elements(operand, axes)), axes, result)

    axes = domain_axes(updates.aval.shape)
    target, guard = kind.target(wrapped(axes), reader(eqn, scope.elements))
    offset = flat_offset([as_index(node_of(as_expr(i))) for i in target], out.aval.shape)
    inside = number(1) if guard is None else as_index(node_of(guard))
    nodes = [scope.resolved(node) for node in (offset, scope.elements(updates, axes), inside)]
    loops, (offset, value, inside) = merge_loops(axes, nodes)
    op = "" if kind.combine == "set" else propagating(UPDATES[kind.combine], out.aval.dtype)
    ends = [(a, number(a.args[1])) for a in loops]
    body = _updates(ends, (result, offset), value, inside, op)
    if op and duration(body) >= WORTH_SPREADING and _pays(loops, result, kind.combine):
        body = _in_chunks(ends, (result, offset), value, inside, op)
    return [copy, Nest(scope.equations(eqn), body=body)]


def _updates(loops: Sequence[tuple[Node, Node]], place: Place, value: Node, inside: Node, op: str) -> list[Stmt]:
    """Return the loops, each with its end, that update `place` where the guard `inside` holds."""
    assert not isinstance(place, Node)
    stmt: Stmt = Combine(place, op, value) if op else Store(place, value)
    body: list[Stmt] = [stmt]
    guarded = inside is number(1)
    for a, end in reversed(loops):
        if not guarded and a in inside.axes:
            body, guarded = [When(inside, body)], True
        distinct = body[0] is stmt and stride_along(place[1], a) not in (None, 0)  # no two iterations of it meet
        innermost = a is loops[-1][0]
        if innermost and not distinct and a.args[1] >= 2 * STRIP:
            body = _in_strips(a, end, body)
        else:
            body = [For(a, number(0), end, body, simd=distinct)]
    return body if guarded else [When(inside, body)]


def _in_strips(a: Node, end: Node, body: list[Stmt]) -> list[Stmt]:
    """Return the loop over `a`, which runs in order, in strips, if there is something to compute before."""
    strip, lane = axis(f"{a.args[0]}_strip", -(-a.args[1] // STRIP)), axis(str(a.args[0]), STRIP)
    iteration = Replacement({a: linear(0, [(strip, STRIP), (lane, 1)])}).of(body)
    roots = [root for stmt in nested(iteration) for root in expressions(stmt)]
    elements = [node.children[0] for node in walk(roots) if node.op == "index"]
    values = [stmt.value for stmt in nested(iteration) if isinstance(stmt, (Store, Combine))]
    early = dict.fromkeys(node for node in (*elements, *values) if node.op == "apply" and lane in node.axes)
    if not early and not _extremes(body):
        return [For(a, number(0), end, body)]
    rows = {node: Buffer(f"{node.hint or 'value'}_row{k or ''}", (STRIP,), node.dtype, "row")
            for k, node in enumerate(early) if node.dtype is not None}
    stop = minimum(number(STRIP), subtract(end, linear(0, [(strip, STRIP)])))
    before: list[Stmt] = [Store((row, lane), node) for node, row in rows.items()]
    after = Replacement({node: load(row, lane, row.dtype) for node, row in rows.items()}).of(iteration)
    loop = [For(lane, number(0), stop, before, simd=True, independent=True)] if before else []
    return [For(strip, number(0), number(strip.args[1]), [
        *(Row(row) for row in rows.values()), *loop, *_in_order(lane, stop, after)])]


def _in_order(lane: Node, stop: Node, body: list[Stmt]) -> list[Stmt]:
    """Return the loop that makes the updates of a strip; two, where NaNs are taken in by themselves."""
    extremes = _extremes(body)
    if not extremes:
        return [For(lane, number(0), stop, body)]
    value = extremes[0].value
    assert value.dtype is not None
    nan_seen = apply(is_nan(value.dtype), (value,))
    flag = nan_seen.dtype
    assert flag is not None
    seen = local("nan_seen", flag)
    of_number = _with_update(body, lambda update: Combine(update.place, _OF_NUMBERS[update.op], update.value))
    of_nan = _with_update(body, lambda update: When(_holds(nan_seen), [Store(update.place, update.value)]))
    return [For(lane, number(0), stop, of_number), Declare(seen, literal(0, flag)),
            For(lane, number(0), stop, [Combine(seen, "or", nan_seen)], simd=True),
            When(_holds(seen), [For(lane, number(0), stop, of_nan)])]


def _extremes(body: Sequence[Stmt]) -> list[Combine]:
    """Return the updates that take in numbers and NaNs."""
    return [stmt for stmt in nested(body) if isinstance(stmt, Combine) and stmt.op in _OF_NUMBERS
            and not isinstance(stmt.place, Node) and not is_half(stmt.place[0].dtype)]


_OF_NUMBERS = {"nan_max": "number_max", "nan_min": "number_min"}


def _with_update(body: Sequence[Stmt], made: Callable[[Combine], Stmt]) -> list[Stmt]:
    """Return guarded updates, each one made into another statement."""
    return [When(stmt.guard, _with_update(stmt.body, made)) if isinstance(stmt, When) else
            made(stmt) if isinstance(stmt, Combine) else stmt for stmt in body]


def _holds(flag: Node) -> Node:
    assert flag.dtype is not None
    return as_index(apply(is_set(flag.dtype), (flag,)))


def _pays(loops: Sequence[Node], result: Buffer, combine: str) -> bool:
    """Are there many updates for few elements, and iterations of the outermost loop for each chunk?"""
    count = math.prod(a.args[1] for a in loops)
    uses = USES_OF_EXTREMES if combine in ("max", "min") else USES
    return result.dtype != BOOL and accumulator_type(result.dtype) == result.dtype and result.nbytes <= OWN_BYTES \
        and count >= uses * CHUNKS * result.size and loops[0].args[1] >= USES * CHUNKS


def _in_chunks(loops: Sequence[tuple[Node, Node]], target: tuple[Buffer, Node], value: Node, inside: Node,
               op: str) -> list[Stmt]:
    """Return the updates of each chunk's own elements, and what joins these to the result."""
    (first, _), *others = loops
    result, offset = target
    extent = int(first.args[1])
    size = -(-extent // CHUNKS)
    chunk, own = axis("chunk", -(-extent // size)), axis(first.args[0], size)
    end = minimum(number(size), linear(extent, [(chunk, -size)]))
    partials = Buffer(f"{result.name}_partials", (chunk.args[1], *result.shape), result.dtype, "workspace")
    place = linear(0, [(chunk, size), (own, 1)])
    offset, value, inside = rewrite([offset, value, inside], {first: place}, rebuild)
    joined = "sum" if op == "sub" else op
    i, all_of_it = axis("i0", result.size), number(result.size)
    at = linear(0, [(chunk, result.size), (i, 1)])
    nothing = literal(identity(joined, result.dtype), result.dtype)
    body: list[Stmt] = [For(i, number(0), all_of_it, [Store((partials, at), nothing)], simd=True)]
    target = partials, linear(0, [(chunk, result.size), (offset, 1)])
    body += _updates([(own, end), *others], target, value, inside, op)
    join = For(i, number(0), all_of_it, [Combine((result, i), joined, load(partials, at, result.dtype))], simd=True)
    count = number(chunk.args[1])
    return [For(chunk, number(0), count, body, independent=True), For(chunk, number(0), count, [join])]
