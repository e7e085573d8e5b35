"""Partial evaluation: run a function of which some inputs are unknown, and write down what could not be computed.

Operations on known values are computed at once, by the trace below. An operation on an unknown value, a `JaxprTracer`,
goes to the primitive's rule

    partial_eval(trace, args, **params) -> outs            known args are plain values, unknown ones tracers

whose default records it: its outputs are unknown, and remember the `JaxprEqnRecipe` of it. At the end the recipes
that the outputs need are sorted into a jaxpr; known values in them become its constants, the *residuals*. A primitive
with a jaxpr inside (pjit, scan, cond) splits it in two with `partial_eval_jaxpr`, computes one and records the other.

This is how reverse mode gets its linear program: after `jvp` the primals are known, the tangents are not.
Source: Radul et al., "You Only Linearize Once" (https://arxiv.org/abs/2204.10923); JAX, autodidax part 4.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun
from tinytrace.core.primitive import Primitive
from tinytrace.core.source_info import SourceInfo
from tinytrace.core.trace import Trace, Tracer, current_trace, leaked_tracer_error, set_current_trace
from tinytrace.records import NamedTuple
from tinytrace.transforms.scope import running
from tinytrace.transforms.staging import hoist_consts, trace_to_closed_jaxpr, user_source
from tinytrace.util import cache_by_jaxpr, toposort

FlatFunction = Callable[..., Any]


class Unknown(NamedTuple):
    """An input or output of which only the type is known."""

    aval: ShapedArray


def partial_eval(fun: FlatFunction, inputs: Sequence[Any], instantiate: bool | Sequence[bool] = False
                 ) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Run `fun`, a function of flat arrays to a flat list, on inputs some of which are `Unknown(aval)`.

    Outputs marked in `instantiate` are treated as unknown even when they are known.

    Returns: the jaxpr of (unknown inputs) to (unknown outputs); the outputs, values or `Unknown`; the residuals, which
    are the values of the jaxpr's constvars.
    """
    trace = JaxprTrace(current_trace())
    with running(trace):
        return _run(trace, fun, inputs, instantiate)


def _run(trace: JaxprTrace, fun: FlatFunction, inputs: Sequence[Any], instantiate: bool | Sequence[bool]
         ) -> tuple[Jaxpr, list[Any], list[Any]]:
    args = [JaxprTracer(trace, x.aval, INPUT) if isinstance(x, Unknown) else x for x in inputs]
    outs = list(fun(*args))
    wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
    outs = [trace.instantiate(x) if want else x for x, want in zip(outs, wanted, strict=True)]
    jaxpr, residuals = collect_jaxpr([x for x in args if not trace.is_known(x)],
                                     [x for x in outs if not trace.is_known(x)])
    return jaxpr, [x if trace.is_known(x) else Unknown(x.aval) for x in outs], residuals


class JaxprEqnRecipe:
    """How some tracers were made: one equation to be."""

    def __init__(self, in_tracers: Sequence[JaxprTracer], out_avals: Sequence[ShapedArray], primitive: Primitive,
                 params: dict[str, Any], effects: frozenset[Any], source: SourceInfo | None) -> None:
        self.in_tracers, self.out_avals, self.primitive, self.params = in_tracers, out_avals, primitive, params
        self.effects, self.source = effects, source
        self.out_tracer_refs: list[weakref.ref[JaxprTracer]] = []
        """Weak: a result that nobody holds any more is not an output of the equation (it prints as `_`)."""

    def __repr__(self) -> str:
        return f"JaxprEqnRecipe({self.primitive})"


class ConstVar(NamedTuple):
    """The recipe of a known value among unknown ones."""

    val: Any


class LambdaBinding:
    """The recipe of an unknown input."""

    def __repr__(self) -> str:
        return "LambdaBinding()"


INPUT = LambdaBinding()


class JaxprTracer(Tracer):
    """An unknown value, and the recipe by which it will be computed."""

    __slots__ = ("aval", "recipe")
    aval: ShapedArray

    def __init__(self, trace: JaxprTrace, aval: Any, recipe: Any) -> None:
        super().__init__(trace)
        self.aval = aval[0] if isinstance(aval, tuple) else aval  # JAX's is the pair of it and None
        self.recipe = recipe

    @property
    def parents(self) -> Sequence[JaxprTracer]:
        """The tracers that this one is computed from."""
        return self.recipe.in_tracers if isinstance(self.recipe, JaxprEqnRecipe) else ()

    def __repr__(self) -> str:
        return f"Traced<{self.aval!r}:{self._trace!r}>"

    def _contents(self) -> list[tuple[str, Any]]:
        return [("pval", (self.aval, None)), ("recipe", self.recipe)]


class JaxprTrace(Trace):
    """One partial evaluation."""

    name = "JaxprTrace"

    def __init__(self, parent: Trace) -> None:
        self.parent: Trace = parent

    def is_known(self, x: Any) -> bool:
        """Is `x` a value, for this trace at least?"""
        return not (isinstance(x, JaxprTracer) and x._trace is self)

    def instantiate(self, x: Any) -> JaxprTracer:
        """Return `x` as a tracer: a known scalar becomes a literal of the jaxpr, another known value a residual."""
        if not self.is_known(x):
            return x  # type: ignore[no-any-return]
        aval = aval_of(x)
        if aval.shape == () and isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)):
            return JaxprTracer(self, aval, Literal(x, aval))
        return self.new_residual(x)

    def new_residual(self, x: Any) -> JaxprTracer:
        """Return known `x` as a tracer that is never a literal."""
        if isinstance(x, Tracer):
            x._assert_live()
        return JaxprTracer(self, aval_of(x), ConstVar(x))

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        with set_current_trace(self.parent):
            if all(map(self.is_known, args)):
                return primitive.bind(*args, **params)
            return primitive.partial_eval(self, args, **params)

    def record(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Write one equation into the unknown part; returns its output tracers (or tracer)."""
        tracers = [self.instantiate(x) for x in args]
        avals = [t.aval for t in tracers]
        out_avals = primitive.abstract_eval(*avals, **params)
        recipe = JaxprEqnRecipe(tracers, out_avals if primitive.multiple_results else [out_avals], primitive, params,
                        primitive.effects(*avals, **params), user_source())
        outs = [JaxprTracer(self, aval, recipe) for aval in recipe.out_avals]
        recipe.out_tracer_refs = [weakref.ref(t) for t in outs]
        return outs if primitive.multiple_results else outs[0]

    def process_custom_jvp_call(self, primitive: Primitive, fun: FlatFunction, jvp: FlatFunction, args: Sequence[Any],
                                params: dict[str, Any]) -> Any:
        if all(map(self.is_known, args)):
            return self.parent.process_custom_jvp_call(primitive, fun, jvp, args, params)
        return super().process_custom_jvp_call(primitive, fun, jvp, args, params)

    def process_custom_vjp_call(self, primitive: Primitive, fun: FlatFunction, fwd: FlatFunction, bwd: FlatFunction,
                                args: Sequence[Any], params: dict[str, Any]) -> Any:
        if all(map(self.is_known, args)):
            return self.parent.process_custom_vjp_call(primitive, fun, fwd, bwd, args, params)
        return super().process_custom_vjp_call(primitive, fun, fwd, bwd, args, params)


# --- from recipes to a jaxpr -----------------------------------------------------------------------------------

def collect_jaxpr(in_tracers: Sequence[JaxprTracer], out_tracers: Sequence[JaxprTracer]) -> tuple[Jaxpr, list[Any]]:
    """Write the jaxpr of `out_tracers` as a function of `in_tracers`; returns it and the values of its constvars."""
    atoms: dict[int, Atom] = {}
    consts: dict[int, tuple[Var, Any]] = {}
    eqns: dict[JaxprEqnRecipe, JaxprEqn] = {}
    inputs = set(map(id, in_tracers))
    for tracer in toposort([*in_tracers, *out_tracers]):  # the order in which JAX prints linear programs
        recipe = tracer.recipe
        if isinstance(recipe, JaxprEqnRecipe):
            if recipe not in eqns:
                eqns[recipe] = _equation(recipe, atoms)
        elif isinstance(recipe, ConstVar):
            atoms[id(tracer)] = consts.setdefault(id(recipe.val), (Var(tracer.aval), recipe.val))[0]
        elif isinstance(recipe, Literal):
            atoms[id(tracer)] = recipe
        elif id(tracer) in inputs:
            atoms[id(tracer)] = Var(tracer.aval)
        else:
            raise leaked_tracer_error(tracer, f"Tracer not in input tracers: {tracer}")
    invars = [v for v in (atoms[id(t)] for t in in_tracers) if isinstance(v, Var)]
    jaxpr = Jaxpr([v for v, _ in consts.values()], invars, [atoms[id(t)] for t in out_tracers], list(eqns.values()))
    return jaxpr, [value for _, value in consts.values()]


def _equation(recipe: JaxprEqnRecipe, atoms: dict[int, Atom]) -> JaxprEqn:
    outvars: list[Var] = []
    for aval, ref in zip(recipe.out_avals, recipe.out_tracer_refs, strict=True):
        tracer = ref()
        outvars.append(DropVar(aval) if tracer is None else Var(aval))
        if tracer is not None:
            atoms[id(tracer)] = outvars[-1]
    return JaxprEqn([atoms[id(t)] for t in recipe.in_tracers], outvars, recipe.primitive, recipe.params,
                    recipe.effects, recipe.source)


# --- jaxprs ----------------------------------------------------------------------------------------------------

def partial_eval_jaxpr(closed: ClosedJaxpr, unknowns: Sequence[bool], instantiate: bool | Sequence[bool]
                       ) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], list[ShapedArray]]:
    """Split a jaxpr into what the inputs not marked in `unknowns` suffice for, and the rest.

    Returns: the known jaxpr, of (known inputs) to (known outputs, residuals); the unknown jaxpr, of (residuals, unknown
    inputs) to (unknown outputs); which outputs are unknown; the residuals' avals.
    """
    wanted = instantiate if isinstance(instantiate, bool) else tuple(instantiate)
    known, unknown, out_unknowns, residual_avals = _partial_eval_jaxpr(closed, tuple(unknowns), wanted)
    return known, unknown, list(out_unknowns), list(residual_avals)


@cache_by_jaxpr
def _partial_eval_jaxpr(closed: ClosedJaxpr, unknowns: tuple[bool, ...], instantiate: bool | tuple[bool, ...]
                        ) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], list[ShapedArray]]:
    rest: list[tuple[Jaxpr, list[bool], list[ShapedArray]]] = []

    def known_part(*known_inputs: Any) -> list[Any]:
        values = iter(known_inputs)
        inputs = [Unknown(aval) if unknown else next(values)
                  for aval, unknown in zip(closed.in_avals, unknowns, strict=True)]
        jaxpr, outs, residuals = partial_eval(jaxpr_as_fun(closed), inputs, instantiate)
        rest.append((jaxpr, [isinstance(x, Unknown) for x in outs], [aval_of(x) for x in residuals]))
        return [x for x in outs if not isinstance(x, Unknown)] + residuals

    known_avals = [aval for aval, unknown in zip(closed.in_avals, unknowns, strict=True) if not unknown]
    known = trace_to_closed_jaxpr(known_part, known_avals)
    (jaxpr, out_unknowns, residual_avals), = rest
    return known, ClosedJaxpr(hoist_consts(jaxpr), []), out_unknowns, residual_avals
