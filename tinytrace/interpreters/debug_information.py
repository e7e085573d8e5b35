"""What `jax.interpreters.partial_eval` knows of a function that is traced: its place, and the names of its arguments.

Source: `jax.interpreters.partial_eval` of JAX 0.4.35.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tinytrace.api_util import flatten_fun, flatten_fun_nokwargs
from tinytrace.core import jaxpr
from tinytrace.core.key_paths import keystr
from tinytrace.core.tree_paths import tree_flatten_with_path
from tinytrace.core.trees import PyTreeDef, tree_unflatten
from tinytrace.extend.linear_util import WrappedFun
from tinytrace.records import NamedTuple


class DebugInfo(NamedTuple):
    """A function and the trees of its arguments and results; `traced_for` is "jit", "scan", and so on."""

    func_src_info: str | None
    signature: inspect.Signature | None
    in_tree: PyTreeDef | None
    out_tree: Callable[[], PyTreeDef] | None
    has_kwargs: bool
    traced_for: str


def debug_info(fn: Callable[..., Any], in_tree: PyTreeDef | None, out_tree_thunk: Callable[[], PyTreeDef] | None,
               has_kwargs: bool, traced_for: str) -> DebugInfo:
    """Return what is known of a function; `has_kwargs`: whether `in_tree` is that of `(args, kwargs)`.

    >>> from tinytrace.core.trees import tree_structure
    >>> dbg = debug_info(lambda x, y: x, tree_structure((1, {"a": 2})), None, False, "jit")
    >>> [name + keystr(path) for name, path in arg_info_all(dbg)]
    ['x', "y['a']"]
    """
    try:
        signature = inspect.signature(fn)
    except (ValueError, TypeError):
        signature = None
    return DebugInfo(_place(fn), signature, in_tree, out_tree_thunk, has_kwargs, traced_for)


def debug_info_final(fn: WrappedFun, traced_for: str) -> DebugInfo:
    """Return what is known of a function to which `flatten_fun` may have been applied."""
    flattens = {flatten_fun.args[0]: True, flatten_fun_nokwargs.args[0]: False}
    found = [(args[0], store, flattens[gen]) for (gen, args), store in zip(fn.transforms, fn.stores, strict=True)
             if gen in flattens]
    if len(found) != 1:
        return debug_info(fn.f, None, None, False, traced_for)
    (in_tree, store, has_kwargs), = found
    return debug_info(fn.f, in_tree, lambda: store.val, has_kwargs, traced_for)  # type: ignore[union-attr]


def sig_info(dbg: DebugInfo) -> inspect.BoundArguments | None:
    """Return the arguments by parameter, each leaf False; None if they are not known."""
    if dbg.in_tree is None or dbg.signature is None:
        return None
    args = tree_unflatten(dbg.in_tree, [False] * dbg.in_tree.num_leaves)
    args, kwargs = args if dbg.has_kwargs else (args, {})
    try:
        return dbg.signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None


def arg_info_all(dbg: DebugInfo) -> list[tuple[str, Any]] | None:
    """Return for each leaf of the arguments the name of its parameter and the path to it; None if not known."""
    bound = sig_info(dbg)
    if bound is None:
        return None
    return [(name, path) for name, arg in bound.arguments.items() for path, _ in tree_flatten_with_path(arg)[0]]


def result_info(dbg: DebugInfo) -> list[Any] | None:
    """Return the path to each leaf of the result; None before it is known."""
    if dbg.out_tree is None:
        return None
    tree = dbg.out_tree()
    return [path for path, _ in tree_flatten_with_path(tree_unflatten(tree, [False] * tree.num_leaves))[0]]


def for_messages(dbg: Any) -> jaxpr.DebugInfo | None:
    """Return the same for error messages of this package."""
    if not isinstance(dbg, DebugInfo):
        return dbg  # type: ignore[no-any-return]
    names = tuple(name + keystr(path) for name, path in arg_info_all(dbg) or [])
    return jaxpr.DebugInfo(dbg.func_src_info or "<unknown>", dbg.traced_for, names)


def _place(fn: Callable[..., Any]) -> str | None:
    while isinstance(fn, functools.partial):
        fn = fn.func
    fn = inspect.unwrap(fn)
    code = getattr(fn, "__code__", None)
    return None if code is None else f"{fn.__name__} at {code.co_filename}:{code.co_firstlineno}"
