"""Sums over the devices of a mesh that know which values all devices share: psum2 and its transpose, pbroadcast.

Inside of `shard_map` a value is known to be the same along some axes of the mesh, or to vary. `psum2` makes a shared
value of one that varies, and `pbroadcast` lets a shared value vary, which moves nothing. Each is the other's
transpose: a cotangent of a shared value is added up once. Source: JAX 0.4.35, jax/experimental/shard_map.py.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis
from tinytrace.core.tangents import Zero
from tinytrace.primitives.broadcasting import reduce_sum_p
from tinytrace.primitives.collectives import Collective, PSum
from tinytrace.primitives.shaping import NDArray


class SharedSum(PSum):
    """`b = psum2[axes=('i',) axis_index_groups=None] a: f32[n]` is f32[n], the same along the axis."""

    def bind(self, *args: Any, **params: Any) -> Any:
        return Collective.bind(self, *args, **params)

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
        return _of_nonzero(pbroadcast_p, cts, params)


class Varying(Collective):
    """`b = pbroadcast[axes=('i',) axis_index_groups=None] a` is a, which may vary along the axis from now on.

    It is not in the registry: there `lax.pbroadcast` has the name, as in JAX.
    """

    name = "pbroadcast"
    multiple_results = True
    over = "axes"

    def __init__(self) -> None:
        """Do not register."""

    def __reduce__(self) -> str:  # type: ignore[override]
        return "pbroadcast_p"

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        return list(avals)

    def impl(self, *args: NDArray, **params: Any) -> list[NDArray]:
        return list(args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return self.bind(*primals, **params), _of_nonzero(self, tangents, params)

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
        return _of_nonzero(psum2_p, cts, params)

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        return self.bind(*args, **params), list(dims)

    def batch_named(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
                    ) -> tuple[Any, Any]:
        return list(args), list(dims)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        operands = [Var(aval) for aval in in_avals]
        return Call(ClosedJaxpr(Jaxpr([], operands, list(operands), []), []))


def varying(x: Any, axes: Sequence[Any]) -> Any:
    """Return `x`, which may vary along these axes of the mesh from now on."""
    return pbroadcast_p.bind(x, axes=tuple(axes), axis_index_groups=None)[0] if axes else x


def _of_nonzero(primitive: Collective, values: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    nonzero = [x for x in values if type(x) is not Zero]
    found = iter(primitive.bind(*nonzero, **params) if nonzero else [])
    return [x if type(x) is Zero else next(found) for x in values]


psum2_p = SharedSum("psum2", reduce_sum_p, lambda x, size: size * x)
pbroadcast_p = Varying()
