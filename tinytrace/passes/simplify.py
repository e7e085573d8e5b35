"""All passes in their order: what stands between tracing and making kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, subjaxprs
from tinytrace.passes.algebra import algebra
from tinytrace.passes.bit_tests import ask_bits_by_masks
from tinytrace.passes.counted_places import write_counted_places
from tinytrace.passes.cse import cse
from tinytrace.passes.dce import dce
from tinytrace.passes.eigenvalues import leave_vectors_out
from tinytrace.passes.floors import floors
from tinytrace.passes.fold import fold
from tinytrace.passes.fold_order import fold_rows_first
from tinytrace.passes.inline import inline
from tinytrace.passes.loop_invariants import hoist_invariants
from tinytrace.passes.loop_layout import loop_layout
from tinytrace.passes.melding import meld_calls
from tinytrace.passes.membership import look_members_up
from tinytrace.passes.outer_products import multiply_outer_products
from tinytrace.passes.predictive_commoning import predictive_commoning
from tinytrace.passes.product_layout import product_layout
from tinytrace.passes.selection import select_from_sorts
from tinytrace.passes.sorted_positions import read_positions
from tinytrace.passes.unneeded_lanes import stop_unneeded_lanes

Pass: TypeAlias = Callable[[ClosedJaxpr], ClosedJaxpr]
Dropped: TypeAlias = dict[int, str]
"""For equations of the user's program that no equation stands for any more, by their ids: why not."""

PASSES: tuple[Pass, ...] = (inline, fold, algebra, cse, write_counted_places, floors, ask_bits_by_masks, meld_calls,
                            select_from_sorts, look_members_up, read_positions, fold_rows_first, dce,
                            leave_vectors_out, product_layout, multiply_outer_products)
OF_BODIES: tuple[Pass, ...] = (hoist_invariants, cse, stop_unneeded_lanes, predictive_commoning, loop_layout, cse,
                              dce)
"""Those after them, where there are loops or branches, whose bodies are simple by then."""
_REASONS: dict[Pass, str] = {
    inline: "a call: the equations inside stand for it", fold: "folded: computed while compiling",
    algebra: "the same as an operand: a step that changes nothing", dce: "dead: nobody needs its results"}


def simplify(closed: ClosedJaxpr, watch: Callable[[str, ClosedJaxpr], None] | None = None,
             dropped: Dropped | None = None) -> ClosedJaxpr:
    """Return a program of the same type and meaning that is simpler to compile, loop bodies and branches included.

    watch: sees the program after each pass, with its name.
    dropped: a record of what became of equations: why passes dropped them.
    """
    dropped = {} if dropped is None else dropped
    watch = watch or (lambda name, program: None)
    closed = _after_all(PASSES, closed, watch, dropped)
    if not any(True for eqn in closed.jaxpr.eqns for _ in subjaxprs(eqn.params)):
        return closed  # there are no programs inside
    eqns = [_with_simple_bodies(eqn, dropped) for eqn in closed.jaxpr.eqns]
    closed = ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)
    watch("bodies", closed)
    # Loops whose bodies were different may be the same loop by now.
    return _after_all(OF_BODIES, closed, watch, dropped)


def _after_all(passes: tuple[Pass, ...], closed: ClosedJaxpr, watch: Callable[[str, ClosedJaxpr], None],
               dropped: Dropped) -> ClosedJaxpr:
    before = _ids(closed.jaxpr)
    for run in passes:
        eqns = closed.jaxpr.eqns
        closed = run(closed)
        if closed.jaxpr.eqns != eqns:
            after = _ids(closed.jaxpr)
            dropped.update(dict.fromkeys(before - after, _REASONS.get(run, f"dropped by {run.__name__}")))
            before = after
        watch(run.__name__, closed)
    return closed


def _ids(jaxpr: Jaxpr) -> set[int]:
    """Return the equations of the user's program that those of `jaxpr`, and of programs inside, stand for."""
    found = {key for eqn in jaxpr.eqns for key in eqn.ids}
    for eqn in jaxpr.eqns:
        for inner in subjaxprs(eqn.params):
            found |= _ids(inner)
    return found


def _with_simple_bodies(eqn: JaxprEqn, dropped: Dropped) -> JaxprEqn:
    if not eqn.params:
        return eqn
    params = {key: _simple_body(value, dropped) for key, value in eqn.params.items()}
    return eqn if all(params[key] is value for key, value in eqn.params.items()) else eqn.replace(params=params)


def _simple_body(value: Any, dropped: Dropped) -> Any:
    if isinstance(value, ClosedJaxpr):
        return simplify(value, dropped=dropped)
    if isinstance(value, tuple) and value and all(isinstance(x, ClosedJaxpr) for x in value):
        return tuple(simplify(x, dropped=dropped) for x in value)
    return value
