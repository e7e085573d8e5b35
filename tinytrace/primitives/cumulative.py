"""Running reductions along one axis: cumsum, cumprod, cummax, cummin, cumlogsumexp.

The running sum is linear; the others are differentiated as the parallel prefix scan that also computes them.
Source: Blelloch, "Prefix Sums and Their Applications", CMU-CS-90-190 (1990).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0, FLOAT32, KeyType, is_float
from tinytrace.core.kinds import Kind, Scan1D
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.primitives.arithmetic import add, add_p, max, max_p, min, min_p, mul, mul_p, sub
from tinytrace.primitives.comparison import eq, ne
from tinytrace.primitives.composite import not_of_complex
from tinytrace.primitives.concatenation import concatenate_p
from tinytrace.primitives.duals import Dual
from tinytrace.primitives.elementwise import const_like, filled_like, neg
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import NDArray, rev_p
from tinytrace.primitives.slicing import pad_p, slice_p, window_in_dim
from tinytrace.primitives.transcendental import exp, log1p

Combine: TypeAlias = Callable[[Dual, Dual], Dual]


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running sum along `axis`, from the end when `reverse`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.cumsum.html.

    >>> cumsum(np.int32([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return cumsum_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running product along `axis`, from the end when `reverse`."""
    return cumprod_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running maximum along `axis`, from the end when `reverse`; NaN stays."""
    return cummax_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running minimum along `axis`, from the end when `reverse`; NaN stays."""
    return cummin_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running log of the sum of exponentials along `axis`, from the end when `reverse`."""
    return cumlogsumexp_p.bind(operand, axis=int(axis), reverse=bool(reverse))


# --- rooms -----------------------------------------------------------------------------------------------------

class Cumulative(Primitive):
    """`cumprod[axis=0 reverse=False] x: f32[n]` is f32[n]; `combine_duals` combines two elements and their tangents."""

    reads = ALL

    def __init__(self, name: str, combine: str, ufunc: np.ufunc, combine_duals: Combine) -> None:
        self.combine, self.ufunc, self.combine_duals = combine, ufunc, combine_duals
        super().__init__(name)

    def abstract_eval(self, x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if axis < 0:
            raise ValueError("XLA operations do not allow negative axes")
        if axis >= x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        if self.combine == "logsumexp" and x.dtype.kind == "c":
            raise not_of_complex(self.name)
        if x.dtype.kind == "b" or x.dtype == FLOAT0 or isinstance(x.dtype, KeyType):
            name = "float0" if x.dtype == FLOAT0 else x.dtype.name
            raise TypeError(f"{self.name} does not accept dtype {name}. Accepted dtypes are subtypes of number.")
        return x

    def impl(self, x: NDArray, *, axis: int, reverse: bool) -> NDArray:
        wide = FLOAT32 if is_float(x.dtype) and x.dtype.itemsize == 2 else x.dtype
        x, dtype = np.flip(x, axis) if reverse else x, x.dtype
        out = np.asarray(self.ufunc.accumulate(x.astype(wide), axis, dtype=wide)).astype(dtype)
        return np.flip(out, axis) if reverse else out

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool) -> tuple[Any, Any]:
        x = Dual(*primals, *tangents)
        if reverse:
            x = Dual.apply(rev_p, x, dimensions=(axis,))
        out = _prefix_scan(x, self.combine_duals, axis)
        return Dual.apply(rev_p, out, dimensions=(axis,)) if reverse else out

    transpose = refuse("it is not linear")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, axis: int, reverse: bool) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return self.bind(x, axis=axis + (axis >= dim), reverse=reverse), dim

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, axis: int,
              reverse: bool) -> Kind:
        return Scan1D(self.combine, axis, reverse)


class CumulativeSum(Cumulative):
    """`cumsum[axis=0 reverse=False] x: f32[n]` is f32[n]: linear, and transposed by running the other way."""

    def impl(self, x: NDArray, *, axis: int, reverse: bool) -> NDArray:
        """As in JAX, a sum begins with 0: that of negative zeros is 0, where NumPy keeps the sign."""
        out = super().impl(x, axis=axis, reverse=reverse)
        return np.asarray(np.add(out, out.dtype.type(0)))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(*tangents, **params)

    def transpose(self, ct: Any, x: Any, *, axis: int, reverse: bool) -> Sequence[Any]:
        return [cumsum(ct, axis, not reverse)]


def _prefix_scan(x: Dual, combine: Combine, axis: int) -> Dual:
    """Combine all prefixes of `x` in a tree: pairs first, then their prefixes, then what lies between."""
    size = np.shape(x.primal)[axis]
    if size < 2:
        return x

    def part(x: Dual, first: int, last: int | None, step: int = 1) -> Dual:
        return Dual.apply(slice_p, x, **window_in_dim(x.primal, first, last, step, axis))

    odd = _prefix_scan(combine(part(x, 0, -1, 2), part(x, 1, None, 2)), combine, axis)
    even = combine(part(odd, 0, -1) if size % 2 == 0 else odd, part(x, 2, None, 2))
    even = Dual.apply(concatenate_p, part(x, 0, 1), even, dimension=axis)
    return _interleaved(even, odd, axis)


def _interleaved(even: Dual, odd: Dual, axis: int) -> Dual:
    zero = const_like(even.primal, 0)
    same = int(np.shape(even.primal)[axis] == np.shape(odd.primal)[axis])

    def spread(x: Dual, low: int, high: int) -> Dual:
        config = [(0, 0, 0)] * np.ndim(x.primal)
        config[axis] = (low, high, 1)
        return Dual.apply(pad_p, x, zero, padding_config=tuple(config))

    return Dual.apply(add_p, spread(even, 0, same), spread(odd, 1, 1 - same))


def _by(primitive: Primitive) -> Combine:
    return lambda x, y: Dual.apply(primitive, x, y)


def _logaddexp(x: Dual, y: Dual) -> Dual:
    """Return log(exp(x) + exp(y)); each tangent counts by its share of the sum, and infinities are no difference.

    What is returned is differentiated again: at a tie each operand has half of it. So the size of the difference is
    `-min(d, -d)` and not `abs(d)`, whose derivative at 0 is 1.
    """
    largest, difference = max(x.primal, y.primal), sub(x.primal, y.primal)
    undefined = ne(difference, difference)  # infinities of one sign, or NaN
    total = add(x.primal, y.primal)
    out = select(undefined, total, add(largest, log1p(exp(min(difference, neg(difference))))))

    def share(operand: Dual) -> Any:
        return mul(operand.tangent, exp(sub(_finite(operand.primal), _finite(out))))

    return Dual(out, add(share(x), share(y)))


def _finite(x: Any) -> Any:
    return select(eq(x, const_like(x, np.inf)), filled_like(x, 0), x)


cumsum_p = CumulativeSum("cumsum", "sum", np.add, _by(add_p))
cumlogsumexp_p = Cumulative("cumlogsumexp", "logsumexp", np.logaddexp, _logaddexp)
cumprod_p = Cumulative("cumprod", "prod", np.multiply, _by(mul_p))
cummax_p = Cumulative("cummax", "max", np.maximum, _by(max_p))
cummin_p = Cumulative("cummin", "min", np.minimum, _by(min_p))
