"""Names that JAX 0.4.35 has and tinytrace has not: why, and what to do instead.

A missing name is missing: `hasattr` says so. To ask for it is an AttributeError, and in `from jax import x` an
ImportError, with the sentence of the page "Missing names". A few that libraries only mention when they are
imported, such as `jax.interpreters.pxla.MapTracer`, are there as classes that refuse to be used (`refused`).
"""
from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

DEVICES = "there is one device, the CPU of this machine: without the call the program computes the same"

MISSING: dict[str, dict[str, str]] = {
    "tinytrace.interpreters.pxla": {
        "MeshComputation MeshExecutable PmapExecutable parallel_callable": DEVICES,
    },
    "tinytrace.extend.backend": {
        "register_backend_factory": DEVICES,
    },
}  # fmt: skip
"""By module: names, and the sentence about them. The page "Missing names" is made of it."""


def sentence(module: str, name: str) -> str | None:
    """Return what is to be said of a name of JAX that a module lacks; None for a name that JAX has not either.

    >>> sentence("tinytrace.extend.backend", "register_backend_factory")
    'there is one device, the CPU of this machine: without the call the program computes the same'
    """
    return next((text for names, text in MISSING.get(module, {}).items() if name in names.split()), None)


def absent(module: str, name: str) -> Any:
    """Answer a question for `name`, which `module` has not.

    Raises: AttributeError, or in `from module import name` ImportError, with the sentence about a name of JAX.
    """
    text = sentence(module, name)
    if text is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    message = f"{module.replace('tinytrace', 'jax', 1)}.{name} is a name of JAX that tinytrace does not have: {text}"
    raise ImportError(message) if _is_imported_from() else AttributeError(message, name=name)


def _is_imported_from() -> bool:
    """Does a statement `from module import name` ask? It says of an AttributeError only that the name is not there."""
    for frame in _frames():
        if not frame.f_globals.get("__name__", "").startswith("tinytrace"):
            return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM" if frame.f_lasti >= 0 else False
    return False


def _frames() -> Iterator[Any]:
    frame = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]


# --- names that may be mentioned ---------------------------------------------------------------------------------

class _MayBeMentioned(type):
    """The class of classes that stand for a missing name: to mention one does no harm, to use it says why not."""

    reason: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls.reason)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(cls.reason, name=name)

    def __repr__(cls) -> str:
        return f"<{cls.__name__}, which is not here>"


def refused(name: str, text: str) -> Any:
    """Return what stands for `name`, which libraries mention: a class of which nothing is an instance.

    >>> tracer = refused("jax.MapTracer", "there is one device")
    >>> isinstance(1, tracer)
    False
    >>> tracer(1)
    Traceback (most recent call last):
    NotImplementedError: tinytrace does not have jax.MapTracer: there is one device
    """
    reason = f"tinytrace does not have {name}: {text}"
    return _MayBeMentioned(name.rpartition(".")[2], (), {"reason": reason, "__doc__": reason, "__module__": __name__})


def is_refused(value: Any) -> bool:
    """Does a value only stand for a name that is missing?"""
    return isinstance(value, _MayBeMentioned) or getattr(type(value), "stands_for_a_missing_name", False)
