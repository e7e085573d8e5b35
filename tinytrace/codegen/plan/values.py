"""What is known of every value of a jaxpr before there are kernels: who makes it, what it costs, is it kept.

A value is *kept* when its elements are computed once and remembered, in memory or in a variable; all others are written
out as expressions wherever they are read. Kept are: results of folds (reductions, scans) and of whole operations
(loops, matrix products, ...), what leaves the program, scalars, and whatever would cost more to compute again than to
remember.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable
from typing import TypeAlias

from tinytrace.codegen.ir.arithmetic import flat_offset, index_of, stride_along
from tinytrace.codegen.ir.cost import LOOP_OF_ITS_OWN, REMEMBERING, WRITTEN_OUT, is_simple, steps, times_each
from tinytrace.codegen.ir.nodes import Node, load
from tinytrace.codegen.plan.chain_splitting import ends_of_chains
from tinytrace.codegen.plan.elements import Elements, Index, Producer, domain_axes, node_of, reader, wrapped
from tinytrace.codegen.plan.guards import has_guard, is_asked_for, is_of_several
from tinytrace.codegen.plan.joins import Joins, terms
from tinytrace.codegen.plan.lowering import Lowered, Spread, Window, is_map, lowered, window
from tinytrace.codegen.plan.moves import moved_from, needs_again
from tinytrace.codegen.plan.products import is_small_product, needs_once, product_domain
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import is_complex, is_discrete, is_inexact
from tinytrace.core.jaxpr import Atom, DropVar, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Contraction, IndexMap, Loop, Reduction, Scalar, Scan1D, Scatter, as_expr

REPEATED = 2
"""An operand that has each element of an array so often, or oftener, is not copied as a whole."""
MOST_GUARDED = 12
"""What asks for each element whether there is one, as a pad does, is kept when it is read in more places."""
PLACE = 4
"""Steps of a sum of places, `2 * i + 1`, that is written out wherever it is read: steps of slices are no gathers."""
BEHIND_A_PLACE = 128
"""A place of more elements is not known: each may lie at a place of its own, and a chain has twice as many a step."""
FOLD = 4
"""Steps that a fold counts, besides those of what it folds."""

Place: TypeAlias = tuple[tuple[int, ...], Hashable]
"""Where a value is read: the extents of the loops, how many folds lie behind what they compute, and at which index."""
Reads: TypeAlias = dict[Place, int]
"""How often a value is read at each place."""


class Values:
    """The values of `jaxpr`, whose inputs are at hand."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.kinds: list[Lowered] = []
        self.producers: dict[Var, Producer] = {}
        self.joins = Joins(jaxpr)
        for eqn in jaxpr.eqns:
            kind = self._with_window(eqn, lowered(eqn))
            self.kinds.append(kind)
            self.joins.add(eqn, kind)
            for k, v in enumerate(eqn.outvars):
                self.producers[v] = Producer(eqn, kind, k, is_map(kind, eqn))
            if isinstance(kind, Spread):
                for k, part in enumerate(kind.parts):
                    self.producers[part] = Producer(eqn, kind.reduction, k, False)
        for v in self.joins.decided():
            self.producers[v] = self.producers[v]._replace(is_map=True)
        self.maps = [is_map(kind, eqn) or self.joins.take_part_in(eqn)
                     for kind, eqn in zip(self.kinds, jaxpr.eqns, strict=True)]
        """For each equation, whether it says one element without a loop."""
        self.level: dict[Var, int] = {}
        """How many folds and whole operations lie behind a value, one after the other."""
        self.cost: dict[Var, int] = {}
        """Simple operations per element, when everything behind it that can be is written out."""
        self.positional: set[Var] = set()
        """Values whose elements are integers made of their places alone, by simple operations."""
        self._rate()
        self.ends = ends_of_chains(jaxpr.eqns, self._operations(), list(map(_own_cost, self.kinds, jaxpr.eqns)),
                                   self.cost, REMEMBERING)
        self.kept = set(self.ends)
        self._order = {v: k for k, eqn in enumerate(jaxpr.eqns) for v in eqn.outvars} if self.ends else {}
        self.repeated: set[Var] = set()
        """Values that some loop over more elements than they have reads: each element is needed many times. What is
        joined with fewer others than it has elements is needed once."""
        self._choose_kept()

    def is_cut(self, made: Var, reader: Var) -> bool:
        """Does a piece of a chain end between a value and one that is made of it?"""
        return made in self.ends and self.ends[made] < self._order.get(reader, len(self.jaxpr.eqns))

    def _operations(self) -> list[int]:
        """Return how many operations each equation adds to an expression; 0 for what is no part of one."""
        return [max(1, kind.operation.flops) if isinstance(kind, Scalar) else int(maps)
                for kind, maps in zip(self.kinds, self.maps, strict=True)]

    def _with_window(self, eqn: JaxprEqn, kind: Lowered) -> Lowered:
        """Return a scatter as a window where it is one: the places of its updates are known."""
        if not isinstance(kind, Scatter):
            return kind
        asked = itertools.count()
        elements = Elements(self.producers, lambda v, i: self._at_hand(v, i, next(asked) < BEHIND_A_PLACE), {})
        axes = domain_axes(eqn.invars[kind.updates].aval.shape)
        target, guard = kind.target(wrapped(axes), reader(eqn, elements))
        places = [index_of(node_of(as_expr(i))) for i in target]
        return window(eqn, kind, places, None if guard is None else index_of(node_of(guard))) or kind

    def _at_hand(self, v: Var, index: Index, may_be_written_out: bool = True) -> Node | None:
        """Stand for an element of an array, for what is not written out."""
        if may_be_written_out and v in self.producers and self.producers[v].is_map:
            return None
        return load(v, flat_offset(index, v.aval.shape), v.aval.dtype)

    def _rate(self) -> None:
        level, cost = self.level, self.cost
        for eqn, kind, maps in zip(self.jaxpr.eqns, self.kinds, self.maps, strict=True):
            deepest, total = 0, _own_cost(kind, eqn)
            if isinstance(kind, Reduction) and self.joins.take_part_in(eqn):
                total = terms(eqn)
            for x in eqn.invars:
                if x in cost:
                    deepest = max(deepest, level[x])
                    total += cost[x]
            total = min(total, 1 << 20) if maps else 0
            if isinstance(kind, Spread):
                deepest, total = deepest + 1, 1
            for v in (*eqn.outvars, *(kind.parts if isinstance(kind, Spread) else ())):
                level[v] = deepest + (not maps)
                cost[v] = total if v.aval.shape else 0  # scalars are kept
            if maps and _is_simple(kind, eqn) and all(type(x) is Literal or x in self.positional for x in eqn.invars):
                self.positional.update(eqn.outvars)

    def _choose_kept(self) -> None:
        """Walk from the results to the inputs, counting for each value in how many loops, and where, it is read."""
        self.kept.update(v for v in self.jaxpr.outvars if isinstance(v, Var) and v in self.producers)
        reads: dict[Var, Reads] = {}
        for eqn, kind, maps in zip(reversed(self.jaxpr.eqns), reversed(self.kinds), reversed(self.maps), strict=True):
            if not maps or isinstance(kind, Spread):
                results = kind.parts if isinstance(kind, Spread) else eqn.outvars
                self.kept.update(v for v in results if type(v) is not DropVar)
                self._read_by_fold(eqn, kind.reduction if isinstance(kind, Spread) else kind, reads)
                continue
            loops: Reads = {}
            for v in eqn.outvars:
                readers = reads.get(v, {})
                if any(math.prod(shape) >= 2 * v.aval.size for shape, _ in readers):
                    self.repeated.add(v)
                times = sum(times_each(v.aval.size, loop, count) if isinstance(kind, IndexMap) else count
                            for (loop, _), count in readers.items())
                again = (times - 1) * self.cost[v] * (v not in self.positional or self.cost[v] > PLACE)
                if not v.aval.shape or (again >= REMEMBERING and not self._only_enlarges(eqn, kind)) \
                        or (sum(readers.values()) > MOST_GUARDED and has_guard(eqn, kind)) or self.is_dear_once(v):
                    self.kept.add(v)
                _merge_same(loops, {(v.aval.shape, self.level[v]): 1} if v in self.kept else readers)
            self._read_by_map(eqn, kind, loops, reads)

    def is_dear_once(self, v: Var) -> bool:
        """Is it dear, and needed once a row of complex numbers, which no lane of a vector computes?"""
        return v in self.repeated and is_complex(v.aval.dtype) and self.cost[v] >= LOOP_OF_ITS_OWN

    def _only_enlarges(self, eqn: JaxprEqn, kind: Lowered) -> bool:
        """Does an equation pad, repeat or join? Then what it reads may be worth keeping: that is smaller."""
        made = self._made(eqn.invars)
        return isinstance(kind, IndexMap) and all(x.aval.size < eqn.outvars[0].aval.size for x in made)

    def _read_by_fold(self, eqn: JaxprEqn, kind: Lowered, reads: dict[Var, Reads]) -> None:
        for x in sorted(self._made(eqn.invars), key=lambda x: isinstance(self.producers[x].kind, IndexMap)):
            if isinstance(kind, (Reduction, Scan1D)):
                _merge_same(reads.setdefault(x, {}), {(domain_order(x.aval, kind), self.level[x]): 1})
            elif isinstance(kind, Contraction):
                gathered = self._repeated_by_moves(x)
                if gathered is not None and (not is_small_product(kind, eqn) or self.is_view(x, gathered)):
                    self.kept.update([gathered] if gathered in self.producers else [])
                elif needs_once(eqn, kind, x):
                    self.kept.update(self._moved_behind(x))
                    _merge_same(reads.setdefault(x, {}), {(product_domain(eqn, kind), self.level[x]): 1})
                elif not self.is_view(x):  # a transpose of what is kept is one: `m @ m.T`
                    self.kept.add(x)
            elif isinstance(kind, Loop) and x in first_values(eqn, kind):
                _count(reads.setdefault(x, {}), (x.aval.shape, id(eqn)))
            elif not isinstance(kind, Scatter):
                if x.aval.shape:
                    self.kept.add(x)
            elif x is eqn.invars[kind.updates] and 4 * x.aval.size <= eqn.outvars[0].aval.size:
                self.kept.add(x)  # so that the operand may be updated in place, whatever the updates read of it
            else:
                _count(reads.setdefault(x, {}), (eqn.invars[kind.updates].aval.shape, id(eqn)))

    def _read_by_map(self, eqn: JaxprEqn, kind: Lowered, loops: Reads, reads: dict[Var, Reads]) -> None:
        for x in self._made(eqn.invars):
            here = reads.setdefault(x, {})
            if isinstance(kind, (Scalar, Window)) and x.aval.shape == eqn.outvars[0].aval.shape:
                _merge_same(here, loops)
                continue
            is_row = isinstance(kind, Reduction) and is_inexact(x.aval.dtype)  # of integers few are worth a vector
            times = max(terms(eqn), 1) if is_row and not self.joins.take_part_in(eqn) else 1
            moved = moved_from(eqn, kind, x) if isinstance(kind, IndexMap) and self.cost[x] else None
            for (shape, place), count in loops.items():
                if isinstance(kind, IndexMap):
                    count = times_each(x.aval.size, shape, count)
                if moved == () and len(eqn.invars) > 1:  # of what is joined
                    _merge_same(here, {(shape, place): count})
                else:
                    _count(here, (shape, (place, moved) if moved else place), count * times)
            if is_asked_for(eqn, kind, x, self.producers) or is_of_several(eqn, kind, x, self.producers) or (
                    self.cost[x] >= REMEMBERING and not self.joins.take_part_in(eqn)
                    and needs_again(eqn, kind, x, loops) and not self._is_written_out(eqn, x)):
                self.kept.add(x)

    def _is_written_out(self, eqn: JaxprEqn, x: Var) -> bool:
        """Does `x` depend on the place in a row alone, of so few that compilers write them out and compute it then?"""
        return x in self.positional and eqn.outvars[0].aval.shape[-1] <= WRITTEN_OUT

    def _repeated_by_moves(self, x: Var) -> Var | None:
        """Return the array that `x` has elements of again and again, moved only, as windows of an image are; or None.

        A product gathers such an operand a block at a time (`whole/matmul.py`); the array is kept.
        """
        found: Var | None = None
        source = x
        while source in self.producers and isinstance(self.producers[source].kind, IndexMap):
            operands = self.producers[source].eqn.invars
            moved = [operand for operand in operands if isinstance(operand, Var)]
            if len(moved) != 1 or moved[0] is not operands[0]:
                break
            source = moved[0]
            if REPEATED * source.aval.size <= x.aval.size and (found is None or self.is_view(found, source)):
                found = source
        return found

    def _moved_behind(self, x: Var) -> list[Var]:
        """Return the arrays of whose elements, moved and repeated as by windows, an operation makes `x`."""
        made = self._made(self.producers[x].eqn.invars) if isinstance(self.producers[x].kind, Scalar) else [x]
        return [source for y in made if (source := self._repeated_by_moves(y)) in self.producers and source is not None]

    def is_view(self, x: Var, of: Var | None = None) -> bool:
        """Does `x` show elements of one array (that is `of`) at regular distances, as a transpose or a slice does?"""
        def leaf(v: Var, index: Index) -> Node | None:
            if v not in self.kept and v is not of:
                return self._at_hand(v, index)
            return load(v, flat_offset(index, v.aval.shape), v.aval.dtype)

        axes = domain_axes(x.aval.shape)
        node = Elements(self.producers, leaf, {})(x, axes)
        return node.op == "load" and all(stride_along(node.args[1], axis) is not None for axis in axes)

    def _made(self, atoms: Iterable[Atom]) -> list[Var]:
        return [x for x in dict.fromkeys(atoms) if isinstance(x, Var) and x in self.producers]


def first_values(eqn: JaxprEqn, kind: Loop) -> set[Atom]:
    """Return the operands of a loop that are only copied into carries: they may be written out there."""
    consts, start = kind.num_consts, kind.cond_num_consts + kind.num_consts
    pairs = zip(kind.body.jaxpr.invars[consts:], kind.body.jaxpr.outvars, strict=False)
    changing = [after is not inside for inside, after in pairs]
    carried = {x for x, changes in zip(eqn.invars[start:], changing, strict=False) if changes}
    others = [*eqn.invars[:start], *eqn.invars[start + kind.num_carry:]]
    kept = {x for x, changes in zip(eqn.invars[start:], changing, strict=False) if not changes}
    return {x for x in carried - kept if x not in others}


def _count(reads: Reads, loop: Place, times: int = 1) -> None:
    reads[loop] = reads.get(loop, 0) + times


def _merge_same(into: Reads, loops: Reads) -> None:
    """Readers at the same place of the same loop share one computation."""
    for loop, count in loops.items():
        into[loop] = max(into.get(loop, 0), count)


# --- kinds -------------------------------------------------------------------------------------------------------

def domain_order(operand: ShapedArray, kind: Reduction | Scan1D) -> tuple[int, ...]:
    """Return the loop extents of a fold: the dimensions that stay, then those that are folded."""
    folded = kind.axes if isinstance(kind, Reduction) else (kind.axis,)
    shape = operand.shape
    return (*(size for a, size in enumerate(shape) if a not in folded), *(shape[a] for a in folded))


def _is_simple(kind: Lowered, eqn: JaxprEqn) -> bool:
    """Does an equation that is written out make integers or truth values, by no function but a shift?"""
    moves_or_is_simple = not isinstance(kind, Scalar) or is_simple(kind.operation)
    return moves_or_is_simple and all(is_discrete(v.aval.dtype) for v in eqn.outvars)


def _own_cost(kind: Lowered, eqn: JaxprEqn) -> int:
    if isinstance(kind, Scalar):
        return steps(kind.operation)
    return FOLD if isinstance(kind, Reduction) else 0
