"""The five stages of the pipeline as values you can hold: trace, simplify, fuse, emit, compile.

    traced = jit(f).trace(x)        # .jaxpr
    lowered = traced.lower()        # .jaxpr (simplified), .kernels (fused), .as_text() (C)
    compiled = lowered.compile()    # call it; its repr tells key, path and size
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tinytrace import codegen
from tinytrace.api.compiled_calls import CompiledCalls
from tinytrace.api.donation import donation_of
from tinytrace.api.placed_calls import (
    NO_PLACES,
    Places,
    shardings_of_arguments,
    shardings_of_results,
)
from tinytrace.api.program import Program
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.api.stage_facts import MemoryStats, cost_of, memory_of, refuse_dialect
from tinytrace.api.steps import Steps
from tinytrace.codegen.csource import CSource
from tinytrace.control_flow.effects import refuse_unlowerable
from tinytrace.core import views
from tinytrace.core.array import CPU
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.notebook import ShowsItself
from tinytrace.core.trees import PyTreeDef
from tinytrace.records import dataclass
from tinytrace.util import counted

if TYPE_CHECKING:
    from tinytrace.codegen.source_map import SourceMap
    from tinytrace.runtime.executable import Executable


@dataclass(frozen=True)
class ArgInfo:
    """An argument of a lowered function."""

    _aval: ShapedArray
    donated: bool

    shape = property(lambda self: self._aval.shape)
    dtype = property(lambda self: self._aval.dtype)


@dataclass(frozen=True)
class OutInfo:
    """A result of a lowered function."""

    shape: tuple[int, ...]
    dtype: Any
    sharding: Any = None


class Traced(ShowsItself):
    """A function as a jaxpr, for one kind of arguments."""

    plain_is_whole = True

    def __init__(self, jaxpr: ClosedJaxpr, in_tree: PyTreeDef, out_tree: PyTreeDef, fun_name: str,
                 arg_names: Sequence[str], donated: tuple[bool, ...] = (), keep_unused: bool = False,
                 places: Places = NO_PLACES) -> None:
        self.jaxpr, self.in_tree, self.out_tree = jaxpr, in_tree, out_tree
        self.fun_name = fun_name
        self.arg_names = tuple(arg_names)
        self.donated = donated or (False,) * len(jaxpr.in_avals)
        """For each leaf of the dynamic arguments, whether it is donated."""
        self.donation = donation_of(jaxpr.jaxpr, donated, keep_unused)
        self.keep_unused, self.places = keep_unused, places

    @property
    def args_info(self) -> Any:
        """What is known of each dynamic argument, as `((positional), {keyword})` of `ArgInfo`."""
        return self.in_tree.unflatten(list(map(ArgInfo, self.jaxpr.in_avals, self.donated)))

    @property
    def in_avals(self) -> Any:
        """The types of the dynamic arguments, as `((positional), {keyword})`."""
        return self.in_tree.unflatten(self.jaxpr.in_avals)

    @property
    def out_info(self) -> Any:
        """What is known of each result, as `OutInfo`, in the result's tree."""
        places = shardings_of_results(self.out_tree, self.places.outs)
        return self.out_tree.unflatten([OutInfo(a.shape, a.dtype, place)
                                        for a, place in zip(self.jaxpr.out_avals, places, strict=True)])

    @property
    def out_shapes(self) -> Any:
        """The shapes and dtypes of the results, in the result's tree."""
        return self.out_tree.unflatten([ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)
                                        for a in self.jaxpr.out_avals])

    def lower(self, debug: bool = False) -> Lowered:
        """Simplify, fuse and emit: everything short of running the C compiler.

        debug: after every pass the program is verified, and run in NumPy to see that it gives what it gave before.

        Raises: KernelError or JaxprTypeError when a pass is wrong; that is a mistake in tinytrace.
        """
        refuse_unlowerable(self.jaxpr.effects)
        steps = Steps(self.jaxpr)
        self.donation.warn()
        return Lowered(self, self._program(steps, debug=debug), steps)

    def _program(self, steps: Steps, exact: bool | None = None, debug: bool = False) -> Program:
        return Program(self.jaxpr, exact, steps, debug, frozenset(self.donation.given))

    def __str__(self) -> str:
        return str(self.jaxpr)

    def __repr__(self) -> str:
        return f"<Traced {self.signature}: {counted(len(self.jaxpr.eqns), 'equation')}>"

    @property
    def signature(self) -> str:
        """The function's name and the types of its dynamic arguments."""
        return f"{self.fun_name}({', '.join(aval.str_short() for aval in self.jaxpr.in_avals)})"


class _Stage(ShowsItself):
    """What was traced, on its way to machine code: it keeps the trees and types of its arguments and results."""

    def __init__(self, traced: Traced, program: Program) -> None:
        self._traced = traced
        self._program = program

    @property
    def in_tree(self) -> PyTreeDef:
        return self._traced.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        return self._traced.out_tree

    @property
    def args_info(self) -> Any:
        return self._traced.args_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the leaves that are donated."""
        return tuple(i for i, donated in enumerate(self._traced.donated) if donated)

    @property
    def in_avals(self) -> Any:
        return self._traced.in_avals

    @property
    def out_info(self) -> Any:
        return self._traced.out_info


class Lowered(_Stage):
    """A program as kernels and C text."""

    plain_is_whole = True

    def __init__(self, traced: Traced, program: Program, steps: Steps) -> None:
        super().__init__(traced, program)
        self._steps = steps

    def __reduce__(self) -> tuple[Any, ...]:
        return _lowered, (self._traced, self._program.exact)

    @property
    def passes(self) -> Steps:
        """What each pass made of the program, jaxpr passes first; printed, what it changed."""
        self._program.generated  # noqa: B018  (the kernel passes run)
        return self._steps

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The simplified jaxpr."""
        return self._program.jaxpr

    @property
    def kernels(self) -> Any:
        """The fused kernels; printing them shows equations, bytes, flops and what fusion saved."""
        return self._program.generated.kernels

    @property
    def source(self) -> CSource:
        return self._program.source

    @property
    def source_map(self) -> SourceMap:
        """Which C comes from which equation, and which equation from which Python."""
        generated = self._program.generated
        return codegen.source_map.source_map(self._traced.jaxpr.jaxpr, self._program.dropped, generated.lines,
                                             generated.planned)

    def as_text(self, dialect: str | None = None, full: bool = False) -> str:
        """Return the program in C, or as a jaxpr: `dialect` may say "c" or "jaxpr".

        full: with the host's interface and the math functions that it calls in front, as the compiler gets it, byte
        for byte.
        Raises: ValueError for the dialects of other compilers.
        """
        if dialect not in (None, "c", "jaxpr"):
            refuse_dialect(dialect)
        if dialect == "jaxpr":
            return str(self.jaxpr)
        return self.source.text if full else self.source.text[self.source.preamble:]

    def compiler_ir(self, dialect: str | None = None) -> CSource | ClosedJaxpr:
        """Return the program as an object: its C ("c"), which is what there is without `dialect`, or its "jaxpr".

        Raises: ValueError for the dialects of other compilers, such as "hlo".
        """
        if dialect not in (None, "c", "jaxpr"):
            refuse_dialect(dialect)
        return self.jaxpr if dialect == "jaxpr" else self.source

    def cost_analysis(self) -> dict[str, float]:
        """Return the numbers of operations on floats ("flops") and of bytes that are read and written."""
        return cost_of(self.kernels)

    def compile(self) -> Compiled:
        """Compile, or find in memory or on disk what was compiled before."""
        return Compiled(self._traced, self._program)

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        kernels, lines = len(self.kernels), self.as_text().count("\n")
        return f"<Lowered {self._traced.signature}: {counted(kernels, 'kernel')}, {counted(lines, 'line')} of C>"


class Compiled(_Stage):
    """Machine code for one kind of arguments; call it with just these."""

    def __init__(self, traced: Traced, program: Program) -> None:
        super().__init__(traced, program)
        self.executable: Executable | None = program.executable
        self._calls = CompiledCalls(program, traced.in_tree, traced.out_tree, traced.arg_names, traced.donation,
                                    traced.places.outs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled, (self._traced, self._program.exact)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._calls(*args, **kwargs)

    @property
    def input_shardings(self) -> Any:
        """How the dynamic arguments lie, as `((positional), {keyword})`; None for those that the program drops."""
        traced = self._traced
        given = traced.places.ins or [None] * traced.in_tree.num_leaves
        return traced.in_tree.unflatten(shardings_of_arguments(traced.jaxpr.jaxpr, given, traced.keep_unused))

    @property
    def output_shardings(self) -> Any:
        """How the results lie, in the result's tree: as `out_shardings` says, else on the one device."""
        places = shardings_of_results(self.out_tree, self._traced.places.outs)
        return self.out_tree.unflatten([views.sharding.SingleDeviceSharding(CPU) if place is None else place
                                        for place in places])

    def as_text(self) -> str:
        return self._program.source.text

    def cost_analysis(self) -> list[dict[str, float]]:
        """Return what the program costs, as `Lowered.cost_analysis` does, in a list: there is one device."""
        return [cost_of(self._program.generated.kernels)]

    def memory_analysis(self) -> MemoryStats:
        """Return how many bytes its arguments, results, temporary arrays and code take."""
        size = 0 if self.executable is None else self.executable.size
        return memory_of(self._program.generated, self._program.in_avals, self._program.out_avals, size)

    def runtime_executable(self) -> Executable | None:
        """Return the machine code; None where there is none, since Python interprets the program."""
        return self.executable

    def __repr__(self) -> str:
        return f"Compiled({self._traced.fun_name}, {self.executable!r})"


def _lowered(traced: Traced, exact: bool) -> Lowered:
    """Return a pickled stage: made again of what was traced."""
    steps = Steps(traced.jaxpr)
    return Lowered(traced, traced._program(steps, exact), steps)


def _compiled(traced: Traced, exact: bool) -> Compiled:
    """Return a pickled stage: its machine code is that of the same C, in memory or on disk, if it was compiled here."""
    return _lowered(traced, exact).compile()
