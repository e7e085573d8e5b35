"""Loops and branches over programs: where carries, slices and results are while the program inside runs.

A carry that is a scalar is a C variable. A carry that is an array has two places: an iteration reads one and writes the
other, exchanged after each iteration; `in_place` makes them one where it can. Slices of xs and ys are pointers
into them.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tinytrace.codegen.c.types import spelled
from tinytrace.codegen.ir.arithmetic import flat_offset, unflattened
from tinytrace.codegen.ir.kernel import (
    Buffer,
    Choose,
    Declare,
    Exchange,
    Home,
    Kernel,
    Repeat,
    Stmt,
    Store,
    View,
)
from tinytrace.codegen.ir.nodes import Node, apply, literal, load, local, number
from tinytrace.codegen.passes.in_place import may_share, share
from tinytrace.codegen.passes.interchange import interchanged
from tinytrace.codegen.plan.elements import domain_axes
from tinytrace.codegen.plan.partition import Root
from tinytrace.codegen.schedule.copies import store_nest
from tinytrace.codegen.schedule.nest import measure_program, nest
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BOOL
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, JaxprEqn, Var
from tinytrace.core.kinds import Branch, Loop

if TYPE_CHECKING:
    from tinytrace.codegen.planner import Planner


def loop(planner: Planner, eqn: JaxprEqn, kind: Loop) -> list[Kernel]:
    """Return the kernels of a scan or while: its carries' first values, then the loop."""
    return (_Counted if kind.cond is None else _Conditional)(planner, eqn, kind).kernels()


@dataclass
class _Carry:
    """One carry: the body's input and output, and the equation's result."""

    first: Atom
    inside: Var
    after: Atom
    result: Var

    @property
    def is_constant(self) -> bool:
        return self.after is self.inside


class _Repetition:
    """What counted and conditional loops share."""

    def __init__(self, planner: Planner, eqn: JaxprEqn, kind: Loop) -> None:
        self.planner, self.eqn, self.kind = planner, eqn, kind
        self.before: list[Kernel] = []
        self.repeat = Repeat([planner.unit.names.text(eqn)])
        for program in (kind.cond, kind.body):
            if program is not None:
                planner.unit.names.letter(program.jaxpr)
        self.homes: dict[Var, Home] = {}
        self.targets: list[Buffer | None] = []
        consts, body = kind.cond_num_consts + kind.num_consts, kind.body.jaxpr
        firsts = eqn.invars[consts:consts + kind.num_carry]
        self.carries = [_Carry(*parts) for parts in zip(firsts, body.invars[kind.num_consts:], body.outvars,
                                                        eqn.outvars, strict=False)]
        for x, v in zip(eqn.invars[kind.cond_num_consts:], body.invars[:kind.num_consts], strict=False):
            self.homes[v] = planner.home(x)
        self.variables: list[tuple[_Carry, Node]] = []
        self.arrays: list[tuple[_Carry, Exchange]] = []
        self.declared: list[Declare] = []
        """The scalar carries with their first values."""
        for carry in self.carries:
            self._place(carry)

    def _place(self, carry: _Carry) -> None:
        """Decide where a carry is, and let its first value be there."""
        if carry.is_constant:
            first = self.planner.home(carry.first)
            self.homes[carry.inside] = self.planner.homes[carry.result] = first
            self.targets.append(None)
            for target in self.planner.targets.get(carry.result, []):
                self._store(carry.first, target)
        elif not carry.inside.aval.shape:
            first = self.planner.home(carry.first)
            variable = local(self.planner.unit.names[carry.inside], carry.inside.aval.dtype)
            value = first if isinstance(first, Node) else load(first, number(0), first.dtype)
            self.declared.append(Declare(variable, value))
            self.homes[carry.inside] = self.planner.homes[carry.result] = variable
            self.variables.append((carry, variable))
            self.targets.append(None)
        else:
            self._place_array(carry)

    def _place_array(self, carry: _Carry) -> None:
        names = self.planner.unit.names
        result = self.planner.result_array(carry.result)
        other = self.planner.temporary(carry.result, "_other")
        shape, dtype = carry.inside.aval.shape, carry.inside.aval.dtype
        inside = Buffer(names[carry.inside], shape, dtype, "view")
        after = Buffer(names.fresh(f"{names[carry.inside]}_next"), shape, dtype, "view")
        first, second = (other, result) if self.kind.length is not None and self.kind.length % 2 else (result, other)
        self.repeat.exchanges.append(Exchange(inside, after, first, second, result))
        self.arrays.append((carry, self.repeat.exchanges[-1]))
        self.homes[carry.inside] = inside
        self.targets.append(after)

    def _store(self, atom: Atom, array: Buffer) -> None:
        axes = domain_axes(atom.aval.shape)
        self.before.append(store_nest(self.planner.resolved(self.planner.elements(atom, axes)), axes, array))

    def _advance(self, body: Planner) -> list[Kernel]:
        """Return what gives scalar carries their next values; all are read before any changes."""
        stmts: list[Stmt] = []
        nexts = []
        changing = {variable for _, variable in self.variables}
        for carry, variable in self.variables:
            home = body.home(carry.after)
            value = home if isinstance(home, Node) else load(home, number(0), home.dtype)
            if value in changing and value is not variable:
                kept = local(self.planner.unit.names.fresh(f"{variable.args[0]}_next"), value.dtype)
                stmts.append(Declare(kept, value, fixed=True))
                value = kept
            nexts.append(Store(variable, value))
        return [nest([*stmts, *nexts])] if nexts else []

    def _finished(self) -> list[Kernel]:
        """Let arrays that can be updated in place be so, then give the carries their first values."""
        for _, pair in self.arrays:
            if may_share(self.repeat.body, pair.before, pair.after):
                share(self.repeat.body, pair.before, pair.after)
                pair.first = pair.second = pair.result
        measure_program(self.repeat)
        scalars = [nest(list(self.declared))] if self.declared else []
        turned = self._interchanged()
        if turned is None:
            for carry, pair in self.arrays:
                self._store(carry.first, pair.first)
            return [*scalars, *self.before, self.repeat]
        inside = [eqn for kernel in self.repeat.body for eqn in kernel.equations]
        points = nest(turned, [*self.repeat.equations, *inside])
        carried = sum(pair.result.nbytes for pair in self.repeat.exchanges)
        points.saved = self.repeat.saved + 2 * (self.repeat.length - 1) * carried
        return [*self.before, points]

    def _interchanged(self) -> list[Stmt] | None:
        """Return this loop as loops over points, if it can be one and nobody reads what it leaves in scalars."""
        if any(type(carry.result) is not DropVar for carry, _ in self.variables):
            return None
        atoms = {id(pair): carry.first for carry, pair in self.arrays}

        def first(pair: Exchange, point: Node) -> Node:
            atom = atoms[id(pair)]
            return self.planner.resolved(self.planner.elements(atom, unflattened(point, atom.aval.shape)))

        needed = [pair for carry, pair in self.arrays if type(carry.result) is not DropVar]
        return interchanged(self.repeat, self.declared, first, needed)


class _Counted(_Repetition):
    """scan: xs and ys are walked through slice by slice."""

    def kernels(self) -> list[Kernel]:
        kind, planner, names = self.kind, self.planner, self.planner.unit.names
        assert kind.length is not None
        iteration = local(names.fresh("turn"), None)
        self.repeat.iteration, self.repeat.length, self.repeat.reverse = iteration, kind.length, kind.reverse
        slices: list[Stmt] = []
        start = kind.num_consts + kind.num_carry
        for x, v in zip(self.eqn.invars[start:], kind.body.jaxpr.invars[start:], strict=True):
            array = planner.home(x)
            assert isinstance(array, Buffer)
            if v.aval.shape:
                self.homes[v] = self._view(v, array)
            else:
                variable = local(names[v], v.aval.dtype)
                slices.append(Declare(variable, load(array, iteration, v.aval.dtype), fixed=True))
                self.homes[v] = variable
        scalars: list[tuple[Atom, Buffer]] = []
        for atom, v in zip(kind.body.jaxpr.outvars[kind.num_carry:], self.eqn.outvars[kind.num_carry:], strict=True):
            array = planner.result_array(v)
            if atom.aval.shape:
                self.targets.append(self._view(v, array))
            else:
                self.targets.append(None)
                scalars.append((atom, array))
        body = planner.inner(kind.body, self.homes, self.targets)
        kernels = body.kernels()
        stores: list[Stmt] = []
        for atom, array in scalars:
            home = body.home(atom)
            value = home if isinstance(home, Node) else load(home, number(0), home.dtype)
            stores.append(Store((array, iteration), value))
        first = [nest(slices)] if slices else []
        last = [nest(stores)] if stores else []
        self.repeat.body = [*first, *kernels, *last, *self._advance(body)]
        return self._finished()

    def _view(self, v: Var, array: Buffer) -> Buffer:
        shape = array.shape[1:]
        name = self.planner.unit.names.fresh(f"{array.name}_slice")
        view = Buffer(name, shape, array.dtype, "view")
        self.repeat.views.append(View(view, array, math.prod(shape)))
        return view


class _Conditional(_Repetition):
    """while: the condition is a program too. When it answers for a batch, elements that are done rest."""

    def kernels(self) -> list[Kernel]:
        kind, planner = self.kind, self.planner
        assert kind.cond is not None
        for x, v in zip(self.eqn.invars, kind.cond.jaxpr.invars[:kind.cond_num_consts], strict=False):
            self.homes[v] = planner.home(x)
        for carry, v in zip(self.carries, kind.cond.jaxpr.invars[kind.cond_num_consts:], strict=True):
            self.homes[v] = self.homes[carry.inside]
        answer = kind.cond.jaxpr.outvars[0]
        if answer.aval.shape:
            self._batched(kind.cond, kind.body, answer)
        else:
            condition = planner.inner(kind.cond, self.homes, [None])
            self.repeat.condition = condition.kernels()
            home = condition.home(answer)
            self.repeat.wanted = home if isinstance(home, Node) else load(home, number(0), BOOL)
            body = planner.inner(kind.body, self.homes, self.targets)
            self.repeat.body = body.kernels()
            self.repeat.body += self._advance(body)
        return self._finished()

    def _batched(self, cond: ClosedJaxpr, program: ClosedJaxpr, answer: Atom) -> None:
        """Turn while any element wants to; an element that does not keeps its carries."""
        planner, names = self.planner, self.planner.unit.names
        shape = answer.aval.shape
        wants = Buffer(names.fresh("wants"), shape, BOOL, "workspace")
        condition = planner.inner(cond, self.homes, [wants])
        any_wants = Var(ShapedArray((), BOOL))
        axes = domain_axes(shape)
        condition.add_root(Root(any_wants, None, shape, 0, condition.elements(answer, axes), "or"))
        self.repeat.condition = condition.kernels()
        self.repeat.wanted = local(names[any_wants], BOOL)
        body = planner.inner(program, self.homes, [None] * len(self.targets))
        for carry, target in zip(self.carries, self.targets, strict=True):
            if target is not None:
                axes = domain_axes(target.shape)
                wanted = load(wants, flat_offset(axes[:len(shape)], shape), BOOL)
                old = body.elements(carry.inside, axes)
                value = apply("{0} ? {1} : {2}", (wanted, body.elements(carry.after, axes), old), target.dtype)
                body.add_output(Root(Var(carry.inside.aval), None, target.shape, len(axes), value), target)
        self.repeat.body = body.kernels()


# --- branches ----------------------------------------------------------------------------------------------------

@dataclass
class _Results:
    """Where the results of a branch go: arrays, or variables declared before."""

    arrays: list[Buffer | None] = field(default_factory=list)
    variables: list[Node | None] = field(default_factory=list)
    declared: list[Stmt] = field(default_factory=list)


def branch(planner: Planner, eqn: JaxprEqn, kind: Branch) -> list[Kernel]:
    """Return the kernels of a conditional: variables for its scalar results, then the choice."""
    results = _Results()
    for v in eqn.outvars:
        if v.aval.shape:
            results.arrays.append(planner.result_array(v))
            results.variables.append(None)
        else:
            variable = local(planner.unit.names[v], v.aval.dtype)
            results.declared.append(Declare(variable, literal(spelled(0, v.aval.dtype), v.aval.dtype)))
            planner.homes[v] = variable
            results.arrays.append(None)
            results.variables.append(variable)
    index = planner.home(eqn.invars[0])
    chosen = Choose(equations=[planner.unit.names.text(eqn)],
                    index=index if isinstance(index, Node) else load(index, number(0), index.dtype))
    operands = [planner.home(x) for x in eqn.invars[1:]]
    chosen.branches = [_one_branch(planner, program, operands, results) for program in kind.branches]
    measure_program(chosen)
    return [*([nest(results.declared)] if results.declared else []), chosen]


def _one_branch(planner: Planner, program: ClosedJaxpr, operands: list[Home], results: _Results) -> list[Kernel]:
    planner.unit.names.letter(program.jaxpr)
    inner = planner.inner(program, dict(zip(program.jaxpr.invars, operands, strict=True)), results.arrays)
    kernels = inner.kernels()
    stores: list[Stmt] = []
    for atom, variable in zip(program.jaxpr.outvars, results.variables, strict=True):
        if variable is not None:
            home = inner.home(atom)
            stores.append(Store(variable, home if isinstance(home, Node) else load(home, number(0), home.dtype)))
    return [*kernels, nest(stores)] if stores else kernels
