"""From a jaxpr to the list of its kernels, in the order in which they run.

Values are gathered into groups (`partition`), groups become loops (`schedule`), whole operations become kernels of
their own kind. A `Planner` does this for one jaxpr; bodies of loops and branches are planned by planners of their own,
which share the names and know where the values around them lie.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.arithmetic import flat_offset, rebuild

from tinytrace.codegen.costs import measure
from tinytrace.codegen.elements import Elements, Index, domain_axes
from tinytrace.codegen.kernel import Buffer, Kernel, Nest
from tinytrace.codegen.names import Names
from tinytrace.codegen.nodes import Node, element, load, local, walk
from tinytrace.codegen.partition import Group, Grouping, Root
from tinytrace.codegen.roots import map_root, product_root, reduction_roots, scan_root
from tinytrace.codegen.schedule import Plan, StagePlan, Task
from tinytrace.codegen.values import Values, is_map, is_small_product
from tinytrace.runtime.ladder import NoCompiler
from tinytrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Contraction, Reduction, Scan1D

Place = Buffer | Node
"""Where a value is: in an array, or (a scalar) in a C variable."""


class Planner:
    """Plans one jaxpr whose inputs lie at `places`; its outputs are to be stored in `targets`."""

    def __init__(self, jaxpr: Jaxpr, places: dict[Var, Place], targets: Sequence[Buffer | None], names: Names) -> None:
        self.jaxpr = jaxpr
        self.places = dict(places)
        self.names = names
        self.targets: dict[Var, list[Buffer]] = {}
        self.values = Values(jaxpr)
        self.grouping = Grouping()
        letters = {v: names[v] for eqn in jaxpr.eqns for v in eqn.outvars}
        self.elements = Elements(self.values.producers, self._leaf, letters)
        self._readers: dict[Var, set[tuple[Group, int]]] = {}
        self._order = {eqn: k for k, eqn in enumerate(jaxpr.eqns)}
        self._collect(targets)

    def kernels(self) -> list[Kernel]:
        """Return the kernels of the jaxpr."""
        return [kernel for group in self.grouping.ordered() for kernel in self._kernels_of(group)]

    # --- roots and groups --------------------------------------------------------------------------------------

    def _leaf(self, var: Var, index: Index) -> Node | None:
        place = self.places.get(var)
        if isinstance(place, Node):
            return place
        if place is not None:
            return load(place, flat_offset(index, var.aval.shape), var.aval.dtype)
        producer = self.values.producers[var]
        if var in self.values.kept or not is_map(producer.kind, producer.eqn):
            return element(var, index)
        return None

    def _collect(self, targets: Sequence[Buffer | None]) -> None:
        for atom, target in zip(self.jaxpr.outvars, targets, strict=True):
            if target is not None and isinstance(atom, Var) and atom in self.values.producers:
                self.targets.setdefault(atom, []).append(target)
        for eqn, kind in zip(self.jaxpr.eqns, self.values.kinds, strict=True):
            self._collect_equation(eqn, kind)
        for atom, target in zip(self.jaxpr.outvars, targets, strict=True):
            if target is not None and (isinstance(atom, Literal) or atom not in self.values.producers):
                copy = Var(atom.aval)
                self.targets[copy] = [target]
                axes = domain_axes(atom.aval.shape)
                self._add(Root(copy, None, atom.aval.shape, len(axes), self.elements(atom, axes)))

    def _collect_equation(self, eqn: JaxprEqn, kind: object) -> None:
        producer = self.values.producers.get(eqn.outvars[0]) if eqn.outvars else None
        if producer is not None and is_map(producer.kind, eqn):
            for v in eqn.outvars:
                if v in self.values.kept:
                    self._add(map_root(eqn, v, self.elements))
        elif isinstance(kind, Reduction):
            for root in reduction_roots(eqn, kind, self.elements):
                self._add(root)
        elif isinstance(kind, Scan1D):
            self._add(scan_root(eqn, kind, self.elements))
        elif isinstance(kind, Contraction) and is_small_product(kind, eqn):
            self._add(product_root(eqn, kind, self.elements))
        else:
            raise NoCompiler(f"{eqn.primitive} cannot be compiled yet")  # interim: the interpreter takes over

    def _add(self, root: Root) -> None:
        group = self.grouping.add(root)
        stage = self.grouping.home[root.var][1]
        for v, _ in root.reads:
            self._readers.setdefault(v, set()).add((group, stage))

    # --- loops -------------------------------------------------------------------------------------------------

    def _kernels_of(self, group: Group) -> list[Kernel]:
        plan = Plan(domain_axes(group.roots[0].domain[:group.outer]), self._stages(group))
        nest = Nest(body=plan.statements())
        measure(nest)
        self._describe(nest, group)
        return [nest]

    def _describe(self, nest: Nest, group: Group) -> None:
        """Say which equations became this kernel, and what they would have moved one by one."""
        inside: dict[JaxprEqn, None] = {}
        stack = [root.eqn for root in group.roots if root.eqn is not None]
        while stack:
            eqn = stack.pop()
            if eqn not in inside:
                inside[eqn] = None
                for x in eqn.invars:
                    producer = self.values.producers.get(x) if isinstance(x, Var) else None
                    if producer is not None and x not in self.values.kept and is_map(producer.kind, producer.eqn):
                        stack.append(producer.eqn)
        eqns = sorted(inside, key=self._order.__getitem__)
        nest.equations = [self.names.text(eqn) for eqn in eqns]
        stored = {buffer.name for buffer in nest.writes}
        nest.saved = sum(2 * v.aval.nbytes for eqn in eqns for v in eqn.outvars
                         if v.aval.shape and self.names[v] not in stored)

    def _stages(self, group: Group) -> list[StagePlan]:
        stages: list[StagePlan] = []
        results: dict[Var, tuple[Root, Place]] = {}
        for number, roots in enumerate(group.stages):
            here: dict[Var, Node] = {}
            tasks = []
            for root in roots:
                value = self._resolved(root.value, root, here, results, group)
                task = self._task(root, value, group, number)
                here[root.var] = value
                tasks.append(task)
            for task in tasks:
                if task.remembered:
                    results[task.root.var] = task.root, self._row_or_variable(task, group)
            stages.append(StagePlan(list(roots[0].axes[group.outer:]), tasks))
        return stages

    def _task(self, root: Root, value: Node, group: Group, stage: int) -> Task:
        readers = self._readers.get(root.var, set())
        outside = any(home is not group for home, _ in readers)
        remembered = any(home is group and at != stage for home, at in readers)
        name = self.names[root.var]
        buffers = list(self.targets.get(root.var, []))
        if not root.var.aval.shape:
            self.places[root.var] = local(name, root.var.aval.dtype)
            remembered = True
        elif outside and not buffers:
            buffers = [Buffer(name, root.var.aval.shape, root.var.aval.dtype, "workspace")]
        if buffers and root.var.aval.shape:
            self.places[root.var] = buffers[0]
        if buffers and root.var.aval.shape:
            name = f"{name}_i"
        targets = [(buffer, flat_offset(root.place, root.var.aval.shape)) for buffer in buffers]
        return Task(root, value, targets, max(root.free - group.outer, 0), name, remembered)

    def _row_or_variable(self, task: Task, group: Group) -> Place:
        """Return where later stages of the group find the result."""
        root = task.root
        if not task.depth and not root.running:
            return local(task.name, root.var.aval.dtype)
        if task.targets:
            return task.targets[0][0]
        shape = root.var.aval.shape[group.outer:]
        row = Buffer(task.name, shape, root.var.aval.dtype, "row")
        task.targets.append((row, flat_offset(root.place[group.outer:], shape)))
        return row

    def _resolved(self, value: Node, root: Root, here: dict[Var, Node], results: dict[Var, tuple[Root, Place]],
                  group: Group) -> Node:
        """Return `value` with every element read from where it is kept."""
        found: dict[Node, Node] = {}
        for node in walk([value]):
            if node.op == "element":
                var, *index = node.args
                at = tuple(found[i] for i in index)
                found[node] = self._where_kept(var, at, root, here, results, group)
                continue
            old = node.children
            new = [found[child] for child in old]
            if all(x is y for x, y in zip(new, old, strict=True)):
                found[node] = node
            else:
                found[node] = rebuild(node, new)
                found[node].hint = found[node].hint or node.hint
        return found[value]

    def _where_kept(self, var: Var, at: Index, root: Root, here: dict[Var, Node],
                    results: dict[Var, tuple[Root, Place]], group: Group) -> Node:
        if var in here and at == root.axes:
            return here[var]
        if var in results:
            place = results[var][1]
            if isinstance(place, Buffer) and place.space == "row":
                return load(place, flat_offset(at[group.outer:], place.shape), var.aval.dtype)
        else:
            place = self.places[var]
        if isinstance(place, Node):
            return place
        return load(place, flat_offset(at, var.aval.shape), var.aval.dtype)


