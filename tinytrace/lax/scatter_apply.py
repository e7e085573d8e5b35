"""scatter_apply: a function of one scalar, applied where indices point."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.vmapping import vmap
from tinytrace.core.dtypes import dtype_of
from tinytrace.core.jaxpr import Jaxpr, eval_jaxpr
from tinytrace.core.primitive import registry
from tinytrace.lax.control_flow import while_loop
from tinytrace.primitives.arithmetic import sub
from tinytrace.primitives.comparison import gt
from tinytrace.primitives.composite import Composite
from tinytrace.primitives.creation import full
from tinytrace.primitives.elementwise import filled_like
from tinytrace.primitives.gathering import Scatterer, scatter_add
from tinytrace.primitives.indexing import GatherScatterMode, ScatterDimensionNumbers
from tinytrace.primitives.reduction import reduce_max
from tinytrace.primitives.scattering import scatter_p
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import reshape


def scatter_apply(operand: Any, scatter_indices: Any, func: Callable[[Any], Any],
                  dimension_numbers: ScatterDimensionNumbers, *, update_shape: Sequence[int] = (),
                  indices_are_sorted: bool = False, unique_indices: bool = False,
                  mode: str | GatherScatterMode | None = None) -> Any:
    """Replace each element x of the windows that `scatter_indices` name by `func(x)`, once for each time it is named.

    `update_shape` is the shape that updates would have. It cannot be differentiated.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.scatter_apply.html.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_apply(np.float32([1, 2, 3]), np.int32([[2], [2]]), lambda x: x * 2, numbers, update_shape=(2,))
    Array([ 1.,  2., 12.], dtype=float32)
    """
    dtype = dtype_of(operand)
    unused = full(tuple(update_shape), 0, dtype)
    scalar = np.zeros((), dtype)
    closed = make_jaxpr(lambda x, _: func(x))(scalar, scalar)
    return scatter_apply_p.bind(
        operand, scatter_indices, unused, update_jaxpr=closed.jaxpr, update_consts=tuple(closed.consts),
        dimension_numbers=dimension_numbers, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
        mode=GatherScatterMode.from_any(mode))


class ScatterApply(Composite, Scatterer):
    """`scatter[update_jaxpr=f ...] x: f32[n] i: i32[m,1] unused: f32[m]` is f32[n]."""

    def program(self, x: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
                indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode, update_jaxpr: Jaxpr,
                update_consts: Sequence[Any]) -> Any:
        """Count how often each element is named, and apply the function to all that are still to be served."""
        shape = np.shape(x)

        def apply(x: Any) -> Any:
            (out,) = eval_jaxpr(update_jaxpr, update_consts, x, x)
            return out

        def serve(state: tuple[Any, Any]) -> tuple[Any, Any]:
            x, times = state
            applied = reshape(vmap(apply)(reshape(x, (math.prod(shape),))), shape)
            return select(gt(times, filled_like(times, 0)), applied, x), sub(times, filled_like(times, 1))

        times = scatter_add(full(shape, 0, np.int32), indices, full(np.shape(updates), 1, np.int32), dimension_numbers,
                            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode)
        if unique_indices:
            return serve((x, times))[0]
        axes = tuple(range(len(shape)))
        return while_loop(lambda state: gt(reduce_max(state[1], axes), np.int32(0)), serve, (x, times))[0]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        raise NotImplementedError("scatter_apply JVP not implemented")


scatter_apply_p = ScatterApply("scatter", "apply", None, None)
registry[scatter_p.name] = scatter_p  # both are called so, as in JAX: by its name one finds the one that sets elements
