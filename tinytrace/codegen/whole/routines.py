"""Calls of hand-written C and of Python, which take whole arrays by address."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinytrace.codegen.ir.arithmetic import flat_offset, linear
from tinytrace.codegen.ir.kernel import Kernel, Nest
from tinytrace.codegen.ir.nodes import Node, axis, literal, local, number
from tinytrace.codegen.ir.procedures import STATUS, Procedure
from tinytrace.codegen.ir.statements import Buffer, Call, Declare, For, Place, Stmt, Store
from tinytrace.codegen.plan.elements import domain_axes
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.plan.unit import Callback
from tinytrace.codegen.schedule.collapse import merge_loops
from tinytrace.core.dtypes import is_half
from tinytrace.core.formulas import Formula, call_host, item, place, pointers, without_places
from tinytrace.core.jaxpr import Atom, DropVar, JaxprEqn, Var
from tinytrace.core.kinds import HostCall, Routine

NDArray: TypeAlias = "np.ndarray[Any, Any]"


def routine(scope: Scope, eqn: JaxprEqn, kind: Routine) -> list[Kernel]:
    """Return the kernel that calls functions of csrc/math or of the host on the operands."""
    declared, places, outs = _places(scope, eqn)
    axes = domain_axes(kind.batch)
    if kind.scratch is not None:
        scratch = Buffer(scope.unit.names.fresh("scratch"), (max(kind.scratch, 1),), np.dtype(np.uint32), "workspace")
        places["scratch"] = scratch, number(0)
        outs = (*outs, "scratch")
    meaning = _meaning(eqn, eqn.primitive.in_numpy(eqn.params), len(axes))
    calls = _read_calls(eqn, kind)
    unread = {f"out{k}" for k, v in enumerate(eqn.outvars)
              if type(v) is DropVar and (kind.optional or k < kind.separate)}
    if unread:
        calls = tuple(without_places(call, unread) for call in calls)
        outs = tuple(name for name in outs if name not in unread)
        places = {name: at for name, at in places.items() if name not in unread}
    procedure = Procedure(eqn.primitive.name, calls, meaning, STATUS if kind.has_status else "")
    loops, (which,) = merge_loops(axes, [flat_offset(axes, kind.batch)])
    places = {name: _part(place, which, math.prod(kind.batch)) for name, place in places.items()}
    if kind.pieces > 1:
        at = axis(scope.unit.names.fresh("piece"), kind.pieces)
        whole = places["out0"]
        assert not isinstance(whole, Node)
        places["piece"] = whole[0], linear(0, [(at, kind.piece)])
        loops = [*loops, at]
    body: list[Stmt] = [Call(procedure, places, outs, flops=kind.flops)]
    for index in reversed(loops):
        body = [For(index, number(0), number(index.args[1]), body, independent=True)]
    return [Nest(scope.equations(eqn), body=[*declared, *body])]


def _read_calls(eqn: JaxprEqn, kind: Routine) -> tuple[Formula, ...]:
    """Return the calls of a routine without those whose results nobody reads."""
    shared = len(kind.calls) - kind.separate
    read = [k for k, v in enumerate(eqn.outvars) if type(v) is not DropVar]
    only = kind.alone[read[0]] if len(read) == 1 and read[0] < len(kind.alone) else None
    if only is not None:
        return (only,)
    return (*kind.calls[:shared], *(kind.calls[shared + k] for k in read if k < kind.separate))


def _part(place: Place, which: Node, parts: int) -> Place:
    """Return the place of part `which` of an array of equal `parts`."""
    if isinstance(place, Node) or parts == 1:
        return place
    return place[0], linear(0, [(which, place[0].size // max(parts, 1))])


def host_call(scope: Scope, eqn: JaxprEqn, kind: HostCall) -> list[Kernel]:
    """Return the kernel that calls a Python function on the operands."""
    declared, places, outs = _places(scope, eqn)
    callback = Callback(kind.function, tuple(x.aval for x in eqn.invars), tuple(v.aval for v in eqn.outvars))
    k = scope.unit.add_callback(callback)
    call = call_host("callback", item(place("ids"), k), pointers([place(name) for name in places]))
    places["ids"] = scope.unit.callback_ids, number(0)
    procedure = Procedure("callback", (call,), _meaning(eqn, kind.function), failure="TT_CALLBACK_RAISED")
    return [Nest(scope.equations(eqn), body=[*declared, Call(procedure, places, outs)])]


def _meaning(eqn: JaxprEqn, function: Callable[..., Any], batch_dims: int = 0
             ) -> Callable[[dict[str, NDArray]], None]:
    """Return what `function`, of the arrays in0, in1, ..., does to memory: it leaves its results at out0, ...

    batch_dims: how many leading dimensions of all of them are left out.
    """
    in_avals, out_avals = ([x.aval.update(shape=x.aval.shape[batch_dims:]) for x in atoms]
                           for atoms in (eqn.invars, eqn.outvars))

    def meaning(places: dict[str, NDArray]) -> None:
        if "piece" in places and places["piece"].size < places["out0"].size:
            return  # the first piece's call has computed all
        ins = [places[f"in{k}"][:aval.size].reshape(aval.shape) for k, aval in enumerate(in_avals)]
        results = function(*ins)
        outs = results if isinstance(results, (list, tuple)) else [results]
        for k, (aval, out) in enumerate(zip(out_avals, outs, strict=True)):
            if f"out{k}" in places:
                places[f"out{k}"][:aval.size] = np.asarray(out).reshape(-1)

    return meaning


def _places(scope: Scope, eqn: JaxprEqn) -> tuple[list[Stmt], dict[str, Place], tuple[str, ...]]:
    """Return where operands in0, in1, ... and results out0, ... are, after declaring those that are variables."""
    declared: list[Stmt] = []
    places: dict[str, Place] = {}
    for k, x in enumerate(eqn.invars):
        home = scope.home(x)
        if isinstance(home, Node):
            place = _in_memory if is_half(x.aval.dtype) else _addressed
            places[f"in{k}"] = place(scope, x, home, declared)
        else:
            places[f"in{k}"] = home, number(0)
    for k, v in enumerate(eqn.outvars):
        if v.aval.shape or is_half(v.aval.dtype):
            places[f"out{k}"] = scope.result_array(v), number(0)
        else:
            made = local(scope.unit.names[v], v.aval.dtype)
            declared.append(Declare(made, literal(0, v.aval.dtype)))
            scope.homes[v] = places[f"out{k}"] = made
    return declared, places, tuple(f"out{k}" for k in range(len(eqn.outvars)))


def _addressed(scope: Scope, x: Atom, home: Node, declared: list[Stmt]) -> Place:
    """Return a variable that holds a scalar operand, since a number has no address."""
    if home.op == "local":
        return home
    variable = local(_name(scope, x), x.aval.dtype)
    declared.append(Declare(variable, home))
    return variable


def _in_memory(scope: Scope, x: Atom, home: Node, declared: list[Stmt]) -> Place:
    """Return an array that holds a scalar of half precision, since a variable holds it widened."""
    array = Buffer(_name(scope, x), (), x.aval.dtype, "workspace")
    declared.append(Store((array, number(0)), home))
    return array, number(0)


def _name(scope: Scope, x: Atom) -> str:
    return scope.unit.names.fresh(scope.unit.names[x] if isinstance(x, Var) else "given")

