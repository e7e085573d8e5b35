"""Writing windows at computed positions: scatter replaces, scatter-mul multiplies, scatter-min and -max compare."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.primitive import refuse
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.arithmetic import add, div, max_p, min_p, mul, mul_p
from tinytrace.primitives.comparison import eq
from tinytrace.primitives.creation import full, full_like, iota
from tinytrace.primitives.duals import instantiate
from tinytrace.primitives.elementwise import add_any, const_like, filled_like
from tinytrace.primitives.gathering import Scatterer, gather_updates, scatter_add
from tinytrace.primitives.indexing import GatherScatterMode, ScatterDimensionNumbers
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import reshape


def scatter(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
            indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | GatherScatterMode | None = None) -> Any:
    """Replace the windows of `operand` that `scatter_indices` name by `updates`; the last of several wins.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.scatter.html; `x.at[index].set` is the friendly form.

    >>> numbers = ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter(np.float32([0, 0, 0]), np.int32([[2], [7]]), np.float32([1, 5]), numbers)
    Array([0., 0., 1.], dtype=float32)
    """
    return scatter_p.apply(operand, scatter_indices, updates, dimension_numbers, indices_are_sorted, unique_indices,
                           mode)


def scatter_mul(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """Multiply the windows of `operand` that `scatter_indices` name by `updates`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.scatter_mul.html.
    """
    return scatter_mul_p.apply(operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                               unique_indices, mode)


def scatter_min(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """Lower the windows of `operand` that `scatter_indices` name to `updates` where these are smaller.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.scatter_min.html.
    """
    return scatter_min_p.apply(operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                               unique_indices, mode)


def scatter_max(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """Raise the windows of `operand` that `scatter_indices` name to `updates` where these are larger.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.scatter_max.html.
    """
    return scatter_max_p.apply(operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                               unique_indices, mode)


# --- rooms -----------------------------------------------------------------------------------------------------

class ScatterSet(Scatterer):
    """`scatter[...] x: f32[n] i: i32[m,1] updates: f32[m]` is f32[n]."""

    reads = slice(1, 2)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, unique_indices: bool,
            **params: Any) -> tuple[Any, Any]:
        (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
        x_dot, updates_dot = instantiate(x_dot), instantiate(updates_dot)
        if unique_indices:
            return (self.bind(x, indices, updates, unique_indices=True, **params),
                    self.bind(x_dot, indices, updates_dot, unique_indices=True, **params))
        return _jvp_of_winners(x, indices, updates, x_dot, updates_dot, **params)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
                  indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode,
                  **params: Any) -> Sequence[Any]:
        if not unique_indices:
            raise NotImplementedError("scatter transpose is only implemented where unique_indices=True")
        x_ct = updates_ct = None
        shape = updates.aval.shape if is_undefined_primal(updates) else np.shape(updates)
        if is_undefined_primal(x):  # what was overwritten had no influence
            x_ct = scatter(ct, indices, full(shape, 0, ct.dtype), dimension_numbers,
                           indices_are_sorted=indices_are_sorted, unique_indices=True, mode=mode)
        if is_undefined_primal(updates):
            updates_ct = gather_updates(ct, indices, dimension_numbers, shape, mode)
        return [x_ct, None, updates_ct]


def _jvp_of_winners(x: Any, indices: Any, updates: Any, x_dot: Any, updates_dot: Any, *,
                    dimension_numbers: ScatterDimensionNumbers, **params: Any) -> tuple[Any, Any]:
    """Differentiate a scatter whose windows may overlap.

    Which update wins is unspecified, so it is found out: updates are numbered, the numbers are scattered, and read
    back; an update that does not find its own number lost. The rest is masking and adding, whose derivative is plain.
    """
    numbers = dimension_numbers
    options = {name: params[name] for name in ("indices_are_sorted", "mode")}
    shape = [1 if axis in numbers.update_window_dims else size for axis, size in enumerate(np.shape(updates))]
    ids = add(reshape(iota(np.uint32, math.prod(shape)), shape), full_like(updates, 1, np.uint32))
    scattered = scatter(full(np.shape(x), 0, np.uint32), indices, ids, numbers, **options)
    gathered = gather_updates(scattered, indices, numbers, np.shape(updates))

    def kept(operand: Any) -> Any:
        return select(eq(scattered, filled_like(scattered, 0)), operand, filled_like(operand, 0))

    def won(update: Any) -> Any:
        return select(eq(ids, gathered), update, filled_like(update, 0))

    operands = [kept(x), won(updates), kept(x_dot), won(updates_dot)]
    return (scatter_add(operands[0], indices, operands[1], numbers, **options),
            scatter_add(operands[2], indices, operands[3], numbers, **options))


class ScatterMul(Scatterer):
    """`scatter-mul[...] x: f32[n] i: i32[m,1] updates: f32[m]` is f32[n]."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
        out = self.bind(x, indices, updates, **params)
        parts = [] if type(x_dot) is Zero else [self.bind(x_dot, indices, updates, **params)]
        if type(updates_dot) is not Zero:
            _check_unique(params["unique_indices"])
            options = {name: params[name] for name in
                       ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")}
            parts.append(mul(x, scatter_add(filled_like(x, 0), indices, updates_dot, **options)))
        return out, parts[0] if len(parts) == 1 else add_any(*parts)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
                  indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode,
                  **params: Any) -> Sequence[Any]:
        if is_undefined_primal(x):
            return [self.apply(ct, indices, updates, dimension_numbers, indices_are_sorted, unique_indices, mode),
                    None, None]
        _check_unique(unique_indices)
        return [None, None, gather_updates(mul(ct, x), indices, dimension_numbers, updates.aval.shape, mode)]


def _check_unique(unique_indices: bool) -> None:
    if not unique_indices:
        raise NotImplementedError("scatter_mul gradients are only implemented if `unique_indices=True`")


class ScatterExtreme(Scatterer):
    """`scatter-max[...] x: f32[n] i: i32[m,1] updates: f32[m]` is f32[n]; equal extremes share the tangent."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, dimension_numbers: ScatterDimensionNumbers,
            indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode,
            **params: Any) -> tuple[Any, Any]:
        (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
        numbers, shape = dimension_numbers, np.shape(updates)
        options: dict[str, Any] = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices,
                                   "mode": mode}
        out = self.bind(x, indices, updates, dimension_numbers=numbers, **options, **params)
        x_dot, updates_dot = instantiate(x_dot), instantiate(updates_dot)

        def at_windows(operand: Any) -> Any:
            # JAX 0.4.35 reads as if in bounds here, whatever the mode: dropped windows read the nearest one.
            return gather_updates(operand, indices, numbers, shape)

        def counted(marks: Any) -> Any:
            return at_windows(scatter_add(zeros, indices, marks, numbers))

        before, after = at_windows(x), at_windows(out)
        won, stayed = eq(updates, after), eq(before, after)
        zeros = filled_like(x, 0)
        winners = counted(select(won, filled_like(updates, 1), filled_like(updates, 0)))
        zeros = filled_like(x, 0)
        sharers = counted(filled_like(updates, 1))
        one = const_like(winners, 1)
        with_operand = div(one, add(winners, one))
        normalizer = select(stayed, with_operand, div(one, winners))
        updates_share = select(won, normalizer, filled_like(updates, 0))
        with_operand = div(one, add(winners, one))
        operand_share = select(stayed, with_operand, filled_like(winners, 0))
        operand_change = div(add(const_like(winners, -1), operand_share), sharers)
        change = add(mul(at_windows(x_dot), operand_change), mul(updates_dot, updates_share))
        return out, scatter_add(x_dot, indices, change, numbers, **options)

    transpose = refuse("picking an element is not linear")


scatter_p = ScatterSet("scatter", "set", None, None)
scatter_mul_p = ScatterMul("scatter-mul", "mul", np.multiply, mul_p)
scatter_min_p = ScatterExtreme("scatter-min", "min", np.minimum, min_p)
scatter_max_p = ScatterExtreme("scatter-max", "max", np.maximum, max_p)
