"""`jax._src.ad_util`: zeros, sums of tangents, and where gradients stop."""
from tinytrace.core.tangents import SymbolicZero as SymbolicZero
from tinytrace.core.tangents import Zero as Zero
from tinytrace.primitives.elementwise import add_any as add_jaxvals
from tinytrace.primitives.elementwise import add_any_p
from tinytrace.primitives.stop_gradient import stop_gradient_p as stop_gradient_p
from tinytrace.transforms.zeros import instantiate_zeros as instantiate
from tinytrace.transforms.zeros import zeros as zeros_like_aval

add_jaxvals_p = add_any_p

__all__ = ["SymbolicZero", "Zero", "add_jaxvals", "add_jaxvals_p", "instantiate", "stop_gradient_p",
           "zeros_like_aval"]
