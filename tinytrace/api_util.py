"""`jax.api_util`: between functions of trees and functions of flat lists, for `extend.linear_util`."""
from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from tinytrace.core.avals import ShapedArray, abstract_type_of
from tinytrace.core.tree_paths import broadcast_prefix
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.extend.functions import safe_map as safe_map
from tinytrace.extend.linear_util import WrappedFun, transformation, transformation_with_aux
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


@transformation_with_aux
def flatten_fun(in_tree: PyTreeDef, *leaves: Any) -> Generator[Any, Any, None]:
    """`flatten_fun(fun, in_tree)`: `fun(*args, **kwargs)` as a function of leaves to a list of leaves.

    Returns: the function, and what gives the tree of its results once it has been called.

    >>> from tinytrace.extend.linear_util import wrap_init
    >>> leaves, tree = tree_flatten(((1, 2), {}))
    >>> flat, out_tree = flatten_fun(wrap_init(lambda x, y: {"sum": x + y}), tree)
    >>> flat.call_wrapped(*leaves), out_tree()
    ([3], PyTreeDef({'sum': *}))
    """
    args, kwargs = tree_unflatten(in_tree, leaves)
    result = yield args, kwargs
    yield tree_flatten(result)


@transformation_with_aux
def flatten_fun_nokwargs(in_tree: PyTreeDef, *leaves: Any) -> Generator[Any, Any, None]:
    """Like `flatten_fun`, for a tree of positional arguments alone."""
    result = yield tree_unflatten(in_tree, leaves), {}
    yield tree_flatten(result)


@transformation
def _of_selected(argnums: Sequence[int], fixed: Sequence[Any], *selected: Any, **kwargs: Any
                 ) -> Generator[Any, Any, None]:
    args = list(fixed)
    for number, arg in zip(argnums, selected, strict=True):
        args[number] = arg
    yield (yield args, kwargs)


def argnums_partial(f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any],
                    require_static_args_hashable: bool = True) -> tuple[WrappedFun, list[Any]]:
    """Return `f` as a function of the arguments numbered `dyn_argnums` alone, and these arguments."""
    numbers = [dyn_argnums] if isinstance(dyn_argnums, int) else list(dyn_argnums)
    numbers = [number % len(args) for number in numbers]
    return _of_selected(f, tuple(numbers), tuple(args)), [args[number] for number in numbers]


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any, kws: bool = False, tupled_args: bool = False
                 ) -> list[Any]:
    """Return one entry of `axis_tree`, a prefix of a tree, for each leaf of the tree.

    Raises: ValueError when it is no prefix.
    """
    whole = tree_unflatten(treedef, [object()] * treedef.num_leaves)
    try:
        return broadcast_prefix(axis_tree, whole, is_leaf=lambda x: x is None)
    except ValueError:
        raise ValueError(f"{name} specification must be a tree prefix of the corresponding value, got specification "
                         f"{axis_tree} for value tree {treedef}.") from None


def shaped_abstractify(x: Any) -> ShapedArray:
    """Return the type of a value, or of anything that has a shape and a dtype."""
    return abstract_type_of(x)


def donation_vector(donate_argnums: Sequence[int], donate_argnames: Sequence[str], args_tree: PyTreeDef,
                    kws: bool = True) -> tuple[bool, ...]:
    """Return for each leaf of the arguments whether it is donated."""
    args, kwargs = tree_unflatten(args_tree, [0] * args_tree.num_leaves)
    flags = [number in donate_argnums for number, arg in enumerate(args) for _ in tree_flatten(arg)[0]]
    return (*flags, *(name in donate_argnames for name, arg in sorted(kwargs.items()) for _ in tree_flatten(arg)[0]))


def rebase_donate_argnums(donate_argnums: Sequence[int], static_argnums: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of donated arguments among those that are not static.

    Raises: ValueError when an argument is both.
    """
    static, donated = sorted(set(static_argnums)), sorted(set(donate_argnums))
    if set(static) & set(donated):
        raise ValueError(f"`static_argnums` {static} and `donate_argnums` {donated} cannot intersect.")
    return tuple(number - sum(one < number for one in static) for number in donated)
