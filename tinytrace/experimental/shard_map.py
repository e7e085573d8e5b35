"""`jax.experimental.shard_map`: one program for each device of a mesh, of which there is one.

Its part of an array is the whole, so the function is called with the arrays as they are, and the axes of the mesh are
named axes of size 1: what collectives over them do is what they do under `vmap`.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.concrete import as_array
from tinytrace.core.avals import aval_of
from tinytrace.core.named_axes import Axis
from tinytrace.core.trace import Tracer
from tinytrace.core.tree_paths import broadcast_prefix, prefix_errors
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from tinytrace.primitives.broadcasting import squeeze
from tinytrace.sharding import Mesh, NamedSharding, PartitionSpec
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.vmap import run_batched


def shard_map(f: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any, check_rep: bool = True,
              auto: frozenset[Any] = frozenset()) -> Callable[..., Any]:
    """Return `f` over the parts of its arguments that `in_specs` assign to the devices of `mesh`: over the whole.

    The axes of the mesh have their names inside of `f`: `lax.psum(x, "i")` is x, and `lax.axis_index("i")` is 0.

    Raises: TypeError for what is no mesh, ValueError for specs that do not fit the mesh, the arguments or the results.
    See https://jax.readthedocs.io/en/latest/notebooks/shard_map.html.

    >>> from tinytrace import lax, make_mesh
    >>> P, mesh = PartitionSpec, make_mesh((1,), ("i",))
    >>> shard_map(lambda x: lax.psum(x, "i"), mesh, in_specs=P("i"), out_specs=P())(np.float32([1, 2]))
    Array([1., 2.], dtype=float32)
    """
    if not callable(f):
        raise TypeError(f"shard_map requires a callable for its first argument, but got {f} of type {type(f)}.")
    if not isinstance(mesh, Mesh):
        raise TypeError(f"shard_map requires a `jax.sharding.Mesh` or a `jax.sharding.AbstractMesh` instance for its "
                        f"second argument, but got {mesh} of type {type(mesh)}.")
    for spec in tree_leaves((in_specs, out_specs)):
        if not isinstance(spec, PartitionSpec):
            raise TypeError(f"shard_map in_specs and out_specs must be pytrees of `jax.sharding.PartitionSpec`, but "
                            f"there is {spec!r} among them")
        NamedSharding(mesh, spec)  # raises if an axis is not the mesh's

    @functools.wraps(f)
    @api_boundary
    def mapped(*args: Any) -> Any:
        leaves, in_tree = tree_flatten(args)
        _check(mesh, "in_specs", in_specs, args)
        leaves = [x if isinstance(x, Tracer) else as_array(x, aval_of(x)) for x in leaves]
        out_tree: list[PyTreeDef] = []

        def flat(*elements: Any) -> list[Any]:
            outs, tree = tree_flatten(f(*tree_unflatten(in_tree, elements)))
            out_tree.append(tree)
            return outs

        outs = _over(mesh.shape_tuple, flat, leaves)
        result = tree_unflatten(out_tree[0], outs)
        _check(mesh, "out_specs", out_specs, result)
        return result

    return mapped


def _over(axes: Sequence[tuple[Any, int]], flat: Callable[..., list[Any]], args: Sequence[Any]) -> list[Any]:
    """Run a function with the names of axes of size 1 bound, the first of them outermost."""
    if not axes:
        return flat(*args)
    (name, size), *rest = axes
    outs, dims = run_batched(lambda *xs: _over(rest, flat, xs), Axis(size, name), object(), args, [None] * len(args))
    return [x if dim is None else squeeze(x, (dim,)) for x, dim in zip(outs, dims, strict=True)]


def _check(mesh: Mesh, name: str, specs: Any, values: Any) -> None:
    """Raise ValueError unless `specs` is a prefix of the tree, and each array has the axes of its spec."""
    try:
        spread = broadcast_prefix(specs, values, is_leaf=lambda x: isinstance(x, PartitionSpec))
    except ValueError:
        error, *_ = prefix_errors(specs, values)
        raise ValueError(f"shard_map's {name} must be a tree prefix of the "
                         f"{'arguments' if name == 'in_specs' else 'result'}.\n{error(name)}") from None
    for spec, x in zip(spread, tree_leaves(values), strict=True):
        try:
            NamedSharding(mesh, spec).check_compatible_aval(np.shape(x))
        except ValueError as error:
            raise ValueError(f"shard_map {name}: {error}") from None
