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
    subjaxprs,
)
from tinytrace.core.primitive import Primitive
from tinytrace.core.printer import to_text
from tinytrace.core.trace import Trace, Tracer
from tinytrace.core.typecheck import JaxprTypeError, check_jaxpr

__all__ = [
    "ClosedJaxpr", "DropVar", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal", "Primitive", "ShapedArray", "Trace",
    "Tracer", "Var", "check_jaxpr", "eval_jaxpr", "jaxpr_as_fun", "subjaxprs", "to_text",
]
