"""Tokens: values without content, that say in a program that something comes after something else.

Effects run in the order of the program here, so that nothing waits for a token; programs that hand them on are written
and run as in JAX 0.4.35. A token is an Array of the type `abstract_token`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from tinytrace.core import avals
from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import DType, KeyType
from tinytrace.core.formulas import call_named, place
from tinytrace.core.kinds import Kind, Routine
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.storage import storage_type


class _TokenType(KeyType):
    """The element type of tokens, which no operation takes: like keys, they are only handed on."""

    def __init__(self) -> None:
        super().__init__("token", "token", 2)
        self.name = "token"

    def __reduce__(self) -> str:
        return "TOKEN"


TOKEN = cast(DType, _TokenType())


class AbstractToken(ShapedArray):
    """The type of tokens. There is one.

    >>> jax.core.abstract_token
    AbstractToken()
    """

    __slots__ = ()

    def __new__(cls) -> AbstractToken:
        return abstract_token

    def update(self, shape: tuple[int, ...] | None = None, dtype: DType | None = None,
               weak_type: bool | None = None) -> AbstractToken:
        """Return this type: it has no shape and no dtype that could be others."""
        return self

    def to_tangent_aval(self) -> AbstractToken:
        """Return this type, as JAX does."""
        return self

    def str_short(self, short_dtypes: bool = True) -> str:
        return "Tok"

    def str_long(self) -> str:
        return "Tok"

    def __repr__(self) -> str:
        return "AbstractToken()"

    def __reduce__(self) -> tuple[Any, ...]:
        return AbstractToken, ()


def _only_type() -> AbstractToken:
    aval = object.__new__(AbstractToken)
    for name, value in (("shape", ()), ("dtype", TOKEN), ("weak_type", False)):
        object.__setattr__(aval, name, value)
    avals._interned[(), TOKEN, False] = aval
    return aval


abstract_token = _only_type()


class _TokenMeta(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Array) and x.aval is abstract_token


class Token(metaclass=_TokenMeta):
    """What arrays of type `abstract_token` are instances of; `Token(x)` is one, and `x` has been computed."""

    def __new__(cls, buf: Any) -> Any:
        buf.block_until_ready()
        return array_from_numpy(np.zeros((), storage_type(TOKEN)), abstract_token)


class TokenOperation(Primitive):
    """An operation whose result is a token. It is in no registry: few programs have one, and no law looks inside."""

    def __init__(self, name: str) -> None:
        self.name = name

    def abstract_eval(self, *operands: ShapedArray) -> ShapedArray:
        if self is after_all_p and any(x is not abstract_token for x in operands):
            raise TypeError("Arguments to after_all must be tokens")
        return abstract_token

    def impl(self, *operands: Any) -> Any:
        return np.zeros((), storage_type(TOKEN))

    jvp = refuse("tokens do not move")
    transpose = refuse("tokens do not move")
    batch = refuse("a batch of tokens is one token")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> Kind:
        return Routine((call_named("__builtin_memset", place("out0"), 0, TOKEN.itemsize),))

    def __reduce__(self) -> tuple[Callable[[str], Primitive], tuple[str]]:
        return _operation, (self.name,)


create_token_p, after_all_p = TokenOperation("create_token"), TokenOperation("after_all")


def _operation(name: str) -> Primitive:
    """Return a pickled operation."""
    return {"create_token": create_token_p, "after_all": after_all_p}[name]


def create_token(_: Any = None) -> Any:
    """Return a token.

    >>> jax.make_jaxpr(lambda: lax.create_token())()
    { lambda ; . let a:Tok = create_token  in (a,) }
    """
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """Return a token that comes after all of the given ones.

    Raises: TypeError for what is no token.

    >>> jax.make_jaxpr(lambda: lax.after_all(lax.create_token()))()
    { lambda ; . let a:Tok = create_token ; b:Tok = after_all a in (b,) }
    """
    return after_all_p.bind(*operands)
