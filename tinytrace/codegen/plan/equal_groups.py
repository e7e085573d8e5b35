"""Groups that are equal but for the values that they read and make: the kernel of the first is that of all of them.

    y1 = tanh(x1 @ w1 + b1)    planned
    y2 = tanh(x2 @ w2 + b2)    the same kernel with {x1: x2, w1: w2, b1: b2, y1: y2}

A long program often repeats itself: layers, time steps, a loop in Python. What a group becomes depends on what stands
in its `Outline`, where arrays, variables and values are numbers, in the order in which they occur; so two groups of one
outline become kernels that differ in names alone. Passes and the writer of C, too, take the first for all of them.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tinytrace.codegen.ir.kernel import Nest, Renamed
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.renaming import Renaming
from tinytrace.codegen.ir.statements import Buffer, Home
from tinytrace.codegen.plan.partition import Group, Root
from tinytrace.codegen.plan.scope import Scope
from tinytrace.core.jaxpr import Var
from tinytrace.records import replace

MANY, LONG = 24, 400
"""In a program of so many groups, or equations, equal ones are looked for."""


class Outline:
    """A group with numbers for what it mentions: the `key`, and what each number stands for."""

    def __init__(self, group: Group, scope: Scope, uses: Iterable[object]) -> None:
        """Look at a group of a program; uses: who reads the result of each root."""
        self.roots = group.roots
        self.names = [scope.unit.names[root.var] for root in self.roots]
        self.eqns: dict[int, int] = {}
        """Each id with its number; the following likewise."""
        self.arrays: dict[Buffer, int] = {}
        self.variables: dict[Node, int] = {}
        self.hints: list[str] = []
        self._scope = scope
        self._own = {root.var: k for k, root in enumerate(self.roots)}
        self._nodes: dict[Node, int] = {}
        self._tokens: list[Any] = [group.outer, *map(len, group.stages), *uses]
        for root in self.roots:
            self._add(root)
        self.key = tuple(self._tokens)

    def copy(self, original: Outline, nest: Nest, homes: Mapping[Var, Home]) -> Nest:
        """Return the kernel of this group, whose results are at home, made of `nest`, which is the original's."""
        arrays = dict(zip(original.arrays, self.arrays, strict=True))
        variables = dict(zip(original.variables, self.variables, strict=True))
        names = {old: new for old, new in zip(original.hints, self.hints, strict=True) if old}
        names |= dict(zip(original.names, self.names, strict=True))
        for old, new in zip(original.roots, self.roots, strict=True):
            place, here = homes.get(old.var), homes.get(new.var)
            if isinstance(place, Buffer) and isinstance(here, Buffer):
                arrays[place] = here
            elif isinstance(place, Node) and isinstance(here, Node):
                variables[place] = here
        names |= {old.name: new.name for old, new in arrays.items()}
        renaming = Renaming(arrays, variables, dict(zip(original.eqns, self.eqns, strict=True)), names)
        for array in (*nest.accesses[0], *nest.accesses[1]):
            if array.space == "workspace" and array not in arrays:  # the partial results of a fold
                arrays[array] = replace(array, name=renaming.name(array.name), eqns=renaming.ids(array.eqns))
        return replace(nest, body=Renamed(nest, renaming), eqns=renaming.ids(nest.eqns))

    # --- the key -----------------------------------------------------------------------------------------------

    def _add(self, root: Root) -> None:
        aval = root.var.aval
        for node in walk([root.value, *root.place]):
            self._add_node(node)
        place = [self._nodes[node] for node in root.place]
        targets = [self._array(buffer) for buffer in self._scope.targets.get(root.var, ())]
        self._tokens.append((root.domain, root.free, root.combine, root.running, aval.shape, aval.dtype,
                             self._ids(root.eqns), self._nodes[root.value], *place, *targets))

    def _add_node(self, node: Node) -> None:
        if node in self._nodes:
            return
        self._nodes[node] = len(self._nodes)
        match node.op:
            case "element":
                token = self._element(node.args[0], node.args[1:])
            case "load":
                token = "load", self._array(node.args[0]), self._nodes[node.args[1]]
            case "local":
                token = "local", self._variable(node)
            case _ if node.children:
                token = node.op, node.dtype, *map(self._argument, node.args)
            case _:
                token = (node,)  # an axis or a number is the same object everywhere
        self._tokens.append((*token, self._ids(node.eqns)) if node.eqns else token)
        self.hints.append(node.hint)

    def _element(self, var: Var, index: Iterable[Node]) -> tuple[Any, ...]:
        at = [self._nodes[node] for node in index]
        if var in self._own:
            producer = self._scope.values.producers.get(var)
            return "own", self._own[var], self._ids(producer.eqn.ids if producer is not None else ()), *at
        home = self._scope.homes[var]
        if isinstance(home, Buffer):
            return "element", self._array(home), var.aval.shape, *at
        return ("value", self._variable(home)) if home.op == "local" else ("number", home)

    def _argument(self, x: Any) -> Any:
        if isinstance(x, Node):
            return self._nodes.get(x, x)  # a constant is no part of a walk
        return tuple(map(self._argument, x)) if type(x) is tuple else x

    def _array(self, x: Buffer) -> tuple[Any, ...]:
        return self.arrays.setdefault(x, len(self.arrays)), x.shape, x.dtype, x.space, x.given, x.wide

    def _variable(self, x: Node) -> tuple[Any, ...]:
        return self.variables.setdefault(x, len(self.variables)), x.dtype

    def _ids(self, eqns: Iterable[int]) -> tuple[int, ...]:
        return tuple([self.eqns.setdefault(k, len(self.eqns)) for k in sorted(eqns)])
