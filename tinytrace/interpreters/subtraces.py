"""Flat functions that go on in a trace that is running, `core.new_main(...)`, for `jax.interpreters.batching`.

Source: `jax.interpreters.batching` of JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from tinytrace.core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from tinytrace.core.named_axes import Axis, no_axis_name
from tinytrace.core.tangents import SymbolicZero
from tinytrace.extend.lifting import full_lower
from tinytrace.extend.linear_util import transformation_with_aux
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.vmap import (
    BatchTrace,
    BatchTracer,
    align_tangents,
    batched_backward,
    move_output,
    run_batched,
)

Dims = Sequence[int | None]
Generating = Generator[Any, Any, Any]


@transformation_with_aux
def batch_subtrace(main: Any, in_dims: Any, *in_vals: Any) -> Generating:
    """Make a flat function one of batches in the trace `main`; also tell the axes of its results.

    >>> import numpy as np
    >>> from tinytrace import core
    >>> from tinytrace.extend.linear_util import wrap_init
    >>> with core.new_main(BatchTrace) as main:
    ...     fun, dims = batch_subtrace(wrap_init(lambda x, y: [x * y, y]), main, (0, None))
    ...     fun.call_wrapped(np.float32([1, 2]), 3.0), dims()
    ((Array([3., 6.], dtype=float32), 3.0), (0, None))
    """
    trace = main.with_cur_sublevel()
    dims = in_dims() if callable(in_dims) else in_dims
    outs = yield [x if dim is None else BatchTracer(trace, x, dim) for x, dim in zip(in_vals, dims, strict=True)], {}
    values, out_dims = _halves(trace, outs)
    yield tuple(values), tuple(out_dims)


@transformation_with_aux
def batch_custom_jvp_subtrace(main: Any, in_dims: Dims, *in_vals: Any) -> Generating:
    """The same for a rule of primals and tangents: each result has its batch along the axis of its tangent's."""
    trace, dims = main.with_cur_sublevel(), [*in_dims, *in_dims]
    size, = {x.aval.shape[dim] if type(x) is SymbolicZero else x.shape[dim]
             for x, dim in zip(in_vals, dims, strict=True) if dim is not None}
    elements = [x if dim is None else _zero_element(x, dim) if type(x) is SymbolicZero else BatchTracer(trace, x, dim)
                for x, dim in zip(in_vals, dims, strict=True)]
    outs, out_dims = _halves(trace, (yield elements, {}))
    yield align_tangents(size, outs, out_dims)


def batch_custom_vjp_bwd(bwd: Callable[..., Any], axis_name: Any, axis_size: int, in_dims: Any, out_dim_dests: Dims,
                         main_type: Any = None, spmd_axis_name: Any = None) -> Callable[..., list[Any]]:
    """Return a backward rule as one of batches: the cotangent of a value that all elements share is their sum."""
    axis = Axis(axis_size, no_axis_name if axis_name is None else axis_name)
    dims: Callable[[], Dims] = in_dims if callable(in_dims) else lambda: in_dims
    return batched_backward(bwd, axis, object(), dims, out_dim_dests)


class ZeroIfMapped:
    """The class of `zero_if_mapped`."""


zero_if_mapped = ZeroIfMapped()
"""In the place of the axis of a result: axis 0 if the result is batched, and none else."""


def batch_jaxpr_axes(closed_jaxpr: ClosedJaxpr, axis_size: int, in_axes: Dims, out_axes_dest: Sequence[Any],
                     axis_name: Any = no_axis_name, spmd_axis_name: Any = None, main_type: Any = None
                     ) -> tuple[ClosedJaxpr, list[bool]]:
    """Return a program mapped over the axes of its inputs, its results along `out_axes_dest`, and which are batched."""
    axis = Axis(axis_size, axis_name)
    batched: list[bool] = []

    def mapped(*args: Any) -> list[Any]:
        outs, dims = run_batched(jaxpr_as_fun(closed_jaxpr), axis, object(), args, list(in_axes))
        wanted = [(None if dim is None else 0) if to is zero_if_mapped else to
                  for dim, to in zip(dims, out_axes_dest, strict=True)]
        batched[:] = [to is not None for to in wanted]
        return [move_output(i, x, axis_size, dim, to)
                for i, (x, dim, to) in enumerate(zip(outs, dims, wanted, strict=True))]

    avals = [aval if dim is None else aval.update(shape=(*aval.shape[:dim], axis_size, *aval.shape[dim:]))
             for aval, dim in zip(closed_jaxpr.in_avals, in_axes, strict=True)]
    return trace_to_closed_jaxpr(mapped, avals), batched


def _zero_element(x: SymbolicZero, dim: int) -> SymbolicZero:
    return SymbolicZero(x.aval.update(shape=(*x.aval.shape[:dim], *x.aval.shape[dim + 1:])))


def _halves(trace: BatchTrace, values: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
    pairs = [(x, None) if type(x) is SymbolicZero else trace.split(full_lower(x)) for x in values]
    return [x for x, _ in pairs], [dim for _, dim in pairs]
