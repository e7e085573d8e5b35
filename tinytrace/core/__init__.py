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
from tinytrace.core.trace import Trace, Tracer
from tinytrace.core.typecheck import JaxprTypeError, check_jaxpr
from tinytrace.util import lazy_names

__all__ = [
    "ClosedJaxpr", "DropVar", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal", "Primitive", "ShapedArray", "Trace",
    "Tracer", "Var", "check_jaxpr", "eval_jaxpr", "jaxpr_as_fun", "to_text",
]

_OF_JAX = """
    " AbstractValue Atom axis_frame AxisSize call call_impl call_p CallPrimitive closed_call_p concrete_aval
    concrete_or_error ConcretizationTypeError cur_sublevel custom_typechecks
    DShapedArray Effect Effects ensure_compile_time_eval escaped_tracer_error eval_context EvalTrace
    extend_axis_env find_top_trace full_lower gensym get_aval get_opaque_trace_state get_type
    InputType is_concrete is_constant_dim is_constant_shape jaxpr_uses_outfeed JaxprDebugInfo
    jaxprs_in_params join_effects lattice_join literalable_types MapPrimitive max_dim
    min_dim new_base_main new_jaxpr_eqn new_main new_sublevel no_axis_name no_effects
    nonempty_axis_env_DO_NOT_USE OpaqueTraceState outfeed_primitives OutputType ParamDict
    primal_dtype_to_tangent_dtype pytype_aval_mappings raise_to_shaped raise_to_shaped_mappings
    subjaxprs thread_local_state ThreadLocalState trace_state_clean traverse_jaxpr_params typecheck
    typecompat typematch unsafe_am_i_under_a_jit_DO_NOT_USE
    unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE valid_jaxtype
    Value
"""  # of no use to this pipeline: for programs against JAX's insides
_OF_AXES = """
    InconclusiveDimensionOperation NameGatheringSubst dedup_referents do_subst_axis_names_jaxpr extend_axis_env_nd
    get_referent primitive_uses_outfeed subst_axis_names subst_axis_names_eqn subst_axis_names_jaxpr used_axis_names
    used_axis_names_jaxpr
"""
_OF_TYPES = """
    ConcreteArray JaxprPpContext JaxprPpSettings UnshapedArray aval_mapping_handlers concretization_function_error
    mapped_aval str_eqn_compact substitute_vars_in_output_ty unmapped_aval
"""
_HOMES = {
    "extend.language": _OF_JAX, "extend.axis_substitution": _OF_AXES, "extend.abstract_values": _OF_TYPES,
    "extend.leaks": "TRACER_LEAK_DEBUGGER_WARNING leaked_tracer_error maybe_find_leaked_tracers",
    "lax.tokens": "AbstractToken Token abstract_token",
}
__getattr__ = lazy_names("tinytrace", {name: home for home, names in _HOMES.items() for name in names.split()},
                         __name__)
