"""From a jaxpr to the list of its kernels, in the order in which they run.

Values are gathered into groups (`plan`), groups become loops (`schedule`), whole operations become kernels of
their own kind. A `Planner` does this for one jaxpr; bodies of loops and branches are planned by planners of their own,
which share the names and know where the values around them lie.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tinytrace.codegen.ir.arithmetic import flat_offset
from tinytrace.codegen.ir.cost import LOOP_OF_ITS_OWN
from tinytrace.codegen.ir.kernel import Kernel, Nest, told
from tinytrace.codegen.ir.nodes import Node, load, local, own_by, walk
from tinytrace.codegen.ir.statements import Buffer, Home
from tinytrace.codegen.plan.elements import Index, domain_axes
from tinytrace.codegen.plan.equal_groups import LONG, MANY, Outline
from tinytrace.codegen.plan.lowering import Lowered, Spread, Window
from tinytrace.codegen.plan.partition import Group, Grouping, Root
from tinytrace.codegen.plan.products import is_small_product
from tinytrace.codegen.plan.roots import (
    Extremes,
    copy_root,
    map_root,
    part_root,
    product_root,
    reduction_roots,
    scan_root,
)
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.plan.unit import Unit
from tinytrace.codegen.schedule.loops import GroupLoops
from tinytrace.codegen.schedule.tasks import StagePlan, Task
from tinytrace.codegen.whole.dispatch import kernels_of_whole
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Contraction, Kind, Reduction, Scan1D


class Planner(Scope):
    """Plans one program."""

    def __init__(self, unit: Unit, closed: ClosedJaxpr, homes: dict[Var, Home],
                 targets: Sequence[Buffer | None]) -> None:
        super().__init__(unit, closed, homes, targets)
        self.grouping = Grouping(self.values.is_cut)
        self._readers: dict[Var, set[tuple[Group, int]]] = {}
        self._last_effect: list[Group] = []
        self._planned: dict[tuple[Any, ...], tuple[Outline, Nest]] = {}
        """The kernels of groups, by what they have in common with equal ones."""
        self._extremes: Extremes = {}
        for eqn, kind in zip(self.jaxpr.eqns, self.values.kinds, strict=True):
            self._collect(eqn, kind)
        for atom, target in zip(self.jaxpr.outvars, targets, strict=True):
            if target is not None and (isinstance(atom, Literal) or atom not in self.values.producers):
                self.add_output(copy_root(self.elements, atom), target)

    def kernels(self) -> list[Kernel]:
        """Return the kernels of the program; afterwards `home` knows where its values are."""
        return [kernel for group in self.grouping.ordered() for kernel in self._kernels_of(group)]

    def inner(self, closed: ClosedJaxpr, homes: dict[Var, Home], targets: Sequence[Buffer | None]) -> Planner:
        """Return a planner for the body of a loop or branch, whose variables have been given letters."""
        return Planner(self.unit, closed, homes, targets)

    def add_root(self, root: Root) -> None:
        """Add a root to the group that suits it."""
        group = self.grouping.add(root)
        stage = self.grouping.home[root.var][1]
        for v, _ in root.reads:
            self._readers.setdefault(v, set()).add((group, stage))

    # --- roots and groups --------------------------------------------------------------------------------------

    def _collect(self, eqn: JaxprEqn, kind: Lowered) -> None:
        if isinstance(kind, Spread):
            for k in range(len(kind.parts)):
                self.add_root(part_root(eqn, kind, k, self.elements))
        if eqn.outvars and self.values.producers[eqn.outvars[0]].is_map:
            for v in eqn.outvars:
                if v in self.values.kept:
                    root = map_root(eqn, v, self.elements)
                    is_dear = v not in self.values.repeated and self.values.cost[v] >= LOOP_OF_ITS_OWN
                    root.wide = is_dear or self.values.is_dear_once(v)
                    self.add_root(root)
        elif isinstance(kind, Reduction):
            for root in reduction_roots(eqn, kind, self.elements, self._extremes):
                self.add_root(root)
        elif isinstance(kind, Scan1D):
            self.add_root(scan_root(eqn, kind, self.elements))
        elif isinstance(kind, Contraction) and is_small_product(kind, eqn):
            self.add_root(product_root(eqn, kind, self.elements))
        else:
            assert not isinstance(kind, (Window, Spread))
            self._collect_whole(eqn, kind)

    def _collect_whole(self, eqn: JaxprEqn, kind: Kind) -> None:
        """Add a whole operation, which reads its operands where they are kept, and extra copies of its results."""
        group = self.grouping.add_whole(eqn, self._kept_behind(eqn.invars), self._last_effect if eqn.effects else ())
        group.kind = kind
        if eqn.effects:
            self._last_effect = [group]
        for v in self._kept_behind(eqn.invars):
            self._readers.setdefault(v, set()).add((group, 0))
        for v in eqn.outvars:
            for target in self.targets.get(v, [])[bool(v.aval.shape):]:
                self.add_output(copy_root(self.elements, v), target)
            if v in self.targets:
                self.targets[v] = self.targets[v][:1]

    def _kept_behind(self, atoms: Sequence[Atom]) -> list[Var]:
        """Return the kept values that are read when `atoms` are."""
        found: dict[Var, None] = {}
        for x in atoms:
            if isinstance(x, Var) and x not in self.homes:
                node = self.elements(x, domain_axes(x.aval.shape))
                found.update((n.args[0], None) for n in walk([node]) if n.op == "element")
        return list(found)

    # --- loops -------------------------------------------------------------------------------------------------

    def _kernels_of(self, group: Group) -> list[Kernel]:
        if group.whole is not None:
            assert group.kind is not None
            eqns = frozenset(k for eqn in self.with_fused([group.whole]) for k in eqn.ids)
            return kernels_of_whole(self, group.whole, group.kind, eqns)
        is_long = len(self.grouping.groups) >= MANY or len(self.jaxpr.eqns) >= LONG
        return [self._of_equal_loops(group) if is_long else self._of_loops(group)]

    def _of_loops(self, group: Group) -> Nest:
        plan = GroupLoops(domain_axes(group.roots[0].domain[:group.outer]), self._stages(group))
        return self._described(Nest(body=plan.statements()), group)

    def _of_equal_loops(self, group: Group) -> Nest:
        """Return the kernel of a group: that of an equal one, for the arrays of this."""
        roots = [(root, number) for number, roots in enumerate(group.stages) for root in roots]
        outline = Outline(group, self, [self._use(root, group, number) for root, number in roots])
        if outline.key not in self._planned:
            self._planned[outline.key] = outline, self._of_loops(group)
            return self._planned[outline.key][1]
        for root, number in roots:
            self._kept_in(root, group, number)
        return self._described(outline.copy(*self._planned[outline.key], self.homes), group)

    def _described(self, kernel: Nest, group: Group) -> Nest:
        """Return a kernel that says which equations it is, and what they would have moved one by one."""
        eqns = self.with_fused([root.eqn for root in group.roots if root.eqn is not None])
        stored = {buffer.name for buffer in kernel.writes}
        saved = sum(2 * v.aval.nbytes for eqn in eqns for v in eqn.outvars
                    if v.aval.shape and self.unit.names[v] not in stored)
        return told(kernel, equations=self.shown(eqns), saved=saved,
                    eqns=kernel.eqns.union(*(node.eqns for node in walk(root.value for root in group.roots)),
                                           *(root.eqns for root in group.roots)))

    def _stages(self, group: Group) -> list[StagePlan]:
        stages: list[StagePlan] = []
        earlier: dict[Var, Home] = {}
        for number, roots in enumerate(group.stages):
            here: dict[Var, Node] = {}
            tasks = []
            for root in roots:
                value = self.resolved(root.value, partial(self._inside, root, here, earlier, group.outer))
                if not root.combine:  # what is folded has variables or a row of its own
                    own_by(value, root.eqns)
                here[root.var] = value
                tasks.append(self._task(root, value, group, number))
            for task in tasks:
                if task.remembered:
                    earlier[task.root.var] = self._row_or_variable(task, group)
            stages.append(StagePlan(list(roots[0].axes[group.outer:]), tasks))
        return stages

    def _inside(self, root: Root, here: dict[Var, Node], earlier: dict[Var, Home], outer: int,
                var: Var, at: Index) -> Node:
        """Return an element as a root of the same kernel reads it: just computed, in a row or variable, or outside."""
        if var in here and at == root.axes:
            if here[var].op in ("literal", "local") and var in self.values.producers:  # read without C of its own
                root.eqns |= frozenset(self.values.producers[var].eqn.ids)
            return here[var]
        home = earlier.get(var)
        if home is None:
            return self.read(var, at)
        if isinstance(home, Node):
            return home
        if home.space == "row":
            return load(home, flat_offset(at[outer:], home.shape), var.aval.dtype)
        return load(home, flat_offset(at, var.aval.shape), var.aval.dtype)

    def _task(self, root: Root, value: Node, group: Group, stage: int) -> Task:
        buffers = self._kept_in(root, group, stage)
        is_scalar = not root.var.aval.shape
        name = self.unit.names[root.var]
        targets = [(buffer, flat_offset(root.place, root.var.aval.shape)) for buffer in buffers]
        return Task(root, value, targets, max(root.free - group.outer, 0),
                    f"{name}_i" if buffers and not is_scalar else name,
                    is_scalar or self._use(root, group, stage)[1])

    def _use(self, root: Root, group: Group, stage: int) -> tuple[bool, bool]:
        """Return whether other groups read the result of a root, and whether later stages do."""
        readers = self._readers.get(root.var, set())
        return any(home is not group for home, _ in readers), any(home is group and at != stage for home, at in readers)

    def _kept_in(self, root: Root, group: Group, stage: int) -> list[Buffer]:
        """Return the arrays that get the result of a root, which is at home in the first one, or in a variable."""
        aval, name = root.var.aval, self.unit.names[root.var]
        buffers = list(self.targets.get(root.var, []))
        if not aval.shape:
            self.homes[root.var] = local(name, aval.dtype)
            return buffers
        if not buffers and self._use(root, group, stage)[0]:
            buffers = [Buffer(name, aval.shape, aval.dtype, "workspace")]
        if buffers:
            self.homes[root.var] = buffers[0]
        return buffers

    def _row_or_variable(self, task: Task, group: Group) -> Home:
        """Return where later stages of the group find the result."""
        root = task.root
        shape = root.var.aval.shape[group.outer:]
        if all(size == 1 for size in shape) and not root.running:
            task.depth = 0
            return local(task.name, root.var.aval.dtype)
        if task.targets:
            return task.targets[0][0]
        row = Buffer(task.name, shape, root.var.aval.dtype, "row")
        task.name = f"{task.name}_i"
        task.targets.append((row, flat_offset(root.place[group.outer:], shape)))
        return row
