"""Folds that take one element of each array that is joined: `jnp.stack([a, b, c, ...]).min(0)`, as filters write it.

    y[i] = min over k < 25 of (k < 13 ? ... : ...)    is    y[i] = min(min(min(a[i], b[i]), c[i]), ...)

A loop over the joined arrays would ask in each iteration which array it takes from; written out, nothing is asked, and
what several of the arrays have in common is computed once. So are folds of what is computed of all joined elements
alike, `jnp.abs(jnp.stack([...])).max(0)`, where nobody else needs these.
"""
from __future__ import annotations

from collections import Counter

from tinytrace.codegen.plan.lowering import Lowered
from tinytrace.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinytrace.core.kinds import IndexMap, Reduction, Scalar

MOST_JOINED = 32
"""Folds over more arrays stay loops."""


class Joins:
    """The joins of a jaxpr, as far as its equations have been shown in their order."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self._jaxpr = jaxpr
        self._axes: dict[Atom, int] = {}
        """Along which axis a value has one element of each joined array; a join may be one of joins."""
        self._makers: dict[Atom, JaxprEqn] = {}
        self._uses: Counter[Var] = Counter()
        self.folded: set[Var] = set()
        """Joins that folds take one element of each array of, what is computed of them, and results of these folds."""

    def add(self, eqn: JaxprEqn, kind: Lowered) -> None:
        """Show the next equation."""
        axis = _join_axis(eqn, self._axes) if isinstance(kind, IndexMap) and len(eqn.invars) > 1 else None
        if not self._axes and axis is None:
            return
        if isinstance(kind, Scalar):
            shape = eqn.outvars[0].aval.shape
            axes = {self._axes[x] for x in eqn.invars if x in self._axes and x.aval.shape == shape}
            axis = axes.pop() if len(axes) == 1 else None
        if axis is not None and self._is_read_once(eqn.outvars[0]):
            self._axes[eqn.outvars[0]], self._makers[eqn.outvars[0]] = axis, eqn
        elif isinstance(kind, Reduction) and not kind.combine.startswith("arg"):
            axis = self._axes.get(eqn.invars[0], -1)
            if kind.axes == (axis,) and eqn.invars[0].aval.shape[axis] <= MOST_JOINED:
                self._add_folded(eqn)

    def take_part_in(self, eqn: JaxprEqn) -> bool:
        """Is this a fold of one element of each array that is joined, or what makes these?"""
        return not self.folded.isdisjoint(eqn.outvars)

    def _add_folded(self, fold: JaxprEqn) -> None:
        stack = [fold]
        while stack:
            eqn = stack.pop()
            self.folded.update(eqn.outvars)
            stack += [self._makers[x] for x in eqn.invars if x in self._makers]

    def _is_read_once(self, v: Var) -> bool:
        if not self._uses:
            self._uses.update(x for eqn in self._jaxpr.eqns for x in eqn.invars if isinstance(x, Var))
            self._uses.update(x for x in self._jaxpr.outvars if isinstance(x, Var))
        return self._uses[v] == 1


def terms(fold: JaxprEqn) -> int:
    """Return how many elements a fold takes for each of its results."""
    return fold.invars[0].aval.size // max(fold.outvars[0].aval.size, 1)


def _join_axis(eqn: JaxprEqn, axes: dict[Atom, int]) -> int | None:
    """Return along which axis an equation joins arrays of one element, or joins of such; None if it does not."""
    shape = eqn.outvars[0].aval.shape
    if any(x.aval.ndim != len(shape) for x in eqn.invars):
        return None
    sizes = list(zip(shape, *(x.aval.shape for x in eqn.invars), strict=True))
    apart = [k for k, along in enumerate(sizes) if len(set(along)) > 1]
    if len(apart) != 1 or sum(sizes[apart[0]][1:]) != shape[apart[0]]:
        return None
    axis = apart[0]
    return axis if all(x.aval.shape[axis] == 1 or axes.get(x) == axis for x in eqn.invars) else None
