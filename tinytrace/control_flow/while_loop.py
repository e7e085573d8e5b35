"""`while`: a loop whose length only its condition knows.

Operands are cond_consts..., body_consts..., carry...; the condition maps (cond_consts, carry) to a bool and the body
maps (body_consts, carry) to the next carry. Under `vmap` the condition may answer for each batch element: then the
leading axis of every carry is the batch, the loop runs while any element wants to, and elements that are done rest.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import run_body, split
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.kinds import Kind, Loop
from tinytrace.core.primitive import Primitive


class While(Primitive):
    """`carry = while[cond_jaxpr body_jaxpr ...] cond_consts body_consts carry`."""

    name = "while"
    multiple_results = True
    compiled_eagerly = True

    def effects(self, *avals: ShapedArray, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr,
                **params: Any) -> frozenset[Any]:
        return cond_jaxpr.effects | body_jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, body_jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return body_jaxpr.out_avals

    def impl(self, *args: Any, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int,
             body_nconsts: int) -> list[Any]:
        cond_consts, body_consts, carry = split(args, cond_nconsts, body_nconsts)
        while True:
            wanted, = run_body(cond_jaxpr, [*cond_consts, *carry])
            if not wanted.any():
                return carry
            new = run_body(body_jaxpr, [*body_consts, *carry])
            if wanted.ndim:
                new = [np.where(wanted.reshape(wanted.shape + (1,) * (x.ndim - wanted.ndim)), x, old)
                       for x, old in zip(new, carry, strict=True)]
            carry = new

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, cond_jaxpr: ClosedJaxpr,
              body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int) -> Kind:
        return Loop(body_jaxpr, body_nconsts, len(body_jaxpr.out_avals), cond=cond_jaxpr, cond_num_consts=cond_nconsts)


while_p = While()
