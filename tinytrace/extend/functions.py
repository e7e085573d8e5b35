"""`jax.util`: small functions on sequences that programs written against JAX's insides use."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinytrace.control_flow.bodies import drop, keep, merge, split
from tinytrace.primitives.checks import canonicalize_axis as canonicalize_axis
from tinytrace.util import cache_context


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """Return the list of `f` over sequences of one length.

    Raises: AssertionError when the lengths differ.

    >>> safe_map(max, [1, 5], [3, 2])
    [3, 5]
    """
    lists = list(map(list, args))
    lengths = [len(x) for x in lists]
    assert all(n == lengths[0] for n in lengths), f"length mismatch: {lengths}"
    return list(map(f, *lists))


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return the list of tuples of sequences of one length.

    Raises: ValueError when the lengths differ.
    """
    return list(zip(*args, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the firsts and the seconds of pairs.

    >>> unzip2([(1, "a"), (2, "b")])
    ((1, 2), ('a', 'b'))
    """
    pairs = list(pairs)
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def unzip3(triples: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], ...]:
    """Return the firsts, the seconds and the thirds of triples."""
    triples = list(triples)
    return tuple(tuple(triple[k] for triple in triples) for k in range(3))


def subvals(values: Sequence[Any], replace: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return `values` with those at the given positions replaced.

    >>> subvals([1, 2, 3], [(1, "two")])
    (1, 'two', 3)
    """
    result = list(values)
    for i, value in replace:
        result[i] = value
    return tuple(result)


def split_list(args: Sequence[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """Cut a list into pieces of the given lengths and a last piece with the rest.

    >>> split_list([1, 2, 3, 4], [1, 2])
    [[1], [2, 3], [4]]
    """
    return split(list(args), *lengths)


def split_list_checked(args: Sequence[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """Cut a list into pieces of the given lengths, which take all of it."""
    assert sum(lengths) == len(args)
    assert all(n >= 0 for n in lengths)
    return split_list(args, lengths)[:-1]


def partition_list(flags: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the values that are not marked, and those that are."""
    return drop(values, flags), keep(values, flags)


def merge_lists(flags: Sequence[bool], unmarked: Sequence[Any], marked: Sequence[Any]) -> list[Any]:
    """Put the two parts of a list together again: the opposite of `partition_list`."""
    assert len(flags) == len(unmarked) + len(marked)
    assert sum(flags) == len(marked)
    return merge(flags, unmarked, marked)


def split_dict(values: dict[Any, Any], names: Sequence[Any]) -> list[Any]:
    """Return the values of `names`, which are all that there are."""
    values = dict(values)
    result = [values.pop(name) for name in names]
    assert not values
    return result


def concatenate(sequences: Iterable[Sequence[Any]]) -> list[Any]:
    """Return one list of the elements of several."""
    return [x for sequence in sequences for x in sequence]


def split_merge(predicate: Callable[[Any], bool], values: Sequence[Any]
                ) -> tuple[list[Any], list[Any], Callable[[Sequence[Any], Sequence[Any]], list[Any]]]:
    """Return the values for which `predicate` holds, the others, and what merges two such lists again."""
    flags = [not predicate(x) for x in values]
    chosen, others = partition_list(flags, values)
    return chosen, others, lambda a, b: merge_lists(flags, a, b)


def curry(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` as a function of its first arguments to a function of the others."""
    return functools.wraps(f)(functools.partial(functools.partial, f))


def cache(max_size: int | None = 4096, trace_context_in_key: bool = True) -> Callable[..., Any]:
    """Return a decorator that remembers results by the arguments, and by the settings and the place in a program."""
    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.lru_cache(max_size)
        def remembered(context: Any, *args: Any, **kwargs: Any) -> Any:
            return f(*args, **kwargs)

        @functools.wraps(f)
        def cached(*args: Any, **kwargs: Any) -> Any:
            return remembered(cache_context() if trace_context_in_key else None, *args, **kwargs)

        cached.cache_clear = remembered.cache_clear  # type: ignore[attr-defined]
        cached.cache_info = remembered.cache_info  # type: ignore[attr-defined]
        return cached

    return decorate


def wraps(wrapped: Callable[..., Any], namestr: str | None = None, docstr: str | None = None,
          **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator like `functools.wraps`, for functions that may have no name; `namestr` is a format of it."""
    def decorate(fun: Callable[..., Any]) -> Callable[..., Any]:
        name = fun_name(wrapped)
        fun.__name__ = name if namestr is None else namestr.format(fun=name)
        doc = getattr(wrapped, "__doc__", None) or ""
        fun.__doc__ = doc if docstr is None else docstr.format(fun=name, doc=doc, **kwargs)
        fun.__module__ = getattr(wrapped, "__module__", "<unknown module>")
        fun.__annotations__ = getattr(wrapped, "__annotations__", {})
        fun.__dict__.update(getattr(wrapped, "__dict__", {}))
        fun.__wrapped__ = wrapped  # type: ignore[attr-defined]
        return fun

    return decorate


def fun_name(fun: Any) -> str:
    """Return the name of a function, or what stands for it."""
    return getattr(fun, "__name__", "<unnamed function>")


def wrap_name(name: str, transform_name: str) -> str:
    """Return the name of a transformed function.

    >>> wrap_name("f", "vmap")
    'vmap(f)'
    """
    return f"{transform_name}({name})"


def tuple_insert(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    """Return a tuple with one value more."""
    return *values[:index], value, *values[index:]


def tuple_delete(values: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    """Return a tuple with one value less."""
    return *values[:index], *values[index + 1:]


def set_module(module: str) -> Callable[[Any], Any]:
    """Return a decorator that says where a function is to be found."""
    def decorate(value: Any) -> Any:
        value.__module__ = module
        return value

    return decorate


class HashableFunction:
    """A function that is equal to others of the same closure."""

    def __init__(self, f: Callable[..., Any], closure: Any) -> None:
        self.f, self.closure = f, closure

    def __eq__(self, other: object) -> bool:
        return type(other) is HashableFunction and self.closure == other.closure and (
            getattr(self.f, "__code__", self.f) == getattr(other.f, "__code__", other.f))

    def __hash__(self) -> int:
        return hash((getattr(self.f, "__code__", self.f), self.closure))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<hashable {self.f.__name__} with closure={self.closure}>"


def as_hashable_function(closure: Any) -> Callable[[Callable[..., Any]], HashableFunction]:
    """Return a decorator that makes a `HashableFunction` with the given closure."""
    return lambda f: HashableFunction(f, closure)
