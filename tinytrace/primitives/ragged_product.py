"""ragged_dot: rows of a matrix, group after group, times a matrix of each group."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import canonicalize_dtype, is_integer
from tinytrace.core.primitive import ALL
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.arithmetic import add
from tinytrace.primitives.bitwise import bitwise_and
from tinytrace.primitives.broadcasting import batch_dim_at_front, broadcast_in_dim
from tinytrace.primitives.comparison import le, lt
from tinytrace.primitives.composite import Composite
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.contraction import dot_general, dot_general_p
from tinytrace.primitives.creation import broadcasted_iota
from tinytrace.primitives.cumulative import cumsum
from tinytrace.primitives.elementwise import filled_like
from tinytrace.primitives.precision import canonicalize_precision
from tinytrace.primitives.select import select
from tinytrace.primitives.slicing import slice
from tinytrace.primitives.triangular import swapped


def ragged_dot(lhs: Any, rhs: Any, group_sizes: Any, precision: Any = None, preferred_element_type: Any = None,
               group_offset: Any = None) -> Any:
    """Return lhs: f32[m, k] times rhs: f32[g, k, n], where the first group_sizes[0] rows meet rhs[0], and so on.

    Rows beyond the last group give zeros.
    Raises: TypeError for shapes that do not fit; NotImplementedError for `group_offset`, when it is computed.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.ragged_dot.html.

    >>> ragged_dot(np.float32([[1], [2], [3]]), np.float32([[[1]], [[10]]]), np.int32([1, 2]))[:, 0]
    Array([ 1., 20., 30.], dtype=float32)
    """
    return ragged_dot_p.bind(
        lhs, rhs, group_sizes, precision=canonicalize_precision(precision), group_offset=group_offset,
        preferred_element_type=None if preferred_element_type is None else canonicalize_dtype(preferred_element_type))


class RaggedDot(Composite):
    """`ragged_dot[group_offset=None ...] a: f32[m,k] b: f32[g,k,n] c: i32[g]` is f32[m,n]."""

    name = "ragged_dot"
    reads = ALL

    def abstract_eval(self, lhs: ShapedArray, rhs: ShapedArray, sizes: ShapedArray, *, precision: Any,
                      preferred_element_type: Any, group_offset: Any) -> ShapedArray:
        *batch, m, k = lhs.shape
        *rhs_batch, groups, depth, n = rhs.shape
        at = len(batch)
        if batch != rhs_batch:
            raise TypeError(f"ragged_dot requires that lhs.shape[0] == rhs.shape[0]: got {batch[0]} and "
                            f"{rhs_batch[0]}.")
        if k != depth:
            raise TypeError(f"ragged_dot requires that lhs.shape[1] == rhs.shape[1]: got {k} and {depth}.")
        if list(sizes.shape) != [*batch, groups]:
            raise TypeError(f"ragged_dot requires that rhs.shape[{at}] == group_sizes.shape[{at}]: got {groups} and "
                            f"{sizes.shape[-1] if sizes.shape else 0}.")
        if not is_integer(sizes.dtype):
            raise TypeError("ragged_dot requires that group_sizes.dtype is subtype of np.integer.")
        types = lhs.update(shape=(1, 1)), rhs.update(shape=(1, 1))
        return dot_general_p.abstract_eval(*types, dimension_numbers=(((1,), (0,)), ((), ())), precision=precision,
                                           preferred_element_type=preferred_element_type
                                           ).update(shape=(*batch, m, n))

    def program(self, lhs: Any, rhs: Any, sizes: Any, *, precision: Any, preferred_element_type: Any,
                group_offset: Any) -> Any:
        _refuse_offset(group_offset)
        batch = tuple(range(np.ndim(lhs) - 2))
        at = len(batch)
        return dot_general(_by_group(lhs, sizes), rhs, (((at + 2, at), (at + 1, at)), (batch, batch)), precision,
                           preferred_element_type)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, group_offset: Any, **params: Any
            ) -> tuple[Any, Any]:
        _refuse_offset(group_offset)
        (lhs, rhs, sizes), (lhs_dot, rhs_dot, _) = primals, tangents
        params = {**params, "group_offset": None}
        out = self.bind(*primals, **params)
        parts = [filled_like(out, 0) if type(dot) is Zero else self.bind(*args, sizes, **params)
                 for dot, args in ((lhs_dot, (lhs_dot, rhs)), (rhs_dot, (lhs, rhs_dot)))]
        return out, add(*parts)

    def transpose(self, ct: Any, lhs: Any, rhs: Any, sizes: Any, *, precision: Any, preferred_element_type: Any,
                  group_offset: Any) -> Sequence[Any]:
        _refuse_offset(group_offset)
        if is_undefined_primal(lhs):
            return [ragged_dot(ct, swapped(rhs), sizes, precision, preferred_element_type), None, None]
        batch = tuple(range(np.ndim(lhs) - 1))
        rows = (len(batch),)
        return [None, dot_general(_by_group(lhs, sizes), _by_group(ct, sizes), ((rows, rows), (batch, batch)),
                                  precision, preferred_element_type), None]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        return self.bind(*(batch_dim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True)), **params), 0


def _refuse_offset(group_offset: Any) -> None:
    if group_offset is not None:
        raise NotImplementedError("Unimplemented group_offset support.")


def _by_group(x: Any, sizes: Any) -> Any:
    """Return x: f32[..., m, k] as f32[..., g, m, k], in which each group has its own rows and zeros otherwise."""
    *batch, groups = np.shape(sizes)
    at = len(batch)
    shape = (*batch, groups, *np.shape(x)[at:])
    x = broadcast_in_dim(x, shape, (*range(at), at + 1, at + 2))
    rows = broadcasted_iota(aval_of(sizes).dtype, shape, at + 1)
    ends = cumsum(sizes, at)
    zeros = (0,) * (at + 1)
    starts = concatenate([slice(filled_like(sizes, 0), zeros, (*batch, 1)), slice(ends, zeros, (*batch, groups - 1))],
                         at)
    before, behind = (broadcast_in_dim(bound, shape, tuple(range(at + 1))) for bound in (ends, starts))
    return select(bitwise_and(le(behind, rows), lt(rows, before)), x, filled_like(x, 0))


ragged_dot_p = RaggedDot()
