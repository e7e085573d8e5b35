"""The way from a jaxpr to C: plan kernels, lay out the workspace, write the translation unit."""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tinytrace.codegen.c.translation_unit import TranslationUnit, emit
from tinytrace.codegen.csource import CSource
from tinytrace.codegen.effort import ALL_EFFORT, LEAST_EFFORT, LESS_EFFORT, is_long
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import NO_EQNS, fresh_nodes
from tinytrace.codegen.ir.statements import Buffer, Home
from tinytrace.codegen.passes.donation import reuse_donated
from tinytrace.codegen.passes.pipeline import run_passes
from tinytrace.codegen.plan.unit import Callback, Unit
from tinytrace.codegen.planner import Planner
from tinytrace.codegen.program import Kernels
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from tinytrace.records import NamedTuple


class Generated(NamedTuple):
    """A program as kernels and as C, and what it needs besides its inputs."""

    kernels: Kernels
    source: CSource
    constants: tuple[Any, ...] = ()
    """Arrays that loop bodies and branches close over: inputs of the C entry after those of the jaxpr."""
    callbacks: tuple[Callback, ...] = ()
    """Python functions that the program calls; an int64 array with their ids is then the last input."""
    lines: TranslationUnit | None = None
    """The C line by line, each with the equations that it is."""
    planned: frozenset[int] = NO_EQNS
    """The ids of the equations that had kernels before any of these was dropped."""
    seconds: tuple[tuple[str, float], ...] = ()
    """What it took to `plan` the kernels, and to `emit` the C."""
    reused: Mapping[int, int] = MappingProxyType({})
    """For each output that takes the place of a donated input: the input. Both are given as one array."""


def generate(closed: ClosedJaxpr, exact: bool = False, watch: Callable[[str, Kernels], None] | None = None,
             donated: frozenset[int] = frozenset(), least_effort: bool = False) -> Generated:
    """Return the kernels and the C of a program; its closed-over constants are the first inputs of the C entry.

    closed: any jaxpr whose equations can be lowered.  exact: no product is fused with a sum.
    watch: sees the kernels as they are planned and after each pass, with its name.
    donated: the inputs, by number, whose places results may take.
    least_effort: the C compiler is told to optimise nothing.
    """
    begun = time.perf_counter()
    with fresh_nodes():
        unit = Unit(fuses=not exact)
        jaxpr = closed.jaxpr
        unit.names.letter(jaxpr)
        inputs = [*jaxpr.constvars, *jaxpr.invars]
        arrays = [Buffer(unit.names[v], v.aval.shape, v.aval.dtype, "input") for v in inputs]
        outputs = _output_arrays(jaxpr, unit)
        homes: dict[Var, Home] = dict(zip(inputs, arrays, strict=True))
        planned = Planner(unit, closed, homes, outputs).kernels()
        ids = [(unit.callback_ids, 0)] if unit.callbacks else []
        in_places, outputs, reused = reuse_donated(planned, arrays, outputs, donated)
        shared = {outputs[k]: arrays[i] for k, i in reused.items()}
        kernels = Kernels(in_places, arrays, outputs, [*unit.constants.values(), *ids], shared)
        kernels = kernels.replaced(_watched_passes(kernels, watch) if watch is not None else run_passes(kernels))
        memory = kernels.memory()
        quick = LEAST_EFFORT if least_effort else LESS_EFFORT if is_long(kernels) else ALL_EFFORT
        planned_at = time.perf_counter()
        hidden = unit.hidden_inputs()
        unit_in_c = emit(kernels, [*arrays, *hidden], outputs, memory, unit.fuses)
        avals = [v.aval for v in inputs] + [ShapedArray(b.shape, b.dtype) for b in hidden]
        source = CSource(unit_in_c.text, "tt_entry", tuple(avals), tuple(v.aval for v in jaxpr.outvars), memory.nbytes,
                         quick, unit_in_c.parts, len(unit_in_c.preamble), unit_in_c.names)
        constants = tuple(value for _, value in unit.constants.values())
        seconds = ("plan", planned_at - begun), ("emit", time.perf_counter() - planned_at)
        return Generated(kernels, source, constants, tuple(unit.callbacks), unit_in_c,
                         NO_EQNS.union(*(kernel.eqns for kernel in planned)), seconds, reused)


def _watched_passes(kernels: Kernels, watch: Callable[[str, Kernels], None]) -> list[Kernel]:
    watch("plan", kernels)
    return run_passes(kernels, lambda name, changed: watch(name, kernels.replaced(changed)))


def _output_arrays(jaxpr: Jaxpr, unit: Unit) -> list[Buffer]:
    """Return an array per output; one that an equation computes has that variable's name."""
    made = {v for eqn in jaxpr.eqns for v in eqn.outvars}
    arrays: list[Buffer] = []
    for k, atom in enumerate(jaxpr.outvars):
        own = isinstance(atom, Var) and atom in made and atom not in jaxpr.outvars[:k] and atom.aval.shape
        name = unit.names[atom] if own else unit.names.fresh("out")  # type: ignore[index]
        arrays.append(Buffer(name, atom.aval.shape, atom.aval.dtype, "output"))
    return arrays
