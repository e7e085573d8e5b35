"""Whole operations: equations that are a kernel of their own, by kind."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.plan.scope import Scope
from tinytrace.codegen.whole.control_flow import branch, loop
from tinytrace.codegen.whole.matmul import product
from tinytrace.codegen.whole.routines import host_call, routine
from tinytrace.codegen.whole.scatter import scatter
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.core.kinds import Branch, Contraction, HostCall, Kind, Loop, Routine, Scatter

_BY_KIND: dict[type[Any], Callable[[Scope, JaxprEqn, Any], list[Kernel]]] = {
    Loop: loop, Branch: branch, Contraction: product, Scatter: scatter, Routine: routine, HostCall: host_call,
}


def kernels_of_whole(scope: Scope, eqn: JaxprEqn, kind: Kind) -> list[Kernel]:
    """Return the kernels of one equation that loops over elements cannot express."""
    return _BY_KIND[type(kind)](scope, eqn, kind)
