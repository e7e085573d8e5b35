"""Calls of the user's Python for their effect and their value: `io_callback`, which is never left out nor repeated."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tinytrace.control_flow.bodies import batch_size
from tinytrace.control_flow.callbacks import ValueCallback
from tinytrace.control_flow.effects import io_effect, ordered_io_effect
from tinytrace.core.avals import ShapedArray
from tinytrace.core.primitive import refuse
from tinytrace.primitives.shaping import moveaxis


class IOCallback(ValueCallback):
    """`io_callback`: the callback has effects, so it is called once wherever the program comes to it.

    Equations run one after the other, so every callback is ordered; the parameter only says what was asked for.
    """

    name = "io_callback"

    def effects(self, *avals: ShapedArray, ordered: bool, **params: Any) -> frozenset[Any]:
        return frozenset([ordered_io_effect if ordered else io_effect])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> NoReturn:
        raise ValueError("IO callbacks do not support JVP.")

    transpose = refuse("IO callbacks do not support transpose.")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, ordered: bool,
              result_avals: Sequence[ShapedArray], **params: Any) -> tuple[Sequence[Any], list[int]]:
        if ordered:
            raise ValueError("Cannot `vmap` ordered IO callback.")
        batched = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(args, dims, strict=True)]
        outs = self.one_by_one(batched, [dim is not None for dim in dims], batch_size(args, dims), result_avals,
                                {"ordered": ordered, **params})
        return outs, [0] * len(outs)


io_callback_p = IOCallback()
