"""From a jaxpr to something that runs: simplify, fuse, emit, compile, and call with addresses.

A `Program` is what one ClosedJaxpr becomes. It computes only what needs computing: outputs that are inputs are handed
through, literal outputs are made once, inputs that nobody reads are never touched. Without a compiler it is
interpreted; the answers are the same.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace._runtime import lib
from tinytrace.codegen.csource import CSource
from tinytrace.codegen.generate import Generated, generate
from tinytrace.config import config
from tinytrace.control_flow.pjit import pjit_p
from tinytrace.core.array import Array, Buffer, array_from_numpy
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var, eval_jaxpr
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import eval_context, install_executor, to_numpy
from tinytrace.passes.simplify import simplify
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.ladder import NoCompiler, load
from tinytrace.transforms.staging import trace_to_closed_jaxpr


class Program:
    """The compiled form of one ClosedJaxpr: `program(flat_args) -> flat_outputs`, all of them Arrays."""

    def __init__(self, closed: ClosedJaxpr, exact: bool | None = None) -> None:
        self.jaxpr = simplify(closed)
        self.exact = config.exact if exact is None else exact
        self.in_avals = tuple(closed.in_avals)
        self.out_avals = tuple(v.aval.update(weak_type=o.weak_type)
                               for v, o in zip(self.jaxpr.jaxpr.outvars, closed.out_avals, strict=True))
        self._plan_outputs()

    def _plan_outputs(self) -> None:
        """Decide where each output comes from: an input, a constant, or the kernels."""
        jaxpr = self.jaxpr.jaxpr
        inputs = {v: i for i, v in enumerate(jaxpr.invars)}
        consts = dict(zip(jaxpr.constvars, self.jaxpr.consts, strict=True))
        computed: dict[Var, int] = {}
        self._sources: list[Callable[[Sequence[Array], Sequence[Array]], Array]] = []
        for atom, aval in zip(jaxpr.outvars, self.out_avals, strict=True):
            self._sources.append(_source_of(atom, aval, inputs, consts, computed))
        used = {v for eqn in jaxpr.eqns for v in eqn.invars if isinstance(v, Var)}
        self.kept = [i for i, v in enumerate(jaxpr.invars) if v in used]
        kept_consts = [(v, c) for v, c in consts.items() if v in used]
        self._consts = [as_array(c, v.aval) for v, c in kept_consts]
        invars = [v for v, _ in kept_consts] + [jaxpr.invars[i] for i in self.kept]
        self.kernel_jaxpr = ClosedJaxpr(Jaxpr([], invars, list(computed), jaxpr.eqns, debug_info=None), [])
        self._computed_avals = [v.aval.strip_weak_type() for v in computed]
        self.direct = [atom for atom in jaxpr.outvars] == list(computed)

    @functools.cached_property
    def generated(self) -> Generated:
        """The kernels and the C text."""
        return generate(self.kernel_jaxpr, exact=self.exact)

    @property
    def source(self) -> CSource:
        return self.generated.source

    @functools.cached_property
    def executable(self) -> Executable | None:
        """The loaded machine code, or None where there is no compiler (then the program is interpreted)."""
        if not self.kernel_jaxpr.jaxpr.eqns:
            return None
        try:
            return load(self.source)
        except NoCompiler:
            return None

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        """Run on `args`, one Array of the right aval per input."""
        computed = self._run(args) if self._computed_avals else []
        if self.direct:
            results = [x if x.aval is aval else Array(aval, x._buffer, x._view)
                       for x, aval in zip(computed, self.out_avals, strict=True)]
        else:
            results = [source(args, computed) for source in self._sources]
        if config.debug_nans:
            self._find_nan(args, results)
        return results

    def _run(self, args: Sequence[Array]) -> list[Array]:
        inputs = [*self._consts, *(args[i] for i in self.kept)]
        executable = self.executable
        if executable is None:
            with eval_context():
                return [as_array(x, aval) for x, aval in
                        zip(eval_jaxpr(self.kernel_jaxpr.jaxpr, [], *inputs), self._computed_avals, strict=True)]
        outputs = [Buffer(aval.nbytes) for aval in self._computed_avals]
        addresses = [x.address for x in inputs]
        addresses += [buffer.address for buffer in outputs]
        workspace = self.source.workspace
        if workspace:
            scratch = Buffer(workspace)
            addresses.append(scratch.address)
        executable(addresses)
        return [Array(aval, buffer) for aval, buffer in zip(self._computed_avals, outputs, strict=True)]

    def _find_nan(self, args: Sequence[Array], results: Sequence[Array]) -> None:
        if any(x.dtype.kind == "f" and np.isnan(x._value).any() for x in results):
            with eval_context():
                eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *args)  # names the operation, if it finds it
            raise FloatingPointError("invalid value (nan) encountered in a compiled function")


def as_array(x: Any, aval: ShapedArray) -> Array:
    """Return a concrete value as an Array of type `aval` (no copy where possible)."""
    if type(x) is Array:
        return x if x.aval is aval else Array(aval, x._buffer, x._view)
    value = np.asarray(to_numpy(x, aval))
    return array_from_numpy(value if value.flags.c_contiguous else np.ascontiguousarray(value), aval)


def _source_of(atom: Atom, aval: ShapedArray, inputs: dict[Var, int], consts: dict[Var, Any],
               computed: dict[Var, int]) -> Callable[[Sequence[Array], Sequence[Array]], Array]:
    if isinstance(atom, Literal):
        constant = as_array(atom.val, aval)
        return lambda args, results: constant
    if atom in inputs:
        i = inputs[atom]
        return lambda args, results: as_array(args[i], aval)
    if atom in consts:
        constant = as_array(consts[atom], aval)
        return lambda args, results: constant
    k = computed.setdefault(atom, len(computed))
    return lambda args, results: as_array(results[k], aval)


# --- eager loops, branches and calls ---------------------------------------------------------------------------

def execute(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Run one equation that holds jaxprs (scan, cond, pjit) outside any trace: compiled, cached by its parameters."""
    avals = tuple(aval_of(arg) for arg in args)
    arrays = [as_array(arg, aval) for arg, aval in zip(args, avals, strict=True)]
    if config.disable_jit:
        with eval_context():
            return [as_array(x, aval) for x, aval in zip(primitive.impl(*arrays, **params),
                                                         primitive.abstract_eval(*avals, **params), strict=True)]
    return _program_of(primitive, avals, tuple(params.items()), config.exact)(arrays)


@functools.lru_cache(maxsize=4096)
def _program_of(primitive: Primitive, avals: tuple[ShapedArray, ...], params: tuple[tuple[str, Any], ...],
                exact: bool) -> Program:
    inner = dict(params)
    if primitive is pjit_p:
        return Program(inner["jaxpr"], exact)
    return Program(one_equation(primitive, avals, inner), exact)


def one_equation(primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
    """Return the program whose only equation is `primitive` with `params` on inputs of type `avals`."""
    return trace_to_closed_jaxpr(lambda *xs: primitive.bind(*xs, **params), avals)


install_executor(execute)
