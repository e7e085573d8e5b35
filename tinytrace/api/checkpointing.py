"""`checkpoint` (or `remat`): save memory in reverse mode by computing again; and the policies of what to save."""
from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace import errors
from tinytrace.api.signatures import debug_info, signature_of
from tinytrace.control_flow.bodies import TraceCache
from tinytrace.control_flow.remat import name_p, nothing_saveable, remat_p
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.primitive import Primitive
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.primitives.contraction import dot_general_p
from tinytrace.records import NamedTuple
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr

Function = Callable[..., Any]
Policy = Callable[..., Any]


class RecomputeType:
    """The type of `Recompute`, the answer of a policy that a value is not to be saved."""

    def __bool__(self) -> bool:
        return False


class SaveableType:
    """The type of `Saveable`, the answer of a policy that a value may be saved."""


class Offloadable(NamedTuple):
    """The answer of a policy that a value may be saved in another memory: it is saved in this one, the only one."""

    src: str
    dst: str


Recompute, Saveable = RecomputeType(), SaveableType()


def checkpoint(fun: Function, *, concrete: bool = False, prevent_cse: bool = True, policy: Policy | None = None,
               static_argnums: int | tuple[int, ...] = ()) -> Function:
    """Return `fun` as a function whose intermediate values are computed again, not saved, when it is differentiated.

    policy: `policy(primitive, *avals, **params)` says whether a result may be saved, with a bool, or with `Saveable`,
      `Recompute` or an `Offloadable`; see `checkpoint_policies`.
    static_argnums: arguments that are known while tracing.  prevent_cse: printed, and without effect here.
    Source: `jax.checkpoint`.

    >>> import tinytrace as jax
    >>> jax.grad(checkpoint(lambda x: x * x * x))(2.0)
    Array(12., dtype=float32, weak_type=True)
    """
    if concrete:
        raise NotImplementedError("The 'concrete' option to jax.checkpoint / jax.remat is deprecated; in its place, "
                                  "you can use its `static_argnums` option, and if necessary the "
                                  "`jax.ensure_compile_time_eval()` context manager.")

    remembered = functools.lru_cache(typed=True)(functools.partial(_with_statics, fun))

    @functools.wraps(fun)
    @api_boundary
    def fun_remat(*args: Any, **kwargs: Any) -> Any:
        of_dynamic, dynamic, numbers = fun, args, _checked_numbers(static_argnums, len(args))
        if numbers:
            statics = tuple(args[i] for i in numbers)
            dynamic = tuple(x for i, x in enumerate(args) if i not in numbers)
            bind = remembered if _is_hashable(statics) else functools.partial(_with_statics, fun)
            of_dynamic = bind(numbers, *statics)
        leaves, in_tree = tree_flatten((dynamic, kwargs))
        jaxpr, consts, out_tree = _traced(of_dynamic, in_tree, tuple(aval_of(x) for x in leaves))
        outs = remat_p.bind(*consts, *leaves, jaxpr=jaxpr, prevent_cse=prevent_cse, differentiated=False, policy=policy)
        return tree_unflatten(out_tree, outs)

    return fun_remat


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """Return `x` under a name that a policy can speak of. Source: `jax.ad_checkpoint.checkpoint_name`."""
    return name_p.bind(x, name=name)


# --- policies --------------------------------------------------------------------------------------------------

def everything_saveable(*args: Any, **params: Any) -> bool:
    """Save everything, as if there were no checkpoint."""
    return True


def dots_saveable(prim: Primitive, *args: Any, **params: Any) -> bool:
    """Save the results of matrix products."""
    return prim is dot_general_p


def dot_with_no_batch_dims_saveable(prim: Primitive, *args: Any, **params: Any) -> bool:
    """Save the results of matrix products without batch dimensions: activations times weights, mostly."""
    return prim is dot_general_p and params["dimension_numbers"][1] == ((), ())


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Save any value but those with these names."""
    names = frozenset(names_not_to_save)

    def policy(prim: Primitive, *args: Any, **params: Any) -> bool:
        return prim is not name_p or params["name"] not in names

    return policy


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Save named values only, and not those with these names."""
    names = frozenset(names_not_to_save)

    def policy(prim: Primitive, *args: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] not in names

    return policy


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Save the values with these names only."""
    names = frozenset(names_which_can_be_saved)

    def policy(prim: Primitive, *args: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] in names

    return policy


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Save what either policy saves."""

    def policy(prim: Primitive, *args: Any, **params: Any) -> bool:
        return bool(policy_1(prim, *args, **params) or policy_2(prim, *args, **params))

    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Save the results of matrix products without batch dimensions in another memory, which is this one."""

    def policy(prim: Primitive, *args: Any, **params: Any) -> Any:
        saves = dot_with_no_batch_dims_saveable(prim, **params)
        return Offloadable(offload_src, offload_dst) if saves else Recompute

    return policy


def save_and_offload_only_these_names(*, names_which_can_be_saved: Sequence[str],
                                      names_which_can_be_offloaded: Sequence[str], offload_src: str,
                                      offload_dst: str) -> Policy:
    """Save the values with these names only, some in another memory, which is this one.

    Raises: ValueError for a name in both lists.
    """
    saved, offloaded = set(names_which_can_be_saved), set(names_which_can_be_offloaded)
    if both := saved & offloaded:
        raise ValueError("The names should be exclusive and should not intersect in `names_which_can_be_saved` and "
                         f"`names_which_can_be_offloaded`. Got names_which_can_be_saved={saved}, "
                         f"names_which_can_be_offloaded={offloaded} and the intersection={both}")

    def policy(prim: Primitive, *args: Any, **params: Any) -> Any:
        name = params["name"] if prim is name_p else None
        return Saveable if name in saved else Offloadable(offload_src, offload_dst) if name in offloaded else Recompute

    return policy


checkpoint_policies = types.SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dot_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dot_with_no_batch_dims_saveable,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)


# --- tracing ---------------------------------------------------------------------------------------------------

Traced = tuple[ClosedJaxpr, list[Any], PyTreeDef]
_traces = TraceCache()


def _traced(fun: Function, in_tree: PyTreeDef, in_avals: tuple[ShapedArray, ...]) -> Traced:
    """Trace `fun`, once per type of its arguments unless it closes over tracers."""
    known = _traces.get(fun, (in_tree, in_avals))
    if known is not None:
        return known  # type: ignore[no-any-return]
    out_trees: list[PyTreeDef] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(in_tree, leaves)
        outs, out_tree = tree_flatten(fun(*args, **kwargs))
        out_trees.append(out_tree)
        return outs

    args, kwargs = tree_unflatten(in_tree, [0] * in_tree.num_leaves)
    info = debug_info(fun, "checkpoint", signature_of(fun), args, kwargs)
    try:
        jaxpr, consts = trace_to_jaxpr(flat_fun, in_avals, info)
    except errors.ConcretizationTypeError as err:
        if "for checkpoint" not in str(err):
            raise
        advised = errors.ConcretizationTypeError.__new__(errors.ConcretizationTypeError)
        advised.args = (f"{err}\n\nConsider using the `static_argnums` parameter for `jax.remat` or "
                        "`jax.checkpoint`. See the `jax.checkpoint` docstring and its example involving "
                        "`static_argnums`:\n"
                        "https://jax.readthedocs.io/en/latest/_autosummary/jax.checkpoint.html\n",)
        raise advised from None
    result = ClosedJaxpr(hoist_consts(jaxpr), ()), consts, out_trees[0]
    _traces.put(fun, (in_tree, in_avals), result, consts)
    return result


def _checked_numbers(static_argnums: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return which of `count` arguments are static, counted from the first and in order."""
    numbers = (static_argnums,) if type(static_argnums) is int else static_argnums
    if type(numbers) is not tuple or not all(type(n) is int for n in numbers):
        raise TypeError("the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be an int, tuple of ints "
                        f"or, bool, but got value {static_argnums}")
    if not all(-count <= n < count for n in numbers):
        raise ValueError("the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values "
                         "greater than or equal to `-len(args)` and less than `len(args)`, but got "
                         f"{numbers}")
    return tuple(sorted({n % count for n in numbers}))


def _with_statics(fun: Function, numbers: tuple[int, ...], *statics: Any) -> Function:
    """Return `fun` as a function of its other arguments, whose traces are remembered for it."""

    @functools.wraps(fun)
    def of_dynamic(*dynamic: Any, **kwargs: Any) -> Any:
        args = list(dynamic)
        for i, static in zip(numbers, statics, strict=True):
            args.insert(i, static)
        return fun(*args, **kwargs)

    return of_dynamic


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True
