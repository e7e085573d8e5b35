"""Whole operations: equations that are a kernel of their own, by kind."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tinytrace.codegen.calls import host_call, routine
from tinytrace.codegen.contraction import product
from tinytrace.codegen.kernel import Kernel
from tinytrace.codegen.loops import branch, loop
from tinytrace.codegen.updates import scatter
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.core.kinds import Branch, Contraction, HostCall, Kind, Loop, Routine, Scatter

if TYPE_CHECKING:
    from tinytrace.codegen.program import Planner

_BY_KIND: dict[type[Any], Callable[[Planner, JaxprEqn, Any], list[Kernel]]] = {
    Loop: loop, Branch: branch, Contraction: product, Scatter: scatter, Routine: routine, HostCall: host_call,
}


def kernels_of_whole(planner: Planner, eqn: JaxprEqn, kind: Kind) -> list[Kernel]:
    """Return the kernels of one equation that loops over elements cannot express."""
    return _BY_KIND[type(kind)](planner, eqn, kind)
