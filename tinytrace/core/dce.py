"""Dead code elimination: the smallest jaxpr that still computes the outputs somebody uses.

One walk from the last equation to the first. An equation whose results nobody reads and that has no effect goes; one
with a jaxpr inside (pjit, scan, cond) says itself, by its `dce` rule, how much of it has to stay.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn, Var
from tinytrace.util import cache_by_jaxpr


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool],
              instantiate: bool | Sequence[bool] = False) -> tuple[Jaxpr, list[bool]]:
    """Keep only the outputs marked in `used_outputs` and what they need.

    Inputs marked in `instantiate` stay even when nothing needs them.

    Returns: the smaller jaxpr, and which of the inputs it still has.
    """
    keep_inputs = (instantiate,) * len(jaxpr.invars) if isinstance(instantiate, bool) else tuple(instantiate)
    smaller, used_inputs = _dce(jaxpr, tuple(used_outputs), keep_inputs)
    return smaller, list(used_inputs)


def dce_closed_jaxpr(closed: ClosedJaxpr, used_outputs: Sequence[bool],
                     instantiate: bool | Sequence[bool] = False) -> tuple[ClosedJaxpr, list[bool]]:
    """`dce_jaxpr` of a closed jaxpr; the same input gives the same object back."""
    keep_inputs = (instantiate,) * len(closed.in_avals) if isinstance(instantiate, bool) else tuple(instantiate)
    smaller, used_inputs = _dce_closed(closed, tuple(used_outputs), keep_inputs)
    return smaller, list(used_inputs)


@cache_by_jaxpr
def _dce_closed(closed: ClosedJaxpr, used_outputs: tuple[bool, ...],
                keep_inputs: tuple[bool, ...]) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used_outputs, keep_inputs)
    return ClosedJaxpr(jaxpr, closed.consts), tuple(used_inputs)


@cache_by_jaxpr
def _dce(jaxpr: Jaxpr, used_outputs: tuple[bool, ...],
         keep_inputs: tuple[bool, ...]) -> tuple[Jaxpr, tuple[bool, ...]]:
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    eqns, live = _live_equations(jaxpr.eqns, outvars)
    used_inputs = tuple(keep or v in live for v, keep in zip(jaxpr.invars, keep_inputs, strict=True))
    invars = [v for v, used in zip(jaxpr.invars, used_inputs, strict=True) if used]
    debug_info = _pruned(jaxpr.debug_info, used_inputs)
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns, debug_info=debug_info), used_inputs


def _live_equations(eqns: Sequence[JaxprEqn], outvars: Sequence[Atom]) -> tuple[list[JaxprEqn], set[Atom]]:
    """Return the equations that `outvars` or an effect need, and every variable that something reads."""
    live: set[Atom] = {v for v in outvars if isinstance(v, Var)}
    kept = []
    for eqn in reversed(eqns):
        used_outs = [v in live for v in eqn.outvars]
        if not any(used_outs) and not eqn.effects:
            continue
        used_ins, smaller = eqn.primitive.dce(used_outs, eqn)
        if smaller is not None:
            kept.append(smaller)
        live.update(v for v, used in zip(eqn.invars, used_ins, strict=True) if used and isinstance(v, Var))
    return kept[::-1], live


def _pruned(debug: DebugInfo | None, used_inputs: Sequence[bool]) -> DebugInfo | None:
    if debug is None or len(debug.arg_names) != len(used_inputs):
        return debug
    names = [name for name, used in zip(debug.arg_names, used_inputs, strict=True) if used]
    return debug._replace(arg_names=tuple(names))
