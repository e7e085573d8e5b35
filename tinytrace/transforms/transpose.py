"""Transposition: run a linear program backwards, from cotangents of its outputs to cotangents of its inputs.

Some inputs of the jaxpr are known values (residuals), the others are *linear*: only their type is known, they are
`UndefinedPrimal(aval)`. Equations are visited from last to first; each hands the cotangent of its result to the rule

    transpose(ct, *args, **params) -> one cotangent, `Zero` or None per argument

in which known arguments are values and linear ones `UndefinedPrimal`. For a primitive with several results `ct` is a
list. A variable used twice receives two cotangents, and they are added (`add_any`), in the order of arrival. Nothing is
added to nothing: a variable that received no cotangent has `Zero`, and an equation whose only result has `Zero` is
passed over.

Source: Frostig et al., "Decomposing reverse-mode automatic differentiation" (https://arxiv.org/abs/2105.09469).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var, scopes_inside
from tinytrace.core.source_info import Transformed, replayed_source
from tinytrace.core.tangents import UndefinedPrimal, Zero, is_undefined_primal
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.zeros import add_tangents, as_result
from tinytrace.util import cache_by_jaxpr


def backward_pass(jaxpr: Jaxpr, consts: Sequence[Any], primals_in: Sequence[Any], cts_in: Sequence[Any],
                  named: bool = False) -> list[Any]:
    """Return the cotangents of the inputs of `jaxpr`, `Zero` for those that received none.

    primals_in: per input its value, or an `UndefinedPrimal`; cts_in: per output its cotangent, or a `Zero`.
    """
    if all(type(ct) is Zero for ct in cts_in) and not jaxpr.effects:
        return [Zero(v.aval.to_tangent_aval()) for v in jaxpr.invars]
    known: dict[Atom, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    known.update((v, x) for v, x in zip(jaxpr.invars, primals_in, strict=True) if not is_undefined_primal(x))
    cotangents: dict[Atom, Any] = {}

    def receive(v: Atom, ct: Any) -> None:
        if ct is not None and type(ct) is not Zero and isinstance(v, Var):
            cotangents[v] = add_tangents(cotangents[v], ct) if v in cotangents else ct

    def take(v: Var) -> Any:
        return cotangents.pop(v) if v in cotangents else Zero(v.aval.to_tangent_aval())

    def read(v: Atom) -> Any:
        return v.val if isinstance(v, Literal) else known[v] if v in known else UndefinedPrimal(v.aval)

    for v, ct in zip(jaxpr.outvars, cts_in, strict=True):
        receive(v, ct)
    with replayed_source() as replay:
        around = (*replay.scopes, Transformed("transpose")) if named else replay.scopes
        for eqn in reversed(jaxpr.eqns):
            replay.source = eqn.source
            replay.scopes = scopes_inside(around, eqn)
            cts = [take(v) for v in eqn.outvars]
            if eqn.primitive.multiple_results:
                cts_out = eqn.primitive.transpose(cts, *map(read, eqn.invars), **eqn.params)
            elif type(cts[0]) is Zero:
                continue
            else:
                cts_out = eqn.primitive.transpose(cts[0], *map(read, eqn.invars), **eqn.params)
            for v, ct in zip(eqn.invars, cts_out, strict=True):
                receive(v, ct if eqn.primitive.transpose_is_of_user else as_result(ct))
    return [take(v) for v in jaxpr.invars]


def transpose_jaxpr(closed: ClosedJaxpr, linear: Sequence[bool], nonzero_cts: Sequence[bool]
                    ) -> tuple[ClosedJaxpr, list[bool]]:
    """Transpose a jaxpr with respect to the inputs marked in `linear`.

    Returns: the jaxpr of (the other inputs, the cotangents marked in `nonzero_cts`) to the cotangents of those inputs
    that receive one, and which inputs these are. A known input may be among them: to `add` all operands are alike.
    """
    jaxpr, nonzero = _transpose_jaxpr(closed, tuple(linear), tuple(nonzero_cts))
    return jaxpr, list(nonzero)


@cache_by_jaxpr
def _transpose_jaxpr(closed: ClosedJaxpr, linear: tuple[bool, ...],
                     nonzero_cts: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    received: list[bool] = []

    def transposed(*args: Any) -> list[Any]:
        values = iter(args)
        primals = [UndefinedPrimal(aval) if lin else next(values)
                   for aval, lin in zip(closed.in_avals, linear, strict=True)]
        cts = [next(values) if nonzero else Zero(aval.to_tangent_aval())
               for aval, nonzero in zip(closed.out_avals, nonzero_cts, strict=True)]
        cts_out = backward_pass(closed.jaxpr, closed.consts, primals, cts)
        received[:] = [type(ct) is not Zero for ct in cts_out]
        return [ct for ct in cts_out if type(ct) is not Zero]

    in_avals = [aval for aval, lin in zip(closed.in_avals, linear, strict=True) if not lin]
    ct_avals = [aval.to_tangent_aval() for aval, nonzero in zip(closed.out_avals, nonzero_cts, strict=True) if nonzero]
    return trace_to_closed_jaxpr(transposed, in_avals + ct_avals), received
