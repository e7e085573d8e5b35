"""Folds that take one element of each array that is joined: `jnp.stack([a, b, c, ...]).min(0)`, as filters write it.

    y[i] = min over k < 25 of (k < 13 ? ... : ...)    is    y[i] = min(min(min(a[i], b[i]), c[i]), ...)

A loop over the joined arrays would ask in each iteration which array it takes from; written out, nothing is asked, and
what several of the arrays have in common is computed once. So are folds of what is computed of all joined elements
alike, `jnp.abs(jnp.stack([...])).max(0)`, where none but folds need these. What several of them need takes few steps,
for each computes it: mean and variance of windows of 5x5 take 0.03 of the time.
"""
from __future__ import annotations

from collections import Counter

from tinytrace.codegen.ir.cost import steps
from tinytrace.codegen.plan.lowering import Lowered
from tinytrace.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinytrace.core.kinds import IndexMap, Reduction, Scalar

FEW_STEPS = 4
"""What is computed of a joined element, and more than one fold computes."""
MOST_JOINED = 32
"""Folds over more arrays stay loops."""


class Joins:
    """The joins of a jaxpr, as far as its equations have been shown in their order."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self._jaxpr = jaxpr
        self._axes: dict[Atom, int] = {}
        """Along which axis a value has one element of each joined array; a join may be one of joins."""
        self._steps: dict[Atom, int] = {}
        """What an element of such a value costs, besides the joined element."""
        self._folds: list[JaxprEqn] = []
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
        if axis is not None:
            own = steps(kind.operation) if isinstance(kind, Scalar) else 0
            self._axes[eqn.outvars[0]] = axis
            self._steps[eqn.outvars[0]] = own + sum(self._steps.get(x, 0) for x in eqn.invars)
        elif isinstance(kind, Reduction) and not kind.combine.startswith("arg"):
            axis = self._axes.get(eqn.invars[0], -1)
            if kind.axes == (axis,) and eqn.invars[0].aval.shape[axis] <= MOST_JOINED:
                self._folds.append(eqn)

    def decided(self) -> set[Var]:
        """Find, after the last equation, what is written out: where folds read it, and nobody else does."""
        makers = {eqn.outvars[0]: eqn for eqn in self._jaxpr.eqns if self._folds and eqn.outvars}
        good = self._read_by_folds_alone()
        for v, eqn in makers.items():
            if v in good and any(x in self._axes and x not in good for x in eqn.invars):
                good.discard(v)
        stack = [eqn for eqn in self._folds if eqn.invars[0] in good]
        while stack:
            eqn = stack.pop()
            self.folded.update(eqn.outvars)
            stack += [makers[x] for x in dict.fromkeys(eqn.invars)
                      if isinstance(x, Var) and x in good and x not in self.folded]
        return self.folded

    def _read_by_folds_alone(self) -> set[Var]:
        """Return the values with one element of each joined array that only folds of these read, or what such read."""
        uses, elsewhere = Counter[Var](), {x for x in self._jaxpr.outvars if isinstance(x, Var)}
        folds, good = {id(eqn) for eqn in self._folds}, set[Var]()
        for eqn in reversed(self._jaxpr.eqns if folds else ()):
            good.update(v for v in eqn.outvars if v in self._axes and v not in elsewhere and uses[v]
                        and (uses[v] == 1 or self._steps[v] <= FEW_STEPS))
            read = [x for x in eqn.invars if isinstance(x, Var)]
            if id(eqn) in folds or not good.isdisjoint(eqn.outvars):
                uses.update(read)
            else:
                elsewhere.update(read)
        return good

    def take_part_in(self, eqn: JaxprEqn) -> bool:
        """Is this a fold of one element of each array that is joined, or what makes these?"""
        return not self.folded.isdisjoint(eqn.outvars)


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
