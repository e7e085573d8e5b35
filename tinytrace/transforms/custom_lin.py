"""`custom_lin`: the tangent map of a function with its own backward rule.

What the rule of a `custom_vjp` function leaves in a linear program: nobody knows how to push tangents through it, but
its transpose is known, for it is the user's `bwd`. Operands are the residuals and then one tangent per input.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tinytrace.core.avals import ShapedArray
from tinytrace.core.kinds import IndexMap, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.tangents import from_symbolic_zero, to_symbolic_zero
from tinytrace.transforms.zeros import instantiate_zeros


class CustomLin(Primitive):
    """`tangents_out = custom_lin[bwd num_res ...] *residuals *tangents_in`."""

    name = "custom_lin"
    multiple_results = True
    transpose_is_of_user = True

    def abstract_eval(self, *avals: ShapedArray, out_avals: Sequence[ShapedArray], **params: Any
                      ) -> list[ShapedArray]:
        return list(out_avals)

    def impl(self, *args: Any, **params: Any) -> NoReturn:
        raise TypeError("can't apply forward-mode autodiff (jvp) to a custom_vjp function.")

    jvp = refuse("a custom_vjp function has no forward rule")

    def transpose(self, ct: Sequence[Any], *args: Any, num_res: int, bwd: Callable[..., Sequence[Any]],
                  symbolic_zeros: bool, **params: Any) -> Sequence[Any]:
        seen = map(to_symbolic_zero if symbolic_zeros else instantiate_zeros, ct)
        return [None] * num_res + [from_symbolic_zero(x) for x in bwd(*args[:num_res], *seen)]

    def batch(self, *args: Any, **params: Any) -> NoReturn:
        # Linear programs are made after batching: only forward mode comes here.
        raise TypeError("can't apply forward-mode autodiff (jvp) to a custom_vjp function.")

    def lower(self, *args: Any, **params: Any) -> NoReturn:
        raise TypeError("can't apply forward-mode autodiff (jvp) to a custom_vjp function.")


class Tie(Primitive):
    """`tie x y` is y; it makes y wait for x, so that a linear program names the value at which it was linearized."""

    name = "tie"
    transpose_is_of_user = True

    def abstract_eval(self, x: ShapedArray, y: ShapedArray) -> ShapedArray:
        return y

    def impl(self, x: Any, y: Any) -> Any:
        return y

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        return tie_p.bind(*primals), tangents[1]

    def transpose(self, ct: Any, x: Any, y: Any) -> Sequence[Any]:
        return [None, ct]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, Any]:
        return tie_p.bind(*args), dims[1]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> Kind:
        return IndexMap(lambda i, read: read(1, i))


custom_lin_p = CustomLin()
tie_p = Tie()


class CustomJVPException(Exception):
    """A custom_jvp function closes over a value with respect to which it is being differentiated."""

    def __init__(self) -> None:
        super().__init__(_closed_over("jvp", "JVP", "rule"))


class CustomVJPException(Exception):
    """A custom_vjp function closes over a value with respect to which it is being differentiated."""

    def __init__(self) -> None:
        super().__init__(_closed_over("vjp", "VJP", "fwd and bwd rules"))


def _closed_over(name: str, rule: str, rules: str) -> str:
    return (f"Detected differentiation of a custom_{name} function with respect to a closed-over value. That isn't "
            f"supported because the custom {rule} rule only specifies how to differentiate the custom_{name} function "
            "with respect to explicit input parameters. Try passing the closed-over value into the "
            f"custom_{name} function as an argument, and adapting the custom_{name} {rules}.")
