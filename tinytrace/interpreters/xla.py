"""`jax.interpreters.xla`: what is left of it in JAX 0.4.35."""
from __future__ import annotations

from typing import Any

from tinytrace.api.eager import execute
from tinytrace.core.avals import ShapedArray, abstract_type_of
from tinytrace.core.dtypes import canonicalize_dtype as canonicalize_dtype
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import bottom_trace
from tinytrace.lib.xla_bridge import Backend as Backend
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


def apply_primitive(primitive: Primitive, *args: Any, **params: Any) -> Any:
    """Compute one operation by its lowering: what one gives to `def_impl` when there is no other meaning.

    >>> import functools
    >>> from tinytrace.interpreters import mlir
    >>> twice_p = Primitive("twice")
    >>> rule = twice_p.def_impl(functools.partial(apply_primitive, twice_p)), twice_p.def_abstract_eval(lambda x: x)
    >>> rule = mlir.register_lowering(twice_p, mlir.lower_fun(lambda x: 2 * x, multiple_results=False))
    >>> twice_p.bind(4.0)
    Array(8., dtype=float32, weak_type=True)
    """
    return execute(bottom_trace, primitive, args, params)


def abstractify(x: Any) -> ShapedArray:
    """Return the type of a value."""
    return abstract_type_of(x)


pytype_aval_mappings: dict[type, Any] = {}
canonicalize_dtype_handlers: dict[type, Any] = {}
