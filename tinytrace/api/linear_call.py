"""`linear_call`: call a linear function together with its transpose."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.api.rule_checks import FlatPrimal
from tinytrace.control_flow.linear_call import linear_call_p
from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.tree_operations import treedef_tuple
from tinytrace.core.trees import tree_flatten, tree_unflatten
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr


@api_boundary
def linear_call(fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any,
                linear_args: Any) -> Any:
    """Return `fun(residual_args, linear_args)`, whose transpose is `fun_transpose(residual_args, ct) -> linear cts`.

    `fun` is linear in `linear_args`. The transpose of the call calls `fun_transpose`, and its transpose is `fun` again.
    Raises: TypeError if the results of `fun_transpose` have not the structure and the shapes of `linear_args`.
    Source: `jax.custom_derivatives.linear_call`.

    >>> import tinytrace as jax
    >>> f = lambda x: linear_call(lambda r, x: x / r, lambda r, ct: ct / r, 4.0, x)
    >>> f(8.0), jax.linear_transpose(f, 1.0)(6.0)
    (Array(2., dtype=float32, weak_type=True), (Array(1.5, dtype=float32, weak_type=True),))
    """
    res, res_tree = tree_flatten(residual_args)
    lin, lin_tree = tree_flatten(linear_args)
    res_avals, lin_avals = [aval_of(x) for x in res], [aval_of(x) for x in lin]
    flat_fun = FlatPrimal(fun, treedef_tuple((res_tree, lin_tree)))
    callee, consts = _program(flat_fun, [*res_avals, *lin_avals])
    flat_transpose = FlatPrimal(fun_transpose, treedef_tuple((res_tree, flat_fun.out_tree)))
    transpose, transpose_consts = _program(flat_transpose, [*res_avals, *callee.out_avals])
    if flat_transpose.out_tree != lin_tree:
        raise TypeError("transpose output pytree structure must match that of linear inputs, got output structure "
                        f"{flat_transpose.out_tree} and input structure {lin_tree}.")
    wrong = [(got, want) for got, want in zip(transpose.out_avals, lin_avals, strict=True) if got.shape != want.shape]
    if wrong:
        got, want = wrong[0]
        raise TypeError(f"transpose output shapes must match those of linear inputs, got {got.str_short()} for an "
                        f"input of type {want.str_short()}.")
    outs = linear_call_p.bind(*consts, *transpose_consts, *res, *lin, callee=callee, transpose=transpose,
                              num_callee_consts=len(consts), num_transpose_consts=len(transpose_consts),
                              num_res=len(res))
    return tree_unflatten(flat_fun.out_tree, outs)


def _program(fun: FlatPrimal, avals: list[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    """Trace `fun`; what it closes over are the first inputs of its program."""
    jaxpr, consts = trace_to_jaxpr(fun, avals)
    return ClosedJaxpr(hoist_consts(jaxpr), ()), consts
