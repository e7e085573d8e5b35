"""`approx_max_k` and `approx_min_k`: the largest or smallest elements, exact here, as on every CPU in JAX."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import INT32, is_float
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.tangents import Zero
from tinytrace.core.trace import interpreting
from tinytrace.numpy.indexing import getitem
from tinytrace.primitives.composite import recorded
from tinytrace.primitives.creation import broadcasted_iota
from tinytrace.primitives.elementwise import neg
from tinytrace.primitives.shaping import NDArray, moveaxis
from tinytrace.primitives.sorting import top_k


def approx_max_k(operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> Any:
    """Return the `k` largest elements along an axis of `operand`, largest first, and their positions.

    Args: recall_target, reduction_input_size_override: steer the approximation of other devices; they are printed.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.approx_max_k.html.

    >>> approx_max_k(np.float32([3, 1, 4, 1, 5]), 2)
    [Array([5., 4.], dtype=float32), Array([4, 2], dtype=int32)]
    """
    return approx_top_k_p.bind(operand, k=k, reduction_dimension=reduction_dimension, recall_target=recall_target,
                               is_max_k=True, reduction_input_size_override=reduction_input_size_override,
                               aggregate_to_topk=aggregate_to_topk)


def approx_min_k(operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> Any:
    """Return the `k` smallest elements along an axis of `operand`, smallest first, and their positions.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.approx_min_k.html.
    """
    return approx_top_k_p.bind(operand, k=k, reduction_dimension=reduction_dimension, recall_target=recall_target,
                               is_max_k=False, reduction_input_size_override=reduction_input_size_override,
                               aggregate_to_topk=aggregate_to_topk)


class ApproxTopK(Primitive):
    """`approx_top_k[k=2 reduction_dimension=-1 is_max_k=True ...] x: f32[m,n]` is f32[m,2], i32[m,2]."""

    name = "approx_top_k"
    multiple_results = True
    composite = True

    def abstract_eval(self, x: ShapedArray, *, k: int, reduction_dimension: int, aggregate_to_topk: bool,
                      **params: Any) -> list[ShapedArray]:
        if k <= 0:
            raise ValueError(f"k must be positive, got {k}")
        if not x.shape:
            raise TypeError(f"approx_top_k operand must have >= 1 dimension, got {x.shape}")
        if not -x.ndim <= reduction_dimension < x.ndim:
            raise IndexError(f"reduction_dimension {reduction_dimension} is no axis of an array of {x.ndim} dimensions")
        size = x.shape[reduction_dimension]
        if size < k:
            raise ValueError(f"k must be smaller than the size of reduction_dim {size}, got {k}")
        if not is_float(x.dtype):
            raise ValueError("operand must be a floating type")
        if not aggregate_to_topk:
            raise NotImplementedError("approx_max_k(aggregate_to_topk=False) gives what an accelerator found before it "
                                      "is sorted; there is nothing like it here. Ask for a larger k.")
        shape = list(x.shape)
        shape[reduction_dimension] = k
        return [x.update(shape=tuple(shape)), x.update(shape=tuple(shape), dtype=INT32)]

    def impl(self, x: NDArray, **params: Any) -> list[NDArray]:
        with interpreting():
            return [np.asarray(out) for out in _exact(x, **params)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        values, positions = self.bind(*primals, **params)
        if type(tangents[0]) is Zero:
            return [values, positions], [Zero.from_primal_value(values), Zero.from_primal_value(positions)]
        shape, axis = np.shape(positions), params["reduction_dimension"] % np.ndim(positions)
        counted = [broadcasted_iota(INT32, shape, k) for k in range(len(shape))]
        index = tuple(positions if k == axis else counted[k] for k in range(len(shape)))
        return [values, positions], [getitem(tangents[0], index), Zero.from_primal_value(positions)]

    transpose = refuse("an order is not linear in the elements")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, reduction_dimension: int,
              **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        others = [axis for axis in range(np.ndim(x)) if axis != dim]
        return self.bind(x, reduction_dimension=others[reduction_dimension], **params), [dim, dim]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return Call(recorded(partial(_exact, **params), in_avals))


approx_top_k_p = ApproxTopK()


def _exact(x: Any, *, k: int, reduction_dimension: int, is_max_k: bool, **params: Any) -> list[Any]:
    axis = reduction_dimension % np.ndim(x)
    last = moveaxis(x if is_max_k else neg(x), axis, np.ndim(x) - 1)
    values, positions = (moveaxis(out, np.ndim(x) - 1, axis) for out in top_k(last, k))
    return [values if is_max_k else neg(values), positions]
