"""Operations that Python computes, also in compiled programs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.core.avals import ShapedArray
from tinytrace.core.kinds import HostCall, Kind
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.shaping import NDArray


class OnHost(Primitive):
    """The family: what NumPy computes, compiled programs ask Python for."""

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        def call(*args: NDArray) -> Sequence[NDArray]:
            out = self.impl(*args, **params)
            return out if self.multiple_results else [out]

        return HostCall(call)
