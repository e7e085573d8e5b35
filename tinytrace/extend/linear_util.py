"""`jax.extend.linear_util`: functions to which transformations, written as generators, are applied one by one.

A transformation is a generator function: it yields `(args, kwargs)` for the function below it, is sent the result, and
yields the result for the function above it.

    @transformation
    def doubled(x):
        result = yield (2 * x,), {}
        yield result

Nothing of tinytrace is written in this way; programs against JAX's insides are. Source: `jax.linear_util`.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any

from tinytrace.extend.functions import cache as _cache
from tinytrace.extend.functions import fun_name
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)

Generating = Callable[..., Generator[Any, Any, Any]]


class StoreException(Exception):
    """A store was filled twice, or read before it was filled."""


class Store:
    """The place of an auxiliary result, which is there when the function has run."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def store(self, value: Any) -> None:
        """Fill it; raises StoreException the second time."""
        if self._values:
            raise StoreException("Store occupied")
        self._values.append(value)

    def reset(self) -> None:
        """Empty it."""
        self._values.clear()

    @property
    def val(self) -> Any:
        """What it holds; raises StoreException while it is empty."""
        if not self._values:
            raise StoreException("Store empty")
        return self._values[0]

    def __bool__(self) -> bool:
        return bool(self._values)


class WrappedFun:
    """The function `f`, and the transformations that are applied to it, the outermost first."""

    def __init__(self, f: Callable[..., Any], transforms: tuple[tuple[Generating, tuple[Any, ...]], ...] = (),
                 stores: tuple[Store | None, ...] = (), params: tuple[tuple[str, Any], ...] = ()) -> None:
        self.f, self.transforms, self.stores, self.params = f, transforms, stores, params
        self.in_type = self.debug_info = None

    @property
    def __name__(self) -> str:
        return fun_name(self.f)

    def wrap(self, gen: Generating, static_args: tuple[Any, ...], store: Store | None) -> WrappedFun:
        """Return the function with one transformation more."""
        return WrappedFun(self.f, ((gen, static_args), *self.transforms), (store, *self.stores), self.params)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, transformed; generators that did not come to their end are closed."""
        running: list[tuple[Generator[Any, Any, Any], Store | None]] = []
        try:
            for (gen, static_args), store in zip(self.transforms, self.stores, strict=True):
                generator = gen(*static_args, *args, **kwargs)
                running.append((generator, store))
                args, kwargs = next(generator)
            result = self.f(*args, **{**dict(self.params), **kwargs})
            while running:
                generator, store = running[-1]
                result = generator.send(result)
                running.pop()
                if store is not None:
                    result, side = result
                    store.store(side)
            return result
        finally:
            while running:
                running.pop()[0].close()

    __call__ = call_wrapped

    def _key(self) -> tuple[Any, ...]:
        return self.f, self.transforms, self.params

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        stack = [f"{i}   : {fun_name(gen)}   {args}" for i, (gen, args) in enumerate(self.transforms)]
        return "\n".join(["Wrapped function:", *stack, f"Core: {fun_name(self.f)}", ""])


def wrap_init(f: Callable[..., Any], params: dict[str, Any] | None = None, **debug_info: Any) -> WrappedFun:
    """Return a function to which nothing is applied yet; `params` are keyword arguments for it.

    >>> wrap_init(max).call_wrapped(1, 2)
    2
    """
    return WrappedFun(f, params=tuple(sorted((params or {}).items())))


def transformation(gen: Generating, *args: Any) -> Any:
    """Return what applies the transformation `gen` to a WrappedFun: `transformation(gen)(fun, *static_args)`."""
    if not args:
        return functools.wraps(gen)(functools.partial(transformation, gen))
    fun, *static_args = args
    return fun.wrap(gen, tuple(static_args), None)


def transformation_with_aux(gen: Generating, *args: Any, use_eq_store: bool = False) -> Any:
    """Like `transformation`, for a generator whose last yield is a pair; also returns what gives its second."""
    if not args:
        return functools.wraps(gen)(functools.partial(transformation_with_aux, gen))
    fun, *static_args = args
    store = Store()
    return fun.wrap(gen, tuple(static_args), store), lambda: store.val


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Return whether the first of two auxiliary results is the one that is there, and that one.

    Raises: StoreException when none or both are there.
    """
    found = []
    for number, aux in enumerate((aux1, aux2)):
        try:
            found.append((number == 0, aux()))
        except StoreException:
            continue
    if len(found) != 1:
        raise StoreException("neither store occupied" if not found else "both stores occupied")
    return found[0]


def cache(call: Callable[..., Any], explain: Any = None) -> Callable[..., Any]:
    """Return `call(fun, *args)`, a function of a WrappedFun, with its results remembered."""
    return _cache()(call)  # type: ignore[no-any-return]
