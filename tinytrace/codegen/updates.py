"""Scatter: a copy of the operand, then updates one after the other; `inplace` takes the copy away where it can."""
from __future__ import annotations

from typing import TYPE_CHECKING

from tinytrace.codegen.arithmetic import flat_offset, stride_along
from tinytrace.codegen.axes import merge_loops
from tinytrace.codegen.copies import store_nest
from tinytrace.codegen.costs import nest
from tinytrace.codegen.elements import UPDATES, as_index, domain_axes, node_of, reader, wrapped
from tinytrace.codegen.kernel import Combine, For, Kernel, Stmt, Store, When
from tinytrace.codegen.nodes import number
from tinytrace.codegen.reductions import propagating
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.core.kinds import Scatter, as_expr

if TYPE_CHECKING:
    from tinytrace.codegen.program import Planner

def scatter(planner: Planner, eqn: JaxprEqn, kind: Scatter) -> list[Kernel]:
    """Return the two kernels of a scatter: the copy and the updates."""
    operand, updates, out = eqn.invars[0], eqn.invars[kind.updates], eqn.outvars[0]
    result = planner.result_array(out)
    axes = domain_axes(out.aval.shape)
    copy = store_nest(planner.resolved(planner.elements(operand, axes)), axes, result)

    axes = domain_axes(updates.aval.shape)
    target, guard = kind.target(wrapped(axes), reader(eqn, planner.elements))
    offset = flat_offset([as_index(node_of(as_expr(i))) for i in target], out.aval.shape)
    inside = number(1) if guard is None else as_index(node_of(guard))
    nodes = [planner.resolved(node) for node in (offset, planner.elements(updates, axes), inside)]
    loops, (offset, value, inside) = merge_loops(axes, nodes)
    dtype = out.aval.dtype
    place = result, offset
    stmt: Stmt = Store(place, value) if kind.combine == "set" else \
        Combine(place, propagating(UPDATES[kind.combine], dtype), value)
    body: list[Stmt] = [stmt]
    guarded = inside is number(1)
    for axis in reversed(loops):
        if not guarded and axis in inside.axes:
            body, guarded = [When(inside, body)], True
        distinct = body[0] is stmt and stride_along(offset, axis) not in (None, 0)  # no two turns of it meet
        body = [For(axis, number(0), number(axis.args[1]), body, simd=distinct)]
    body = body if guarded else [When(inside, body)]
    return [copy, nest(body, [planner.unit.names.text(eqn)])]
