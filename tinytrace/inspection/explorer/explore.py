"""`explore(f)(x)`: one program from Python to machine code, in six linked texts on one page.

    page = tinytrace.explore(f)(x)
    page                        in a notebook: the page, in the cell
    page.save("f.html")         a file that needs neither network nor Python
"""
from __future__ import annotations

import os
import pathlib
import types
from collections.abc import Callable
from typing import Any

from tinytrace.api.jit import JitFunction, jit
from tinytrace.api.stages import Lowered, Traced
from tinytrace.core.jaxpr import subjaxprs
from tinytrace.inspection.explorer.facts import equations_in, facts_of, operations_by_equation
from tinytrace.inspection.explorer.page import Equation, Page
from tinytrace.inspection.explorer.panes import assembly_pane, c_pane, jaxpr_pane, kernels_pane
from tinytrace.inspection.explorer.passes import Change, changes
from tinytrace.inspection.linked_texts.fixed import framed
from tinytrace.inspection.linked_texts.marked_text import Pane
from tinytrace.inspection.linked_texts.program_pane import equations_in_order
from tinytrace.inspection.linked_texts.python_pane import code_of, python_pane
from tinytrace.inspection.profiler import Profile, profile, time_text
from tinytrace.tracebacks import api_boundary
from tinytrace.util import counted, lazy

HEIGHT = 780
"""Pixels of the page in a notebook's cell."""


def explore(fun: Callable[..., Any], assembly: bool = True, measure: bool = False) -> Callable[..., Explorer]:
    """Return a function of the arguments of `fun` that shows what becomes of them as a page of six linked texts.

    fun: any function, jitted or not, and what `grad`, `vmap` and the like make of one.
    assembly: compile it once more to show its machine code, where there is a disassembler.
    measure: run it too, and tell how long each kernel takes, and its share of this machine's roof (see `profile`).

    Returns: a function; its result has `html`, `save(path)`, and is a page in a notebook's cell.
    Raises: what tracing `fun` raises; with `measure` what running it raises.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.explore(jax.grad(jnp.sin), assembly=False)(1.0)
    <explorer of sin: 3 equations, 1 kernel, ... lines of C>
    """
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)

    @api_boundary
    def exploration(*args: Any, **kwargs: Any) -> Explorer:
        traced = jitted.trace(*args, **kwargs)
        measured = profile(jitted)(*args, **kwargs) if measure else None
        return Explorer(traced, code_of(fun), assembly, measured)

    return exploration


class Explorer:
    """What one program becomes, as a page. Texts and facts are made when they are first asked for.

    lowered: the program whose page this is; all that is shown is what it says of itself.
    """

    def __init__(self, traced: Traced, code: types.CodeType | None = None, assembly: bool = True,
                 measured: Profile | None = None) -> None:
        self.traced = traced
        self.lowered: Lowered = traced.lower()
        self._code = code
        self._assembly = assembly
        self.measured = measured
        self._eqns = list(equations_in_order(traced.jaxpr.jaxpr))
        self._numbers = {eqn.ids[0]: k for k, eqn in enumerate(self._eqns)}

    @lazy
    def panes(self) -> dict[str, Pane]:
        """The six texts: python, jaxpr, simplified, kernels, c and assembly."""
        lowered, source = self.lowered, self.lowered.source_map
        found = [python_pane(self._eqns, source.equations, self._code),
                 jaxpr_pane("jaxpr", "Jaxpr", self.traced.jaxpr, self._numbers),
                 jaxpr_pane("simplified", "Simplified jaxpr", lowered.jaxpr, self._numbers),
                 kernels_pane(lowered.kernels, self._numbers, self.times),
                 c_pane(lowered, source)]
        found.append(assembly_pane(lowered, source) if self._assembly else
                     Pane("assembly", "Assembly", "No assembly: it was not asked for."))
        return {pane.key: pane for pane in found}

    @lazy
    def times(self) -> list[str]:
        """How long each kernel took, if that was measured."""
        if self.measured is None:
            return []
        return [f"{time_text(kernel.median)}, {kernel.share:.0%} of the roof" for kernel in self.measured.kernels]

    @lazy
    def changes(self) -> list[Change]:
        """What each pass did, in the order of the passes."""
        return changes(self.lowered.passes, self._numbers)

    @lazy
    def equations(self) -> list[Equation]:
        """What is told of each equation, in the order of the jaxpr."""
        kernels = self.lowered.kernels
        operations, members = operations_by_equation(kernels), [equations_in(kernel) for kernel in kernels]
        found = []
        for eqn, place in zip(self._eqns, self.lowered.source_map.equations, strict=True):
            facts = facts_of(eqn, operations, members)
            where = f"{os.path.basename(place.file)}:{place.line}" if place.file else ""
            took = "; ".join(self.times[k] for k in facts.kernels) if self.times else ""
            found.append(Equation(place.text, facts, place.reason, where, took))
        return found

    @lazy
    def inside(self) -> dict[int, list[int]]:
        """For each loop, branch or call, the equations inside it."""
        found: dict[int, list[int]] = {}
        for k, eqn in enumerate(self._eqns):
            inner = {self._numbers[e.ids[0]] for jaxpr in subjaxprs(eqn.params) for e in jaxpr.walk()}
            if inner:
                found[k] = sorted(inner)
        return found

    @lazy
    def html(self) -> str:
        """The page: one file of HTML that loads nothing, and can be read without its script."""
        return Page(self._title(), [*self.panes.values()], self.equations, self.inside, self.changes).to_html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        pathlib.Path(path).write_text(self.html, "utf-8")

    def _title(self) -> str:
        return self.traced.signature

    def __repr__(self) -> str:
        kernels, lines = len(self.lowered.kernels), self.lowered.as_text().count("\n")
        return (f"<explorer of {self.traced.fun_name}: {counted(len(self._eqns), 'equation')}, "
                f"{counted(kernels, 'kernel')}, {lines} lines of C>")

    def _repr_html_(self) -> str:
        return framed(self.html, self._title(), HEIGHT)
