"""`jax.custom_derivatives`: functions with derivative rules of their own, and what such rules may meet."""
from tinytrace.api.custom_rules import closure_convert, custom_gradient, custom_jvp, custom_vjp
from tinytrace.api.rule_checks import CustomVJPPrimal
from tinytrace.core.tangents import SymbolicZero

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp"]
