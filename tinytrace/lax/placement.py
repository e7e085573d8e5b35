"""`with_sharding_constraint`: say inside of a program where an array lies. On one device it is checked, and true."""
from __future__ import annotations

from typing import Any

from tinytrace.core.tree_paths import broadcast_prefix
from tinytrace.core.trees import tree_flatten
from tinytrace.primitives.placement import sharding_constraint_p
from tinytrace.sharding import NamedSharding, PartitionSpec, ResourceEnv, Sharding, meshes_in_use


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Return the tree `x`, of whose leaves it is said where they lie: by shardings, or specs in the `with` of a Mesh.

    Raises: ValueError when a leaf has too few axes and for shardings of `pmap`, RuntimeError for a spec where no mesh
    is in use.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.with_sharding_constraint.html.
    """
    leaves, tree = tree_flatten(x)
    wanted = broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    return tree.unflatten([_constrained(leaf, _as_sharding(one)) for leaf, one in zip(leaves, wanted, strict=True)])


def _as_sharding(wanted: Any) -> Sharding:
    if isinstance(wanted, Sharding):
        wanted.refuse_of_pmap("shardings")
        return wanted
    if not (wanted is None or isinstance(wanted, PartitionSpec)):
        raise TypeError(f"shardings leaf specifications are expected to be PartitionSpec instances or None, but got "
                        f"{wanted}")
    mesh = meshes_in_use.innermost
    if mesh.empty:
        raise RuntimeError(
            "with_sharding_constraint requires a non-empty mesh if you are passing `PartitionSpec`s or `None` to "
            "shardings! Is a mesh defined at the call site? Alternatively, provide `Sharding`s to shardings and then "
            "the mesh context manager is not required.")
    return NamedSharding(mesh, PartitionSpec() if wanted is None else wanted)


def _constrained(x: Any, sharding: Sharding) -> Any:
    sharding.require_fit(x.shape, "with_sharding_constraint arguments")
    return sharding_constraint_p.bind(
        x, sharding=sharding, layout=None, resource_env=ResourceEnv(meshes_in_use.innermost),
        unconstrained_dims=set() if isinstance(sharding, NamedSharding) else {})
