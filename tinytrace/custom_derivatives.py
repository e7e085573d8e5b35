"""`jax.custom_derivatives`: functions with derivative rules of their own, and what such rules may meet."""
from tinytrace.api.custom_rules import closure_convert, custom_gradient, custom_jvp, custom_vjp
from tinytrace.api.rule_checks import CustomVJPPrimal
from tinytrace.control_flow.custom_jvp import custom_jvp_call_p
from tinytrace.control_flow.custom_vjp import custom_vjp_call_p
from tinytrace.control_flow.remat_opt import remat_opt_p
from tinytrace.core.tangents import SymbolicZero
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
custom_vjp_call_jaxpr_p = custom_vjp_call_p

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_jvp_call_p",
           "custom_vjp", "custom_vjp_call_jaxpr_p", "custom_vjp_call_p", "remat_opt_p"]
