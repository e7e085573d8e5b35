"""What a function is traced to: static arguments taken out, arrays as their types, one jaxpr for each kind of call.

`JitFunction` is built on it; calling what is compiled is told in `jit`, what is remembered in `jit_cache`.
"""
from __future__ import annotations

import inspect
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace import api, events
from tinytrace.api.jit_cache import (
    JitCache,
    JitOptions,
    LookupKey,
    StaticValue,
    TracedFunction,
    TraceKey,
    leaf_key,
    shared_cache,
)
from tinytrace.api.outside import outside_of
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.api.signatures import Statics, debug_info, function_name, not_an_array, signature_of
from tinytrace.api.static_state import has_changed, states_of, warn_of_change
from tinytrace.config import config, trace_context
from tinytrace.core import views
from tinytrace.core.avals import ShapedArray, abstract_type_of, is_valid_type
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.trace import Tracer, current_trace
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_flatten_one_level, tree_unflatten
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr
from tinytrace.util import cache_context


class TracedCalls:
    """A function, and the jaxprs that calls of it were traced to."""

    __slots__ = ()

    _fun: Callable[..., Any]
    _options: JitOptions
    _signature: inspect.Signature | None
    _cache: JitCache
    _name: str
    _all_dynamic: bool
    """Is no argument static?"""

    @property
    def statics(self) -> Statics:
        """Which arguments are static."""
        return self._options.statics

    def traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[TracedFunction, list[Any], list[int]]:
        """Return what a call traces to, its leaves, and the order in which the hit path reads them."""
        dynamic, statics = self._split(args, kwargs)
        leaves, tree = tree_flatten(dynamic)
        order = reading_order(dynamic, tree)
        if len(order) != len(leaves):
            raise ValueError("a node of a tree came apart in two ways: its function that flattens must answer alike")
        return self._traced(args, kwargs, leaves, tree, statics), leaves, order

    def lookup_key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> LookupKey:
        """Return the key by which a call is looked up; what only has a type, as tracers have, counts as an array."""
        dynamic, statics = self._split(args, kwargs)
        leaves, tree = tree_flatten(dynamic)
        keys = [x.aval if isinstance(x, (ShapeDtypeStruct, Tracer)) else leaf_key(x) for x in leaves]
        return LookupKey(tree, tuple(keys), statics, trace_context())

    def check_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise the error with which a call refuses arguments that are no arrays or do not fit, if one is such."""
        dynamic, _ = self._split(args, kwargs)
        for i, leaf in enumerate(tree_flatten(dynamic)[0]):
            self._leaf_aval(leaf, i, args, kwargs)

    # --- tracing ---

    def trace_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TracedFunction:
        """Return what a call traces to, or was traced to before."""
        dynamic, statics = self._split(args, kwargs)
        leaves, tree = tree_flatten(dynamic)
        return self._traced(args, kwargs, leaves, tree, statics)

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], tree: PyTreeDef,
                statics: tuple[Any, ...]) -> TracedFunction:
        avals = tuple([self._leaf_aval(leaf, i, args, kwargs) for i, leaf in enumerate(leaves)])
        key = TraceKey(tree, avals, statics, cache_context())
        traced = self._cache.traces.get(key) or current_trace().memo.get((self._cache, key))
        if traced is not None and has_changed(traced.states, statics):
            warn_of_change(self._name, traced.states, statics)
            traced = None
        if traced is None:
            traced = self._trace(args, kwargs, tree, avals, statics)
            self._tell_trace(key, traced)
            if traced.consts:  # closed-over tracers belong to one enclosing trace only
                current_trace().memo[self._cache, key] = traced
            else:
                self._cache.traces[key] = traced
        return traced

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], tree: PyTreeDef, avals: Sequence[ShapedArray],
               statics: tuple[Any, ...]) -> TracedFunction:
        out_tree: list[PyTreeDef] = []

        def flat_fun(*tracers: Any) -> list[Any]:
            positional, keyword = self._merge(tree_unflatten(tree, tracers), statics)
            out = self._fun(*positional, **keyword)
            out_leaves, treedef = tree_flatten(out)
            for leaf in out_leaves:
                check_output(leaf)
            out_tree.append(treedef)
            return out_leaves

        info = debug_info(self._fun, "jit", self._signature, args, kwargs, self._options.statics)
        begun = time.perf_counter()
        jaxpr, consts = trace_to_jaxpr(flat_fun, avals, info)
        if config.debug_key_reuse:
            views.key_reuse.check_program(jaxpr)
        about = time.perf_counter() - begun, states_of(statics), outside_of(self._fun)
        if any(isinstance(c, Tracer) for c in consts):
            return TracedFunction(ClosedJaxpr(hoist_consts(jaxpr), []), out_tree[0], tuple(consts), *about)
        return TracedFunction(ClosedJaxpr(jaxpr, consts), out_tree[0], (), *about)

    def _tell_trace(self, key: TraceKey, traced: TracedFunction) -> None:
        self._cache.traced += 1
        events.tell("trace", self._name, traced.seconds, (self, key))
        if config.log_compiles:
            api.logs.log_trace(self, traced)
        if config.explain_cache_misses:
            api.logs.explain_trace(self, key)

    # --- arguments ---

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """Return ((dynamic args, dynamic kwargs), statics as a hashable key)."""
        if self._all_dynamic:
            return (args, kwargs), ()
        nums, names = self._options.statics
        static_at = {n % len(args) for n in nums if -len(args) <= n < len(args)} if args else set()
        dynamic = tuple(x for i, x in enumerate(args) if i not in static_at)
        static: list[tuple[int | str, StaticValue]] = [(i, StaticValue(args[i])) for i in sorted(static_at)]
        if kwargs:
            static += [(k, StaticValue(kwargs[k])) for k in sorted(kwargs) if k in names]
            kwargs = {k: v for k, v in kwargs.items() if k not in names}
        return (dynamic, kwargs), tuple(static)

    def _merge(self, dynamic: Any, statics: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
        """Put the static values back between the dynamic ones."""
        args, kwargs = list(dynamic[0]), dict(dynamic[1])
        for place, key in statics:
            if isinstance(place, int):
                args.insert(place, key.value)
            else:
                kwargs[place] = key.value
        return args, kwargs

    def _leaf_aval(self, leaf: Any, i: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ShapedArray:
        try:
            return abstract_type_of(leaf)
        except OverflowError:
            raise OverflowError("An overflow was encountered while parsing an argument to a jitted computation, "
                                f"whose argument path is {self._path(i, args, kwargs)}.") from None
        except TypeError as error:
            if is_valid_type(leaf):
                raise
            raise not_an_array(self._fun, leaf, self._path(i, args, kwargs)) from error

    def _path(self, i: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        names = debug_info(self._fun, "jit", self._signature, args, kwargs, self._options.statics).arg_names
        return names[i] or "" if i < len(names) else f"argument {i}"


class FunctionCalls(TracedCalls):
    """The calls of a function that is only traced; its traces are those of the jitted one.

    But for functions of this package: none of the user's lines is in them, and their equations have the line that asks.
    """

    def __init__(self, fun: Callable[..., Any], statics: Statics) -> None:
        nothing = Statics((), ())
        self._fun, self._signature, self._name = fun, signature_of(fun), function_name(fun)
        self._options = JitOptions(statics, nothing, keep_unused=False, inline=False, background=False)
        self._all_dynamic = statics == nothing
        is_ours = str(getattr(fun, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]
        self._cache = JitCache() if is_ours else shared_cache(fun, self._options)


def check_output(leaf: Any) -> None:
    """Raise TypeError if a traced function returned something that is no array."""
    if not is_valid_type(leaf):
        raise TypeError(f"Value {leaf!r} with type {type(leaf)} is not a valid JAX type")


def reading_order(x: Any, tree: PyTreeDef) -> list[int]:
    """Return the flat index of each leaf in the order in which the hit path reads arguments (dicts as they lie).

    x: the arguments of a call, by position and by keyword; tree: their structure.
    """
    arguments, keywords = x
    if not keywords and tree.num_nodes == 3 + len(arguments) == 3 + tree.num_leaves:  # each argument is a leaf
        return list(range(tree.num_leaves))
    order: list[int] = []
    _append_order(order, x, tree, 0)
    return order


def _append_order(order: list[int], x: Any, tree: PyTreeDef, first: int) -> None:
    """Append the order of a part of an argument, whose first leaf has the index `first`."""
    if tree.num_nodes <= tree.num_leaves + 1 and (type(x) is not dict or tree.num_leaves < 2):  # one level, in order
        order.extend(range(first, first + tree.num_leaves))
        return
    subtrees = tree.children()
    starts = itertools.accumulate([subtree.num_leaves for subtree in subtrees], initial=first)
    children, _ = tree_flatten_one_level(x) or ((), None)
    parts = list(zip(children, subtrees, starts, strict=False))
    if type(x) is dict:
        places = {name: place for place, name in enumerate(sorted(x))}
        parts = [parts[places[name]] for name in x]
    for part in parts:
        _append_order(order, *part)
