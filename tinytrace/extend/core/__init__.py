"""`jax.extend.core`: the language of programs, for those who write transformations."""
from tinytrace.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive, Var, jaxpr_as_fun
from tinytrace.core.array import Array
from tinytrace.lax.tokens import Token
from tinytrace.util import lazy_submodules

__getattr__ = lazy_submodules(__name__, "primitives")

array_types = {Array}

__all__ = ["ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Primitive", "Token", "Var", "array_types", "jaxpr_as_fun"]
