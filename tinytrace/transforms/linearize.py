"""Linearization, and from it reverse mode: three interpreters, one after the other.

    jvp           f as a function of primals and tangents
    partial_eval  with primals known and tangents unknown: computes the primals, leaves a linear jaxpr of the tangents
    transpose     that jaxpr run backwards

`grad(f)(x)` is `vjp` with the cotangent 1. Each stage can be looked at alone (`show_stages`).

Source: Radul et al., "You Only Linearize Once" (https://arxiv.org/abs/2204.10923).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import Jaxpr, eval_jaxpr
from tinytrace.core.tangents import UndefinedPrimal
from tinytrace.records import NamedTuple
from tinytrace.transforms.jvp import jvp
from tinytrace.transforms.partial_eval import Unknown, partial_eval
from tinytrace.transforms.transpose import backward_pass
from tinytrace.transforms.zeros import instantiate_zeros

FlatFunction = Callable[..., Any]


class Linearized(NamedTuple):
    """A function near one point: its outputs there, and the linear map from input tangents to output tangents."""

    outs: list[Any]
    aux: list[Any]
    out_tangents: list[Any]
    """Per output `Unknown(aval)` if `jaxpr` computes its tangent, or else the tangent itself: it is constant."""
    jaxpr: Jaxpr
    residuals: list[Any]

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        """Return the tangents of the outputs along the `tangents` of the inputs."""
        computed = iter(eval_jaxpr(self.jaxpr, self.residuals, *tangents))
        return [next(computed) if isinstance(t, Unknown) else t for t in self.out_tangents]

    def pull(self, cts: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the inputs for the `cts` of the outputs."""
        moving = [ct for ct, t in zip(cts, self.out_tangents, strict=True) if isinstance(t, Unknown)]
        inputs = [UndefinedPrimal(v.aval) for v in self.jaxpr.invars]
        return [instantiate_zeros(ct) for ct in backward_pass(self.jaxpr, self.residuals, inputs, moving, True)]


def linearize(fun: FlatFunction, primals: Sequence[Any], has_aux: bool = False) -> Linearized:
    """Linearize `fun`, a function of flat arrays to a flat list (with `has_aux`: to two lists), at `primals`."""
    count = len(primals)
    outs: list[Any] = []
    aux: list[Any] = []

    def tangents_out(*args: Any) -> list[Any]:
        outs[:], out_tangents, aux[:] = jvp(fun, args[:count], args[count:], has_aux)
        return out_tangents

    unknown = [Unknown(aval_of(x).to_tangent_aval()) for x in primals]
    jaxpr, out_tangents, residuals = partial_eval(tangents_out, [*primals, *unknown])
    return Linearized(outs, aux, out_tangents, jaxpr, residuals)
