"""Branches as users write them: cond and switch."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.config import config
from tinytrace.control_flow.bodies import stage_branches
from tinytrace.control_flow.cond import cond_p
from tinytrace.control_flow.effects import control_flow_allowed_effects
from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import dtype_of, is_float, is_integer, is_weak
from tinytrace.core.trace import Tracer
from tinytrace.core.trees import tree_flatten, tree_unflatten
from tinytrace.lax.carry_checks import check_same_outputs
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.select import clamp
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.binders import forwarded_inputs, prune_outputs

_NO_OPERAND = object()


@api_boundary
def cond(pred: Any, *args: Any, **kwargs: Any) -> Any:
    """Call `true_fun(*operands)` or `false_fun(*operands)`, whichever `pred` says, and only that one.

        def cond(pred, true_fun, false_fun, *operands):
            return true_fun(*operands) if pred else false_fun(*operands)

    The older form `cond(pred, true_operand, true_fun, false_operand, false_fun)` is understood, too.
    Raises TypeError when `pred` is no scalar or the branches' results differ in structure or type.
    Source: `jax.lax.cond`.

    >>> cond(True, lambda x: x + 1, lambda x: x - 1, 10)
    Array(11, dtype=int32, weak_type=True)
    """
    if len(args) == 4 and not kwargs:
        true_operand, true_fun, false_operand, false_fun = args
        if callable(true_fun) and callable(false_fun) and not callable(true_operand):
            return _cond(pred, lambda op: true_fun(op[0]), lambda op: false_fun(op[1]), (true_operand, false_operand))
    return _cond(pred, *args, **kwargs)


def _cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any,
          operand: Any = _NO_OPERAND) -> Any:
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    operands = _operands(operands, operand)
    pred = _checked_predicate(pred)
    if config.disable_jit and not _is_abstract(pred):
        return true_fun(*operands) if pred else false_fun(*operands)
    ops, ops_tree = tree_flatten(operands)
    (true_jaxpr, false_jaxpr), consts, (out_tree, false_tree) = stage_branches(
        (true_fun, false_fun), ops_tree, [aval_of(x) for x in ops], "cond")
    check_same_outputs("true_fun and false_fun output", out_tree, true_jaxpr.out_avals, false_tree,
                       false_jaxpr.out_avals)
    control_flow_allowed_effects.refuse_others(true_jaxpr.effects | false_jaxpr.effects, "`cond`")
    # An output that is the same input in both branches does not go through the conditional.
    forwarded = [i if i == j else None for i, j in zip(
        forwarded_inputs(true_jaxpr.jaxpr), forwarded_inputs(false_jaxpr.jaxpr), strict=True)]
    computed = [i is None for i in forwarded]
    branches = prune_outputs(false_jaxpr, computed), prune_outputs(true_jaxpr, computed)
    index = convert_element_type(pred, np.int32)
    outs = iter(cond_p.bind(index, *consts, *ops, branches=branches))
    results = [next(outs) if i is None else _as_array(ops[i - len(consts)]) for i in forwarded]
    return tree_unflatten(out_tree, results)


@api_boundary
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NO_OPERAND) -> Any:
    """Call `branches[index](*operands)`, with `index` clamped into range, and no other branch.

    Raises TypeError when `index` is no integer scalar or the branches' results differ in structure or type.
    Source: `jax.lax.switch`.

    >>> switch(1, [lambda x: x, lambda x: x * x, lambda x: -x], 3)
    Array(9, dtype=int32, weak_type=True)
    """
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = _operands(operands, operand)
    if np.shape(index) != ():
        raise TypeError(f"Branch index must be scalar, got {index} of shape {np.shape(index)}.")
    try:
        index_dtype = dtype_of(index)
    except TypeError as err:
        raise TypeError(f"Index type must be an integer, got {index}.") from err
    if not is_integer(index_dtype):
        raise TypeError(f"Index type must be an integer, got {index} as {aval_of(index).dtype}")
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    index = clamp(np.int32(0), convert_element_type(index, np.int32), np.int32(len(branches) - 1))
    if config.disable_jit and not _is_abstract(index):
        return branches[int(index)](*operands)
    ops, ops_tree = tree_flatten(operands)
    jaxprs, consts, out_trees = stage_branches(branches, ops_tree, [aval_of(x) for x in ops], "switch")
    for i in range(1, len(jaxprs)):
        check_same_outputs(f"branch 0 and {i} outputs", out_trees[0], jaxprs[0].out_avals, out_trees[i],
                           jaxprs[i].out_avals)
    control_flow_allowed_effects.refuse_others(frozenset().union(*(j.effects for j in jaxprs)), "`switch`")
    return tree_unflatten(out_trees[0], cond_p.bind(index, *consts, *ops, branches=tuple(jaxprs)))


def _operands(operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(f"if 'operand' keyword is passed then no positional operands can be passed, got {operand=} "
                        f"and positional operands {operands}")
    return (operand,)


def _checked_predicate(pred: Any) -> Any:
    if pred is None:
        raise TypeError("cond predicate is None")
    if isinstance(pred, Sequence) or np.ndim(pred) != 0:
        found = f"type {type(pred)}" if isinstance(pred, Sequence) else f"shape {np.shape(pred)}."
        raise TypeError(f"Pred must be a scalar, got {pred} of {found}")
    try:
        dtype = dtype_of(pred)
    except TypeError as err:
        raise TypeError(f"Pred type must be either boolean or number, got {pred}.") from err
    if dtype.kind == "b":
        return pred
    if is_integer(dtype) or is_float(dtype):
        return pred != 0
    raise TypeError(f"Pred type must be either boolean or number, got {dtype}.")


def _is_abstract(x: Any) -> bool:
    return isinstance(x, Tracer) and x.to_concrete_value() is None


def _as_array(x: Any) -> Any:
    return x if isinstance(x, (Array, Tracer)) else convert_element_type(x, dtype_of(x), is_weak(x))
