"""`jax.interpreters.batching`: batching rules for one's own primitives.

A rule gets the operands and, for each, the axis along which it is batched, or `not_mapped`, and answers with the result
and its axis. Source: `jax.interpreters.batching` of JAX 0.4.35.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.basearray import Array as Array
from tinytrace.core.named_axes import Axis, no_axis_name
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import Zero as Zero
from tinytrace.interpreters.rule_tables import RuleTable
from tinytrace.primitives.broadcasting import batch_dim_at_front, expand_dims, reduce_sum, repeat_along
from tinytrace.primitives.shaping import moveaxis as _moveaxis
from tinytrace.transforms import vmap
from tinytrace.transforms.vmap import BatchTrace as BatchTrace
from tinytrace.transforms.vmap import BatchTracer as BatchTracer
from tinytrace.util import lazy_names

_OF_CLASSES = """
    Elt FromEltHandler GetIdx MakeIotaHandler MapSpec ToEltHandler Vmappable from_elt from_elt_handlers is_vmappable
    make_iota make_iota_handlers register_vmappable spec_types to_elt to_elt_handlers unregister_vmappable vmappables
"""
_HOMES = {
    "transforms.vmappable": _OF_CLASSES,
    "interpreters.jumbles": "IndexedAxisSize Jumble JumbleAxis JumbleTy RaggedAxis jumble_axis",
    "interpreters.flat_transformations": "AxisSize batch batch_jaxpr2 flatten_fun_for_vmap vtile",
    "interpreters.subtraces": """
        ZeroIfMapped batch_custom_jvp_subtrace batch_custom_vjp_bwd batch_jaxpr_axes batch_subtrace zero_if_mapped
    """,
}
__getattr__ = lazy_names("tinytrace", {name: home for home, names in _HOMES.items() for name in names.split()},
                         __name__)

Rule = Callable[..., Any]
not_mapped = None
NotMapped = type(None)
BatchingRule = Callable[..., tuple[Any, Any]]


def _with_parts_of_axis(primitive: Primitive, rule: Rule) -> Rule:
    """Return a rule that is told the size and the name of the axis, as one of rooms is told the axis."""

    def batch_along(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        return rule(axis.size, axis.name, BatchTrace, args, dims, **params)

    return batch_along


def _with_tuples(primitive: Primitive, rule: Rule) -> Rule:
    """Return a rule that gets tuples, as JAX's do."""
    def batch(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        return rule(tuple(args), tuple(dims), **params)

    return functools.wraps(rule)(batch) if hasattr(rule, "__name__") else batch


primitive_batchers = RuleTable("batch", _with_tuples)
"""`rule(args, dims, **params) -> (out, out_dim)`."""
axis_primitive_batchers = RuleTable("batch_along", _with_parts_of_axis)
"""`rule(axis_size, axis_name, trace_type, args, dims, **params) -> (out, out_dim)`."""
spmd_axis_primitive_batchers: dict[Primitive, Rule] = {}
"""Rules for batches that lie on several devices: kept, and never asked."""


def defvectorized(primitive: Primitive) -> None:
    """Say that `primitive` computes elements of its operands, all of them batched along one axis."""
    primitive_batchers[primitive] = functools.partial(vectorized_batcher, primitive)


def vectorized_batcher(primitive: Primitive, args: Sequence[Any], dims: Sequence[int | None],
                       **params: Any) -> tuple[Any, Any]:
    """The batching rule of `defvectorized`."""
    assert all(dim == dims[0] for dim in dims), dims
    return primitive.bind(*args, **params), dims[0]


def defbroadcasting(primitive: Primitive) -> None:
    """Say that `primitive` computes elements of operands that broadcast."""
    primitive_batchers[primitive] = functools.partial(broadcast_batcher, primitive)


def broadcast_batcher(primitive: Primitive, args: Sequence[Any], dims: Sequence[int | None],
                      **params: Any) -> tuple[Any, Any]:
    """The batching rule of `defbroadcasting`: an operand that is not batched gets an axis of size 1."""
    shape, dim = next((np.shape(x), d) for x, d in zip(args, dims, strict=True) if d is not None)
    if not all(np.shape(x) == shape and d == dim for x, d in zip(args, dims, strict=True) if np.ndim(x)):
        front = [batch_dim_at_front(x, d, 1) if np.ndim(x) else x for x, d in zip(args, dims, strict=True)]
        ndim, dim = max(map(np.ndim, front)), 0
        args = [x if d is None or np.ndim(x) == ndim else expand_dims(x, tuple(range(np.ndim(x), ndim)))
                for x, d in zip(front, dims, strict=True)]
    out = primitive.bind(*args, **params)
    return out, (dim,) * len(out) if primitive.multiple_results else dim


def defreducer(primitive: Primitive, ident: Any = None) -> None:
    """Say that `primitive` folds the axes in its parameter `axes` away."""
    primitive_batchers[primitive] = functools.partial(reducer_batcher, primitive, ident)


def reducer_batcher(primitive: Primitive, ident: Any, args: Sequence[Any], dims: Sequence[int], axes: Sequence[int],
                    **params: Any) -> tuple[Any, Any]:
    """The batching rule of `defreducer`."""
    (operand,), (dim,) = args, dims
    axes = tuple(axis if axis < dim else axis + 1 for axis in axes)
    if "input_shape" in params:
        params["input_shape"] = operand.shape
    return primitive.bind(operand, axes=axes, **params), dim - sum(axis < dim for axis in axes)


# --- moving batch axes -----------------------------------------------------------------------------------------

def moveaxis(x: Any, src: int, dst: int) -> Any:
    """Return `x` with axis `src` at place `dst`.

    >>> moveaxis(np.zeros((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """
    ndim = np.ndim(x)
    return _moveaxis(x, src % ndim, dst % ndim)


def broadcast(x: Any, size: int, axis: int) -> Any:
    """Return `x` repeated `size` times along a new axis.

    >>> broadcast(np.zeros(3), 2, 0).shape
    (2, 3)
    """
    return repeat_along(x, size, axis)


def bdim_at_front(x: Any, bdim: int | None, size: int) -> Any:
    """Return `x` with its batch axis first; what is not batched is repeated."""
    return broadcast(x, size, 0) if bdim is None else moveaxis(x, bdim, 0)


def matchaxis(axis_name: Any, size: int, src: int | None, dst: int | None, x: Any, sum_match: bool = False) -> Any:
    """Return `x`, batched along `src`, batched along `dst`; with `sum_match` the sum where `dst` is None.

    Raises: ValueError when `x` is batched and `dst` is None.
    """
    if src == dst:
        return x
    if dst is not None:
        return broadcast(x, size, dst % (np.ndim(x) + 1)) if src is None else moveaxis(x, src, dst)
    if not sum_match or src is None:
        raise ValueError(f"vmap has mapped output ({axis_name=}) but out_axes is {dst}")
    return reduce_sum(x, (src,))


def batch_jaxpr(closed_jaxpr: Any, axis_data: Any, in_batched: Sequence[bool],
                instantiate: bool | Sequence[bool], *names: Any) -> tuple[Any, list[bool]]:
    """Vectorize a jaxpr over inputs batched along axis 0; returns it, and which outputs are batched.

    Args: axis_data: the size of the batch, or what has it as `size`, maybe a `name`.  names: that of the axis first.
    """
    name = getattr(axis_data, "name", names[0] if names else no_axis_name)
    axis = Axis(getattr(axis_data, "size", axis_data), no_axis_name if name is None else name)
    return vmap.batch_jaxpr(closed_jaxpr, axis, in_batched, instantiate)
