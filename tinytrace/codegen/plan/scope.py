"""What an equation that is a kernel of its own may ask of the program around it: where values are, and plans of bodies.

`whole` writes kernels against this; `planner` is the one that implements it.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from tinytrace.codegen.ir.arithmetic import flat_offset, rebuild
from tinytrace.codegen.ir.equations import Equation, Value
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, element, inherit, load, own_by, value_of, walk
from tinytrace.codegen.ir.statements import Buffer, Home
from tinytrace.codegen.plan.elements import Elements, Index, literal_node
from tinytrace.codegen.plan.partition import Root
from tinytrace.codegen.plan.unit import Unit
from tinytrace.codegen.plan.values import Values
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, JaxprEqn, Literal, Var


class Scope(ABC):
    """One program whose inputs are at `homes`; its outputs are to be stored in `targets`, where there is one."""

    def __init__(self, unit: Unit, closed: ClosedJaxpr, homes: dict[Var, Home],
                 targets: Sequence[Buffer | None]) -> None:
        self.unit = unit
        self.jaxpr = closed.jaxpr
        self.homes = dict(homes)
        """Where values are that have been planned."""
        for v, const in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            if v not in self.homes:
                self.homes[v] = unit.constant(const, v.aval)
        self.values = Values(self.jaxpr)
        self._order = {eqn: k for k, eqn in enumerate(self.jaxpr.eqns)}
        letters = {v: unit.names[v] for eqn in self.jaxpr.eqns for v in eqn.outvars if type(v) is not DropVar}
        self.elements = Elements(self.values.producers, partial(_leaf, self.homes, self.values), letters, unit.fuses)
        self.targets: dict[Var, list[Buffer]] = {}
        """The arrays in which outputs are wanted."""
        for atom, target in zip(self.jaxpr.outvars, targets, strict=True):
            if target is not None and isinstance(atom, Var) and atom in self.values.producers:
                self.targets.setdefault(atom, []).append(target)

    @abstractmethod
    def kernels(self) -> list[Kernel]:
        """Return the kernels of the program; afterwards `home` knows where its values are."""

    @abstractmethod
    def inner(self, closed: ClosedJaxpr, homes: dict[Var, Home], targets: Sequence[Buffer | None]) -> Scope:
        """Return the scope of the body of a loop or branch, whose variables have been given letters."""

    @abstractmethod
    def add_root(self, root: Root) -> None:
        """Add a root that no equation of the program computes."""

    def add_output(self, root: Root, target: Buffer) -> None:
        """Add a root that no equation of the program computes, and store it in `target`."""
        self.targets[root.var] = [target]
        self.add_root(root)

    def with_fused(self, stack: list[JaxprEqn]) -> list[JaxprEqn]:
        """Return equations and those that are written out in them, in order."""
        inside: dict[JaxprEqn, None] = {}
        while stack:
            eqn = stack.pop()
            if eqn not in inside:
                inside[eqn] = None
                for x in eqn.invars:
                    producer = self.values.producers.get(x) if isinstance(x, Var) else None
                    if producer is not None and x not in self.values.kept and producer.is_map:
                        stack.append(producer.eqn)
        return sorted(inside, key=self._order.__getitem__)

    def equations(self, eqn: JaxprEqn) -> list[Equation]:
        """Return what is shown of an equation that is a kernel of its own, after those that are written out in it."""
        return self.shown(self.with_fused([eqn]))

    def shown(self, eqns: Iterable[JaxprEqn]) -> list[Equation]:
        """Return what is shown of equations: their values under their letters, or where they are."""
        values: dict[Var, Value] = {}
        types = cache(ShapedArray.str_short)

        def value(var: Var, letter: str) -> Value:
            found = values.get(var)
            if found is None:
                found = values[var] = self._value(var, letter, types(var.aval))
            return found

        return [self.unit.names.equation(eqn, value) for eqn in eqns]

    def _value(self, var: Var, letter: str, type_: str) -> Value:
        home = self.homes.get(var)
        if home is None and var not in self.targets:
            return Value((letter,), type_)
        places = [home.name] if isinstance(home, Buffer) else []
        if isinstance(home, Node) and home.op == "local":
            places.append(str(home.args[0]))
        if isinstance(home, Node) and home.op == "literal" and var not in self.values.producers:
            return Value((str(value_of(home)),), is_number=True)
        places += [target.name for target in self.targets.get(var, [])]
        names = [letter, *places] if var in self.values.producers or not places else places
        return Value(tuple(dict.fromkeys(names)), type_)

    def home(self, atom: Atom) -> Home:
        """Return where a value is that has been planned, or is an input or a literal."""
        return literal_node(atom) if isinstance(atom, Literal) else self.homes[atom]

    def result_array(self, var: Var) -> Buffer:
        """Return the array in which a whole operation is to leave a result, and let it live there."""
        targets = self.targets.get(var)
        home = targets[0] if targets and var.aval.shape else self.temporary(var)
        self.homes[var] = home
        return home

    def temporary(self, var: Var, suffix: str = "") -> Buffer:
        """Return a new array in the workspace for a value like `var`."""
        name = self.unit.names[var] if not suffix and type(var) is not DropVar else \
            self.unit.names.fresh(f"{self.unit.names[var]}{suffix or '_1'}")
        return Buffer(name, var.aval.shape, var.aval.dtype, "workspace")

    def resolved(self, value: Node, where: Callable[[Var, Index], Node] | None = None) -> Node:
        """Return `value` with every element of a kept value read from where that is."""
        found: dict[Node, Node] = {}
        for node in walk([value]):
            old = node.children
            new = [found[child] for child in old]
            if node.op == "element":
                found[node] = (where or self.read)(node.args[0], tuple(new))
                own_by(found[node], node.eqns)
            elif all(x is y for x, y in zip(new, old, strict=True)):
                found[node] = node
            else:
                found[node] = rebuild(node, new)
                inherit(found[node], node)
        return found[value]

    def read(self, var: Var, index: Index) -> Node:
        """Return an element of a value that has been planned."""
        home = self.homes[var]
        return home if isinstance(home, Node) else load(home, flat_offset(index, var.aval.shape), var.aval.dtype)


def _leaf(homes: dict[Var, Home], values: Values, var: Var, index: Index) -> Node | None:
    """Return the node of a value that is not written out; no method, for the scope holds it and would hold itself."""
    home = homes.get(var)
    if isinstance(home, Node):
        return home
    if home is not None:
        return load(home, flat_offset(index, var.aval.shape), var.aval.dtype)
    if var in values.kept or not values.producers[var].is_map:
        return element(var, index)
    return None
