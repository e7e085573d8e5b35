"""Fusion of loops, which equations become one kernel: kept values are gathered into groups that share loops.

A *root* is a kept value with the loops that compute it: the dimensions of the result, then those that are folded away.
A *group* is a list of stages, one after the other inside common outer loops; roots of one stage share all of their
loops. Softmax is one group: for each row, a stage for the maximum, one for the exponentials and their sum, one for the
quotients. A root joins the group of a value that it reads when it reads it at the place where the outer loops stand.
What is not kept (`values.py`) is written out in the expressions of its readers (`elements.py`).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TypeAlias

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.inserted_operations import is_search
from tinytrace.codegen.ir.nodes import NO_EQNS, Node, own_by, rewrite, walk
from tinytrace.codegen.ir.reductions import accumulator_type
from tinytrace.codegen.plan.directions import Ways, crosses, turns, ways
from tinytrace.codegen.plan.elements import Index, domain_axes
from tinytrace.codegen.plan.polynomials import is_around
from tinytrace.core.dtypes import is_float
from tinytrace.core.jaxpr import JaxprEqn, Var
from tinytrace.core.kinds import Kind
from tinytrace.records import dataclass

MOST_ROOTS = 12
"""More arrays written in one loop than this would run against each other in the cache."""
ROW_BYTES = 256 * 1024
"""Stages share outer loops when what one iteration of them touches stays in a core's cache."""
MOST_STAGES, SMALL = 4, 1 << 14
"""Arrays of so many bytes stay in the first-level cache: more stages than this save nothing, and a long function is
slower than several short ones, which may be equal, and takes the compiler twice as long. Nor does a second product
join: layers are equal from one product to the next, and equal kernels are compiled once.
"""
MOST_WORK = 120
"""A root of more operations than this joins a group of more only if half of them are the same."""
MANY = 1 << 18
"""From so many elements on it is better to read them once and compute more with each."""
FEWEST_ITERATIONS, FEWEST_SEARCHES = 4, 2
"""Outer loops are shared by stages that run at least this often: each iteration is work for a thread. A fold and
searches for the place of an extreme have a thread for each row in any case."""


@dataclass(eq=False)
class Root:
    """A kept value and its loops: `domain` are their extents, the first `free` of them the result's dimensions."""

    var: Var
    eqn: JaxprEqn | None
    domain: tuple[int, ...]
    free: int
    value: Node
    """What is stored, or folded, at `domain_axes(domain)`; reads of kept values are `element` nodes."""
    combine: str = ""
    """How the dimensions after `free` are folded; nothing: they are not, or there are none."""
    running: bool = False
    """Has the result the folded dimension too, and holds what is folded so far?"""
    is_product: bool = False
    """Is it a product of matrices?"""
    wide: bool = False
    """Is it dear enough to want vectorised loops of its own, and needed once per element only, or complex?"""
    place: Index = ()
    """Which element of the result this is, in terms of the axes."""
    eqns: frozenset[int] = NO_EQNS
    """The ids of the equations that this is: its own, and those that move what it reads."""
    reads: list[tuple[Var, Index]] = field(default_factory=list)
    inputs: set[object] = field(default_factory=set)
    """The arrays and values that are read."""
    along: Ways = field(default_factory=dict)
    """Which way it folds large arrays and values."""
    work: set[Node] = field(default_factory=set)
    """The operations."""

    def __post_init__(self) -> None:
        if self.combine and all(size == 1 for size in self.domain[self.free:]):
            self.combine, self.running = "", False  # a fold of one element
        self.place = self.place or self.axes[:self.free]
        self.set_value(self.value)

    def set_value(self, value: Node) -> None:
        """Let `value` be what is stored or folded."""
        self.value = value
        if not self.combine:
            own_by(value, self.eqns)
        self.reads.clear()
        self.inputs.clear()
        self.along = ways(value, self.axes) if self.combine else {}
        for node in walk([value]):
            if node.op == "element":
                self.reads.append((node.args[0], node.args[1:]))
                self.inputs.add(node.args[0])
            elif node.op == "load":
                self.inputs.add(node.args[0])
            elif node.op == "apply":
                self.work.add(node)

    @property
    def axes(self) -> Index:
        return domain_axes(self.domain)


Stage: TypeAlias = list[Root]


@dataclass(eq=False)
class Group:
    """Roots that become one kernel, or one whole operation; `before` has a bit for each group that must run first."""

    number: int
    outer: int = 0
    stages: list[Stage] = field(default_factory=list)
    whole: JaxprEqn | None = None
    kind: Kind | None = None
    before: int = 0
    work: set[Node] = field(default_factory=set)
    """The operations of all roots."""

    @property
    def roots(self) -> list[Root]:
        return [root for stage in self.stages for root in stage]

    @property
    def is_scalar(self) -> bool:
        return all(not root.domain for root in self.roots)


class Grouping:
    """The groups of one jaxpr, made by adding its kept values in order."""

    def __init__(self, is_cut: Callable[[Var, Var], bool]) -> None:
        """Make a grouping; `is_cut(v, w)`: does a piece of a chain end between `v` and `w`, which is made of it?"""
        self.is_cut = is_cut
        self.groups: list[Group] = []
        self.home: dict[Var, tuple[Group, int]] = {}
        """For each kept value its group and stage."""
        self._readers: dict[object, list[Group]] = {}
        """For each array or value the groups that read it."""

    def add_whole(self, eqn: JaxprEqn, reads: Iterable[Var], after: Iterable[Group] = ()) -> Group:
        """Add an equation that is a kernel of its own."""
        group = self._new(whole=eqn)
        for v in eqn.outvars:
            self.home[v] = group, 0
        for other in [*(self.home[v][0] for v in reads if v in self.home), *after]:
            self._order(other, group)
        return group

    def add(self, root: Root) -> Group:
        """Add a root to the best group that it fits in, or to a new one."""
        for group in self._candidates(root):
            if self._joins_around(root, group):
                self._put(root, group, 1)
                return group
            place = self._fit(root, group)
            if place is not None:
                group.outer, stage = place
                self._put(root, group, stage)
                return group
        group = self._new(outer=root.free)
        self._put(root, group, 0)
        return group

    def ordered(self) -> list[Group]:
        """Return the groups so that each comes after those it depends on, otherwise in order of making."""
        done = 0
        result: list[Group] = []
        waiting = list(self.groups)
        while waiting:
            later = []
            for group in waiting:
                if group.before & ~done:
                    later.append(group)
                else:
                    result.append(group)
                    done |= 1 << group.number
            assert len(later) < len(waiting), "groups depend on each other"
            waiting = later
        return result

    def _new(self, outer: int = 0, whole: JaxprEqn | None = None) -> Group:
        group = Group(len(self.groups), outer, whole=whole)
        self.groups.append(group)
        return group

    def _put(self, root: Root, group: Group, stage: int) -> None:
        if stage == len(group.stages):
            group.stages.append([])
        group.stages[stage].append(root)
        group.work |= root.work
        self.home[root.var] = group, stage
        for v, _ in root.reads:
            self._order(self.home[v][0], group)
        for source in root.inputs:
            readers = self._readers.setdefault(source, [])
            if group not in readers[-1:]:
                readers.append(group)

    def _order(self, first: Group, second: Group) -> None:
        """Let `first` run before `second`, and so before all that waits for `second`."""
        if first is second:
            return
        new = first.before | 1 << first.number
        if new & ~second.before:
            for group in self.groups:
                if group is second or group.before >> second.number & 1:
                    group.before |= new

    def _candidates(self, root: Root) -> list[Group]:
        """Groups that compute what the root reads, then groups that read what it reads; the latest first."""
        makers = {self.home[v][0] for v, _ in root.reads}
        if not root.domain:
            makers.update(group for group in self.groups[-1:] if group.is_scalar)
        siblings = {group for source in root.inputs for group in self._readers.get(source, [])[-4:]} - makers
        found = [*sorted(makers, key=_number, reverse=True), *sorted(siblings, key=_number, reverse=True)]
        return [group for group in found if group.whole is None]

    def _fit(self, root: Root, group: Group) -> tuple[int, int] | None:
        """Return (outer loops, stage) with which `root` can join `group`, if it can and it pays."""
        if group.is_scalar != (not root.domain) or len(group.roots) >= MOST_ROOTS or crosses(root, group.roots):
            return None
        smaller = min(len(root.work), len(group.work))
        if smaller > MOST_WORK and 2 * len(root.work & group.work) < smaller:
            return None
        if any(self.home[v][0].before >> group.number & 1 for v, _ in root.reads):
            return None  # something between the two has to run after the one and before the other
        if any(self.home[v][0] is group and self.is_cut(v, root.var) for v, _ in root.reads):
            return None
        outer, first = self._shared_loops(root, group)
        if any(turns(outer, root, r) or turns(outer, r, root) for r in group.roots):
            return None
        around = len(group.stages) > 1 and not group.outer  # then the second stage is for sums around totals alone
        for k in range(first, 1 if around else len(group.stages)):
            if _same_loops(group.stages[k][0], root):
                return (outer, k) if not group.stages[1:] or outer == group.outer or pays(group.stages, outer) else None
        if root.domain and not pays([*group.stages, [root]], outer):
            return None
        is_long = len(group.stages) >= MOST_STAGES or (root.is_product and any(r.is_product for r in group.roots))
        if is_long and root.var.aval.nbytes <= SMALL:
            return None
        if _is_between_loops(root, outer, group.roots) or any(_is_between_loops(r, outer, [root]) for r in group.roots):
            return None  # there one of them would be computed one element at a time, between loops
        return outer, len(group.stages)

    # --- sums around totals ------------------------------------------------------------------------------------

    def _joins_around(self, root: Root, group: Group) -> bool:
        """Is `root` a sum around totals that `group` computes of the same elements? Then one pass is enough."""
        first = group.stages[0][0]
        if not is_total(root) or root.free or group.outer or first.domain != root.domain \
                or math.prod(root.domain) < MANY or len(group.stages) > 2 or len(group.roots) >= MOST_ROOTS:
            return False
        value = self._without_scalars_after(root.value, group)
        found = [node for node in walk([value]) if node.op == "element"]
        totals = [node for node in found if self.home[node.args[0]][0] is group]
        known = [root.var for root in group.stages[0] if is_total(root) and not root.free]
        if any(node.args[0] not in known for node in totals) or not is_around(value, totals) \
                or any(self.home[node.args[0]][0].before >> group.number & 1 for node in found if node not in totals):
            return False
        root.set_value(value)
        return True

    def _without_scalars_after(self, value: Node, group: Group) -> Node:
        """Return `value` with the scalars that depend on `group` written out."""
        while True:
            written_out: dict[Node, Node] = {}
            for node in walk([value]):
                maker = self.home[node.args[0]][0] if node.op == "element" else group
                if maker.is_scalar and maker.whole is None and maker.before >> group.number & 1:
                    written_out[node] = next(root.value for root in maker.roots if root.var is node.args[0])
            if not written_out:
                return value
            value, = rewrite([value], written_out, rebuild)

    def _shared_loops(self, root: Root, group: Group) -> tuple[int, int]:
        """Return how many outer loops the two may share, and the first stage in which all that is read is there."""
        outer = min(group.outer, root.free)
        outer = next((k for k in range(outer) if group.stages[0][0].domain[k] != root.domain[k]), outer)
        first = 0
        for v, index in root.reads:
            maker, stage = self.home[v]
            if maker is not group:
                continue
            made = next(r for r in group.stages[stage] if r.var is v)
            if not made.combine and _same_loops(made, root) and index == root.axes:
                first = max(first, stage)  # still at hand when the loops stand there
                continue
            first = max(first, stage + 1)
            reach = min(outer, made.free, len(index))
            outer = next((k for k in range(reach)  # a running fold has its loops in another order than its dimensions
                          if index[k] is not root.axes[k] or made.place[k] is not made.axes[k]), reach)
        return outer, first


def _number(group: Group) -> int:
    return group.number


def is_total(root: Root) -> bool:
    """Does `root` add up elements, in the type that they have?"""
    dtype = root.var.aval.dtype
    return root.combine == "sum" and not root.running and is_float(dtype) and accumulator_type(dtype) == dtype


def _is_between_loops(root: Root, outer: int, others: Iterable[Root]) -> bool:
    """Would a dear root be computed once an iteration of shared loops, beside loops inside, even of one turn?"""
    return root.wide and math.prod(root.domain[outer:]) == 1 and any(
        math.prod(r.domain[outer:]) > 1 or len(r.domain) > len(root.domain) == outer for r in others)


def _same_loops(a: Root, b: Root) -> bool:
    """Do two roots run over the same loops, in an order that suits both?"""
    return a.domain == b.domain and not a.running and not b.running


def pays(stages: Sequence[Stage], outer: int) -> bool:
    """Is it worth while to run all of these stages in each iteration of the outer loops, not one after the other?"""
    readers = [stage for stage in stages if not is_search(stage[0].value)]  # that looks at a part of a row again
    touched = sum(math.prod(stage[0].domain[outer:]) * 4 * len(stage) for stage in readers) if readers[1:] else 0
    fewest = FEWEST_ITERATIONS if readers[1:] else FEWEST_SEARCHES
    return outer > 0 and math.prod(stages[0][0].domain[:outer]) >= fewest and touched <= ROW_BYTES
