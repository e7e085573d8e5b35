"""`vectorize`: a function of elements (or of small arrays, by signature) becomes one of arrays that broadcasts.

It is vmap, once per axis of the broadcast shape, over the arguments that are not of size one there.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace import lax
from tinytrace.api.vmapping import vmap
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.shapes import expand_dims, squeeze

CoreDims: TypeAlias = tuple[str, ...]

_NAME = r"\w+"
_DIMS = rf"(?:{_NAME}(?:,{_NAME})*)?"
_ARGUMENT = rf"\({_DIMS}\)"
_ARGUMENTS = rf"{_ARGUMENT}(?:,{_ARGUMENT})*"
_SIGNATURE = rf"^{_ARGUMENTS}->{_ARGUMENTS}$"


def vectorize(pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = frozenset(),
              signature: str | None = None) -> Callable[..., Any]:
    """Return `pyfunc`, a function of scalars, as a function of arrays; of arrays whose shapes `signature` names.

    excluded: numbers and names of arguments that are passed on as they are.

    >>> jnp.vectorize(lambda v, w: jnp.dot(v, w), signature="(n),(n)->()")(jnp.ones((2, 3)), jnp.ones(3))
    Array([3., 3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.vectorize.html.
    """
    if any(not isinstance(x, (str, int)) for x in excluded):
        raise TypeError(f"jax.numpy.vectorize can only exclude integer or string arguments, but excluded={excluded!r}")
    if any(isinstance(x, int) and x < 0 for x in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")

    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        context = f"on vectorized function with excluded={excluded!r} and signature={signature!r}"
        function, arrays = _without_excluded(pyfunc, excluded, args, kwargs)
        in_dims, out_dims = _parse(signature) if signature is not None else ([()] * len(arrays), None)
        missing = [i for i, x in enumerate(arrays) if x is None]
        if any(in_dims[i] != () for i in missing):
            raise ValueError(f"Cannot pass None at locations {set(missing)} with signature={signature!r}")
        if missing:
            function, arrays = _without_excluded(function, missing, arrays, {})
            in_dims = [dims for i, dims in enumerate(in_dims) if i not in missing]
        return _apply(function, [asarray(x) for x in arrays], in_dims, out_dims, context)

    return vectorized


def _without_excluded(function: Callable[..., Any], excluded: Collection[int | str], args: Sequence[Any],
                      kwargs: dict[str, Any]) -> tuple[Callable[..., Any], Sequence[Any]]:
    """Return a function of the arguments that take part, and these."""
    fixed = [(i, x) for i, x in enumerate(args) if i in excluded]

    def partial(*dynamic: Any) -> Any:
        positional = list(dynamic)
        for i, x in fixed:
            positional.insert(i, x)
        return function(*positional, **kwargs)

    return partial, [x for i, x in enumerate(args) if i not in excluded]


def _apply(function: Callable[..., Any], arrays: Sequence[Any], in_dims: Sequence[CoreDims],
           out_dims: Sequence[CoreDims] | None, context: str) -> Any:
    shape, sizes = _input_dimensions(arrays, in_dims, context)
    function = _check_outputs(function, sizes, out_dims, context)
    squeezed, padded_shapes = [], []
    for x, dims in zip(arrays, in_dims, strict=True):
        outer = x.shape[:x.ndim - len(dims)]
        padded_shapes.append((1,) * (len(shape) - len(outer)) + outer)
        squeezed.append(squeeze(x, tuple(i for i, size in enumerate(outer) if size == 1)))
    expanded = []
    for axis in reversed(range(len(shape))):
        mapped = tuple(None if padded[axis] == 1 else 0 for padded in padded_shapes)
        if all(m is None for m in mapped):
            expanded.append(axis)
        else:
            function = vmap(function, mapped)
    result = function(*squeezed)
    if not expanded:
        return result
    if isinstance(result, tuple):
        return tuple(expand_dims(r, expanded) for r in result)
    return expand_dims(result, expanded)


# --- signatures ------------------------------------------------------------------------------------------------

def _parse(signature: str) -> tuple[list[CoreDims], list[CoreDims]]:
    """Return the names of the dimensions of each argument and of each result of `(n,m),(m)->(n)`."""
    if not re.match(_SIGNATURE, signature):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    args, results = [[tuple(re.findall(_NAME, arg)) for arg in re.findall(_ARGUMENT, part)]
                     for part in signature.split("->")]
    return args, results


def _input_dimensions(arrays: Sequence[Any], in_dims: Sequence[CoreDims],
                      context: str) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return what the outer shapes broadcast to, and the size of each named dimension."""
    if len(arrays) != len(in_dims):
        raise TypeError(f"wrong number of positional arguments: expected {len(in_dims)}, got {len(arrays)} {context}")
    sizes: dict[str, int] = {}
    for x, dims in zip(arrays, in_dims, strict=True):
        if x.ndim < len(dims):
            raise ValueError(f"input with shape {x.shape} does not have enough dimensions for all core dimensions "
                             f"{dims} {context}")
        _record(sizes, x.shape, dims, context)
    return lax.broadcast_shapes(*[x.shape[:x.ndim - len(dims)] for x, dims in zip(arrays, in_dims, strict=True)]), sizes


def _record(sizes: dict[str, int], shape: tuple[int, ...], dims: CoreDims, context: str) -> None:
    for dim, size in zip(dims, shape[len(shape) - len(dims):], strict=True):
        if sizes.setdefault(dim, size) != size:
            raise ValueError(f"inconsistent size for core dimension {dim!r}: {size} vs {sizes[dim]} {context}")


def _check_outputs(function: Callable[..., Any], sizes: dict[str, int], out_dims: Sequence[CoreDims] | None,
                   context: str) -> Callable[..., Any]:
    """Return `function` with a check that its results have the promised shapes."""

    def checked(*args: Any) -> Any:
        out = function(*args)
        results = out if isinstance(out, tuple) else (out,)
        expected = [()] * len(results) if out_dims is None else out_dims
        if len(expected) > 1 and not isinstance(out, tuple):
            raise TypeError(f"output must be a tuple when multiple outputs are expected, got: {out!r}\n{context}")
        if len(results) != len(expected):
            raise TypeError(f"wrong number of output arguments: expected {len(expected)}, got {len(results)} {context}")
        known = dict(sizes)
        for x, dims in zip(results, expected, strict=True):
            if np.ndim(x) != len(dims):
                raise ValueError(f"output shape {np.shape(x)} does not match core dimensions {dims} {context}")
            _record(known, np.shape(x), dims, context)
        return out

    return checked
