"""`optimization_barrier`: its operands, all of which are to be there before any is used."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.trees import tree_flatten, tree_unflatten
from tinytrace.primitives.shaping import NDArray


def optimization_barrier(operand: Any, /) -> Any:
    """Return the tree `operand`; in JAX a compiler moves no operation past it.

    There is nothing of the kind to stop here: operations that are written twice are computed once, and results are
    the same. It cannot be differentiated or vectorized, as in JAX.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.optimization_barrier.html.

    >>> optimization_barrier(np.float32(1))
    Array(1., dtype=float32)
    """
    leaves, tree = tree_flatten(operand)
    return tree_unflatten(tree, optimization_barrier_p.bind(*leaves))


class OptimizationBarrier(Primitive):
    """`b c = optimization_barrier x: f32[n] y: i32[]` is f32[n], i32[]."""

    name = "optimization_barrier"
    multiple_results = True
    composite = True

    def abstract_eval(self, *avals: ShapedArray) -> list[ShapedArray]:
        return list(avals)

    def impl(self, *args: NDArray) -> list[NDArray]:
        return list(args)

    jvp = refuse("JAX has no rule for it")
    transpose = refuse("JAX has no rule for it")
    batch = refuse("JAX has no rule for it")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> Kind:
        operands = [Var(aval) for aval in in_avals]
        return Call(ClosedJaxpr(Jaxpr([], operands, list(operands), []), []))


optimization_barrier_p = OptimizationBarrier()
