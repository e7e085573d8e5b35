"""Transformations of flat functions, for programs against JAX's insides.

Functions are those of `extend.linear_util`. Source: `jax.interpreters.ad` and `batching` of JAX 0.4.35.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from tinytrace.control_flow.bodies import split
from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, jaxpr_as_fun
from tinytrace.core.named_axes import Axis, no_axis_name
from tinytrace.core.source_info import transformed
from tinytrace.core.tangents import UndefinedPrimal, Zero
from tinytrace.core.trace import current_trace
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.extend.linear_util import WrappedFun, transformation, transformation_with_aux, wrap_init
from tinytrace.interpreters.partial_eval import PartialVal
from tinytrace.transforms import transpose, vmap
from tinytrace.transforms.jvp import JVPTrace, jvp
from tinytrace.transforms.partial_eval import Unknown, partial_eval
from tinytrace.transforms.scope import running
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.zeros import instantiate_zeros
from tinytrace.tree_util import Partial

Generating = Generator[Any, Any, Any]
AxisSize = Any
"""What says how long an axis is: a number."""


# --- derivatives -----------------------------------------------------------------------------------------------

def linearize(traceable: WrappedFun, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Run a flat function, and write down what it does to tangents.

    Returns: the results, what is known of their tangents (`PartialVal`), the jaxpr from tangents to those that are not
      known, its constants, and the function's second result with `has_aux`.

    >>> from tinytrace.interpreters import ad
    >>> outs, _, jaxpr, consts = ad.linearize(wrap_init(lambda x: [x * x]), 3.0)
    >>> len(jaxpr.invars), jaxpr.outvars[0].aval
    (1, ShapedArray(float32[], weak_type=True))
    """
    second: list[Any] = []

    def pushed(*tangents: Any) -> list[Any]:
        outs, out_tangents, aux = jvp(traceable.call_wrapped, primals, tangents, has_aux, True)
        second.append(aux)
        return [*outs, *out_tangents]

    tangents = [Unknown(aval_of(x).to_tangent_aval()) for x in primals]
    jaxpr, outs, consts = partial_eval(pushed, tangents)
    count = len(outs) // 2
    pvals = [PartialVal.unknown(x.aval) if isinstance(x, Unknown) else PartialVal.known(x) for x in outs[count:]]
    results = list(outs[:count]), pvals, jaxpr, tuple(consts)
    return (*results, second[0]) if has_aux else results


def vjp(traceable: WrappedFun, primals: Sequence[Any], has_aux: bool = False) -> tuple[Any, ...]:
    """Return the results of a flat function, the function from their cotangents to those of `primals`, a pytree, and
    the function's second result with `has_aux`.

    >>> from tinytrace.interpreters import ad
    >>> outs, pull = ad.vjp(wrap_init(lambda x, y: [x * y]), [3.0, 5.0])
    >>> list(map(float, pull(1.0)))
    [5.0, 3.0]
    """
    outs, pvals, jaxpr, consts, *aux = linearize(traceable, *primals, has_aux=has_aux)
    pull = Partial(partial(_pulled, tuple(pval.is_known() for pval in pvals), jaxpr), consts)
    return outs, pull, *aux


def _pulled(known: tuple[bool, ...], jaxpr: Jaxpr, consts: Sequence[Any], *cts: Any) -> list[Any]:
    wanted = [ct for ct, is_known in zip(cts, known, strict=True) if not is_known]
    linear = [UndefinedPrimal(v.aval) for v in jaxpr.invars]
    return list(map(instantiate_zeros, transpose.backward_pass(jaxpr, consts, linear, wanted)))


def unpair_pval(pval: tuple[Any, tuple[Any, Any]]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return a pair (type, value) of pairs as two pairs; a type that is None is that of both."""
    aval, (first, second) = pval
    first_aval, second_aval = (None, None) if aval is None else aval
    return (first_aval, first), (second_aval, second)


@transformation_with_aux
def nonzero_outputs(*args: Any, **kwargs: Any) -> Generating:
    """Also tell which results are no `Zero`."""
    results = yield args, kwargs
    yield results, [type(x) is not Zero for x in results]


@transformation_with_aux
def nonzero_tangent_outputs(*args: Any, **kwargs: Any) -> Generating:
    """Also tell which tangents are no `Zero`, of a function to results and tangents."""
    results = _, tangents = yield args, kwargs
    yield results, [type(x) is not Zero for x in tangents]


@transformation_with_aux
def traceable(in_tree: PyTreeDef, *primals_and_tangents: Any) -> Generating:
    """Make a function of primals and tangents a flat one, where a tangent that is None is zero."""
    primals, tangents = tree_unflatten(in_tree, primals_and_tangents)
    tangents = [Zero.from_primal_value(p) if t is None else t for p, t in zip(primals, tangents, strict=True)]
    outs, out_tangents = yield (primals, tangents), {}
    yield tree_flatten((outs, [None if type(t) is Zero else t for t in out_tangents]))


@transformation_with_aux
def f_jvp_traceable(nonzeros: Sequence[bool], *primals_and_nonzero_tangents: Any) -> Generating:
    """Make a function of primals and tangents one of primals and those tangents that are not zero."""
    primals, given = split(list(primals_and_nonzero_tangents), len(nonzeros))
    rest = iter(given)
    tangents = [next(rest) if nonzero else Zero.from_primal_value(p)
                for p, nonzero in zip(primals, nonzeros, strict=True)]
    outs, out_tangents = yield (primals, tangents), {}
    yield [*outs, *(t for t in out_tangents if type(t) is not Zero)], [type(t) is not Zero for t in out_tangents]


def rearrange_binders(jaxpr: ClosedJaxpr, primals_in: Sequence[int], tangents_in: Sequence[int],
                      primals_out: Sequence[int], tangents_out: Sequence[int]) -> ClosedJaxpr:
    """Return a program of groups of primals, then groups of tangents, with each group of tangents behind its primals.

    Args: how many there are in each group.
    """
    def interleaved(primals: Sequence[int], tangents: Sequence[int], values: Sequence[Any]) -> list[Any]:
        groups = split(list(values), *primals, *tangents)
        pairs = zip(groups[:len(primals)], groups[len(primals):-1], strict=True)
        return [x for pair in pairs for group in pair for x in group]

    inner = jaxpr.jaxpr
    return ClosedJaxpr(inner.replace(invars=interleaved(primals_in, tangents_in, inner.invars),
                                     outvars=interleaved(primals_out, tangents_out, inner.outvars)), jaxpr.consts)


@transformation
def jvpfun(instantiate: bool | Sequence[bool], transform_stack: bool, primals: Sequence[Any], tangents: Sequence[Any]
           ) -> Generating:
    """Run a function of (trace, primals, tangents), such as `jvp_subtrace` gives, in a new trace of derivatives."""
    trace = JVPTrace(current_trace())
    with running(trace), transformed("jvp") if transform_stack else contextlib.nullcontext():
        outs, out_tangents = yield (trace, primals, tangents), {}
    wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
    yield outs, [instantiate_zeros(t) if want else t for t, want in zip(out_tangents, wanted, strict=True)]


@transformation
def jvp_subtrace(main: JVPTrace, primals: Sequence[Any], tangents: Sequence[Any]) -> Generating:
    """Make a flat function one of a trace of derivatives, primals and tangents.

    >>> from tinytrace.interpreters import ad
    >>> ad.jvpfun(ad.jvp_subtrace(wrap_init(lambda x: [x * x])), True, True).call_wrapped([3.0], [1.0])
    ((Array(9., dtype=float32, weak_type=True),), [Array(6., dtype=float32, weak_type=True)])
    """
    outs = yield tuple(map(main.join, primals, tangents)), {}
    yield _halves(main, outs)


@transformation_with_aux
def jvp_subtrace_aux(main: JVPTrace, primals: Sequence[Any], tangents: Sequence[Any]) -> Generating:
    """`jvp_subtrace` of a function with second results, which are told aside, without derivatives."""
    outs, aux = yield tuple(map(main.join, primals, tangents)), {}
    yield _halves(main, outs), [main.split(x)[0] for x in aux]


def _halves(trace: JVPTrace, values: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    pairs = list(map(trace.split, values))
    return tuple(primal for primal, _ in pairs), tuple(tangent for _, tangent in pairs)


def backward_pass_internal(jaxpr: Jaxpr, transform_stack: bool, consts: Sequence[Any], primals_in: Sequence[Any],
                           cotangents_in: Sequence[Any]) -> list[Any]:
    """Return the cotangents of the inputs of a linear program: see `transforms/transpose.py`."""
    return transpose.backward_pass(jaxpr, consts, primals_in, cotangents_in, named=bool(transform_stack))


def closed_backward_pass(jaxpr: ClosedJaxpr, transform_stack: bool, primals_in: Sequence[Any],
                         cotangents_in: Sequence[Any]) -> list[Any]:
    """Return the cotangents of the inputs of a linear program that has its constants."""
    return backward_pass_internal(jaxpr.jaxpr, transform_stack, jaxpr.consts, primals_in, cotangents_in)


# --- batches ---------------------------------------------------------------------------------------------------

def batch(fun: WrappedFun, axis_name: Any, axis_size: int, in_dims: Any, out_dim_dests: Any,
          main_type: Any = None, spmd_axis_name: Any = None) -> WrappedFun:
    """Return a flat function mapped over an axis.

    Args:
      in_dims: of each argument the axis, or None; a function may give them.
      out_dim_dests: the same of each result.

    >>> import numpy as np
    >>> from tinytrace.interpreters import batching
    >>> mapped = batching.batch(wrap_init(lambda x, y: [x * y]), None, 2, (0, None), lambda: (0,))
    >>> mapped.call_wrapped(np.float32([1, 2]), 3.0)
    [Array([3., 6.], dtype=float32)]
    """
    def mapped(*args: Any) -> list[Any]:
        dims = in_dims() if callable(in_dims) else in_dims
        axis = Axis(axis_size, no_axis_name if axis_name is None else axis_name)
        dests: Callable[[], Any] = out_dim_dests if callable(out_dim_dests) else lambda: out_dim_dests
        return list(vmap.batch(lambda *xs: list(fun.call_wrapped(*xs)), axis, args, list(dims), lambda: list(dests())))

    return wrap_init(mapped)


def vtile(f_flat: WrappedFun, in_axes_flat: Sequence[int | None], out_axes_flat: Sequence[int | None],
          tile_size: int | None, axis_name: Any, main_type: Any = None) -> WrappedFun:
    """Return a flat function that is mapped over `tile_size` equal parts of each axis, not over its elements.

    >>> import numpy as np
    >>> from tinytrace.interpreters import batching
    >>> tiled = batching.vtile(wrap_init(lambda x: [x.sum(keepdims=True)]), (0,), (0,), 2, None)
    >>> tiled.call_wrapped(np.float32([1, 2, 3, 4]))
    [Array([3., 7.], dtype=float32)]
    """
    def tiled(x: Any, axis: int | None, parts: int) -> Any:
        if axis is None:
            return x
        return x.reshape((*x.shape[:axis], parts, x.shape[axis] // parts, *x.shape[axis + 1:]))

    def untiled(x: Any, axis: int | None) -> Any:
        return x if axis is None else x.reshape((*x.shape[:axis], -1, *x.shape[axis + 2:]))

    def mapped(*args: Any) -> list[Any]:
        sizes = [x.shape[axis] for x, axis in zip(args, in_axes_flat, strict=True) if axis is not None]
        parts = tile_size or next(iter(sizes), None)
        assert parts is not None, "No mapped arguments?"
        inner = batch(f_flat, axis_name, parts, in_axes_flat, out_axes_flat)
        outs = inner.call_wrapped(*(tiled(x, axis, parts) for x, axis in zip(args, in_axes_flat, strict=True)))
        return list(map(untiled, outs, out_axes_flat))

    return wrap_init(mapped)


def batch_jaxpr2(closed_jaxpr: ClosedJaxpr, axis_size: int, in_axes: Sequence[int | None], axis_name: Any = None,
                 spmd_axis_name: Any = None, main_type: Any = None) -> tuple[ClosedJaxpr, list[int | None]]:
    """Return a program mapped over the given axes of its inputs, and the axis of each output as it comes."""
    axis = Axis(axis_size, no_axis_name if axis_name is None else axis_name)
    dims: list[int | None] = []

    def mapped(*args: Any) -> list[Any]:
        outs, out_dims = vmap.run_batched(jaxpr_as_fun(closed_jaxpr), axis, object(), args, list(in_axes))
        dims[:] = out_dims
        return list(outs)

    avals = [aval if dim is None else aval.update(shape=(*aval.shape[:dim], axis_size, *aval.shape[dim:]))
             for aval, dim in zip(closed_jaxpr.in_avals, in_axes, strict=True)]
    return trace_to_closed_jaxpr(mapped, avals), dims


@transformation_with_aux
def flatten_fun_for_vmap(in_tree: PyTreeDef, *args_flat: Any) -> Generating:
    """Make a function of trees a flat one; also tell the tree of its results."""
    args, kwargs = tree_unflatten(in_tree, args_flat)
    result = yield args, kwargs
    yield tree_flatten(result)
