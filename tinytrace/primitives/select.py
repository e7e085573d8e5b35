"""Choices between values: select_n picks one of several cases, clamp keeps a value inside an interval."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BOOL, DType, dtype_of, is_integer
from tinytrace.core.formulas import Formula, call, choose, operand
from tinytrace.core.kinds import Kind, Scalar
from tinytrace.core.operations import operation
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.bitwise import bitwise_and
from tinytrace.primitives.broadcasting import batch_dim_at_front, broadcast, broadcast_in_dim
from tinytrace.primitives.checks import check_same_dtypes
from tinytrace.primitives.comparison import eq, gt, lt
from tinytrace.primitives.elementwise import ANY, Elementwise, NDArray, const_like, filled_like
from tinytrace.primitives.shaping import moveaxis


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Return the elements of `on_true` where `pred` is True, else those of `on_false`.

    pred: bool[n] or bool[]; on_true, on_false: of one shape and dtype. Returns that shape and dtype.
    Raises: TypeError when shapes or dtypes disagree.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.select.html.

    >>> select(np.array([True, False]), np.float32([1, 2]), np.float32([3, 4]))
    Array([1., 4.], dtype=float32)
    """
    return select_n_p.bind(pred, on_false, on_true)


def select_n(which: Any, *cases: Any) -> Any:
    """Return from each of `cases` the elements where `which` is its number; False is 0, True is 1.

    which: bool or integer, of the cases' shape or a scalar; a number out of range counts as the nearest case.
    Raises: ValueError without cases, TypeError when shapes or dtypes disagree.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.select_n.html.

    >>> select_n(np.int32([0, 2]), *np.float32([[1, 2], [3, 4], [5, 6]]))
    Array([1., 6.], dtype=float32)
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)


def clamp(min: Any, x: Any, max: Any) -> Any:  # the names are JAX's
    """Return the nearest value to `x` that is at least `min` and at most `max`; `max` wins when they cross.

    min, max: of the shape of `x`, or scalars. NaN in any of the three gives NaN.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.clamp.html.

    >>> clamp(np.int32(0), np.int32([-5, 5, 50]), np.int32(10))
    Array([ 0,  5, 10], dtype=int32)
    """
    return clamp_p.bind(min, x, max)


# --- rooms -----------------------------------------------------------------------------------------------------

class SelectN(Primitive):
    """`select_n which: bool[n] f: f32[n] t: f32[n]` is t where `which` holds, else f; with integers, one of many."""

    name = "select_n"
    reads = slice(1)

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        which, *cases = avals
        first = cases[0]
        if any(case.shape != first.shape for case in cases):
            raise TypeError("select cases must have the same shapes, got "
                            f"[{', '.join(str(case.shape) for case in cases)}].")
        if which.shape and which.shape != first.shape:
            raise TypeError("select `which` must be scalar or have the same shape as cases, got `which` shape "
                            f"{which.shape} but case shape {first.shape}.")
        check_same_dtypes("select", *cases)
        if which.dtype != BOOL and not is_integer(which.dtype):
            raise TypeError(f"select `which` must be boolean or integer type, got {which.dtype}.")
        if which.dtype == BOOL and len(cases) > 2:
            raise TypeError("select with boolean `which` cannot have > 2 cases.")
        return first.update(weak_type=all(case.weak_type for case in cases))

    def impl(self, *args: Any, **params: Any) -> Any:
        which, *cases = args
        if which.dtype == BOOL and len(cases) == 2:
            return _choose(which, *cases)
        chosen = np.array(cases[-1])
        for k in range(len(cases) - 2, -1, -1):  # np.choose takes few cases, of few axes
            chosen = np.where(which <= k, cases[k], chosen)
        return chosen

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        which, *cases = primals
        tangents = tangents[1:]
        out = select_n(which, *cases)
        if all(type(g) is Zero for g in tangents):
            return out, Zero.from_primal_value(out)
        zeros = filled_like(next(g for g in tangents if type(g) is not Zero), 0)
        return out, select_n(which, *(zeros if type(g) is Zero else g for g in tangents))

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        which, *cases = args
        zeros = filled_like(ct, 0)
        if dtype_of(which) == BOOL:
            return [None, select(which, zeros, ct) if is_undefined_primal(cases[0]) else None,
                    select(which, ct, zeros) if is_undefined_primal(cases[1]) else None]
        return [None, *(select(eq(which, const_like(which, k)), ct, zeros) if is_undefined_primal(case) else None
                        for k, case in enumerate(cases))]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        which, *cases = args
        which_dim, *case_dims = dims
        first, dim = cases[0], case_dims[0]
        if all(d == which_dim for d in case_dims):
            assert which_dim is not None
            if np.shape(which) != np.shape(first):  # a scalar per example
                which = broadcast_in_dim(which, np.shape(first), (which_dim,))
            return select_n(which, *cases), which_dim
        if np.ndim(which) == 0 and dim is not None and None not in case_dims:
            if all(d == dim for d in case_dims):
                return select_n(which, *cases), dim
            if all(np.shape(case) == np.shape(first) for case in cases):
                moved = [moveaxis(case, d, dim) for case, d in zip(cases, case_dims, strict=True) if d is not None]
                return select_n(which, *moved), dim
        size = next(np.shape(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)
        if np.shape(which):
            which = batch_dim_at_front(which, which_dim, size)
        if any(np.shape(case) for case in cases):
            cases = [batch_dim_at_front(case, d, size) for case, d in zip(cases, case_dims, strict=True)]
        if 0 < np.ndim(which) < np.ndim(cases[0]):
            which = broadcast_in_dim(which, np.shape(cases[0]), (0,))
        if np.ndim(which) > np.ndim(cases[0]):
            cases = [broadcast(case, np.shape(which)) for case in cases]
        return select_n(which, *cases), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        which, *cases = in_avals
        dtypes = tuple(aval.dtype for aval in in_avals)
        number, *choices = (operand(k, dtype) for k, dtype in enumerate(dtypes))
        if which.dtype == BOOL and len(cases) == 2:
            chosen = choose(number, choices[1], choices[0])
        else:
            chosen = choices[-1]
            for k in range(len(cases) - 1, 0, -1):  # from the last case back: the first test that holds decides
                chosen = choose(number < k, choices[k - 1], chosen)
        return Scalar(operation(self.name, dtypes, cases[0].dtype, chosen, self.impl, 0))


class Clamp(Elementwise):
    """`clamp min: f32[] x: f32[n] max: f32[]` is min(max(x, min), max)."""

    def result_shape(self, *avals: ShapedArray) -> tuple[int, ...]:
        low, x, high = avals
        for name, bound in (("min", low), ("max", high)):
            if bound.shape and bound.shape != x.shape:
                raise TypeError(f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                                f"{name}.shape={bound.shape}, operand.shape={x.shape}.")
        return x.shape

    def result_dtype(self, *avals: ShapedArray, **params: Any) -> DType:
        check_same_dtypes("clamp", *avals)
        return avals[0].dtype

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        low, x, high = args
        low_dim, x_dim, high_dim = dims
        ranks = np.ndim(low), np.ndim(high)
        if low_dim == x_dim == high_dim:
            assert x_dim is not None
            if ranks == (1, 1) and np.ndim(x) > 1:  # a scalar bound per example
                low, high = (broadcast_in_dim(bound, x.shape, (x_dim,)) for bound in (low, high))
            if ranks == (0, 0) or np.shape(low) == np.shape(x) == np.shape(high):
                return clamp(low, x, high), x_dim
        elif ranks == (0, 0) and x_dim is not None:
            return clamp(low, x, high), x_dim
        size = next(np.shape(a)[d] for a, d in zip(args, dims, strict=True) if d is not None)
        low, x, high = (batch_dim_at_front(a, d, size) if np.shape(a) else a for a, d in zip(args, dims, strict=True))
        bounds = [broadcast(bound, x.shape) if np.ndim(bound) == 0 < np.ndim(x) else bound for bound in (low, high)]
        low, high = (broadcast_in_dim(bound, x.shape, (0,)) if 0 < np.ndim(bound) < np.ndim(x) else bound
                     for bound in bounds)
        if np.ndim(low) > np.ndim(x):
            x = broadcast(x, np.shape(low))
        return clamp(low, x, high), 0


def _clamp(low: NDArray, x: NDArray, high: NDArray) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _clamp_in_c(low: Formula, x: Formula, high: Formula) -> Formula:
    return call("min", call("max", x, low), high)


def _between_bounds(inside: Any, g: Any, x: Any) -> Any:
    return select(inside, g, filled_like(x, 0))


select_n_p = SelectN()
clamp_p = Clamp("clamp", [ANY, ANY, ANY], _clamp, _clamp_in_c,
                lambda g, out, low, x, high: _between_bounds(bitwise_and(gt(low, x), lt(low, high)), g, x),
                lambda g, out, low, x, high: _between_bounds(bitwise_and(gt(x, low), lt(x, high)), g, x),
                lambda g, out, low, x, high: _between_bounds(lt(high, x), g, x), ulp=0, laws="monotone")


# --- NumPy -----------------------------------------------------------------------------------------------------

def _choose(which: Any, on_false: Any, on_true: Any) -> Any:
    """Return what `np.where` does; an eighth of its time for large arrays, because nothing has to be predicted."""
    if np.size(on_false) < 4096 or np.shape(which) != np.shape(on_false) or on_false.dtype.itemsize > 8:
        return np.where(which, on_true, on_false)
    word = f"u{on_false.dtype.itemsize}"
    chosen = on_true.view(word) - on_false.view(word)  # integers wrap: adding it back is exact
    chosen *= which
    chosen += on_false.view(word)
    return chosen.view(on_false.dtype)
