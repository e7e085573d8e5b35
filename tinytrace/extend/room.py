"""A primitive in a user's file: one class that says all that the system needs to know of it.

    @primitive
    class multiply_add:
        def abstract_eval(x, y, z):
            return x
        def impl(x, y, z):
            return np.add(np.multiply(x, y), z)
        def c(x, y, z):
            return x * y + z
        ...

    multiply_add(2.0, 3.0, 4.0)

`testing.assert_primitive_complete(multiply_add, samples)` checks that nothing was forgotten and that the rules agree.
"""
from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from tinytrace.core.avals import ShapedArray
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.own_primitive import find_primitive, typed_results
from tinytrace.core.primitive import Primitive, Refusal
from tinytrace.interpreters.batching import broadcast_batcher
from tinytrace.interpreters.c_lowering import InC, c_expression, c_function
from tinytrace.interpreters.mlir import call_impl
from tinytrace.transforms.staging import trace_to_closed_jaxpr

RULES = ("abstract_eval", "impl", "jvp", "transpose", "batch")
STATEMENTS = {*RULES, "c", "program", "effects", "name", "multiple_results"}


def primitive(statements: type) -> Room:
    """Return the primitive that a class describes; it is called like a function.

    abstract_eval(*avals, **params): the type of the result.  impl(*arrays, **params): its meaning, in NumPy.
    c: how it is compiled: a formula over one element of each operand (`core/formulas.py`), or the text of a function in
      C, or several texts.  program(*args, **params): or this, over jnp.  With neither, compiled programs call `impl`.
    jvp(primals, tangents, **params), transpose(ct, *args, **params): its derivative, as `core/primitive.py` says.
    batch(args, dims, **params), or "elementwise": the operation on batches.
    name: what jaxprs print; the name of the class by default.  multiple_results: are there several?
    A rule that cannot exist is `refuse(reason)`.

    Raises: TypeError for a class that says something else, or neither its type nor its meaning.

    >>> import numpy as np
    >>> from tinytrace import jit, make_jaxpr
    >>> @primitive
    ... class above_parabola:
    ...     abstract_eval = lambda x: x
    ...     impl = lambda x: x * x + 1
    ...     c = lambda x: x * x + 1
    ...     jvp = lambda primals, tangents: (above_parabola(*primals), 2 * primals[0] * tangents[0])
    ...     batch = "elementwise"
    >>> make_jaxpr(above_parabola)(3.0)
    { lambda ; a:f32[]. let b:f32[] = above_parabola a in (b,) }
    >>> jit(above_parabola)(np.float32([1, 2]))
    Array([2., 5.], dtype=float32)
    """
    said = {name: value for name, value in vars(statements).items() if not name.startswith("__")}
    if unknown := sorted(set(said) - STATEMENTS):
        raise TypeError(f"a primitive says {', '.join(sorted(STATEMENTS))}; {statements.__name__} says "
                        f"{', '.join(unknown)} too")
    if missing := [rule for rule in ("abstract_eval", "impl") if rule not in said]:
        raise TypeError(f"{statements.__name__} does not say {' and '.join(missing)}: the type of its result, and its "
                        "meaning in NumPy, are the least that a primitive says")
    slots = {name: _as_slot(name, value) for name, value in said.items() if name not in ("c", "program", "name")}
    about = {"__doc__": statements.__doc__, "__module__": statements.__module__}
    own = type(statements.__name__, (Room,), {**about, **slots})
    return own(said.get("name", statements.__name__), said.get("c"), said.get("program"))  # type: ignore[no-any-return]


class Room(Primitive):
    """What the decorator `primitive` makes."""

    def __init__(self, name: str, c: Any, program: Any) -> None:
        self.name, self.program = name, program
        self.c = c if c is None or isinstance(c, InC) else c_function(c) if isinstance(c, str) else \
            c_expression(c) if callable(c) else c_function(*c)

    def __call__(self, *args: Any, **params: Any) -> Any:
        return self.bind(*args, **params)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        if self.c is not None:
            return self.c.kind(self, in_avals, out_avals, **params)
        if self.program is not None:
            return Call(trace_to_closed_jaxpr(lambda *args: self._listed(self.program(*args, **params)), in_avals))
        return call_impl.kind(self, in_avals, out_avals, **params)

    @property
    def composite(self) -> bool:  # type: ignore[override]
        """Is it compiled as a program of others?"""
        return self.program is not None and self.c is None

    def _listed(self, out: Any) -> Sequence[Any]:
        return list(out) if self.multiple_results else [out]

    def __reduce__(self) -> Any:
        return find_primitive, (self.name, type(self).__module__)


def _as_slot(name: str, value: Any) -> Any:
    if isinstance(value, Refusal) or name == "multiple_results":
        return value
    if name == "batch" and value == "elementwise":
        return broadcast_batcher
    if not isinstance(value, (FunctionType, staticmethod)) and not callable(value):
        raise TypeError(f"{name} must be a function, or refuse(reason), not {value!r}")
    return _typed_impl(value) if name == "impl" else value if isinstance(value, staticmethod) else staticmethod(value)


def _typed_impl(impl: Any) -> Any:
    """Return `impl` as a method whose results have the types that the primitive promises."""
    impl = impl.__func__ if isinstance(impl, staticmethod) else impl

    def typed(self: Room, *args: Any, **params: Any) -> Any:
        out = impl(*args, **params)
        results = typed_results(self, out, self.abstract_eval(*map(_aval, args), **params))
        return results if self.multiple_results else results[0]

    return typed


def _aval(x: Any) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype)
