"""`jax.custom_derivatives`: functions with derivative rules of their own, and what such rules may meet."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tinytrace.api.custom_rules import closure_convert, custom_gradient, custom_jvp, custom_vjp
from tinytrace.api.rule_checks import CustomVJPPrimal
from tinytrace.control_flow.custom_jvp import custom_jvp_call_p
from tinytrace.control_flow.custom_vjp import custom_vjp_call_p
from tinytrace.control_flow.remat_opt import remat_opt_p
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import SymbolicZero, Zero
from tinytrace.core.trees import tree_map
from tinytrace.transforms.zeros import instantiate_zeros
from tinytrace.util import lazy_names

if TYPE_CHECKING:
    from tinytrace.api.linear_call import linear_call

__getattr__ = lazy_names("tinytrace", {"linear_call": "api.linear_call"}, __name__)
custom_vjp_call_jaxpr_p = custom_vjp_call_p
custom_jvp_call_jaxpr_p = Primitive("custom_jvp_call_jaxpr")
"""A primitive without rules, as in JAX 0.4.35, where it is kept for programs that mention it."""

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
           "custom_jvp_call_jaxpr_p", "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_jaxpr_p", "custom_vjp_call_p",
           "custom_vjp_primal_tree_values", "linear_call", "remat_opt_p",
           "zero_from_primal"]


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return the values of the arguments that a forward rule gets with `symbolic_zeros`.

    Raises: TypeError for a leaf that is no such argument.

    >>> custom_vjp_primal_tree_values([CustomVJPPrimal(1.0, True), CustomVJPPrimal(2, False)])
    [1.0, 2]
    """
    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf type {type(leaf)}")
        return leaf.value

    return tree_map(value, tree)


def zero_from_primal(obj: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangents of a tree of values; symbols with `symbolic_zeros`, as rules of that kind answer.

    >>> zero_from_primal([1.0, 2])
    [Array(0., dtype=float32, weak_type=True), array((b'',), dtype=[('float0', 'V')])]
    >>> zero_from_primal(1.0, symbolic_zeros=True).aval
    ShapedArray(float32[], weak_type=True)
    """
    def zero(x: Any) -> Any:
        tangent = Zero.from_primal_value(x)
        return SymbolicZero(tangent.aval) if symbolic_zeros else instantiate_zeros(tangent)

    return tree_map(zero, obj)
