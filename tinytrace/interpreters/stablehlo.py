"""The dialect `hlo` (StableHLO): its elementwise operations, in both spellings; the others are refused, see `no_mlir`.

    hlo.AddOp(x, y).result        hlo.add(x, y)

A value of a lowering rule is a tracer here, so an operation binds the primitive that computes the same.
Source: the StableHLO specification, https://openxla.org/stablehlo/spec.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.core.primitive import registry
from tinytrace.interpreters import no_mlir

_PRIMITIVES = {
    "abs": "abs", "add": "add", "and": "and", "atan2": "atan2", "cbrt": "cbrt", "ceil": "ceil", "cosine": "cos",
    "divide": "div", "exponential": "exp", "exponential_minus_one": "expm1", "floor": "floor", "log": "log",
    "log_plus_one": "log1p", "logistic": "logistic", "maximum": "max", "minimum": "min", "multiply": "mul",
    "negate": "neg", "not": "not", "or": "or", "power": "pow", "remainder": "rem", "rsqrt": "rsqrt", "sign": "sign",
    "sine": "sin", "sqrt": "sqrt", "subtract": "sub", "tan": "tan", "tanh": "tanh", "xor": "xor",
}  # fmt: skip
"""The operations by their names in StableHLO, and the primitives that compute them."""
_CLASSES = {
    "AbsOp": "abs", "AddOp": "add", "AndOp": "and", "Atan2Op": "atan2", "CbrtOp": "cbrt", "CeilOp": "ceil",
    "CosineOp": "cosine", "DivOp": "divide", "ExpOp": "exponential", "Expm1Op": "exponential_minus_one",
    "FloorOp": "floor", "LogOp": "log", "Log1pOp": "log_plus_one", "LogisticOp": "logistic", "MaxOp": "maximum",
    "MinOp": "minimum", "MulOp": "multiply", "NegOp": "negate", "NotOp": "not", "OrOp": "or", "PowOp": "power",
    "RemOp": "remainder", "RsqrtOp": "rsqrt", "SignOp": "sign", "SineOp": "sine", "SqrtOp": "sqrt",
    "SubtractOp": "subtract", "TanOp": "tan", "TanhOp": "tanh", "XorOp": "xor",
}  # fmt: skip
"""The same by the names of their Python classes."""


class Op:
    """An operation that has been built: its results. It may stand for its result among operands."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.results = [result]


def __getattr__(name: str) -> Any:
    operation = _CLASSES.get(name, name.rstrip("_"))
    if operation not in _PRIMITIVES:
        if name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return no_mlir.refused(f"hlo.{name}")
    bind: Callable[..., Any] = registry[_PRIMITIVES[operation]].bind

    def build(*operands: Any, **options: Any) -> Any:
        result = bind(*(x.result if isinstance(x, Op) else x for x in operands))
        return Op(result) if name in _CLASSES else result

    return build
