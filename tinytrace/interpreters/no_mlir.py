"""The Python bindings of MLIR (`ir`, `func`): there are none; using a name says so, and what to write instead."""
from __future__ import annotations

from typing import Any, NoReturn


def refuse(name: str) -> NoReturn:
    """Raise NotImplementedError with what to write instead of `name`."""
    raise NotImplementedError(
        f"{name}: tinytrace compiles to C and builds no MLIR operations. Two ways work: "
        "mlir.lower_fun(f), for a function f over jnp, and mlir.c_expression or mlir.c_function, for C.")


def refused(name: str) -> Any:
    """Return what stands for the name of an operation or type of MLIR: an object that can be used for nothing."""
    return Refused(name)


class Refused:
    """Stands for something of MLIR: calling it, or asking it for an attribute, says what to write instead."""

    stands_for_a_missing_name = True

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(self.__name__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(self.__name__)

    def __repr__(self) -> str:
        return f"<{self.__name__}, which is not here>"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return refused(f"mlir.{name}")
