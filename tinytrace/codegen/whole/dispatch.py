"""Whole operations: equations that are a kernel of their own, by kind."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.codegen.ir.kernel import Choose, Kernel, Repeat
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.whole.control_flow import branch, loop
from tinytrace.codegen.whole.matmul import product
from tinytrace.codegen.whole.routines import host_call, routine
from tinytrace.codegen.whole.scatter import scatter
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.core.kinds import Branch, Contraction, HostCall, Kind, Loop, Routine, Scatter
from tinytrace.records import replace

_BY_KIND: dict[type[Any], Callable[[Scope, JaxprEqn, Any], list[Kernel]]] = {
    Loop: loop, Branch: branch, Contraction: product, Scatter: scatter, Routine: routine, HostCall: host_call,
}


def kernels_of_whole(scope: Scope, eqn: JaxprEqn, kind: Kind, eqns: frozenset[int]) -> list[Kernel]:
    """Return the kernels of one equation that loops over elements cannot express.

    eqns: the ids of the equation, and of those that are written out in it.
    """
    return [_owned(kernel, eqns) for kernel in _BY_KIND[type(kind)](scope, eqn, kind)]


def _owned(kernel: Kernel, eqns: frozenset[int]) -> Kernel:
    """Return a kernel that belongs to `eqns`, and so do those inside that belong to no equation of their own."""
    match kernel:
        case Repeat():
            kernel = replace(kernel, condition=[_owned(k, eqns) for k in kernel.condition],
                             body=[_owned(k, eqns) for k in kernel.body])
        case Choose():
            kernel = replace(kernel, branches=[[_owned(k, eqns) for k in branch] for branch in kernel.branches])
    return kernel if kernel.eqns else replace(kernel, eqns=eqns)
