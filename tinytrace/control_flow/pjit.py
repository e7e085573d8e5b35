"""`pjit`: call a named program. It is the equation that a jitted function leaves in the program around it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import run_body
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive


class Pjit(Primitive):
    """`pjit[name=f jaxpr={...}] *args`: evaluate `jaxpr`; everything else is said about it, not done by it."""

    name = "pjit"
    multiple_results = True
    compiled_eagerly = True

    def pp_params(self, params: dict[str, Any]) -> dict[str, Any]:
        shown = {"name": params["name"]}
        if any(params["donated_invars"]):
            shown["donated_invars"] = params["donated_invars"]
        shown["jaxpr"] = params["jaxpr"]
        if params["keep_unused"]:
            shown["keep_unused"] = True
        return shown

    def effects(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return jaxpr.out_avals

    def impl(self, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        return run_body(jaxpr, args)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr,
              **params: Any) -> Kind:
        return Call(jaxpr)


pjit_p = Pjit()


def call_params(jaxpr: ClosedJaxpr, name: str, donated_invars: tuple[bool, ...] | None = None,
                keep_unused: bool = False, inline: bool = False) -> dict[str, Any]:
    """Return the complete parameters of a `pjit` equation."""
    donated = (False,) * len(jaxpr.jaxpr.invars) if donated_invars is None else donated_invars
    return {"jaxpr": jaxpr, "donated_invars": donated, "name": name, "keep_unused": keep_unused, "inline": inline}
