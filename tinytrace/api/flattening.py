"""Between the user's functions of trees and the interpreters' functions of flat lists: flattening, argnums, checks."""
from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.signatures import function_name
from tinytrace.core.avals import ShapedArray, aval_of, is_valid_type
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.trace import Tracer
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.tracebacks import api_boundary


def maker_of(tree: PyTreeDef) -> Callable[[list[Any]], Any] | None:
    """Return what makes a tree of the list of its leaves, for the hit path, which makes a tuple itself; None: a leaf.

    >>> maker_of(tree_flatten((1, 2))[1]), maker_of(tree_flatten(1)[1])
    (<class 'tuple'>, None)
    """
    if tree.num_nodes == 1 and tree.num_leaves == 1:
        return None
    is_flat = tree.num_nodes == 1 + tree.num_leaves
    return tuple if is_flat and tree.node_data() == (tuple, None) else tree.unflatten


class FlatFunction:
    """`fun`, of positional trees to a tree, as a function of leaves to a list of leaves.

    With `has_aux`, `fun` returns a pair and this function two lists. Once called, it knows `out_tree` and `aux_tree`.
    """

    out_tree: PyTreeDef
    aux_tree: PyTreeDef

    def __init__(self, fun: Callable[..., Any], in_tree: PyTreeDef, has_aux: bool = False) -> None:
        self.fun, self.in_tree, self.has_aux = fun, in_tree, has_aux

    def __call__(self, *leaves: Any) -> Any:
        result = self.fun(*tree_unflatten(self.in_tree, leaves))
        if not self.has_aux:
            outs, self.out_tree = tree_flatten(result)
            return outs
        if not isinstance(result, (list, tuple)) or len(result) != 2:
            raise TypeError("expected function with aux output to return a two-element tuple, but got type "
                            f"{type(result)} with value {result!r}")
        outs, self.out_tree = tree_flatten(result[0])
        aux, self.aux_tree = tree_flatten(result[1])
        return outs, aux


def select_arguments(fun: Callable[..., Any], argnums: int | tuple[int, ...], args: Sequence[Any],
                     kwargs: dict[str, Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return `fun` as a function of the arguments numbered `argnums` alone, and these arguments.

    Raises: ValueError for a number that is out of range or given twice.
    """
    numbers = []
    for number in (argnums,) if isinstance(argnums, int) else argnums:
        if not -len(args) <= number < len(args):
            raise ValueError("Positional argument indices, e.g. for `static_argnums`, must have value greater than or "
                             "equal to -len(args) and less than len(args), but got value "
                             f"{number} for len(args) == {len(args)}.")
        numbers.append(number % len(args))
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"argnums must be distinct, got {argnums} for {len(args)} positional arguments.")

    def of_selected(*selected: Any) -> Any:
        complete = list(args)
        for number, arg in zip(numbers, selected, strict=True):
            complete[number] = arg
        return fun(*complete, **kwargs)

    return of_selected, tuple(args[number] for number in numbers)


def as_argnums(argnums: Any) -> int | tuple[int, ...]:
    """Return `argnums` as an int or a tuple of ints; raises TypeError if it is neither."""
    if isinstance(argnums, Sequence) and not isinstance(argnums, str):
        return tuple(map(operator.index, argnums))
    return operator.index(argnums)


def check_callable(fun: Any) -> None:
    """Raise TypeError unless `fun` is a function that can be transformed."""
    if isinstance(fun, staticmethod):
        raise TypeError(f"staticmethod arguments are not supported, got {fun}")
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}")


def check_argument(x: Any) -> None:
    """Raise TypeError unless `x` is an array, a tracer or a number."""
    if not is_valid_type(x):
        raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type.")


def described_as(fun: Callable[..., Any], doc: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate what a transformation returns: it looks like `fun`, and its docstring says what it is."""

    def decorate(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        # The attributes of other callables than functions are theirs alone (see JitFunction).
        updated = ("__dict__",) if isinstance(fun, types.FunctionType) else ()
        result = functools.wraps(fun, updated=updated)(api_boundary(wrapper))
        result.__name__ = function_name(fun)
        result.__doc__ = doc.format(fun=result.__name__)
        return result

    return decorate


def long_type(aval: ShapedArray) -> str:
    """Return the type as error messages print it: `float32[3]`."""
    return f"{_dtype_text(aval)}[{','.join(map(str, aval.shape))}]"


def value_type(x: Any) -> str:
    """Return the type of `x` as some error messages print it, with its value where there is one."""
    aval = aval_of(x)
    if isinstance(x, Tracer):
        return repr(aval)
    weak = ", weak_type=True" if aval.weak_type else ""
    return f"ConcreteArray({np.asarray(x)}, dtype={_dtype_text(aval)}{weak})"


def _dtype_text(aval: ShapedArray) -> str:
    return "float0" if aval.dtype == FLOAT0 else aval.dtype.name
