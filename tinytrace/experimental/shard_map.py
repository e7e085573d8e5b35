"""`jax.experimental.shard_map`: one program for each device of a mesh, of which there is one.

Its part of an array is the whole, and the axes of the mesh are named axes of size 1: what collectives over them do is
what they do under `vmap`. In a program it is the equation `shard_map`, as in JAX.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.jit import jit
from tinytrace.api.traced_calls import check_output
from tinytrace.control_flow.replication import rewritten
from tinytrace.control_flow.shard_map import AxisNames, binding_axes, shard_map_p
from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.trace import is_eager
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from tinytrace.experimental.shard_map_errors import not_shared, spread, too_long
from tinytrace.sharding import Mesh, NamedSharding, PartitionSpec
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr


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

    mapped = _ShardMapped(f, mesh, in_specs, out_specs, check_rep, frozenset(auto))

    @functools.wraps(f)
    @api_boundary
    def call(*args: Any) -> Any:
        return mapped(*args)

    return call


class _ShardMapped:
    """A function over the devices of a mesh; it is traced for each call, as one equation."""

    def __init__(self, f: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any, check_rep: bool,
                 auto: frozenset[Any]) -> None:
        self._f, self._mesh, self._in_specs, self._out_specs = f, mesh, in_specs, out_specs
        self._check_rep, self._auto = check_rep, auto
        self._jitted = jit(self._bind)

    def __call__(self, *args: Any) -> Any:
        return self._jitted(*args) if is_eager() else self._bind(*args)

    def _bind(self, *args: Any) -> Any:
        """Leave the equation behind: trace the function with the names of the axes bound."""
        mesh = self._mesh
        leaves, in_tree = tree_flatten(args)
        specs = spread("in_specs", self._in_specs, args)
        too_long(self._f, "in", self._in_specs, in_tree, specs, [aval_of(x) for x in leaves])
        with binding_axes(mesh):
            closed, consts, out_tree = self._traced(leaves, in_tree)
        out_specs = spread("out_specs", self._out_specs, tree_unflatten(out_tree, [object()] * out_tree.num_leaves))
        too_long(self._f, "out", self._out_specs, out_tree, out_specs, closed.out_avals)
        in_names = [*[AxisNames()] * len(consts), *map(_names_of, specs)]
        out_names = [_names_of(spec) for spec in out_specs]
        if self._check_rep:
            shared = [frozenset(names.unmentioned(mesh)) for names in in_names]
            wanted = [frozenset(names.unmentioned(mesh)) for names in out_names]
            _, found = rewritten(closed, mesh, shared)
            not_shared(self._f, mesh, self._out_specs, out_tree, wanted, found)
            closed, _ = rewritten(closed, mesh, shared, wanted)
            consts = [*closed.consts, *consts]
            in_names = [*[AxisNames()] * len(closed.consts), *in_names]
            closed = ClosedJaxpr(hoist_consts(closed.jaxpr), ())
        outs = shard_map_p.bind(*consts, *leaves, auto=self._auto, check_rep=self._check_rep,
                                in_names=tuple(in_names), jaxpr=closed, mesh=mesh, out_names=tuple(out_names),
                                rewrite=self._check_rep)
        return tree_unflatten(out_tree, outs)

    def _traced(self, leaves: Sequence[Any], in_tree: PyTreeDef) -> tuple[ClosedJaxpr, list[Any], PyTreeDef]:
        out_tree: list[PyTreeDef] = []

        def flat(*elements: Any) -> list[Any]:
            outs, tree = tree_flatten(self._f(*tree_unflatten(in_tree, elements)))
            for out in outs:
                check_output(out)
            out_tree.append(tree)
            return outs

        jaxpr, consts = trace_to_jaxpr(flat, [aval_of(x) for x in leaves])
        return ClosedJaxpr(hoist_consts(jaxpr), ()), consts, out_tree[0]


def _names_of(spec: PartitionSpec) -> AxisNames:
    return AxisNames({axis: tuple(names) if isinstance(names, (tuple, list)) else (names,)
                      for axis, names in enumerate(spec) if names})
