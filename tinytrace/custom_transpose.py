"""`jax.custom_transpose`: functions with transposition rules of their own."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinytrace.api.custom_rules import CustomFunction
from tinytrace.api.rule_checks import FlatPrimal
from tinytrace.control_flow.custom_transpose import UserTranspose, custom_transpose_call_p
from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.trace import is_eager
from tinytrace.core.tree_operations import treedef_tuple
from tinytrace.core.trees import tree_flatten, tree_unflatten
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr
from tinytrace.util import absent_names

Function = Callable[..., Any]

__getattr__ = absent_names(__name__)

__all__ = ["custom_transpose"]


class custom_transpose(CustomFunction):  # noqa: N801 (JAX's name)
    """Give `fun(residuals, linear)`, which is linear in its second argument, a transpose.

    It is called with the type of its result first: `f(out_types, residuals, linear)`.
    Raises NotImplementedError when differentiated in the residuals, TypeError when transposed without a rule.
    Source: `jax.custom_transpose.custom_transpose`.

    >>> import tinytrace as jax
    >>> @custom_transpose
    ... def scaled(c, x):
    ...     return c * x
    >>> @scaled.def_transpose
    ... def scaled_transpose(c, ct):
    ...     return 10 * c * ct
    >>> f32 = jax.core.ShapedArray((), jax.numpy.float32)
    >>> jax.grad(lambda x: scaled(f32, 2.0, x))(1.0)
    Array(20., dtype=float32, weak_type=True)
    """

    transpose: Function | None = None

    def __init__(self, fun: Function) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.transpose = None

    def def_transpose(self, transpose: Function) -> Function:
        """Set the rule `transpose(residuals, ct) -> linear ct` and return it, so that it can decorate.

        The result may be a prefix of the linear argument's tree: one leaf for a whole subtree.
        """
        self.transpose = transpose
        return transpose

    @api_boundary
    def __call__(self, out_types: Any, res_arg: Any, lin_arg: Any) -> Any:
        types, out_tree = tree_flatten(out_types)
        (res, res_tree), (lin, lin_tree) = tree_flatten(res_arg), tree_flatten(lin_arg)
        args = [*res, *lin]
        fun = FlatPrimal(self.fun, treedef_tuple((res_tree, lin_tree)))
        if is_eager():
            return tree_unflatten(out_tree, fun(*args))
        jaxpr, consts = trace_to_jaxpr(fun, [aval_of(x) for x in args])
        rule = UserTranspose(self.transpose, getattr(self.fun, "__name__", str(self.fun)), res_tree, lin_tree, out_tree)
        outs = custom_transpose_call_p.bind(
            *consts, *args, call_jaxpr=ClosedJaxpr(hoist_consts(jaxpr), ()), transpose_jaxpr_thunk=rule,
            out_types=types, res_tree=res_tree, lin_tree=lin_tree, out_tree=out_tree)
        return tree_unflatten(out_tree, outs)
