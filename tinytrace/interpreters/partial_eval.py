"""`jax.interpreters.partial_eval`: tracing flat functions to jaxprs, partly known programs, and dead code.

Functions are those of `extend.linear_util`. Source: `jax.interpreters.partial_eval` of JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.closed_call import ParamsUpdater as ParamsUpdater
from tinytrace.control_flow.closed_call import call_param_updaters as call_param_updaters
from tinytrace.core import dce
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr
from tinytrace.core.trace import current_trace
from tinytrace.extend.linear_util import WrappedFun, wrap_init
from tinytrace.interpreters.debug_information import DebugInfo as DebugInfo
from tinytrace.interpreters.rule_tables import RuleTable
from tinytrace.interpreters.staging_rules import trace_to_subjaxpr_dynamic as trace_to_subjaxpr_dynamic
from tinytrace.transforms import partial_eval
from tinytrace.transforms.binders import move_binders_to_back as move_binders_to_back
from tinytrace.transforms.binders import move_binders_to_front as move_binders_to_front
from tinytrace.transforms.partial_eval import JaxprTrace as JaxprTrace
from tinytrace.transforms.partial_eval import JaxprTracer as JaxprTracer
from tinytrace.transforms.partial_eval import Unknown
from tinytrace.transforms.partial_eval import partial_eval_jaxpr as partial_eval_jaxpr_nounits  # noqa: F401
from tinytrace.transforms.staging import DynamicJaxprTrace as DynamicJaxprTrace
from tinytrace.transforms.staging import DynamicJaxprTracer as DynamicJaxprTracer
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr
from tinytrace.util import lazy_names

_OF_PARTS = """
    AbstractedAxesSpec AbstractedAxisName Const DCERule PartialEvalCustomResult PartialEvalCustomRule Val
    ResAvalUpdater call_partial_eval_custom_rule closed_call_partial_eval_custom_rule convert_envvars_to_constvars
    convert_invars_to_constvars dce_jaxpr_call_rule dce_jaxpr_closed_call_rule
    dce_jaxpr_consts make_jaxpr_effects
    partial_eval_jaxpr_custom partial_eval_jaxpr_custom_rule_not_implemented partition_pvals trace_to_jaxpr_final
    trivial_ctx
"""
_OF_RECIPES = """
    ConstVar FreeVar JaxprEqnRecipe JaxprTracerRecipe LambdaBinding TracerId call_partial_eval_rules
    custom_partial_eval_rules instantiate_const_at new_eqn_recipe partial_eval_wrapper_nounits recipe_to_eqn
    trace_to_subjaxpr trace_to_subjaxpr_nounits trace_to_subjaxpr_nounits_fwd tracers_to_jaxpr
"""
_OF_STAGING = """
    ConstFoldRule ForwardingRule JaxprStackFrame const_fold_rules custom_staging_rules extend_jaxpr_stack
    forwarding_rules trace_to_jaxpr_dynamic2 trace_to_jaxpr_final2 trace_to_subjaxpr_dynamic2
"""
_OF_SIZES = """
    BoundedAxisSize TracerAsName call_padding_rule def_trivial_padding infer_lambda_input_type pad_jaxpr padding_rules
"""
_HOMES = {"interpreters.program_parts": _OF_PARTS, "interpreters.recipes": _OF_RECIPES,
          "interpreters.debug_information": "arg_info_all debug_info debug_info_final result_info sig_info",
          "interpreters.staging_rules": _OF_STAGING, "interpreters.sizes": _OF_SIZES}
__getattr__ = lazy_names("tinytrace", {name: home for home, names in _HOMES.items() for name in names.split()},
                         __name__)

dce_rules = RuleTable("dce")
"""`rule(used_outs, eqn) -> (used_ins, eqn or None)`."""
partial_eval_jaxpr_custom_rules = RuleTable("partial_eval_eqn")
"""`rule(saveable, unknowns_in, inst_in, eqn)`, as in JAX."""


class PartialVal(tuple[Any, Any]):
    """A value that is known, `(None, value)`, or of which the type is, `(aval, None)`."""

    __slots__ = ()

    def __new__(cls, pair: tuple[Any, Any]) -> PartialVal:
        return tuple.__new__(cls, pair)

    @classmethod
    def known(cls, value: Any) -> PartialVal:
        """Return a known value."""
        return cls((None, value))

    @classmethod
    def unknown(cls, aval: ShapedArray) -> PartialVal:
        """Return an unknown value of type `aval`."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Is the value there?"""
        return self[0] is None

    def get_known(self) -> Any:
        """Return the value; None if it is not known."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> ShapedArray:
        """Return the type."""
        return aval_of(self[1]) if self.is_known() else self[0]


def _function(fun: Any) -> Callable[..., Any]:
    return fun.call_wrapped if isinstance(fun, WrappedFun) else fun


def trace_to_jaxpr_dynamic(fun: Any, in_avals: Sequence[ShapedArray], debug_info: Any = None, *,
                           keep_inputs: Sequence[bool] | None = None
                           ) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """Return the jaxpr of a flat function, the types of its results, and its constants.

    >>> from tinytrace.extend.linear_util import wrap_init
    >>> trace_to_jaxpr_dynamic(wrap_init(lambda x: [x * x]), [aval_of(3.0)])[0]
    { lambda ; a:f32[]. let b:f32[] = mul a a in (b,) }
    """
    return trace_to_subjaxpr_dynamic(fun if isinstance(fun, WrappedFun) else wrap_init(fun), current_trace(), in_avals,
                                     keep_inputs=keep_inputs, debug_info=debug_info)[:3]


def trace_to_jaxpr_nounits(fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
                           ) -> tuple[Jaxpr, list[PartialVal], tuple[Any, ...]]:
    """Run a flat function on partly known values.

    Returns: the jaxpr of the unknown inputs to the unknown results, the results, and the constants of the jaxpr.
    """
    inputs = [pval.get_known() if pval.is_known() else Unknown(pval.get_aval()) for pval in pvals]
    jaxpr, outs, residuals = partial_eval.partial_eval(_function(fun), inputs, instantiate)
    results = [PartialVal.unknown(x.aval) if isinstance(x, Unknown) else PartialVal.known(x) for x in outs]
    return jaxpr, results, tuple(residuals)


def abstract_eval_fun(fun: Callable[..., Any], *avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    """Return the types of the results of `fun(*args, **params)`, a list, for arguments of given types."""
    jaxpr, _ = trace_to_jaxpr(lambda *args: fun(*args, **params), avals)
    return [v.aval for v in jaxpr.outvars]


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
              ) -> tuple[Jaxpr, list[bool]]:
    """Return a program without what the unused outputs alone need, and which inputs are left.

    instantiate: inputs that stay, whether they are used or not.
    """
    closed, used = dce.dce_closed_jaxpr(ClosedJaxpr(jaxpr, [None] * len(jaxpr.constvars)), used_outputs)
    kept = [instantiate] * len(used) if isinstance(instantiate, bool) else list(instantiate)
    invars = [v for v, use, keep in zip(jaxpr.invars, used, kept, strict=True) if use or keep]
    return closed.jaxpr.replace(invars=invars), [use or keep for use, keep in zip(used, kept, strict=True)]


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program whose constants are its first inputs."""
    return hoist_consts(jaxpr)


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Return a program without constants as a closed one."""
    return ClosedJaxpr(jaxpr, ())
