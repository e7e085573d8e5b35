"""device_put: say where arrays are to live. There is one device: it is the identity, printed as JAX prints it."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from tinytrace.core.kinds import Call, IndexMap, Kind
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import Zero
from tinytrace.primitives.shaping import NDArray, Rearrangement


class CopySemantics(enum.Enum):
    """May the result share the memory of the operand? Printed as a parameter, and otherwise without meaning here."""

    ALIAS = enum.auto()
    COPY = enum.auto()
    DONATE = enum.auto()


def device_put(x: Any) -> Any:
    """Return `x` on the device."""
    return device_put_p.bind(x, devices=[None], srcs=[None], copy_semantics=[CopySemantics.ALIAS])[0]


class DevicePut(Primitive):
    """`b c = device_put[...] x: f32[n] y: i32[]` is f32[n], i32[]: each operand on its device."""

    name = "device_put"
    multiple_results = True
    composite = True

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        return list(avals)

    def impl(self, *args: NDArray, **params: Any) -> list[NDArray]:
        return list(args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        moving = [i for i, t in enumerate(tangents) if type(t) is not Zero]
        moved = self.bind(*[tangents[i] for i in moving],
                          **{name: [values[i] for i in moving] for name, values in params.items()})
        placed = dict(zip(moving, moved, strict=True))
        return self.bind(*primals, **params), [placed.get(i, t) for i, t in enumerate(tangents)]

    def transpose(self, cts: Any, *args: Any, **params: Any) -> Sequence[Any]:
        wanted = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
        moved = self.bind(*[cts[i] for i in wanted], devices=(None,) * len(wanted), srcs=(None,) * len(wanted),
                          copy_semantics=[CopySemantics.COPY] * len(wanted)) if wanted else []
        placed = dict(zip(wanted, moved, strict=True))
        return [placed.get(i, ct) for i, ct in enumerate(cts)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        return self.bind(*args, **params), list(dims)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        operands = [Var(aval) for aval in in_avals]
        return Call(ClosedJaxpr(Jaxpr([], operands, list(operands), []), []))


class ShardingConstraint(Rearrangement):
    """`b = sharding_constraint[sharding=s ...] a` is a, whose parts lie as `s` says: on one device they do."""

    name = "sharding_constraint"

    def abstract_eval(self, x: ShapedArray, **params: Any) -> ShapedArray:
        return x

    def impl(self, x: NDArray, **params: Any) -> NDArray:
        return x

    def transpose(self, ct: Any, x: Any, **params: Any) -> list[Any]:
        return [self.bind(ct, **params)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        """The axis of the batch lies as it likes."""
        (x,), (dim,) = args, dims
        assert dim is not None
        params["sharding"] = params["sharding"].with_free_axis(dim)
        params["unconstrained_dims"] = {dim, *(d + (d >= dim) for d in params["unconstrained_dims"])}
        return self.bind(x, **params), dim

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return IndexMap(lambda index, read: read(0, index))


device_put_p = DevicePut()
sharding_constraint_p = ShardingConstraint()
