"""Long chains are cut: a loop over hundreds of operations gains nothing from more of them, and costs the compiler more.

A chain of a thousand operations in one loop, and four loops over a quarter each, run equally long: each loop reads and
writes an array in the time of a few of its operations. But the compiler's passes grow faster than the functions that
they work on, and two functions can be compiled at the same time. A chain that repeats itself is cut into equal pieces,
of which most are compiled once (`repetition.py`).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from tinytrace.codegen.plan.repetition import equal_pieces
from tinytrace.core.jaxpr import JaxprEqn, Var

LONGEST = 250
"""Operations after which a chain is cut."""
MOST_ENDS = 4
"""A chain is cut where at most this many values are needed on both sides: each is an array to write and read."""


def ends_of_chains(eqns: Sequence[JaxprEqn], operations: Sequence[int], steps: Sequence[int], cost: Mapping[Var, int],
                   dear: int) -> dict[Var, int]:
    """Return the values to be kept so that no chain is too long; those that cost less than `dear` are computed again.

    With each stands the equation after which nothing shares its loop: where equal pieces end. What is left of a chain
    that was cut because it is too long may be in one loop with what was cut off.

    Args:
      operations: for each equation, how many it adds to a chain; 0 if it is no link of one.
      steps: what each equation costs by itself, `cost`: what each value costs when it is written out.
    """
    ends = _ends(eqns, operations, cost, dear, frozenset()) if sum(operations) >= LONGEST else {}
    pieces = equal_pieces(eqns, operations, steps) if ends else frozenset()
    return _ends(eqns, operations, cost, dear, pieces) if pieces else ends


def _ends(eqns: Sequence[JaxprEqn], operations: Sequence[int], cost: Mapping[Var, int], dear: int,
          pieces: Set[int]) -> dict[Var, int]:
    """Return the values to be kept at cuts: after each equation of `pieces`, and where a chain is too long.

    A cut is a place in the order of the equations: all that is needed after it is kept at it, or both sides of the cut
    would compute what is behind it.
    """
    last_use = {x: k for k, eqn in enumerate(eqns) for x in eqn.invars}
    length: dict[object, int] = {}
    ends: dict[Var, int] = {}
    needed: dict[Var, None] = {}
    for k, (eqn, step) in enumerate(zip(eqns, operations, strict=True)):
        if step:
            longest = step + max([length.get(x, 0) for x in eqn.invars], default=0)
            for v in eqn.outvars:
                length[v] = longest
                if v.aval.shape and cost[v] >= dear and last_use.get(v, 0) > k:
                    needed[v] = None
        for x in eqn.invars:
            if isinstance(x, Var) and last_use[x] == k:
                needed.pop(x, None)
        out = eqn.outvars[0] if eqn.outvars else None  # what only has an effect ends no chain
        if needed and out is not None and (k in pieces or length.get(out, 0) >= LONGEST):
            here = [v for v in needed if v.aval.shape == out.aval.shape]
            if len(here) <= MOST_ENDS:
                ends.update(dict.fromkeys(here, k if k in pieces else len(eqns)))
                length.update(dict.fromkeys(here, 0))
                needed.clear()
    return ends
