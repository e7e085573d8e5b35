"""Long chains are cut: a loop over hundreds of operations gains nothing from more of them, and costs the compiler more.

A chain of a thousand operations in one loop, and four loops over a quarter each, run equally long: each loop reads and
writes an array in the time of a few of its operations. But the compiler's passes grow faster than the functions that
they work on, and two functions can be compiled at the same time.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinytrace.core.jaxpr import JaxprEqn, Var

LONGEST = 250
"""Operations after which a chain is cut."""
MOST_ENDS = 4
"""A chain is cut where at most this many values are needed on both sides: each is an array to write and read."""


def ends_of_chains(eqns: Sequence[JaxprEqn], steps: Sequence[int], cost: Mapping[Var, int], dear: int) -> set[Var]:
    """Return the values to be kept so that no chain is too long; those that cost less than `dear` are computed again.

    A cut is a place in the order of the equations: all that is needed after it is kept at it, or both sides of the cut
    would compute what is behind it.

    Args: steps: for each equation, how many operations it adds to a chain; 0 if it is no link of one.
    """
    last_use = {x: k for k, eqn in enumerate(eqns) for x in eqn.invars}
    length: dict[object, int] = {}
    ends: set[Var] = set()
    needed: dict[Var, None] = {}
    for k, (eqn, step) in enumerate(zip(eqns, steps, strict=True)):
        if step:
            longest = step + max([length.get(x, 0) for x in eqn.invars], default=0)
            for v in eqn.outvars:
                length[v] = longest
                if v.aval.shape and cost[v] >= dear and last_use.get(v, 0) > k:
                    needed[v] = None
        for x in eqn.invars:
            if isinstance(x, Var) and last_use[x] == k:
                needed.pop(x, None)
        if needed and length.get(eqn.outvars[0], 0) >= LONGEST:
            here = [v for v in needed if v.aval.shape == eqn.outvars[0].aval.shape]
            if len(here) <= MOST_ENDS:
                ends.update(here)
                length.update(dict.fromkeys(here, 0))
                needed.clear()
    return ends
