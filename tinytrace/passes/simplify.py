"""All passes in their order: what stands between tracing and making kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn
from tinytrace.passes.algebra import algebra
from tinytrace.passes.cse import cse
from tinytrace.passes.dce import dce
from tinytrace.passes.floors import floors
from tinytrace.passes.fold import fold
from tinytrace.passes.inline import inline
from tinytrace.passes.loop_layout import loop_layout
from tinytrace.passes.product_layout import product_layout

PASSES: tuple[Callable[[ClosedJaxpr], ClosedJaxpr], ...] = (
    inline, fold, algebra, cse, floors, dce, product_layout, loop_layout,
)


def simplify(closed: ClosedJaxpr, watch: Callable[[str, ClosedJaxpr], None] | None = None) -> ClosedJaxpr:
    """Return a program of the same type and meaning that is simpler to compile, loop bodies and branches included.

    watch: sees the program after each pass, with its name.
    """
    for run in PASSES:
        closed = run(closed)
        if watch is not None:
            watch(run.__name__, closed)
    eqns = [_with_simple_bodies(eqn) for eqn in closed.jaxpr.eqns]
    closed = ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)
    if watch is not None:
        watch("bodies", closed)
    return closed


def _with_simple_bodies(eqn: JaxprEqn) -> JaxprEqn:
    params = {key: _simple_body(value) for key, value in eqn.params.items()}
    same = all(params[key] is value for key, value in eqn.params.items())
    return eqn if same else eqn.replace(params=params)


def _simple_body(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return simplify(value)
    if isinstance(value, tuple) and value and all(isinstance(x, ClosedJaxpr) for x in value):
        return tuple(simplify(x) for x in value)
    return value
