"""Partial evaluation taken apart, for `jax.interpreters.partial_eval`: tracers of known values, recipes of equations.

A known value is a plain value here (`transforms/partial_eval.py`). A rule in JAX's way gets a `KnownTracer` of it, and
may write its equation with `new_eqn_recipe`. Importing this module gives `JaxprTrace` the methods that such rules use.
Source: `jax.interpreters.partial_eval` of JAX 0.4.35.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Sequence
from typing import Any

from tinytrace.control_flow.bodies import merge
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, jaxpr_as_fun
from tinytrace.core.primitive import Primitive
from tinytrace.core.source_info import SourceInfo
from tinytrace.core.trace import Trace, Tracer, set_current_trace
from tinytrace.extend.lifting import full_lower, pure
from tinytrace.extend.linear_util import transformation, transformation_with_aux, wrap_init
from tinytrace.interpreters.partial_eval import PartialVal
from tinytrace.interpreters.program_parts import partition_pvals
from tinytrace.interpreters.rule_tables import RuleTable, WrittenRules
from tinytrace.records import NamedTuple
from tinytrace.transforms.partial_eval import (
    INPUT,
    ConstVar,
    JaxprEqnRecipe,
    JaxprTrace,
    JaxprTracer,
    LambdaBinding,
    collect_jaxpr,
)
from tinytrace.util import toposort

Generating = Generator[Any, Any, Any]
TracerId = int


class FreeVar(NamedTuple):
    """The recipe of an unknown value from outside: an input of the jaxpr that `tracers_to_jaxpr` tells apart."""

    val: Any


JaxprTracerRecipe = JaxprEqnRecipe | LambdaBinding | FreeVar | ConstVar | Literal


# --- known values --------------------------------------------------------------------------------------------------

class KnownTracer(Tracer):
    """A value that is known, among tracers of values that are not."""

    __slots__ = ("pval",)
    recipe = None

    def __init__(self, trace: JaxprTrace, value: Any) -> None:
        super().__init__(trace)
        self.pval = PartialVal.known(value)

    @property
    def aval(self) -> ShapedArray:
        return self.pval.get_aval()

    def is_known(self) -> bool:
        """It is."""
        return True

    def full_lower(self) -> Any:
        """Return the value."""
        return full_lower(self.pval.get_known())


pure.register(JaxprTrace, KnownTracer)


def start(parent: Trace, name_stack: Any = None) -> JaxprTrace:
    """Return a partial evaluation over `parent`: what `core.new_main(pe.JaxprTrace)` starts."""
    return JaxprTrace(parent)


def _new_arg(trace: JaxprTrace, pval: PartialVal) -> Any:
    return KnownTracer(trace, pval.get_known()) if pval.is_known() else JaxprTracer(trace, pval.get_aval(), INPUT)


def _instantiate_const(trace: JaxprTrace, tracer: Any) -> JaxprTracer:
    return trace.instantiate(full_lower(tracer))


def _new_literal(trace: JaxprTrace, value: Any) -> JaxprTracer:
    aval = aval_of(value)
    return JaxprTracer(trace, aval, Literal(value, aval))


def default_process_primitive(trace: JaxprTrace, primitive: Primitive, tracers: Sequence[Any], params: dict[str, Any]
                              ) -> Any:
    """Compute an operation of which all operands are known, else leave an equation behind."""
    args = list(map(full_lower, tracers))
    if not all(map(trace.is_known, args)):
        return trace.record(primitive, args, params)
    with set_current_trace(trace.parent):
        return primitive.bind(*args, **params)


for _name, _method in (("new_const", KnownTracer), ("new_arg", _new_arg), ("new_instantiated_literal", _new_literal),
                       ("new_instantiated_const", JaxprTrace.new_residual), ("instantiate_const", _instantiate_const),
                       ("default_process_primitive", default_process_primitive)):
    setattr(JaxprTrace, _name, lambda trace, *args, _method=_method: _method(trace, *args))
setattr(JaxprTracer, "pval", property(lambda tracer: PartialVal.unknown(tracer.aval)))  # noqa: B010
setattr(JaxprTracer, "is_known", lambda tracer: False)  # noqa: B010


def instantiate_const_at(trace: Any, instantiate: bool, tracer: Any) -> Any:
    """Return a tracer as one of an unknown value, if it is asked for."""
    return trace.instantiate_const(trace.full_raise(tracer)) if instantiate else tracer


# --- recipes -------------------------------------------------------------------------------------------------------

def new_eqn_recipe(in_tracers: Sequence[JaxprTracer], out_tracers: Sequence[JaxprTracer], primitive: Primitive,
                   params: dict[str, Any], effects: Any, source_info: Any, ctx: Any = None) -> JaxprEqnRecipe:
    """Return the equation to be by which the values of `out_tracers` are computed: their `recipe`."""
    if primitive.call_primitive or primitive.map_primitive:
        assert "call_jaxpr" in params
    line = getattr(source_info, "traceback", source_info)
    recipe = JaxprEqnRecipe(tuple(in_tracers), [tracer.aval for tracer in out_tracers], primitive, params,
                            frozenset(effects), line if isinstance(line, SourceInfo) else None)
    recipe.out_tracer_refs = list(map(weakref.ref, out_tracers))
    return recipe


def recipe_to_eqn(getvar: Callable[[JaxprTracer], Any], recipe: JaxprEqnRecipe) -> JaxprEqn:
    """Return an equation; `getvar` gives the variable of a tracer."""
    refs = [ref() for ref in recipe.out_tracer_refs]
    outvars = [DropVar(aval) if tracer is None else getvar(tracer)
               for aval, tracer in zip(recipe.out_avals, refs, strict=True)]
    invars: list[Atom] = list(map(getvar, recipe.in_tracers))
    return JaxprEqn(invars, outvars, recipe.primitive, recipe.params, recipe.effects, recipe.source)


def tracers_to_jaxpr(in_tracers: Sequence[JaxprTracer], out_tracers: Sequence[JaxprTracer]
                     ) -> tuple[Jaxpr, tuple[Any, ...], tuple[Any, ...]]:
    """Return the jaxpr of `out_tracers` as a function of `in_tracers`, its constants, and the values of free variables.

    The free variables are its first inputs.
    """
    free = [tracer for tracer in toposort([*in_tracers, *out_tracers]) if isinstance(tracer.recipe, FreeVar)]
    jaxpr, consts = collect_jaxpr([*free, *in_tracers], out_tracers)
    return jaxpr, tuple(consts), tuple(tracer.recipe.val for tracer in free)


# --- functions of partly known values ------------------------------------------------------------------------------

@transformation
def trace_to_subjaxpr(main: Any, instantiate: bool | Sequence[bool], pvals: Sequence[PartialVal]) -> Generating:
    """Make a flat function one of partly known values, in the trace `main`.

    It gives the jaxpr of its inputs, and the results (`PartialVal`), the constants and values of free variables.
    """
    jaxpr, out_tracers, consts, env = yield from _run(main, instantiate, pvals)
    yield jaxpr, ([tracer.pval for tracer in out_tracers], consts, env)


trace_to_subjaxpr_nounits = trace_to_subjaxpr


@transformation
def trace_to_subjaxpr_nounits_fwd(main: Any, instantiate: bool | Sequence[bool], in_pvals: Sequence[PartialVal]
                                  ) -> Generating:
    """The same, where constants that are known inputs are left out: their numbers among these are the first result."""
    jaxpr, out_tracers, consts, env = yield from _run(main, instantiate, in_pvals)
    known = {id(pval.get_known()): i for i, pval in enumerate(pval for pval in in_pvals if pval.is_known())}
    forwarded = [known.get(id(const)) for const in consts]
    kept = [const for const, i in zip(consts, forwarded, strict=True) if i is None]
    yield jaxpr, (forwarded, [tracer.pval for tracer in out_tracers], kept, env)


def _run(main: Any, instantiate: bool | Sequence[bool], pvals: Sequence[PartialVal]) -> Generating:
    assert all(isinstance(pval, PartialVal) for pval in pvals), pvals
    trace = main.with_cur_sublevel()
    tracers = list(map(trace.new_arg, pvals))
    outs = yield list(map(full_lower, tracers)), {}
    wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
    out_tracers = [instantiate_const_at(trace, want, trace.full_raise(full_lower(out)))
                   for want, out in zip(wanted, outs, strict=True)]
    unknown = [tracer for tracer in out_tracers if not tracer.is_known()]
    jaxpr, consts, env = tracers_to_jaxpr([tracer for tracer in tracers if not tracer.is_known()], unknown)
    return jaxpr, out_tracers, consts, env


@transformation_with_aux
def partial_eval_wrapper_nounits(in_knowns: Sequence[bool], in_avals: Sequence[ShapedArray], *in_consts: Any
                                 ) -> Generating:
    """Make what a `trace_to_subjaxpr` gives a function of the known values to the known results and the constants.

    It tells apart which results are known, the types of the others, the jaxpr, and the values of free variables.
    """
    pvals = merge(in_knowns, map(PartialVal.unknown, in_avals), map(PartialVal.known, in_consts))
    jaxpr, (*forwarded, out_pvals, consts, env) = yield (pvals,), {}
    out_knowns, out_avals, out_consts = partition_pvals(out_pvals)
    yield (*out_consts, *consts), (*forwarded, out_knowns, out_avals, jaxpr, env)


# --- rules in JAX's way --------------------------------------------------------------------------------------------

def _partial_eval_rule(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule of tracers, `rule(trace, *tracers, **params)`, as one of values of which some are known."""
    def split(trace: Any, args: Sequence[Any], **params: Any) -> Any:
        return _lowered(primitive, rule(trace, *map(trace.full_raise, args), **params))

    split.of_jax = rule  # type: ignore[attr-defined]
    return split


def _call_partial_eval_rule(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a call, `rule(trace, primitive, fun, tracers, params)`, in the same way."""
    def split(trace: Any, args: Sequence[Any], *, call_jaxpr: ClosedJaxpr, **params: Any) -> Any:
        fun = wrap_init(jaxpr_as_fun(call_jaxpr))
        return _lowered(primitive, rule(trace, primitive, fun, list(map(trace.full_raise, args)), params))

    return split


def _lowered(primitive: Primitive, out: Any) -> Any:
    return list(map(full_lower, out)) if primitive.multiple_results else full_lower(out)


class _PartialEvalRules(RuleTable):
    """Rules as JAX calls them, also those of rooms."""

    def __getitem__(self, primitive: Primitive) -> Callable[..., Any]:
        rule = super().__getitem__(primitive)
        if hasattr(rule, "of_jax"):
            return rule.of_jax  # type: ignore[no-any-return]
        return lambda trace, *tracers, **params: rule(trace, list(map(full_lower, tracers)), **params)


custom_partial_eval_rules = _PartialEvalRules("partial_eval", _partial_eval_rule)
"""`rule(trace, *tracers, **params)`, asked when some operands are unknown."""
call_partial_eval_rules = WrittenRules("partial_eval", _call_partial_eval_rule)
"""`rule(trace, primitive, fun, tracers, params)`, for calls."""
