"""`vmap`: write a function of one element, apply it to a batch of them."""
from __future__ import annotations

import collections
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.flattening import check_callable, described_as, long_type
from tinytrace.core.avals import aval_of
from tinytrace.core.key_paths import keystr
from tinytrace.core.named_axes import Axis, no_axis_name
from tinytrace.core.trace import current_trace
from tinytrace.core.tree_paths import tree_flatten_with_path
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_unflatten
from tinytrace.transforms.vmap import BatchTrace, OutDimError, batch
from tinytrace.transforms.vmappable import (
    call_on_elements,
    from_elt,
    is_made_by_class,
    is_vmappable,
    make_iota,
    spec_types,
    to_elt,
    vmappables,
)


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None,
         axis_size: int | None = None, spmd_axis_name: Any = None) -> Callable[..., Any]:
    """Return a function that maps `fun` over axes of its arguments, computing all elements at once.

    `in_axes` tells for each positional argument which axis to map over, None for an argument that all elements share;
    inside it may stand a tree prefix of the argument. Keyword arguments are mapped over axis 0. `out_axes`, a tree
    prefix of the output, tells where the mapped axis goes. `axis_size` is needed only if nothing is mapped. `axis_name`
    is what collectives in `fun`, such as `lax.psum`, call the axis; `spmd_axis_name` names an axis of devices, of which
    there is one.

    Raises: ValueError or TypeError if axes do not fit the arguments, or their sizes disagree.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.vmap.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.vmap(jnp.dot, in_axes=(0, None))(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    check_callable(fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_specs(in_axes, out_axes)
    name = no_axis_name if axis_name is None else axis_name

    @described_as(fun, "Vectorized version of {fun}. Takes similar arguments as {fun} but with additional array axes "
                       "over which {fun} is mapped." + _original_doc(fun))
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError("vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                             f"arguments passed to the function, but got {len(in_axes)=}, {len(args)=}")
        leaves, in_tree = tree_flatten((args, kwargs), is_leaf=is_vmappable if vmappables else None)
        if type(in_axes) is int and len(args) == in_tree.num_leaves == in_tree.num_nodes - 3:  # arrays alone
            in_dims: list[int | None] = [in_axes] * len(leaves)
        else:
            in_dims = flatten_axes("vmap in_axes", in_tree, (in_axes, 0), positional_only=True)
        size = axis_size if axis_size is not None else mapped_size("vmap", fun, args, kwargs, leaves, in_dims)
        if axis_name is not None and axis_size is not None:
            _check_sizes(axis_name, axis_size, leaves, in_dims)
        out_tree: list[PyTreeDef] = []

        def flat_fun(*elements: Any) -> list[Any]:
            positional, keyword = tree_unflatten(in_tree, elements)
            outs, tree = tree_flatten(fun(*positional, **keyword), is_leaf=is_vmappable if vmappables else None)
            out_tree.append(tree)
            return outs

        mapped = _with_classes if vmappables else batch
        try:
            outs = mapped(flat_fun, Axis(size, name), leaves, in_dims,
                          lambda: flatten_axes("vmap out_axes", out_tree[0], out_axes))
        except OutDimError as error:
            if axis_name is not None:
                raise ValueError(f"vmap has mapped output ({axis_name=}) but out_axes is None") from None
            raise ValueError(_wrong_out_axis(out_tree[0], out_axes, error)) from None
        return tree_unflatten(out_tree[0], outs)

    return vectorized


def _with_classes(flat_fun: Callable[..., list[Any]], axis: Axis, leaves: Sequence[Any], in_dims: Sequence[Any],
                  out_dims: Callable[[], Sequence[Any]]) -> list[Any]:
    """Map a flat function whose arguments and results may be of classes that were registered (`vmappable`)."""
    results: list[Any] = []

    def elements_to_results(*arrays: Any) -> list[Any]:
        trace = current_trace()
        assert isinstance(trace, BatchTrace)
        rest, index = iter(arrays), functools.cache(lambda: trace.join(make_iota(axis.size), 0))
        elements = [to_elt(trace, index, x, dim) if is_vmappable(x) and dim is not None else
                    x if is_vmappable(x) else next(rest) for x, dim in zip(leaves, in_dims, strict=True)]
        outs = call_on_elements(flat_fun, elements)
        results.extend(from_elt(trace, axis.size, i, x, dim) if is_made_by_class(x, dim) else _ARRAY
                       for i, (x, dim) in enumerate(zip(outs, out_dims(), strict=True)))
        return [x for x, result in zip(outs, results, strict=True) if result is _ARRAY]

    plain = [k for k, x in enumerate(leaves) if not is_vmappable(x)]
    for k in plain:
        if type(in_dims[k]) in spec_types - {int}:
            raise TypeError(f"vmap cannot map an argument of type {type(leaves[k]).__name__} over "
                            f"{in_dims[k]!r}, which stands for an axis of another class")
    arrays = iter(batch(elements_to_results, axis, [leaves[k] for k in plain], [in_dims[k] for k in plain],
                        lambda: [dim for x, dim in zip(results, out_dims(), strict=True) if x is _ARRAY]))
    return [next(arrays) if x is _ARRAY else x for x in results]


_ARRAY = object()
"""Where an array stands among results."""


def flatten_axes(name: str, tree: PyTreeDef, axes: Any, positional_only: bool = False) -> list[int | None]:
    """Return one axis per leaf of `tree`, given `axes`, a tree prefix of it whose Nones are leaves too.

    Raises: ValueError if it is no prefix; `positional_only`: speak of the first part of both only.
    """
    if type(axes) is int and tree.num_leaves == tree.num_nodes == 1:
        return [axes]
    unmapped = object()
    marked = tree_map(lambda x: unmapped if x is None else x, axes, is_leaf=lambda x: x is None)
    spread: list[Any] = []
    try:  # as in JAX, by a tree of objects: a class that takes nothing but arrays says so
        tree_map(lambda axis, subtree: spread.extend([axis] * len(tree_leaves(subtree))), marked,
                 tree_unflatten(tree, [object()] * tree.num_leaves))
    except ValueError:
        if positional_only:
            tree, axes = tree.children()[0], axes[0]
        raise ValueError(f"{name} specification must be a tree prefix of the corresponding value, got specification "
                         f"{axes} for value tree {tree}.") from None
    return [None if axis is unmapped else axis for axis in spread]


def _check_specs(in_axes: Any, out_axes: Any) -> None:
    if not (in_axes is None or type(in_axes) in (int, tuple) or type(in_axes) in spec_types):
        raise TypeError("vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                        f"arguments passed to the function, but got {in_axes}.")
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(type(leaf) is not int and type(leaf) not in spec_types for leaf in tree_leaves(axes)):
            raise TypeError(f"vmap {name} must be an int, None, or (nested) container with those types as leaves, but "
                            f"got {axes}.")


def _original_doc(fun: Callable[..., Any]) -> str:
    doc = (fun.__doc__ or "").replace("{", "{{").replace("}", "}}")
    return f"\n\nOriginal documentation:\n\n{doc}" if doc else ""


def _wrong_out_axis(tree: PyTreeDef, out_axes: Any, error: OutDimError) -> str:
    full = tree_unflatten(tree, flatten_axes("vmap out_axes", tree, out_axes))
    path, _ = tree_flatten_with_path(full, is_leaf=lambda x: x is None)[0][error.position]
    return f"at vmap out_axes{keystr(path)}, got axis spec None but output was batched on axis {error.dim}"


# --- the size of the mapped axis -------------------------------------------------------------------------------

def mapped_size(name: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], leaves: Sequence[Any],
                dims: Sequence[int | None]) -> int:
    """Return the size that all mapped axes have; `name` is vmap or pmap.

    Raises: ValueError if there is none, or more than one.
    """
    if not leaves:
        raise ValueError(f"{name} wrapped function must be passed at least one argument containing an array, got empty "
                         f"*args={args} and **kwargs={kwargs}")
    if any(type(dim) in spec_types - {int} for dim in dims):
        raise TypeError(f"{name} cannot tell how many elements an argument of a class of its own has: say axis_size=")
    sizes = [None if dim is None else _axis_size(name, np.shape(x), dim) for x, dim in zip(leaves, dims, strict=True)]
    distinct = {size for size in sizes if size is not None}
    if not distinct:
        raise ValueError(f"{name} must have at least one non-None value in in_axes")
    if len(distinct) > 1:
        raise ValueError(_inconsistent_sizes(name, _leaf_names(fun, args, kwargs), sizes, dims))
    return distinct.pop()


def _check_sizes(name: Any, size: int, leaves: Sequence[Any], dims: Sequence[int | None]) -> None:
    """Raise ValueError when a mapped axis is not as long as collectives are told that it is."""
    for x, dim in zip(leaves, dims, strict=True):
        if dim is not None and _axis_size("vmap", np.shape(x), dim) != size:
            raise ValueError(f"vmap got axis_size={size} for the axis {name!r}, and an argument of shape {np.shape(x)} "
                             f"that is mapped over its axis {dim}, of size {np.shape(x)[dim]}: leave axis_size out")


def _axis_size(name: str, shape: tuple[int, ...], axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"{name} was requested to map its argument along axis {axis}, which implies that its rank "
                         f"should be at least {axis + 1 if axis >= 0 else -axis}, but is only {len(shape)} (its shape "
                         f"is {shape})")
    return shape[axis]


def _leaf_names(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """Return for each leaf of a call what an error message calls it."""
    named: dict[str, Any]
    try:
        named = inspect.signature(fun).bind(*args, **kwargs).arguments
        prefix = "argument "
    except (TypeError, ValueError):
        named, prefix = {"args": args, "kwargs": kwargs}, ""
    return [f"{prefix}{name}{keystr(path)} of type {_type_text(x)}"
            for name, value in named.items() for path, x in tree_flatten_with_path(value)[0]]


def _type_text(x: Any) -> str:
    try:
        return long_type(aval_of(x))
    except TypeError:
        return "unknown"


def _inconsistent_sizes(map_name: str, names: Sequence[str], sizes: Sequence[int | None],
                        dims: Sequence[int | None]) -> str:
    """Say which sizes there are, the most frequent first, with one example of each."""
    lines = []
    for rank, (size, count) in enumerate(collections.Counter(s for s in sizes if s is not None).most_common()):
        first = sizes.index(size)
        many = f"{'some' if rank else 'most'} axes ({count} of them) had size {size}, e.g."
        lines.append(f"  * {f'one axis had size {size}:' if count == 1 else many} axis {dims[first]} of {names[first]}")
    return f"{map_name} got inconsistent sizes for array axes to be mapped:\n" + ";\n".join(lines)
