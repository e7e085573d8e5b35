"""What `shard_map` says of specs that do not fit, in JAX's words."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.flattening import long_type
from tinytrace.core.avals import ShapedArray
from tinytrace.core.key_paths import keystr
from tinytrace.core.tree_paths import broadcast_prefix, prefix_errors, tree_flatten_with_path
from tinytrace.core.trees import PyTreeDef, tree_unflatten
from tinytrace.sharding import Mesh, PartitionSpec

Path = tuple[Any, ...]


def spread(name: str, specs: Any, values: Any) -> list[PartitionSpec]:
    """Return a spec for each leaf of `values`.

    Raises: ValueError unless `specs` is a prefix of the tree.
    """
    try:
        return broadcast_prefix(specs, values, is_leaf=_is_spec)
    except ValueError:
        error, *_ = prefix_errors(specs, values)
        raise error(f"shard_map {name}") from None


def too_long(f: Callable[..., Any], side: str, specs: Any, tree: PyTreeDef, spread: Sequence[PartitionSpec],
             avals: Sequence[ShapedArray]) -> None:
    """Raise ValueError if a spec has more entries than its array has axes; side: "in" or "out"."""
    lengths = [len(spec) if side == "in" else max((k + 1 for k, names in enumerate(spec) if names), default=0)
               for spec in spread]  # of a result the axes that are cut are counted
    wrong = [length > aval.ndim for length, aval in zip(lengths, avals, strict=True)]
    if not any(wrong):
        return
    name = _name(f)
    base = "args" if side == "in" else f"{name}(*args)"
    lines = []
    for (spec_path, spec), path, aval, is_wrong in zip(_paths(specs, tree), _leaf_paths(tree), avals, wrong,
                                                       strict=True):
        if is_wrong:
            where = _parameter(f, name, tree, path) if side == "in" else ""
            lines.append(f"{side}_specs{keystr(spec_path)} is {spec} which has length {len(spec)}, but "
                         f"{base}{keystr(path)}{where} has shape {long_type(aval)}, which has rank {aval.ndim} (and "
                         f"{aval.ndim} < {len(spec)})")
    has_scalars = not all(aval.ndim for aval, is_wrong in zip(avals, wrong, strict=True) if is_wrong)
    message = (f"shard_map applied to the function '{name}' was given an {side}_specs entry which is too long to be "
               f"compatible with the corresponding {side}put value from the function:\n\n{_listed(lines)}\n\nEntries "
               f"in {side}_specs must be of length no greater than the number of axes in the corresponding {side}put "
               f"value.\n\nEither revise the spec to be shorter, or modify '{name}' so that its {side}puts have "
               "sufficient rank.")
    if has_scalars:
        message += (f"\n\nFor scalar values (rank 0), consider using an {side}_specs entry of `P()`, where `P = "
                    "jax.sharding.PartitionSpec`.")
        if side == "out":
            message += (" In particular, for rank 0 outputs which are not constant over the mesh, add at least one "
                        "(singleton) axis to them so that they can be concatenated using out_specs.")
    raise ValueError(message)


def not_shared(f: Callable[..., Any], mesh: Mesh, specs: Any, tree: PyTreeDef, wanted: Sequence[frozenset[Any]],
               found: Sequence[frozenset[Any]]) -> None:
    """Raise ValueError if a result may differ along axes of the mesh that its spec does not mention."""
    if all(want <= have for want, have in zip(wanted, found, strict=True)):
        return
    lines = []
    for (path, spec), want, have in zip(_paths(specs, tree), wanted, found, strict=True):
        if want <= have:
            continue
        needed, known = ([axis for axis in mesh.axis_names if axis in axes] for axes in (want, have))
        line = (f"out_specs{keystr(path)} is {spec} which implies that the corresponding output value is replicated "
                "across mesh ")
        if len(needed) == 1:
            lines.append(f"{line}axis '{needed[0]}', but could not infer replication over any axes")
            continue
        lines.append(f"{line}axes {{{','.join(map(str, needed))}}}, but could only infer replication over "
                     f"{{{','.join(map(str, known))}}}, which is missing the required axes "
                     f"{','.join(str(axis) for axis in needed if axis not in have)}")
    raise ValueError(
        f"shard_map applied to the function '{_name(f)}' was given out_specs which require replication which can't be "
        f"statically inferred given the mesh:\n\nThe mesh given has shape {tuple(mesh.shape.values())} with "
        f"corresponding axis names {mesh.axis_names}.\n\n{_listed(lines)}\n\nCheck if these output values are meant "
        "to be replicated over those mesh axes. If not, consider revising the corresponding out_specs entries. If so, "
        "consider disabling the check by passing the check_rep=False argument to shard_map.")


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", str(f))


def _listed(lines: Sequence[str]) -> str:
    return lines[0] if len(lines) == 1 else "\n\n".join(f"* {line}" for line in lines)


def _paths(specs: Any, tree: PyTreeDef) -> list[tuple[Path, PartitionSpec]]:
    """Return for each leaf of a tree its spec, and where that stands."""
    paths, structure = tree_flatten_with_path(specs, is_leaf=_is_spec)
    return broadcast_prefix(tree_unflatten(structure, paths), tree_unflatten(tree, [0] * tree.num_leaves),
                            is_leaf=lambda x: type(x) is tuple and len(x) == 2 and _is_spec(x[1]))


def _leaf_paths(tree: PyTreeDef) -> list[Path]:
    return [path for path, _ in tree_flatten_with_path(tree_unflatten(tree, [0] * tree.num_leaves))[0]]


def _parameter(f: Callable[..., Any], name: str, tree: PyTreeDef, path: Path) -> str:
    """Return which parameter of `f` an argument is."""
    try:
        signature = inspect.signature(f)
        bound = signature.bind(*tree_unflatten(tree, [0] * tree.num_leaves))
    except (TypeError, ValueError):
        return ""
    number, names = path[0].idx, list(bound.arguments)
    if number < len(names):
        return f", where args{path[0]} is bound to {name}'s parameter '{names[number]}',"
    return (f", where args{path[0]} is the index {number - len(signature.parameters) + 1} component of {name}'s "
            f"varargs parameter '{list(signature.parameters)[-1]}',")
