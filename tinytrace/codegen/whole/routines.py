"""Calls of hand-written C and of Python, which take whole arrays by address."""
from __future__ import annotations

import re

import numpy as np

from tinytrace.codegen.c.types import is_half, spelled
from tinytrace.codegen.ir.kernel import Buffer, Call, Declare, Kernel, Nest, Place, Stmt, Store
from tinytrace.codegen.ir.nodes import Node, literal, local, number
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.plan.unit import Callback
from tinytrace.core.jaxpr import Atom, JaxprEqn, Var
from tinytrace.core.kinds import HostCall, Routine


def routine(scope: Scope, eqn: JaxprEqn, kind: Routine) -> list[Kernel]:
    """Return the kernel that calls a function of csrc/math on the operands."""
    declared, places, outs = _places(scope, eqn)
    if "{scratch}" in kind.text:
        scratch = Buffer(scope.unit.names.fresh("scratch"), (max(kind.scratch, 1),), np.dtype(np.uint8), "workspace")
        places["scratch"] = scratch, number(0)
        outs = (*outs, "scratch")
    return [Nest([scope.unit.names.text(eqn)], body=[*declared, Call(kind.text, places, outs)])]


def host_call(scope: Scope, eqn: JaxprEqn, kind: HostCall) -> list[Kernel]:
    """Return the kernel that calls a Python function on the operands."""
    declared, places, outs = _places(scope, eqn)
    callback = Callback(kind.function, tuple(x.aval for x in eqn.invars), tuple(v.aval for v in eqn.outvars))
    k = scope.unit.add_callback(callback)
    pointers = ", ".join(f"(void *){{{name}}}" for name in places) or "0"
    places["ids"] = scope.unit.callback_ids, number(0)
    text = f"if (host->callback({{ids}}[{k}], (void *[]){{{pointers}}})) return TT_CALLBACK_RAISED;"
    return [Nest([scope.unit.names.text(eqn)], body=[*declared, Call(text, places, outs)])]


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
            declared.append(Declare(made, literal(spelled(0, v.aval.dtype), v.aval.dtype)))
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


def filled(text: str, places: dict[str, str]) -> str:
    """Return a statement with addresses in the place of {in0}, {out0}, ...; other braces are C's."""
    return re.sub(r"\{(\w+)\}", lambda match: places.get(match[1], match[0]), text)
