"""What `jit` reads from a function's signature: static arguments by number and name, and what errors call each input.

Source: https://jax.readthedocs.io/en/latest/_autosummary/jax.jit.html on `static_argnums` and `static_argnames`.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinytrace.core.array import Array
from tinytrace.core.jaxpr import DebugInfo
from tinytrace.core.key_paths import keystr
from tinytrace.core.trace import Tracer
from tinytrace.core.tree_paths import tree_flatten_with_path
from tinytrace.records import NamedTuple

ArgNums = int | Sequence[int] | None
ArgNames = str | Iterable[str] | None

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_WITHOUT_KEYWORD = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


class Statics(NamedTuple):
    """Which arguments are static, by position (may be negative) and by keyword; both lists are complete."""

    nums: tuple[int, ...]
    names: tuple[str, ...]


NO_STATICS = Statics((), ())


def resolve_argnums(signature: inspect.Signature | None, nums: ArgNums, names: ArgNames, option: str) -> Statics:
    """Return the complete numbers and names of an option such as `static`, each inferred from the other.

    Raises ValueError when a number or name is none of the function's.
    """
    given_nums, given_names = _as_numbers(nums), _as_names(names)
    if signature is None or (given_nums is None and given_names is None):
        return Statics(given_nums or (), given_names or ())
    both = [(i, name) for i, (name, p) in enumerate(signature.parameters.items())
            if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if given_nums is None:
        assert given_names is not None
        given_nums = tuple(i for i, name in both if name in given_names)
    elif given_names is None:
        given_names = tuple(name for i, name in both if i in given_nums)
    _check_numbers(signature, given_nums, option)
    _check_names(signature, given_names, option)
    return Statics(given_nums, given_names)


def check_disjoint(statics: Statics, donated: Statics) -> None:
    """Raise ValueError if an argument is both static and donated."""
    both = set(statics.names) & set(donated.names)
    if both:
        raise ValueError(f"static_argnames and donate_argnames cannot intersect. Argument names {both} appear in both "
                         "static_argnames and donate_argnames")


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of `fun`, or None for the few builtins that have none."""
    is_all_in_code = type(fun) is types.FunctionType and not (fun.__defaults__ or fun.__kwdefaults__ or fun.__dict__)
    code = fun.__code__ if is_all_in_code else None
    if code is not None and (known := _signatures.get(code)) is not None:
        return known
    try:
        signature = inspect.signature(fun)
    except (ValueError, TypeError):
        return None
    if code is not None:
        _signatures[code] = signature.replace(parameters=[parameter.replace(annotation=parameter.empty)
                                                          for parameter in signature.parameters.values()])
    return signature


_signatures: weakref.WeakKeyDictionary[types.CodeType, inspect.Signature] = weakref.WeakKeyDictionary()
"""The parameters of code: a lambda in a loop is a new function each time, of the same code."""


def function_name(fun: Callable[..., Any]) -> str:
    """Return the name that jaxprs print for `fun`."""
    return getattr(fun, "__name__", None) or "<unnamed wrapped function>"


def function_location(fun: Callable[..., Any]) -> str:
    """Return `f at file.py:3`, or `<unknown>` where there is no source."""
    inner: Any = fun
    while isinstance(inner, functools.partial):
        inner = inner.func
    inner = inspect.unwrap(inner)
    code = getattr(inner, "__code__", None)
    if code is None:
        return "<unknown>"
    return f"{inner.__name__} at {code.co_filename}:{code.co_firstlineno}"


def debug_info(fun: Callable[..., Any], traced_for: str, signature: inspect.Signature | None, args: Sequence[Any],
               kwargs: dict[str, Any], statics: Statics = NO_STATICS) -> DebugInfo:
    """Return what error messages say of one call of `fun`: its location and a path for each flat input."""
    return DebugInfo(function_location(fun), traced_for, argument_names(signature, args, kwargs, statics))


def argument_names(signature: inspect.Signature | None, args: Sequence[Any], kwargs: dict[str, Any],
                   statics: Statics = NO_STATICS) -> tuple[str, ...]:
    """Return a path such as `params['W']` for each flat dynamic input, or () where the call does not fit."""
    if signature is None:
        return ()
    if not kwargs and statics == NO_STATICS:
        plain = _names_of_arrays(signature, args)
        if plain is not None:
            return plain
    hidden = object()
    numbers = {n % len(args) for n in statics.nums if -len(args) <= n < len(args)} if args else set()
    shown = [hidden if i in numbers else x for i, x in enumerate(args)]
    try:
        bound = signature.bind(*shown, **{k: hidden if k in statics.names else v for k, v in kwargs.items()})
    except TypeError:
        return ()
    return tuple(f"{name}{keystr(path)}" for name, value in bound.arguments.items()
                 for path, leaf in tree_flatten_with_path(value)[0] if leaf is not hidden)


def _names_of_arrays(signature: inspect.Signature, args: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the names of arguments that are one array each, all by position; None where it is not as simple."""
    parameters = signature.parameters
    if len(args) != len(parameters) or not all(isinstance(x, (Array, Tracer)) for x in args):
        return None
    if not all(parameter.kind in _POSITIONAL for parameter in parameters.values()):
        return None
    return tuple(parameters)


class ParameterNames(NamedTuple):
    """What errors and keys call the arguments of one kind of calls."""

    dynamic: list[str]
    """Positional ones first, then keywords, in the order of the call."""
    static: list[str]


def parameter_names(signature: inspect.Signature | None, positional: int, keywords: Sequence[str],
                    static_places: Sequence[int | str]) -> ParameterNames:
    """Return the names of a call's arguments: `x`, for those that a `*args` collects `args[0]`.

    positional, keywords: how many dynamic arguments it has by position, and the names of the others.
    static_places: the position or the name of each static one.
    """
    numbers = [place for place in static_places if isinstance(place, int)]
    places: list[int | str] = [*range(positional + len(numbers)), *keywords,
                               *[place for place in static_places if isinstance(place, str)]]
    names = {place: f"args[{place}]" if isinstance(place, int) else place for place in places}
    if signature is not None:
        with contextlib.suppress(TypeError):
            by_keyword = {place: place for place in places if isinstance(place, str)}
            bound = signature.bind(*range(positional + len(numbers)), **by_keyword)
            for name, value in bound.arguments.items():
                if isinstance(value, tuple):
                    names.update((place, f"{name}[{i}]") for i, place in enumerate(value))
                elif isinstance(value, dict):
                    names.update((place, f"{name}[{key!r}]") for key, place in value.items())
                else:
                    names[value] = name
    dynamic = [names[place] for place in range(positional + len(numbers)) if place not in numbers]
    return ParameterNames([*dynamic, *[names[place] for place in keywords]], [names[place] for place in static_places])


def not_an_array(fun: Callable[..., Any] | str, value: Any, path: str | None) -> TypeError:
    """The error for an argument of `fun` that is no array; `path` says which (`params['W']`)."""
    return TypeError(
        f"Error interpreting argument to {fun} as an abstract array. The problematic value is of type "
        f"{type(value)} and was passed to the function at path {path or ''}.\n"
        "This typically means that a jit-wrapped function was called with a non-array argument, and this argument "
        "was not marked as static using the static_argnums or static_argnames parameters of jax.jit.")


def _as_numbers(nums: ArgNums) -> tuple[int, ...] | None:
    if nums is None:
        return None
    return (operator.index(nums),) if hasattr(nums, "__index__") else tuple(map(operator.index, nums))


def _as_names(names: ArgNames) -> tuple[str, ...] | None:
    if names is None or isinstance(names, str):
        return None if names is None else (names,)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"argument is not a string: {name}")
    return tuple(names)


def _check_numbers(signature: inspect.Signature, nums: tuple[int, ...], option: str) -> None:
    parameters = signature.parameters.values()
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return
    count = sum(p.kind in _POSITIONAL for p in parameters)
    if nums and (-min(nums) > count or max(nums) >= count):
        raise ValueError(f"Jitted function has {option}_argnums={nums}, but only accepts {count} positional "
                         "arguments.")


def _check_names(signature: inspect.Signature, names: tuple[str, ...], option: str) -> None:
    kinds = {name: p.kind for name, p in signature.parameters.items()}
    positional = {name for name in names if kinds.get(name) in _WITHOUT_KEYWORD}
    if positional:
        raise ValueError(f"Jitted function has invalid argnames {positional} in {option}_argnames. "
                         "These are positional-only")
    unknown = {name for name in names if name not in kinds}
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds.values():
        raise ValueError(f"Jitted function has invalid argnames {unknown} in {option}_argnames. "
                         "Function does not take these args.")
