"""`reduce` and `reduce_window` with any function: a fold from the initial value, element by element, in their order.

What XLA knows as a reduction (`lax.add`, `max`, ...) is a primitive of its own. Any other function of scalars is traced
once, and stands as a jaxpr in the equation `reduce` or `reduce_window`; compiled, it is a loop over the elements.
"""
from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.vmapping import vmap
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, jaxpr_as_fun
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.trace import Tracer, eval_context
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.lax.control_flow import scan
from tinytrace.primitives.arithmetic import max, min
from tinytrace.primitives.broadcasting import broadcast, expand_dims
from tinytrace.primitives.checks import inserted, remaining
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.pooling import REDUCERS, reduce_window_monoid
from tinytrace.primitives.reduction import MONOIDS, is_identity, reduce_monoid
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import moveaxis, reshape
from tinytrace.primitives.slicing import dilated, index_in_dim, pad, slice
from tinytrace.primitives.windows import Ints, Pads, padtype_to_pads, window_counts
from tinytrace.transforms.jvp import jvp
from tinytrace.transforms.staging import trace_to_closed_jaxpr

Computation = Callable[[Any, Any], Any]
MOST_WRITTEN_OUT = 64
"""A fold of few elements is no loop where it has at most so many equations."""


def reduce(operands: Any, init_values: Any, computation: Computation, dimensions: Sequence[int]) -> Any:
    """Fold `dimensions` away with `computation`, from `init_values`; both may be trees of arrays.

    lax.add, mul, max, min, bitwise_and, bitwise_or and bitwise_xor are reductions of their own. Any other function
    of scalars is applied to the initial value and the first element, to what that gives and the second, and so on.
    Raises: ValueError when operands and initial values are different trees; TypeError when their dtypes differ.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.reduce.html.

    >>> reduce(np.float32([1, 2, 3]), np.float32(10), lambda x, y: x - y, (0,))
    Array(4., dtype=float32)
    """
    flat, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}")
    if any(np.ndim(init) for init in inits):
        raise ValueError(f"reduce found non-scalar initial value: {[np.shape(init) for init in inits]}")
    if len(flat) == 1 and computation in MONOIDS and is_identity(MONOIDS[computation], inits[0]):
        return tree_unflatten(tree, [reduce_monoid(flat[0], inits[0], computation, dimensions)])
    _check_inits("reduce", flat, inits)
    closed, out_tree = _as_jaxpr("reduce", computation, inits, tree)
    return tree_unflatten(out_tree, reduce_p.bind(*flat, *inits, computation=computation, dimensions=tuple(dimensions),
                                                  jaxpr=closed))


def reduce_window(operand: Any, init_value: Any, computation: Computation, window_dimensions: Sequence[int],
                  window_strides: Sequence[int], padding: str | Pads, base_dilation: Sequence[int] | None = None,
                  window_dilation: Sequence[int] | None = None) -> Any:
    """Fold every window of `operand` with `computation`, from `init_value`; both may be trees of arrays.

    padding: "VALID", "SAME", "SAME_LOWER", or (low, high) for each dimension; what is outside does not count.
    Raises: TypeError when the numbers of dimensions differ or an initial value is no scalar.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.reduce_window.html.

    >>> reduce_window(np.float32([1, 2, 3, 4]), np.float32(0), lambda x, y: x + y, (2,), (2,), "VALID")
    Array([3., 7.], dtype=float32)
    """
    flat, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}")
    if any(np.ndim(init) for init in inits):
        raise TypeError("reduce_window expected init_values to be scalars but init_values have shapes "
                        f"{[np.shape(init) for init in inits]}.")
    ones = (1,) * len(window_dimensions)
    base, dilation = tuple(base_dilation or ones), tuple(window_dilation or ones)
    if isinstance(padding, str):
        sizes = [dilated(size, step - 1) for size, step in zip(window_dimensions, dilation, strict=True)]
        padding = padtype_to_pads(np.shape(flat[0]), sizes, window_strides, padding)
    params = {"padding": tuple(padding), "window_dimensions": tuple(window_dimensions),
              "window_strides": tuple(window_strides), "base_dilation": base, "window_dilation": dilation}
    if len(flat) == 1 and computation in REDUCERS and is_identity(REDUCERS[computation], inits[0]):
        return tree_unflatten(tree, [reduce_window_monoid(flat[0], inits[0], computation, params)])
    _check_inits("reduce_window", flat, inits)
    closed, out_tree = _as_jaxpr("reduce_window", computation, inits, tree)
    if tree != out_tree:
        raise ValueError("reduce_window output must have the same tree structure as the operands "
                         f"{tree} vs. {out_tree}")
    return tree_unflatten(tree, reduce_window_p.bind(*flat, *inits, jaxpr=closed.jaxpr, consts=tuple(closed.consts),
                                                     **params))


def _check_inits(name: str, operands: Sequence[Any], inits: Sequence[Any]) -> None:
    avals, init_avals = [aval_of(x) for x in operands], [aval_of(x) for x in inits]
    if any(a.dtype != b.dtype for a, b in zip(avals, init_avals, strict=True)):
        raise TypeError(f"{name} operand dtypes should match corresponding initial value dtypes, got operands={avals} "
                        f"and initial_values={init_avals}")


def _as_jaxpr(name: str, computation: Computation, inits: Sequence[Any], tree: PyTreeDef
              ) -> tuple[ClosedJaxpr, PyTreeDef]:
    """Trace a function of two trees of scalars; returns its jaxpr and the structure of its result."""
    out_tree = tree

    def flat_computation(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = tree_flatten(computation(tree_unflatten(tree, leaves[:len(inits)]),
                                                  tree_unflatten(tree, leaves[len(inits):])))
        return outs

    avals = [aval_of(x) for x in inits]
    closed = trace_to_closed_jaxpr(flat_computation, avals * 2)
    types = [[(aval.shape, aval.dtype) for aval in found] for found in (avals, closed.out_avals)]
    if (tree == out_tree and types[0] != types[1]) or (len(avals) != len(closed.out_avals) and name == "reduce"):
        raise ValueError(f"the computation of {name} takes {', '.join(map(str, avals))} twice and must give that once, "
                         f"and gives {', '.join(map(str, closed.out_avals)) or 'nothing'}")
    if any(isinstance(const, Tracer) for const in closed.consts):
        raise NotImplementedError("Reduction computations can't close over Tracers.")
    return closed, out_tree


# --- rooms -----------------------------------------------------------------------------------------------------

class Fold(Primitive):
    """The family: `program` says what is done to operands followed by initial values."""

    multiple_results = True
    composite = True

    def program(self, *args: Any, **params: Any) -> list[Any]:
        """Return the results, made by other primitives."""
        raise NotImplementedError(self.name)

    def impl(self, *args: Any, **params: Any) -> list[Any]:
        with eval_context():
            return [np.asarray(x) for x in self.program(*args, **params)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return jvp(functools.partial(self.program, **params), primals, tangents, instantiate=False)[:2]

    transpose = refuse("its derivative is made of other primitives")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return Call(trace_to_closed_jaxpr(functools.partial(self.program, **params), in_avals))


class Reduce(Fold):
    """`reduce[computation dimensions=(0,) jaxpr={...}] x: f32[n] init: f32[]` is f32[]: a fold with `jaxpr`."""

    name = "reduce"

    def abstract_eval(self, *avals: ShapedArray, dimensions: Ints, **params: Any) -> list[ShapedArray]:
        operands, inits = _halves(avals)
        kept = remaining(operands[0].ndim, dimensions)
        return [x.update(shape=tuple(x.shape[axis] for axis in kept), weak_type=x.weak_type and init.weak_type)
                for x, init in zip(operands, inits, strict=True)]

    def program(self, *args: Any, dimensions: Ints, jaxpr: ClosedJaxpr, computation: Computation) -> list[Any]:
        operands, inits = _halves(args)
        if len(operands) == 1 and computation in MONOIDS:
            return [reduce_monoid(operands[0], inits[0], computation, dimensions)]
        shape = np.shape(operands[0])
        kept = remaining(len(shape), dimensions)
        rows = (math.prod(shape[axis] for axis in dimensions), *(shape[axis] for axis in kept))
        return _fold_rows(jaxpr, inits, [reshape(x, rows, (*dimensions, *kept)) for x in operands])

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        operands, inits = _halves(args)
        operand_dims, init_dims = _halves(dims)
        if None in operand_dims or any(dim is not None for dim in init_dims):
            outs = vmap(functools.partial(self.program, **params), in_axes=tuple(dims))(*args)
            return outs, [0] * len(outs)
        moved = [moveaxis(x, dim, 0) for x, dim in zip(operands, operand_dims, strict=True)]
        axes = tuple(axis + 1 for axis in params["dimensions"])
        outs = self.bind(*moved, *inits, **{**params, "dimensions": axes})
        return outs, [0] * len(outs)


class ReduceWindow(Fold):
    """`reduce_window[jaxpr={...} ...] x: f32[n] init: f32[]` is f32[m]: a fold of every window."""

    name = "reduce_window"

    def abstract_eval(self, *avals: ShapedArray, jaxpr: Jaxpr, consts: Any, **params: Any) -> list[ShapedArray]:
        return [x.update(shape=window_counts(x.shape, **params), weak_type=False) for x in _halves(avals)[0]]

    def impl(self, *args: Any, **params: Any) -> list[Any]:
        return super().impl(*args, **{**params, "jaxpr": _in_any_order(params["jaxpr"])})

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return super().lower(in_avals, out_avals, **{**params, "jaxpr": _in_any_order(params["jaxpr"])})

    def program(self, *args: Any, jaxpr: Any, consts: Sequence[Any], **params: Any) -> list[Any]:
        operands, inits = _halves(args)
        if not isinstance(jaxpr, Jaxpr):  # an extreme: the derivative is asked for at each step, and never gets here
            return [reduce_window_monoid(operands[0], inits[0], jaxpr, params)]
        return _fold_rows(ClosedJaxpr(jaxpr, list(consts)), inits,
                          [laid_out_windows(x, init, **params) for x, init in zip(operands, inits, strict=True)],
                          elements_in_windows(np.shape(operands[0]), **params))

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: Jaxpr, consts: Any,
              **params: Any) -> tuple[Any, Any]:
        operands, inits = _halves(args)
        operand_dims, init_dims = _halves(dims)
        if None in operand_dims or any(dim is not None for dim in init_dims):
            program = functools.partial(self.program, jaxpr=jaxpr, consts=consts, **params)
            outs = vmap(program, in_axes=tuple(dims))(*args)
            return outs, [0] * len(outs)
        moved = [moveaxis(x, dim, 0) for x, dim in zip(operands, operand_dims, strict=True)]
        wider = {name: inserted(tuple(value), 0, (0, 0) if name == "padding" else 1) for name, value in params.items()}
        outs = self.bind(*moved, *inits, jaxpr=jaxpr, consts=consts, **wider)
        return outs, [0] * len(outs)


reduce_p = Reduce()
reduce_window_p = ReduceWindow()


def _in_any_order(jaxpr: Jaxpr) -> Any:
    """Return `lax.max` or `lax.min` where the jaxpr is that, for then the order makes no difference."""
    eqn = jaxpr.eqns[0] if len(jaxpr.eqns) == 1 else None
    if eqn is None or set(eqn.invars) != set(jaxpr.invars) or jaxpr.outvars != eqn.outvars:
        return jaxpr
    is_complex = eqn.outvars[0].aval.dtype.kind == "c"
    return jaxpr if is_complex else {"max": max, "min": min}.get(eqn.primitive.name, jaxpr)


def _halves(args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    half = len(args) // 2
    return list(args[:half]), list(args[half:])


def _fold_rows(closed: ClosedJaxpr, inits: Sequence[Any], rows: Sequence[Any],
               counts: np.ndarray[Any, Any] | None = None) -> list[Any]:
    """Fold the first dimension of `rows` away; the others are kept. `counts`: which elements do, where not all do."""
    shape = np.shape(rows[0])[1:]
    combine: Any = jaxpr_as_fun(closed)
    for _ in shape:
        combine = vmap(combine)

    def step(carry: Any, row: Any) -> Any:
        if counts is None:
            return list(combine(*carry, *row)), None
        counted, *elements = row
        return [select(counted, new, old) for new, old in zip(combine(*carry, *elements), carry, strict=True)], None

    start, length = [broadcast(init, shape) for init in inits], np.shape(rows[0])[0]
    if length * len(closed.jaxpr.eqns) <= MOST_WRITTEN_OUT:
        for k in range(length):
            row = [index_in_dim(x, k, keepdims=False) for x in rows]
            start = combine(*start, *row) if counts is None or counts[k].all() else step(start, [counts[k], *row])[0]
        return list(start)
    carry, _ = scan(step, start, [*([] if counts is None else [counts]), *rows])
    return list(carry)


def elements_in_windows(shape: Ints, *, window_dimensions: Ints, window_strides: Ints, padding: Pads,
                        base_dilation: Ints, window_dilation: Ints) -> np.ndarray[Any, Any] | None:
    """Return what in `laid_out_windows` is an element and no padding, nor a hole between elements; None if all is."""
    counts = window_counts(shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    found = np.ones((1,) * (2 * len(shape)), bool)
    for axis, size in enumerate(shape):
        place = np.arange(window_dimensions[axis])[:, None] * window_dilation[axis] - padding[axis][0] \
            + np.arange(counts[axis]) * window_strides[axis]
        is_element = (place >= 0) & (place % base_dilation[axis] == 0) & (place < size * base_dilation[axis])
        axes = tuple(i for i in range(2 * len(shape)) if i not in (axis, len(shape) + axis))
        found = found & np.expand_dims(is_element, axes)
    return None if found.all() else found.reshape(-1, *counts)


def laid_out_windows(x: Any, fill: Any, *, window_dimensions: Ints, window_strides: Ints, padding: Pads,
                     base_dilation: Ints, window_dilation: Ints) -> Any:
    """Return the elements of the windows, one row for each place in a window: differentiable, unlike `windows`."""
    counts = window_counts(np.shape(x), window_dimensions, window_strides, padding, base_dilation, window_dilation)
    config = [(low, high, step - 1) for (low, high), step in zip(padding, base_dilation, strict=True)]
    padded = pad(x, fill, config)
    rows = []
    for place in itertools.product(*map(range, window_dimensions)):
        starts = [at * step if count else 0 for at, step, count in zip(place, window_dilation, counts, strict=True)]
        limits = [start + (count - 1) * stride + 1 if count else start
                  for start, count, stride in zip(starts, counts, window_strides, strict=True)]
        rows.append(expand_dims(slice(padded, starts, limits, window_strides), (0,)))
    return concatenate(rows, 0)
