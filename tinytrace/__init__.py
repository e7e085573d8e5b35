"""tinytrace: JAX's idea, small enough to read and complete enough to use.

    import tinytrace as jax
    import tinytrace.numpy as jnp

A Python function is traced to a jaxpr, simplified, fused into C kernels, compiled and cached.
"""
from tinytrace.api.jit import clear_caches, jit
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.core import printer as printer  # installs the text of jaxprs

__all__ = ["ShapeDtypeStruct", "clear_caches", "jit", "make_jaxpr"]
