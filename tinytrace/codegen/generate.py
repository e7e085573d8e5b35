"""The way from a jaxpr to C: plan kernels, lay out the workspace, write the translation unit."""
from __future__ import annotations

from dataclasses import dataclass

from tinytrace.codegen.csource import CSource
from tinytrace.codegen.emit import emit
from tinytrace.codegen.kernel import Buffer, Kernel
from tinytrace.codegen.names import Names
from tinytrace.codegen.nodes import fresh_nodes
from tinytrace.codegen.program import Place, Planner
from tinytrace.codegen.workspace import lay_out
from tinytrace.core.jaxpr import ClosedJaxpr, Var


class Kernels(list[Kernel]):
    """The kernels of a program, in the order in which they run."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))


@dataclass(frozen=True)
class Generated:
    """A program as kernels and as C."""

    kernels: Kernels
    source: CSource


def generate(closed: ClosedJaxpr, exact: bool = False) -> Generated:
    """Return the kernels and the C of a program; its closed-over constants are the first inputs of the C entry.

    closed: any jaxpr whose equations can be lowered.  exact: compile without fused multiply-add.
    """
    with fresh_nodes():
        jaxpr = closed.jaxpr
        names = Names()
        inputs = [*jaxpr.constvars, *jaxpr.invars]
        names.letter(jaxpr)
        arrays = [Buffer(names[v], v.aval.shape, v.aval.dtype, "input") for v in inputs]
        outputs: list[Buffer] = []
        for k, atom in enumerate(jaxpr.outvars):
            own = isinstance(atom, Var) and atom not in inputs and atom not in jaxpr.outvars[:k] and atom.aval.shape
            name = names[atom] if own else names.fresh("out")
            outputs.append(Buffer(name, atom.aval.shape, atom.aval.dtype, "output"))
        places: dict[Var, Place] = dict(zip(inputs, arrays, strict=True))
        kernels = Kernels(Planner(jaxpr, places, outputs, names).kernels())
        workspace = lay_out(kernels)
        text = emit(kernels, arrays, outputs, workspace)
        source = CSource(text, "tt_entry", tuple(v.aval for v in inputs), tuple(v.aval for v in jaxpr.outvars), workspace, exact)
        return Generated(kernels, source)
