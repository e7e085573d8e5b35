"""The language: types, trees, traces, primitives, jaxprs, and how they are printed, parsed and checked.

The public names of `jax.core` are here.
"""
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    eval_jaxpr,
    jaxpr_as_fun,
)
from tinytrace.core.own_primitive import OwnPrimitive as OwnPrimitive
from tinytrace.core.primitive import Primitive
from tinytrace.core.printer import to_text
from tinytrace.core.trace import Tracer
from tinytrace.core.typecheck import JaxprTypeError, check_jaxpr
from tinytrace.util import lazy_names

__all__ = [
    "ClosedJaxpr", "DropVar", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal", "Primitive", "ShapedArray",
    "Tracer", "Var", "check_jaxpr", "eval_jaxpr", "jaxpr_as_fun", "to_text",
]

_OF_JAX = """
    AbstractValue Atom AxisSize call call_p closed_call_p concrete_aval concrete_or_error ConcretizationTypeError
    custom_typechecks Effect Effects ensure_compile_time_eval escaped_tracer_error eval_context
    EvalTrace gensym get_aval get_type InputType is_concrete is_constant_dim is_constant_shape jaxpr_uses_outfeed
    JaxprDebugInfo jaxprs_in_params join_effects lattice_join literalable_types max_dim min_dim new_jaxpr_eqn
    no_axis_name no_effects outfeed_primitives OutputType ParamDict primal_dtype_to_tangent_dtype primitive_uses_outfeed
    pytype_aval_mappings raise_to_shaped raise_to_shaped_mappings subjaxprs traverse_jaxpr_params typecheck
    typecompat typematch valid_jaxtype Value
"""  # of no use to this pipeline: for programs against JAX's insides
_OF_AXES = """
    InconclusiveDimensionOperation NameGatheringSubst dedup_referents do_subst_axis_names_jaxpr extend_axis_env_nd
    get_referent subst_axis_names subst_axis_names_eqn subst_axis_names_jaxpr
    subst_axis_names_var used_axis_names used_axis_names_jaxpr
"""
_OF_TYPES = """
    ConcreteArray JaxprPpContext JaxprPpSettings UnshapedArray aval_mapping_handlers concretization_function_error
    mapped_aval str_eqn_compact substitute_vars_in_output_ty unmapped_aval
"""
_OF_TRACES = """
    OpaqueTraceState ThreadLocalState TraceStack TraceState axis_frame extend_axis_env find_top_trace
    get_opaque_trace_state nonempty_axis_env_DO_NOT_USE raise_as_much_as_possible reset_trace_state stash_axis_env
    thread_local_state trace_state_clean unsafe_am_i_under_a_jit_DO_NOT_USE unsafe_am_i_under_a_vmap_DO_NOT_USE
    unsafe_get_axis_names_DO_NOT_USE
"""
_OF_CALLS = """
    CallPrimitive MapPrimitive call_bind_with_continuation call_impl map_bind map_bind_with_continuation
"""
_HOMES = {
    "extend.trace_state": _OF_TRACES, "extend.main_traces": "Trace new_base_main new_main",
    "extend.calls": _OF_CALLS,
    "extend.final_style": "apply_todos process_env_traces_call process_env_traces_map",
    "extend.lifting": "full_lower", "extend.sublevels": "MainTrace Sublevel cur_sublevel new_sublevel",
    "extend.language": _OF_JAX, "extend.axis_substitution": _OF_AXES, "extend.abstract_values": _OF_TYPES,
    "extend.sized_types": "DShapedArray InDBIdx OutDBIdx", "extend.bounded_sizes": "DArray bint",
    "extend.leaks": "TRACER_LEAK_DEBUGGER_WARNING leaked_tracer_error maybe_find_leaked_tracers",
    "lax.tokens": "AbstractToken Token abstract_token",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
__getattr__ = lazy_names("tinytrace", _HOME_OF, __name__)
__all__ += sorted(_HOME_OF)
