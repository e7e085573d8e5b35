"""From a jaxpr to something that runs: simplify, fuse, emit, compile, and call with addresses.

A `Program` is what one ClosedJaxpr becomes. It computes only what needs computing: outputs that are inputs are handed
through, literal outputs are made once, outputs that are one number everywhere are one element in memory, inputs that
nobody reads are never touched (`api/outputs.py`). Without a compiler it is interpreted; the answers are the same.
`shared_program` finds the Program of an equal jaxpr: a fresh lambda costs its tracing.
"""
from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tinytrace import codegen, events, runtime
from tinytrace._dispatch import CONSTANT, FROM_KERNEL, FROM_LEAF, Buffer, FastEntry, HitCounter
from tinytrace.api.blocks import EntryOnBlocks
from tinytrace.api.concrete import as_array, held, type_number
from tinytrace.api.equal_programs import EqualProgram, equal_to, forget_programs, programs
from tinytrace.api.host_calls import HostCalls
from tinytrace.api.loaded_code import note_loaded
from tinytrace.api.lowered_before import USUAL, find_again, is_new, is_worth_it, name_of, remember
from tinytrace.api.outputs import constant_of, outputs_of
from tinytrace.api.steps import Steps
from tinytrace.codegen.csource import CSource
from tinytrace.config import config
from tinytrace.core.array import Array, array_from_host, copy_of_block
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.canonical import closed_over
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, Var, eval_jaxpr
from tinytrace.core.tangents import without_float0
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.multiply_add import fuse_multiply_add
from tinytrace.passes.simplify import simplify
from tinytrace.pure import PURE
from tinytrace.runtime.failures import NoCompiler, StrictError
from tinytrace.transforms.staging import hoist_consts
from tinytrace.util import is_imported, lazy, uncollected

if TYPE_CHECKING:
    from tinytrace.codegen.generate import Generated
    from tinytrace.codegen.program import Kernels
    from tinytrace.runtime.discovery import Headstart
    from tinytrace.runtime.executable import Executable
    from tinytrace.runtime.ladder import Found
    from tinytrace.runtime.lowerings import Lowering
    Run = Callable[[Sequence[Array]], list[Array]]


class Program:
    """The compiled form of one ClosedJaxpr: `program(flat_args) -> flat_outputs`, all of them Arrays."""

    @uncollected
    def __init__(self, closed: ClosedJaxpr, exact: bool | None = None, steps: Steps | None = None,
                 debug: bool = False, donated: frozenset[int] = frozenset(), share_numbers: bool = True) -> None:
        self._steps = steps
        self.donated = donated
        """The inputs, by number, whose places results may take."""
        self._debug = debug or config.verify
        self.dropped: dict[int, str] = {}
        """Why equations of `closed` lead to none of the simplified program."""
        self.origin = ""
        """Where the machine code came from: `compiler`, `disk`, `shared disk`, `memory`, `interpreter`, `nothing`."""
        watch = self._see if steps is not None or self._debug else None
        begun = time.perf_counter()
        self.jaxpr = simplify(without_float0(closed), watch, self.dropped)
        self.seconds = {"simplify": time.perf_counter() - begun}
        if events.listeners:
            events.tell("pass", "simplify", self.seconds["simplify"], f"{closed}\nbecame {self.jaxpr}")
        """What its stages took: simplify, plan, emit, compile, load."""
        self.exact = config.exact if exact is None else exact
        self.least_effort = config.disable_most_optimizations
        if not self.exact:
            self.jaxpr = fuse_multiply_add(self.jaxpr)
            if watch is not None:
                watch(fuse_multiply_add.__name__, self.jaxpr)
        self.in_avals = tuple(closed.in_avals)
        self.out_avals = tuple(v.aval.update(weak_type=o.weak_type)
                               for v, o in zip(self.jaxpr.jaxpr.outvars, closed.out_avals, strict=True))
        self._places: dict[tuple[int, ...], tuple[Any, tuple[int, ...], Any]] = {}
        self.shared_as: EqualProgram | None = None
        """How equal jaxprs find this program, if they do."""
        self._compiling: threading.Thread | None = None
        self._lowering: Lowering | None = None
        self._again: list[tuple[Lowering, Found] | None] = []
        """What an earlier process made of it, once that was looked for and until it is taken."""
        self._plan_outputs(share_numbers)

    def _plan_outputs(self, share_numbers: bool) -> None:
        """Decide where each output comes from: an input, a constant, or the kernels."""
        jaxpr = self.jaxpr.jaxpr
        self.outputs, computed, eqns = outputs_of(self.jaxpr, self.out_avals, share_numbers)
        used = {v for eqn in eqns for v in eqn.invars if isinstance(v, Var)}
        self.kept = [i for i, v in enumerate(jaxpr.invars) if v in used]
        kept_consts = [(v, c) for v, c in zip(jaxpr.constvars, self.jaxpr.consts, strict=True) if v in used]
        self.consts = [held(c, v.aval) for v, c in kept_consts]
        invars = [v for v, _ in kept_consts] + [jaxpr.invars[i] for i in self.kept]
        self.kernel_jaxpr = ClosedJaxpr(Jaxpr([], invars, list(computed), eqns), [])
        self._computed_avals = [v.aval.strip_weak_type() for v in computed]
        handed = {index for source, index, _ in self.outputs if source == FROM_LEAF}
        self._reusable = frozenset(len(kept_consts) + k for k, i in enumerate(self.kept)
                                   if i in self.donated and i not in handed)

    @lazy
    def generated(self) -> Generated:
        """The kernels and the C text."""
        return self._generate()

    @uncollected
    def _generate(self) -> Generated:
        checker = codegen.checking.Checker() if self._debug else None

        def watch(name: str, kernels: Kernels) -> None:
            self._see(name, kernels)
            if checker is not None:
                checker(name, kernels)
        is_watched = self._steps is not None or self._debug
        generated = codegen.generate.generate(self.kernel_jaxpr, self.exact, watch if is_watched else None,
                                              self._reusable, self.least_effort)
        if checker is not None:
            checker.finish(generated.kernels)
        self.seconds.update(generated.seconds)
        return generated

    def _see(self, name: str, form: ClosedJaxpr | Kernels) -> None:
        """Remember what a pass made, and check the jaxpr that it is, where that was asked for."""
        if self._debug and isinstance(form, ClosedJaxpr):
            check_jaxpr(form.jaxpr)
        if self._steps is not None:
            self._steps.see(name, form)

    @property
    def source(self) -> CSource:
        return self.generated.source

    @property
    def lowering(self) -> Lowering:
        """What must be known of the C to call it: there is no more of a program that an earlier process lowered."""
        if self._lowering is None:
            numbers = {id(x): k for k, x in enumerate(self._closed_over)}
            constants = [numbers[id(x)] for x in self.generated.constants]
            self._lowering = runtime.lowerings.Lowering.of(self.source, self.generated.reused, constants)
        return self._lowering

    @lazy
    def _closed_over(self) -> list[Any]:
        return closed_over(self.kernel_jaxpr.jaxpr)

    @lazy
    def executable(self) -> Executable | None:
        """The loaded machine code, or None where there is no compiler (then the program is interpreted)."""
        return self._load()

    def compile_in_background(self) -> None:
        """Let a thread compile; calls are interpreted until it is ready."""
        if self._compiling is None and "executable" not in self.__dict__:
            self._compiling = threading.Thread(target=self._compile_now, name="tinytrace compiles")
            self._compiling.start()

    def _compile_now(self) -> None:
        with contextlib.suppress(StrictError):  # the first call after it compiles itself, and raises it
            self.__dict__["executable"] = self._load()

    def is_compiling(self) -> bool:
        """Is a thread at it? Then nobody should wait for `executable`."""
        return self._compiling is not None and self._compiling.is_alive()

    def _code(self) -> Executable | None:
        """Return the machine code if this call can have it: none is there while it is made in the background, and in a
        signal's handler that interrupts the first import of the compiler."""
        if "executable" not in self.__dict__ and not self.is_compiling() and is_imported(lambda: runtime.ladder.find):
            with runtime.discovery.Headstart() as ahead:
                if self._can_be_loaded(ahead):
                    self.__dict__.setdefault("executable", self._load(ahead))
        return self.__dict__.get("executable")

    def _can_be_loaded(self, ahead: Headstart) -> bool:
        if self._looked_for() is None:
            self._begin(ahead)  # to import what lowers takes as long as the compiler to get ready
            return is_imported(lambda: codegen.generate.generate)
        return True

    def _begin(self, ahead: Headstart) -> None:
        usual = not self.least_effort and self._is_unseen()
        is_asked = ahead.given is None and usual and "generated" not in self.__dict__ and not PURE
        if is_asked and len(self.kernel_jaxpr.eqns) <= USUAL and is_new(self._name):
            ahead.start()

    def _is_unseen(self) -> bool:
        return self._steps is None and not self._debug

    def _looked_for(self) -> tuple[Lowering, Found] | None:
        """Return what an earlier process made of this program; not where its own lowering is looked at."""
        if not self._again:
            is_asked = self._is_unseen() and "generated" not in self.__dict__ and is_worth_it(self.kernel_jaxpr.jaxpr)
            self._again = [find_again(self._name) if is_asked else None]
        return self._again[0]

    @lazy
    def _name(self) -> str:
        return name_of(self.kernel_jaxpr.jaxpr, self.exact, self._reusable)

    def _load(self, ahead: Headstart | None = None) -> Executable | None:
        if not self.kernel_jaxpr.jaxpr.eqns:
            self.origin = "nothing"
            return None
        try:
            if PURE:
                raise NoCompiler("tinytrace runs without its C extensions")
            found = self._found(ahead)
        except NoCompiler:
            self.origin = "interpreter"
            events.tell("load", self.origin)
            forget_programs()  # there may be a compiler when an equal program is made
            return None
        self.origin = found.origin
        self.seconds.update(compile=found.compile_seconds, load=found.load_seconds)
        events.tell("load", found.origin, found.compile_seconds + found.load_seconds)
        note_loaded(self, found.executable.size)
        return found.executable

    def _found(self, ahead: Headstart | None) -> Found:
        again, self._again = self._looked_for(), []
        if again is not None:
            self._lowering, found = again
            return found
        is_known = "generated" in self.__dict__ or not self._is_unseen()
        with ahead or runtime.discovery.Headstart() as begun:
            self._begin(begun)
            name = "" if is_known or self.generated.callbacks else self._name

            def described() -> str:  # while the compiler is at work
                remember(name, self.lowering)
                return str(self.kernel_jaxpr)

            begun.tell(self.source)
            found = runtime.ladder.find(self.source, described, begun.given)
        if found.origin != "compiler":
            remember(name, self.lowering)
        return found

    @lazy
    def _hidden(self) -> list[Array]:
        """The inputs that only the C has: arrays that bodies close over, and the numbers of the callbacks."""
        if self.executable is None:
            return []
        constants = [self._closed_over[k] for k in self.lowering.constants]
        arrays = [held(x, aval_of(x)) for x in constants]
        if "generated" in self.__dict__ and self.generated.callbacks:  # such a program is lowered in each process
            ids = self._host_calls.ids
            arrays.append(array_from_host(ids, ShapedArray(ids.shape, ids.dtype)))
        return arrays

    @lazy
    def _host_calls(self) -> HostCalls:
        return HostCalls(self.generated.callbacks)

    def __call__(self, args: Sequence[Array], run: Run | None = None) -> list[Array]:
        """Run on `args`, one Array of the right aval per input; `run` is asked for the kernels' results if given."""
        return self._results(args, (run or self.run)(args) if self.kernel_jaxpr.jaxpr.eqns else [])

    def run_kernels(self, args: Sequence[Array]) -> list[Array]:
        """Run on `args` like a call, but the kernels in NumPy, without a compiler."""
        computed = self.generated.kernels.run(*self.kernel_inputs(args)) if self.kernel_jaxpr.jaxpr.eqns else []
        return self._results(args, [array_from_host(x, a) for x, a in zip(computed, self._computed_avals, strict=True)])

    def kernel_inputs(self, args: Sequence[Array]) -> list[Array]:
        """Return what the kernels read: constants, and those of `args` that are needed."""
        return [*self.consts, *(args[i] for i in self.kept)]

    def _results(self, args: Sequence[Array], computed: Sequence[Array]) -> list[Array]:
        """Return the outputs: what the kernels computed, inputs and constants."""
        results = []
        for (source, index, constant), aval in zip(self.outputs, self.out_avals, strict=True):
            if source == CONSTANT:
                results.append(constant_of(index, constant, aval))
            else:
                results.append(as_array((computed if source == FROM_KERNEL else args)[index], aval))
        return results

    def call_separately(self, args: Sequence[Array], run: Run | None = None) -> list[Array]:
        """Run on `args`; none of the results is an argument: who deletes one of the two keeps the other."""
        through = {k: i for k, (source, i, _) in enumerate(self.outputs) if source == FROM_LEAF}
        own = {k: held(args[i], self.out_avals[k]) for k, i in through.items()}  # before a callback deletes it
        given = {through[k]: x for k, x in own.items()}
        return [own.get(k, x) for k, x in enumerate(self([given.get(i, x) for i, x in enumerate(args)], run))]

    def fast_entry(self, consts: Sequence[Array], leaf_order: Sequence[int],
                   unflatten: Callable[[list[Any]], Any] | None, counter: HitCounter | None = None,
                   given: Sequence[int] = ()) -> FastEntry | None:
        """Return the form of this program that the hit path calls, None where it must go through Python.

        consts: the first inputs, the same in every call.  leaf_order: where the call's reading order meets the others.
        given: the inputs, by number, that are deleted; none of them is of `consts`.
        """
        executable = self._code()
        if executable is None and self.kernel_jaxpr.jaxpr.eqns:
            return None
        consts = [held(x, x.aval) for x in consts]
        entry, workspace = (executable.entry, self.lowering.workspace) if executable else (0, 0)
        donations = self._fast_donations([(i, leaf_order[i - len(consts)]) for i in given])
        return FastEntry((self, consts, executable), entry, workspace, *self._fast_places(consts, leaf_order),
                         self.out_avals, unflatten, None, counter, donations)

    def _fast_places(self, consts: Sequence[Array], leaf_order: Sequence[int]) -> tuple[Any, tuple[int, ...], Any]:
        """Return where inputs come from, the sizes of what is computed, and where outputs come from.

        Functions that are made anew at each call ask for the same again: it is remembered where there are no `consts`.
        """
        places = None if consts else self._places.get(order := tuple(leaf_order))
        if places is None:
            sizes = tuple([aval.nbytes for aval in self._computed_avals])
            places = self._fast_inputs(consts, leaf_order), sizes, self._fast_outputs(consts, leaf_order)
            if not consts:
                self._places[order] = places
        return places

    def _fast_donations(self, given: Sequence[tuple[int, int]]) -> tuple[tuple[int, int, int], ...]:
        """Return (leaf, input of the C or -1, output of the C or -1) for each input and leaf that is given away."""
        reused = {position: k for k, position in self.lowering.reused} if given and self.kept else {}
        places = {i: len(self.consts) + k for k, i in enumerate(self.kept)}
        return tuple((leaf, places[i], reused[places[i]]) if places.get(i) in reused else (leaf, -1, -1)
                     for i, leaf in given)

    def entry_on_blocks(self, consts: Sequence[Array], leaf_order: Sequence[int],
                        unflatten: Callable[[list[Any]], Any] | None) -> EntryOnBlocks | None:
        """Return the same for larger calls of this program, which is one on blocks; see `api.blocks`."""
        block = max(aval.size for aval in (*self.in_avals, *self.out_avals))
        executable, outputs = self._code(), self._fast_outputs(consts, leaf_order)
        if (self.lowering.workspace if executable else self.kernel_jaxpr.eqns) or CONSTANT in {o[0] for o in outputs}:
            return None
        consts = [held(x, x.aval) for x in consts]
        moving = [self.in_avals[i].nbytes if self.in_avals[i].shape else 0 for i in self.kept]
        steps = [0] * len(self.consts) + moving + [0] * len(self._hidden) + [a.nbytes for a in self._computed_avals]
        entry, cost = (executable.entry, self.generated.kernels.nanoseconds) if executable else (0, 0.0)
        return EntryOnBlocks((self, consts, executable), entry, self._fast_inputs(consts, leaf_order), tuple(steps),
                             outputs, unflatten, cost, block)

    def _fast_inputs(self, consts: Sequence[Array], leaf_order: Sequence[int]) \
            -> tuple[tuple[int, int, int, int, int], ...]:
        inputs = [(x.address, 0, 0, 0, 0) for x in self.consts]
        for i in self.kept:
            at, aval = i - len(consts), self.in_avals[i]
            inputs.append((consts[i].address, 0, 0, 0, 0) if at < 0 else
                          (0, leaf_order[at], type_number(aval.dtype), aval.nbytes, aval.size))
        return tuple(inputs + [(x.address, 0, 0, 0, 0) for x in self._hidden])

    def _fast_outputs(self, consts: Sequence[Array], leaf_order: Sequence[int]) -> tuple[tuple[int, int, Any], ...]:
        outputs: list[tuple[int, int, Any]] = []
        for (source, index, constant), aval in zip(self.outputs, self.out_avals, strict=True):
            if source != FROM_LEAF:
                outputs.append((source, index, constant))
            elif index < len(consts):
                outputs.append((CONSTANT, 0, held(consts[index], aval)))
            else:
                outputs.append((FROM_LEAF, leaf_order[index - len(consts)], None))
        return tuple(outputs)

    def run(self, args: Sequence[Array]) -> list[Array]:
        inputs = self.kernel_inputs(args)
        blocks = [x.block for x in inputs]  # they stay, though another thread deletes an array
        executable = self._code()
        if executable is None:
            with interpreting():
                return [as_array(x, aval) for x, aval in
                        zip(eval_jaxpr(self.kernel_jaxpr.jaxpr, [], *inputs), self._computed_avals, strict=True)]
        outputs = [Buffer(aval.nbytes) for aval in self._computed_avals]
        for k, position in self.lowering.reused:
            outputs[k] = blocks[position] = copy_of_block(blocks[position])
        addresses = [block.address for block in (*blocks, *[x.block for x in self._hidden], *outputs)]
        if workspace := self.lowering.workspace:
            scratch = Buffer(workspace)
            addresses.append(scratch.address)
        executable(addresses)
        return [Array(aval, buffer) for aval, buffer in zip(self._computed_avals, outputs, strict=True)]


def shared_program(jaxpr: Jaxpr, donated: frozenset[int] = frozenset()) -> Program:
    """Return the program of `jaxpr`, whose constants are its first inputs; an equal jaxpr's if there was one.

    donated: the inputs, by number, whose places results may take.
    """
    closed = ClosedJaxpr(hoist_consts(jaxpr), [])
    equal = equal_to(closed, donated)
    if equal is None:
        return Program(closed, donated=donated)
    program: Program | None = programs.get(equal)
    if program is None:
        program = programs.setdefault(equal, Program(closed, donated=donated))
        program.shared_as = equal
    return program


def known_program(jaxpr: Jaxpr, donated: frozenset[int] = frozenset()) -> Program | None:
    """Return the program that `shared_program` would find, None if it would make one."""
    equal = equal_to(ClosedJaxpr(hoist_consts(jaxpr), []), donated)
    return None if equal is None else programs.get(equal)
