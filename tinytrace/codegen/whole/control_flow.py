"""Loops and branches over programs: where carries, slices and results are while the program inside runs.

A carry that is a scalar is a C variable. A carry that is an array has two places: an iteration reads one and writes the
other, exchanged after each iteration; `in_place` makes them one where it can. Slices of xs and ys are pointers
into them.
"""
from __future__ import annotations

import math
from dataclasses import field

from tinytrace.codegen.ir.arithmetic import flat_offset
from tinytrace.codegen.ir.inserted_operations import select
from tinytrace.codegen.ir.kernel import Choose, Exchange, Kernel, Nest, Repeat, View
from tinytrace.codegen.ir.nodes import Node, apply, literal, load, local, number
from tinytrace.codegen.ir.statements import Buffer, Declare, Home, Stmt, Store
from tinytrace.codegen.plan.elements import domain_axes
from tinytrace.codegen.plan.partition import Root
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.schedule.copies import store_nest
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BOOL
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var
from tinytrace.core.kinds import Branch, Loop
from tinytrace.records import dataclass, replace


def loop(scope: Scope, eqn: JaxprEqn, kind: Loop) -> list[Kernel]:
    """Return the kernels of a scan or while: its carries' first values, then the loop."""
    return (_Counted if kind.cond is None else _Conditional)(scope, eqn, kind).kernels()


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

    def __init__(self, scope: Scope, eqn: JaxprEqn, kind: Loop) -> None:
        self.scope, self.eqn, self.kind = scope, eqn, kind
        self.before: list[tuple[Atom, Buffer]] = []
        """What is stored where before the loop."""
        for program in (kind.cond, kind.body):
            if program is not None:
                scope.unit.names.letter(program.jaxpr)
        self.homes: dict[Var, Home] = {}
        self.targets: list[Buffer | None] = []
        consts, body = kind.cond_num_consts + kind.num_consts, kind.body.jaxpr
        firsts = eqn.invars[consts:consts + kind.num_carry]
        self.carries = [_Carry(*parts) for parts in zip(firsts, body.invars[kind.num_consts:], body.outvars,
                                                        eqn.outvars, strict=False)]
        for x, v in zip(eqn.invars[kind.cond_num_consts:], body.invars[:kind.num_consts], strict=False):
            self.homes[v] = scope.home(x)
        self.variables: list[tuple[_Carry, Node]] = []
        self.exchanges: list[Exchange] = []
        self.declared: list[Declare] = []
        """The scalar carries with their first values."""
        for carry in self.carries:
            self._place(carry)

    def _place(self, carry: _Carry) -> None:
        """Decide where a carry is, and let its first value be there."""
        if carry.is_constant:
            first = self.scope.home(carry.first)
            self.homes[carry.inside] = self.scope.homes[carry.result] = first
            self.targets.append(None)
            self.before += [(carry.first, target) for target in self.scope.targets.get(carry.result, [])]
        elif not carry.inside.aval.shape:
            first = self.scope.home(carry.first)
            variable = local(self.scope.unit.names[carry.inside], carry.inside.aval.dtype)
            value = first if isinstance(first, Node) else load(first, number(0), first.dtype)
            self.declared.append(Declare(variable, value))
            self.homes[carry.inside] = self.scope.homes[carry.result] = variable
            self.variables.append((carry, variable))
            self.targets.append(None)
        else:
            self._place_array(carry)

    def _place_array(self, carry: _Carry) -> None:
        names = self.scope.unit.names
        result = self.scope.result_array(carry.result)
        other = self.scope.temporary(carry.result, "_other")
        shape, dtype = carry.inside.aval.shape, carry.inside.aval.dtype
        inside = Buffer(names[carry.inside], shape, dtype, "view")
        after = Buffer(names.fresh(f"{names[carry.inside]}_next"), shape, dtype, "view")
        first, second = (other, result) if self.kind.length is not None and self.kind.length % 2 else (result, other)
        self.exchanges.append(Exchange(inside, after, first, second, result))
        self.before.append((carry.first, first))
        self.homes[carry.inside] = inside
        self.targets.append(after)

    def _advance(self, body: Scope) -> list[Kernel]:
        """Return what gives scalar carries their next values; all are read before any changes."""
        stmts: list[Stmt] = []
        nexts = []
        changing = {variable for _, variable in self.variables}
        for carry, variable in self.variables:
            home = body.home(carry.after)
            value = home if isinstance(home, Node) else load(home, number(0), home.dtype)
            if value in changing and value is not variable:
                kept = local(self.scope.unit.names.fresh(f"{variable.args[0]}_next"), value.dtype)
                stmts.append(Declare(kept, value, fixed=True))
                value = kept
            nexts.append(Store(variable, value))
        return [Nest(body=[*stmts, *nexts])] if nexts else []

    def _finished(self, repeat: Repeat) -> list[Kernel]:
        """Return what gives the carries their first values, and the loop."""
        scalars = [Nest(body=list(self.declared))] if self.declared else []
        stores = []
        for atom, array in self.before:
            axes = domain_axes(atom.aval.shape)
            stores.append(store_nest(self.scope.resolved(self.scope.elements(atom, axes)), axes, array))
        repeat = replace(repeat, equations=self.scope.equations(self.eqn), exchanges=self.exchanges,
                         variables=[variable for _, variable in self.variables])
        return [*scalars, *stores, repeat]


class _Counted(_Repetition):
    """scan: xs and ys are walked through slice by slice."""

    def kernels(self) -> list[Kernel]:
        kind, scope, names = self.kind, self.scope, self.scope.unit.names
        assert kind.length is not None
        iteration = local(names.fresh("iteration"), None)
        views: list[View] = []
        slices: list[Stmt] = []
        start = kind.num_consts + kind.num_carry
        for x, v in zip(self.eqn.invars[start:], kind.body.jaxpr.invars[start:], strict=True):
            array = scope.home(x)
            assert isinstance(array, Buffer)
            if v.aval.shape:
                self.homes[v] = self._view(array, views)
            else:
                variable = local(names[v], v.aval.dtype)
                slices.append(Declare(variable, load(array, iteration, v.aval.dtype), fixed=True))
                self.homes[v] = variable
        scalars: list[tuple[Atom, Buffer]] = []
        for atom, v in zip(kind.body.jaxpr.outvars[kind.num_carry:], self.eqn.outvars[kind.num_carry:], strict=True):
            array = scope.result_array(v)
            if atom.aval.shape:
                self.targets.append(self._view(array, views))
            else:
                self.targets.append(None)
                scalars.append((atom, array))
        body = scope.inner(kind.body, self.homes, self.targets)
        kernels = body.kernels()
        stores: list[Stmt] = []
        for atom, array in scalars:
            home = body.home(atom)
            value = home if isinstance(home, Node) else load(home, number(0), home.dtype)
            stores.append(Store((array, iteration), value))
        first = [Nest(body=slices)] if slices else []
        last = [Nest(body=stores)] if stores else []
        return self._finished(Repeat(iteration=iteration, length=kind.length, reverse=kind.reverse, views=views,
                                     body=[*first, *kernels, *last, *self._advance(body)]))

    def _view(self, array: Buffer, views: list[View]) -> Buffer:
        shape = array.shape[1:]
        name = self.scope.unit.names.fresh(f"{array.name}_slice")
        view = Buffer(name, shape, array.dtype, "view")
        views.append(View(view, array, math.prod(shape)))
        return view


class _Conditional(_Repetition):
    """while: the condition is a program too. When it answers for a batch, elements that are done rest."""

    def kernels(self) -> list[Kernel]:
        kind, scope = self.kind, self.scope
        assert kind.cond is not None
        for x, v in zip(self.eqn.invars, kind.cond.jaxpr.invars[:kind.cond_num_consts], strict=False):
            self.homes[v] = scope.home(x)
        for carry, v in zip(self.carries, kind.cond.jaxpr.invars[kind.cond_num_consts:], strict=True):
            self.homes[v] = self.homes[carry.inside]
        answer = kind.cond.jaxpr.outvars[0]
        if answer.aval.shape:
            return self._finished(self._batched(kind.cond, kind.body, answer))
        condition = scope.inner(kind.cond, self.homes, [None])
        asked = condition.kernels()
        home = condition.home(answer)
        wanted = home if isinstance(home, Node) else load(home, number(0), BOOL)
        body = scope.inner(kind.body, self.homes, self.targets)
        kernels = body.kernels()
        return self._finished(Repeat(condition=asked, wanted=wanted, body=[*kernels, *self._advance(body)]))

    def _batched(self, cond: ClosedJaxpr, program: ClosedJaxpr, answer: Atom) -> Repeat:
        """Turn while any element wants to; an element that does not keeps its carries."""
        scope, names = self.scope, self.scope.unit.names
        shape = answer.aval.shape
        wants = Buffer(names.fresh("wants"), shape, BOOL, "workspace")
        condition = scope.inner(cond, self.homes, [wants])
        any_wants = Var(ShapedArray((), BOOL))
        axes = domain_axes(shape)
        condition.add_root(Root(any_wants, None, shape, 0, condition.elements(answer, axes), "or"))
        asked = condition.kernels()
        body = scope.inner(program, self.homes, [None] * len(self.targets))
        for carry, target in zip(self.carries, self.targets, strict=True):
            if target is not None:
                axes = domain_axes(target.shape)
                wanted = load(wants, flat_offset(axes[:len(shape)], shape), BOOL)
                old = body.elements(carry.inside, axes)
                value = apply(select(target.dtype), (wanted, body.elements(carry.after, axes), old))
                body.add_output(Root(Var(carry.inside.aval), None, target.shape, len(axes), value), target)
        return Repeat(condition=asked, wanted=local(names[any_wants], BOOL), body=body.kernels())


# --- branches ----------------------------------------------------------------------------------------------------

@dataclass
class _Results:
    """Where the results of a branch go: arrays, or variables declared before."""

    arrays: list[Buffer | None] = field(default_factory=list)
    variables: list[Node | None] = field(default_factory=list)
    declared: list[Stmt] = field(default_factory=list)


def branch(scope: Scope, eqn: JaxprEqn, kind: Branch) -> list[Kernel]:
    """Return the kernels of a conditional: variables for its scalar results, then the choice."""
    results = _Results()
    for v in eqn.outvars:
        if v.aval.shape:
            results.arrays.append(scope.result_array(v))
            results.variables.append(None)
        else:
            variable = local(scope.unit.names[v], v.aval.dtype)
            results.declared.append(Declare(variable, literal(0, v.aval.dtype)))
            scope.homes[v] = variable
            results.arrays.append(None)
            results.variables.append(variable)
    index = scope.home(eqn.invars[0])
    operands = [scope.home(x) for x in eqn.invars[1:]]
    chosen = Choose(scope.equations(eqn),
                    index=index if isinstance(index, Node) else load(index, number(0), index.dtype),
                    branches=[_one_branch(scope, program, operands, results) for program in kind.branches])
    return [*([Nest(body=results.declared)] if results.declared else []), chosen]


def _one_branch(scope: Scope, program: ClosedJaxpr, operands: list[Home], results: _Results) -> list[Kernel]:
    scope.unit.names.letter(program.jaxpr)
    inner = scope.inner(program, dict(zip(program.jaxpr.invars, operands, strict=True)), results.arrays)
    kernels = inner.kernels()
    stores: list[Stmt] = []
    for atom, variable in zip(program.jaxpr.outvars, results.variables, strict=True):
        if variable is not None:
            home = inner.home(atom)
            stores.append(Store(variable, home if isinstance(home, Node) else load(home, number(0), home.dtype)))
    return [*kernels, Nest(body=stores)] if stores else kernels
