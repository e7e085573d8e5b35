"""Surgery on the inputs and outputs of jaxprs: what the rules of loops and branches do to their bodies."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from tinytrace.util import cache_by_jaxpr, cache_by_jaxpr_anywhere


def move_binders_to_front(closed: ClosedJaxpr, to_move: Sequence[bool]) -> ClosedJaxpr:
    """Return `closed` with the marked inputs first; the order among them, and among the others, stays."""
    return _move_to_front(closed, tuple(to_move))


def move_binders_to_back(closed: ClosedJaxpr, to_move: Sequence[bool]) -> ClosedJaxpr:
    """Return `closed` with the marked inputs last; the order among them, and among the others, stays."""
    return _move_to_front(closed, tuple(not move for move in to_move))


@cache_by_jaxpr
def _move_to_front(closed: ClosedJaxpr, to_move: tuple[bool, ...]) -> ClosedJaxpr:
    invars = closed.jaxpr.invars
    order = sorted(range(len(invars)), key=lambda i: not to_move[i])
    return ClosedJaxpr(closed.jaxpr.replace(invars=[invars[i] for i in order], debug_info=None), closed.consts)


def prune_outputs(closed: ClosedJaxpr, keep: Sequence[bool]) -> ClosedJaxpr:
    """Return `closed` without the outputs that are not marked; its equations stay as they are."""
    return _prune_outputs(closed, tuple(keep))


@cache_by_jaxpr_anywhere
def _prune_outputs(closed: ClosedJaxpr, keep: tuple[bool, ...]) -> ClosedJaxpr:
    outvars = [v for v, kept in zip(closed.jaxpr.outvars, keep, strict=True) if kept]
    return ClosedJaxpr(closed.jaxpr.replace(outvars=outvars), closed.consts)


def forwarded_inputs(jaxpr: Jaxpr) -> list[int | None]:
    """Return for each output the number of the input that it merely hands on, or None."""
    position = {v: i for i, v in enumerate(jaxpr.invars)}
    return [position.get(v) if isinstance(v, Var) else None for v in jaxpr.outvars]
