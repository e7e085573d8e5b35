"""`jax.custom_batching`: functions with batching rules of their own."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinytrace.api.custom_rules import CustomFunction, positional
from tinytrace.api.rule_checks import FlatPrimal
from tinytrace.control_flow.bodies import describe, merge
from tinytrace.control_flow.custom_vmap import UserRule, custom_vmap_call_p
from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.trees import tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten
from tinytrace.lax import map as lax_map
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr
from tinytrace.util import absent_names

Function = Callable[..., Any]

__getattr__ = absent_names(__name__)

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap(CustomFunction):  # noqa: N801 (JAX's name)
    """Give a function a batching rule; `vmap` calls the rule in the place of the function.

    Forward mode differentiates the rule, too. Reverse mode is refused: put a `custom_vjp` around it.
    Raises AttributeError when called without a rule, ValueError when the rule's results do not fit.
    Source: `jax.custom_batching.custom_vmap`.

    >>> import tinytrace as jax
    >>> import tinytrace.numpy as jnp
    >>> @custom_vmap
    ... def f(x):
    ...     return x + 1
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, x):
    ...     return 10 * x, in_batched[0]
    >>> f(2), jax.vmap(f)(jnp.arange(3))
    (Array(3, dtype=int32, weak_type=True), Array([ 0, 10, 20], dtype=int32))
    """

    def __init__(self, fun: Function) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Function | None = None

    def def_vmap(self, vmap_rule: Function) -> Function:
        """Set the rule and return it, so that it can decorate.

        `vmap_rule(axis_size, in_batched, *args) -> (out, out_batched)`: `in_batched` says of each leaf of the arguments
        whether it is batched, along axis 0, and `out_batched` says so of the result.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = positional(self.fun, args, kwargs)
        if self.vmap_rule is None:
            name = getattr(self.fun, "__name__", str(self.fun))
            raise AttributeError(f"No batching rule defined for custom_vmap function {name} using def_vmap.")
        leaves, in_tree = tree_flatten(args)
        fun = FlatPrimal(self.fun, in_tree)
        jaxpr, consts = trace_to_jaxpr(fun, [aval_of(x) for x in leaves], describe(self.fun, in_tree, "custom_vmap"))
        outs = custom_vmap_call_p.bind(
            *consts, *leaves, call=ClosedJaxpr(hoist_consts(jaxpr), ()), in_tree=tree_structure((list(consts), args)),
            out_tree=fun.out_tree, rule=UserRule(self.vmap_rule, len(consts), in_tree, fun.out_tree))
        return tree_unflatten(fun.out_tree, outs)


def sequential_vmap(f: Function) -> custom_vmap:
    """Let `vmap` of `f` compute one element after the other, as `lax.map` does.

    Source: `jax.custom_batching.sequential_vmap`.

    >>> import tinytrace as jax
    >>> import tinytrace.numpy as jnp
    >>> jax.vmap(sequential_vmap(lambda x: x + 1))(jnp.arange(3))
    Array([1, 2, 3], dtype=int32)
    """
    f = custom_vmap(f)

    @f.def_vmap
    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, tree = tree_flatten(args)
        batched = tree_leaves(in_batched)
        shared = [x for x, b in zip(leaves, batched, strict=True) if not b]

        def element(mapped: list[Any]) -> Any:
            return f(*tree_unflatten(tree, merge(batched, shared, mapped)))

        out = lax_map(element, [x for x, b in zip(leaves, batched, strict=True) if b])
        return out, tree_map(lambda _: True, out)

    return f
