"""Vectorization: run a function of one element on a whole batch of them at once.

A `BatchTracer` looks like one element and holds the batch: an array `val` and the axis `dim` along which its elements
lie. An operation on such values goes to the primitive's rule

    batch(args, dims, **params) -> (out, out_dim)

which applies the operation to whole batches by binding primitives on the trace below (`parent`). A `dim` of None is a
value that all elements share; a rule is called only when some dim is not None, and a result whose dim is None goes on
as a plain value. A primitive with several results gives two lists. A rule is free in where it puts the batch axis of
its result; only at the end of the function is it moved to where the caller wants it.

The axis may have a name (`core/named_axes.py`). Then an operation that asks for it goes to its rule even if none of its
operands is batched, and the rule is told the axis: `psum` over the name becomes a sum over the axis, without a name.

Source: JAX, autodidax part 1.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, aval_of, is_valid_type
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from tinytrace.core.named_axes import Axis, asks_for
from tinytrace.core.primitive import Primitive
from tinytrace.core.source_info import SourceInfo, transformed
from tinytrace.core.tangents import SymbolicZero
from tinytrace.core.trace import EvalTrace, Trace, Tracer, current_trace, set_current_trace
from tinytrace.primitives.broadcasting import reduce_sum, repeat_along
from tinytrace.primitives.shaping import moveaxis
from tinytrace.transforms.scope import running
from tinytrace.transforms.staging import trace_to_closed_jaxpr, user_source
from tinytrace.transforms.zeros import zeros
from tinytrace.util import cache_by_jaxpr, unzip

FlatFunction = Callable[..., Any]
_SCALARS = (float, int, bool)
Dim = int | None


class OutDimError(Exception):
    """Output number `position` is batched along `dim`, but the caller wants one value for all elements."""

    def __init__(self, position: int, dim: Dim) -> None:
        super().__init__(position, dim)
        self.position, self.dim = position, dim


def batch(fun: FlatFunction, axis: Axis, args: Sequence[Any], in_dims: Sequence[Dim],
          out_dims: Callable[[], Sequence[Dim]]) -> list[Any]:
    """Run `fun`, a function of flat arrays to a flat list, on `args` batched along `in_dims`.

    `out_dims` is called after `fun`: a caller may know only then how many outputs there are.

    Raises: OutDimError if an output is batched where None is wanted.
    """
    with transformed("vmap"):
        outs, dims = run_batched(fun, axis, object(), args, in_dims)
    return [move_output(i, x, axis.size, dim, wanted)
            for i, (x, dim, wanted) in enumerate(zip(outs, dims, out_dims(), strict=True))]


def run_batched(fun: FlatFunction, axis: Axis, tag: object, args: Sequence[Any],
                in_dims: Sequence[Dim]) -> tuple[list[Any], list[Dim]]:
    """Run `fun` on batched `args` over the current trace; returns the outputs and where their batch axes are."""
    trace = BatchTrace(current_trace(), axis, tag)
    with running(trace):
        return unzip(trace.split(x) for x in fun(*map(trace.join, args, in_dims)))


class BatchTracer(Tracer):
    """One element of the array `val`, whichever it is, along axis `dim`; the whole of `val` where that is None."""

    __module__ = "tinytrace.interpreters.batching"  # where users look for it
    __slots__ = ("_aval", "_source", "dim", "val")

    def __init__(self, trace: BatchTrace, val: Any, dim: Dim) -> None:
        super().__init__(trace)
        self.val = val
        self.dim = dim
        self._source = user_source()
        self._aval: ShapedArray | None = None  # made when it is first asked for, and that is several times an equation

    @property
    def aval(self) -> ShapedArray:
        if self._aval is None:
            aval, dim = aval_of(self.val), self.dim
            self._aval = aval if dim is None else aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1:])
        return self._aval

    @property
    def batch_dim(self) -> Dim:
        """The axis, by JAX's name."""
        return self.dim

    def _origin_msg(self) -> str:
        return f"\nThis BatchTracer with object id {id(self)} was created on line:\n  {_at(self._source)}"

    def _contents(self) -> list[tuple[str, Any]]:
        return [("val", self.val), ("batch_dim", self.dim)]


class BatchTrace(Trace):
    """One vectorization over the elements along an axis.

    It is several traces, over different parents, while custom rules run: they all have one `tag`.
    """

    name = "BatchTrace"

    def __init__(self, parent: Trace, axis: Axis, tag: object) -> None:
        self.parent: Trace = parent
        self.axis = axis
        self.axes = (axis,)
        self._tag = tag

    @property
    def tag(self) -> object:
        return self._tag

    def join(self, val: Any, dim: Dim) -> Any:
        """Return the element that stands for the batch: a plain value when all elements share it."""
        if dim is None:
            return val
        ndim = len(aval_of(val).shape)
        if not -ndim <= dim < ndim:  # the answer of a batching rule of the user's own
            raise ValueError(f"axis {dim} is out of bounds for array of dimension {ndim}")
        return BatchTracer(self, val, dim % ndim)

    def split(self, x: Any) -> tuple[Any, Dim]:
        """Return the batch and its axis; values of other traces are shared by all elements."""
        if isinstance(x, BatchTracer) and x._trace.tag is self._tag:
            return x.val, x.dim
        return x, None

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        vals, dims = unzip(map(self.split, args))
        with set_current_trace(self.parent):
            if all(dim is None for dim in dims) and not self._is_asked_for(primitive, params):
                return primitive.bind(*vals, **params)
            out, out_dim = primitive.batch_along(self.axis, vals, dims, **params)
        if primitive.multiple_results:
            return list(map(self.join, out, out_dim))
        return self.join(out, out_dim)

    def call_elementwise(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Call a function that does the same to each element on the batches themselves, where nothing else is traced.

        NotImplemented where batches do not all lie alike, or the result is no array: the function is then run on
        elements, operation by operation.
        """
        first = next((x for x in args if type(x) is BatchTracer), None)
        if first is None or type(self.parent) is not EvalTrace:
            return NotImplemented
        shape, dim, vals = first.val.shape, first.dim, []
        for x in args:
            if type(x) is BatchTracer:
                if x._trace is not self or x.dim != dim or x.val.shape != shape or type(x.val) is not Array:
                    return NotImplemented
                vals.append(x.val)
            elif type(x) in _SCALARS:
                vals.append(x)
            else:
                return NotImplemented
        try:
            with set_current_trace(self.parent):
                out = function(*vals)
        except Exception:  # said of elements by the function itself
            return NotImplemented
        return BatchTracer(self, out, dim) if type(out) is Array and out.shape == shape else NotImplemented

    def _is_asked_for(self, primitive: Primitive, params: dict[str, Any]) -> bool:
        return self.axis.has_name and asks_for(primitive, params, self.axis.name)

    def process_custom_jvp_call(self, primitive: Primitive, fun: FlatFunction, jvp: FlatFunction, args: Sequence[Any],
                                params: dict[str, Any]) -> Any:
        """Let the trace below choose between the function and its rule, both batched."""
        vals, dims = unzip(map(self.split, args))
        batched_fun = _Batched(self, fun, dims)
        batched_jvp = _Batched(self, jvp, dims * 2, align_tangents)
        outs = self.parent.process_custom_jvp_call(primitive, batched_fun, batched_jvp, vals, params)
        out_dims = batched_fun.out_dims or batched_jvp.out_dims[:len(outs)]
        return list(map(self.join, outs, out_dims))

    def process_custom_vjp_call(self, primitive: Primitive, fun: FlatFunction, fwd: FlatFunction, bwd: FlatFunction,
                                args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Let the trace below choose between the function and its two rules, all batched."""
        vals, dims = unzip(map(self.split, args))
        batched_fun = _Batched(self, fun, dims)
        batched_fwd = _Batched(self, fwd, [d for dim in dims for d in (dim, None)])
        batched_bwd = batched_backward(bwd, self.axis, self.tag, lambda: batched_fwd.out_dims, dims)
        outs = self.parent.process_custom_vjp_call(primitive, batched_fun, batched_fwd, batched_bwd, vals, params)
        out_dims = batched_fun.out_dims or batched_fwd.out_dims[-len(outs):]
        return list(map(self.join, outs, out_dims))


def batched_backward(bwd: FlatFunction, axis: Axis, tag: object, in_dims: Callable[[], Sequence[Dim]],
                     out_dims: Sequence[Dim]) -> FlatFunction:
    """Return the backward rule of elements as one of batches: its results are cotangents of values along `out_dims`."""

    def batched_bwd(*residuals_and_cts: Any) -> list[Any]:
        dims = in_dims()
        trace_dims = [None if isinstance(x, SymbolicZero) else dim
                      for x, dim in zip(residuals_and_cts, dims, strict=True)]
        elements = [_element_of(x, dim) for x, dim in zip(residuals_and_cts, dims, strict=True)]
        outs, found = run_batched(bwd, axis, tag, elements, trace_dims)
        return [_sum_or_move(x, axis.size, dim, wanted) for x, dim, wanted in zip(outs, found, out_dims, strict=True)]

    return batched_bwd


class _Batched:
    """A function of elements as a function of batches, to be called over whichever trace; keeps the output dims."""

    def __init__(self, trace: BatchTrace, fun: FlatFunction, in_dims: Sequence[Dim],
                 align: Callable[[int, list[Any], list[Dim]], tuple[list[Any], list[Dim]]] | None = None) -> None:
        self.trace, self.fun, self.in_dims, self.align = trace, fun, in_dims, align
        self.out_dims: list[Dim] = []

    def __call__(self, *args: Any) -> list[Any]:
        axis = self.trace.axis
        elements = [_element_of(x, dim) for x, dim in zip(args, self.in_dims, strict=True)]
        dims = [None if isinstance(x, SymbolicZero) else dim for x, dim in zip(args, self.in_dims, strict=True)]
        outs, self.out_dims = run_batched(self.fun, axis, self.trace.tag, elements, dims)
        if self.align is not None:
            outs, self.out_dims = self.align(axis.size, outs, self.out_dims)
        return outs


# --- moving batch axes -----------------------------------------------------------------------------------------

def move_dim(x: Any, size: int, dim: Dim, wanted: int) -> Any:
    """Return `x`, batched along `dim`, batched along `wanted`; a shared value is repeated."""
    if dim is None and aval_of(x).dtype == FLOAT0:
        return zeros(_batched_aval(aval_of(x), size, wanted))
    return repeat_along(x, size, wanted) if dim is None else moveaxis(x, dim, wanted)


def move_output(position: int, x: Any, size: int, dim: Dim, wanted: Dim) -> Any:
    """Return output number `position`, batched along `dim`, batched along `wanted`; OutDimError where that is None."""
    if not is_valid_type(x):
        raise TypeError(f"Output from batched function {x!r} with type {type(x)} is not a valid JAX type")
    if wanted is None:
        if dim is not None:
            raise OutDimError(position, dim)
        return x
    ndim = len(aval_of(x).shape) + (dim is None)
    if not -ndim <= wanted < ndim:
        raise ValueError(f"axis {wanted} is out of bounds for array of dimension {ndim}")
    return move_dim(x, size, dim, wanted % ndim)


def _sum_or_move(x: Any, size: int, dim: Dim, wanted: Dim) -> Any:
    """Move the batch axis of a cotangent; where one value was shared by all elements, the cotangents add up."""
    if isinstance(x, SymbolicZero):
        return x if wanted is None else SymbolicZero(_batched_aval(x.aval, size, wanted))
    if wanted is None:
        return x if dim is None else reduce_sum(x, (dim,))
    return move_dim(x, size, dim, wanted)


def align_tangents(size: int, outs: list[Any], dims: list[Dim]) -> tuple[list[Any], list[Dim]]:
    """Give each output of a jvp rule and its tangent the same batch axis."""
    outs = [zeros(x.aval) if isinstance(x, SymbolicZero) else x for x in outs]
    half = len(outs) // 2
    common = [dim if dim is not None else t_dim for dim, t_dim in zip(dims[:half], dims[half:], strict=True)]
    moved = [x if wanted is None else move_dim(x, size, dim, wanted)
             for x, dim, wanted in zip(outs, dims, common * 2, strict=True)]
    return moved, common * 2


def _element_of(x: Any, dim: Dim) -> Any:
    if isinstance(x, SymbolicZero) and dim is not None:
        return SymbolicZero(x.aval.update(shape=x.aval.shape[:dim] + x.aval.shape[dim + 1:]))
    return x


def _batched_aval(aval: ShapedArray, size: int, dim: Dim) -> ShapedArray:
    return aval if dim is None else aval.update(shape=(*aval.shape[:dim], size, *aval.shape[dim:]))


# --- jaxprs ----------------------------------------------------------------------------------------------------

def batch_jaxpr(closed: ClosedJaxpr, axis: Axis, in_batched: Sequence[bool],
                instantiate: bool | Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
    """Vectorize a jaxpr over inputs batched along axis 0.

    Returns: the jaxpr, and which of its outputs are batched (along axis 0): those that depend on a batched input and
    those marked in `instantiate`.
    """
    wanted = (instantiate,) * len(closed.out_avals) if isinstance(instantiate, bool) else tuple(instantiate)
    jaxpr, out_dims = _batch_jaxpr(closed, axis, tuple(0 if b else None for b in in_batched), wanted)
    return jaxpr, [dim is not None for dim in out_dims]


def batch_jaxpr_axes(closed: ClosedJaxpr, axis: Axis, in_dims: Sequence[Dim],
                     to_front: bool = False) -> tuple[ClosedJaxpr, list[Dim]]:
    """Vectorize a jaxpr over inputs batched along `in_dims`; its outputs are batched where the rules put them, or
    along axis 0 when `to_front`."""
    wanted = (False,) * len(closed.out_avals) if to_front else None
    jaxpr, out_dims = _batch_jaxpr(closed, axis, tuple(in_dims), wanted)
    return jaxpr, list(out_dims)


@cache_by_jaxpr
def _batch_jaxpr(closed: ClosedJaxpr, axis: Axis, in_dims: tuple[Dim, ...],
                 instantiate: tuple[bool, ...] | None) -> tuple[ClosedJaxpr, list[Dim]]:
    out_dims: list[Dim] = []

    def batched(*args: Any) -> list[Any]:
        outs, dims = run_batched(jaxpr_as_fun(closed), axis, object(), args, in_dims)
        if instantiate is not None:
            wanted = [0 if want or dim is not None else None for dim, want in zip(dims, instantiate, strict=True)]
            outs = [x if to is None else move_dim(x, axis.size, dim, to)
                    for x, dim, to in zip(outs, dims, wanted, strict=True)]
            dims = list(wanted)
        out_dims[:] = dims
        return outs

    in_avals = [_batched_aval(aval, axis.size, dim) for aval, dim in zip(closed.in_avals, in_dims, strict=True)]
    return trace_to_closed_jaxpr(batched, in_avals), out_dims


def _at(source: SourceInfo | None) -> str:
    return "<unknown>" if source is None else str(source)
