"""`jit`: trace a function once per kind of arguments, compile it, and answer later calls from memory.

How a call is traced is told in `traced_calls`, what is remembered, and under which keys, in `jit_cache`. In front of
them `FastCallable` (csrc/callable.c) answers calls that it has been taught; it decides nothing itself.

Source: https://jax.readthedocs.io/en/latest/_autosummary/jax.jit.html.
"""
from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tinytrace import api, events
from tinytrace._dispatch import FastCallable, Guarded, current_epoch, forget, set_raise_status
from tinytrace.api.devices import devices
from tinytrace.api.donation import NO_DONATION, Donation, donated_leaves, donation_of
from tinytrace.api.first_calls import note_first_call
from tinytrace.api.flattening import check_callable
from tinytrace.api.jit_cache import (
    CallRecord,
    CompiledCall,
    JitOptions,
    LookupKey,
    TracedFunction,
    leaf_key,
    shared_cache,
)
from tinytrace.api.known_calls import entry_of
from tinytrace.api.nan_checks import find_nan
from tinytrace.api.placed_calls import NO_PLACES, Places, refuse_no_shardings, with_shardings
from tinytrace.api.program import shared_program
from tinytrace.api.signatures import (
    ArgNames,
    ArgNums,
    Statics,
    argument_names,
    check_disjoint,
    function_name,
    resolve_argnums,
    signature_of,
)
from tinytrace.api.stages import Lowered, Traced
from tinytrace.api.static_state import NEVER, Guards, guards_of, has_changed
from tinytrace.api.traced_calls import TracedCalls, reading_order
from tinytrace.config import config, trace_context
from tinytrace.control_flow.effects import refuse_unlowerable
from tinytrace.control_flow.pjit import call_params, pjit_p
from tinytrace.core import views
from tinytrace.core.moving import CarriedFunction, by_reference
from tinytrace.core.notebook import ShowsItself
from tinytrace.core.trace import current_trace, is_eager, is_interpreting
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves
from tinytrace.errors import name_program
from tinytrace.runtime.status import raise_status
from tinytrace.tracebacks import api_boundary, boundary, shorten
from tinytrace.transforms.staging import user_source

if TYPE_CHECKING:
    from tinytrace.api.cache_view import FunctionCache
    from tinytrace.api.call_keys import CallKey
    from tinytrace.api.why import Why


class JitFunction(FastCallable, TracedCalls, ShowsItself):
    """A function that runs compiled; made by `jit`."""

    observer: ClassVar[Callable[[str, CompiledCall, Sequence[Any]], Any] | None] = None
    """Who answers calls while they are profiled, given the name, the compiled call and the leaves."""

    def __init__(self, fun: Callable[..., Any], options: JitOptions, signature: inspect.Signature | None,
                 places: Places = NO_PLACES) -> None:
        # The attributes of a function come along; those of another callable could take the place of methods.
        functools.update_wrapper(self, fun, updated=("__dict__",) if isinstance(fun, types.FunctionType) else ())
        self._fun = fun
        self._options = options
        self._signature = signature
        self._places = places
        self._cache = shared_cache(fun, options)
        self._all_dynamic = options.statics == Statics((), ())
        self._name = function_name(fun)
        self._configure(JitFunction._missed, options.statics.nums, options.statics.names)

    @boundary
    def _missed(self, *args: Any, **kwargs: Any) -> Any:
        """Answer a call; `FastCallable.__call__` (csrc/callable.c) comes here with every call it has not learnt."""
        try:
            if not is_eager():
                return self._stage(args, kwargs)
            if config.disable_jit or is_interpreting():
                return self._fun(*args, **kwargs)
            return self._call(args, kwargs)
        except Exception as error:
            name_program(error, self._name)
            shorten(error)
            raise

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else _BoundJit(self, instance)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function, whether or not `inspect` looks at what it wraps."""
        return inspect.signature(self._fun)

    def __repr__(self) -> str:
        try:
            return f"<PjitFunction of {vars(self)['__wrapped__']!r}>"
        except Exception:
            return "<PjitFunction>"  # the repr of the function, a user's, fails

    def __reduce__(self) -> str | tuple[Any, ...]:
        return by_reference(self) or (_rebuilt, (CarriedFunction(self._fun), self._options, self._places))

    def __copy__(self) -> JitFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> JitFunction:
        return self

    def _cache_size(self) -> int:
        """Return how many kinds of calls are compiled."""
        return len(self._cache.calls)

    def clear_cache(self) -> None:
        """Forget every trace and every compiled call of this function."""
        self._cache.clear()
        forget()

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        split = super()._split(args, kwargs)
        self._places.check_call(split[0][0], bool(kwargs), lambda: argument_names(
            self._signature, args, kwargs, self._options.statics))
        return split

    # --- a call outside any trace ---

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        epoch = current_epoch()
        dynamic, statics = self._split(args, kwargs)
        leaves, tree = tree_flatten(dynamic)
        key = LookupKey(tree, tuple(map(leaf_key, leaves)), statics, trace_context())
        call = self._cache.calls.get(key)
        guards = guards_of(statics) if call is not None and call.record.traced.states is not None else None
        if call is None or has_changed(call.record.traced.states, statics):
            call = self._compile(key, args, kwargs, leaves)
            guards = NEVER if call.record.traced.states is not None else None  # what was learnt before is forgotten
            if self._options.background and call.loop is None:
                call.program.compile_in_background()
        else:
            call.counter.count()
        try:
            # May raise: then nothing is remembered.
            observer = JitFunction.observer
            result = (self._watching_keys(call, leaves) if config.debug_key_reuse else
                      call(leaves) if observer is None else observer(self._name, call, leaves))
        except OverflowError:
            for i, leaf in enumerate(leaves):
                self._leaf_aval(leaf, i, args, kwargs)  # a Python integer that does not fit: says which
            raise
        if config.checks_results:
            closed = self._traced(args, kwargs, leaves, tree, statics).closed
            find_nan(self._name, closed, leaves, tree_leaves(result))
        self._cache.calls[key] = call
        if self._places.outs is not None:  # the hit path knows of no places
            return with_shardings(result, self._places.outs)
        self._teach(args, kwargs, dynamic, tree, call, guards, epoch)
        return result

    def _watching_keys(self, call: CompiledCall, leaves: list[Any]) -> Any:
        closed = call.record.traced.closed
        return views.key_reuse.call_program(closed, leaves, lambda: call(leaves), tree_leaves)

    def _compile(self, key: LookupKey, args: tuple[Any, ...], kwargs: dict[str, Any],
                 leaves: list[Any]) -> CompiledCall:
        cache, traced_before = self._cache, self._cache.traced
        events.tell("miss", self._name, 0.0, (self, key))
        traced = self._traced(args, kwargs, leaves, key.tree, key.statics)
        refuse_unlowerable(traced.closed.effects)
        donation = self._donation(traced, args, kwargs)
        program = cache.programs.get(traced.closed)
        if program is None:
            first = len(traced.closed.consts)
            donated = frozenset(first + i for i in donation.given)
            program = cache.programs.setdefault(traced.closed, shared_program(traced.closed.jaxpr, donated))
        donation.warn()
        cache.missed += 1
        made_by = user_source()
        if cache.missed == 1:
            note_first_call(self, api.cache_view.call_key(self, key) if key.statics else key, made_by)
        seconds = traced.seconds if cache.traced > traced_before else 0.0
        call = CompiledCall(program, CallRecord(cache.missed, made_by, seconds,
                                                "executable" not in program.__dict__, traced, donation), leaves)
        if config.log_compiles:
            api.logs.log_compile(self, call)
        return call

    def _donation(self, traced: TracedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Donation:
        """Return what becomes of donated arguments; while NaNs are looked for none is: it may be needed once more."""
        if config.checks_results:
            return NO_DONATION
        flags = donated_leaves(self._options.donated, self._options.statics, args, kwargs)
        return donation_of(traced.closed.jaxpr, flags, self._options.keep_unused)

    def _teach(self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any, tree: PyTreeDef,
               call: CompiledCall, guards: Guards, epoch: int) -> None:
        """Let the hit path answer such calls itself from now on, unless settings have changed since `epoch`.

        guards: what must stay in static values that may change; None where that cannot be told.
        """
        may_change = call.record.traced.states is not None
        if config.checks_results or (may_change and guards is None):
            return
        places = {leaf: place for place, leaf in enumerate(reading_order(dynamic, tree))}
        if len(places) == tree.num_leaves and (
                entry := entry_of(call, [places[i] for i in range(len(places))])) is not None:
            self._learn(args, kwargs, Guarded(entry, guards) if may_change and guards else entry, epoch)

    # --- a call inside a trace ---

    def _stage(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if config.disable_jit or current_trace().inlines_calls:
            return self._fun(*args, **kwargs)
        dynamic, statics = self._split(args, kwargs)
        leaves, tree = tree_flatten(dynamic)
        traced = self._traced(args, kwargs, leaves, tree, statics)
        results = pjit_p.bind(*traced.consts, *leaves, **self._call_params(traced, args, kwargs))
        return traced.out_tree.unflatten(results)

    def _call_params(self, traced: TracedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        flags = donated_leaves(self._options.donated, self._options.statics, args, kwargs)
        donated = (*[False] * (len(traced.closed.jaxpr.invars) - len(flags)), *flags)
        return call_params(traced.closed, self._name, donated, self._options.keep_unused, self._options.inline)

    # --- what is remembered, and why ---

    def key_for(self, *args: Any, **kwargs: Any) -> CallKey:
        """Return the key of a call, and run nothing: named fields, printed, compared, as JSON.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> f = jax.jit(lambda x, n: x * n, static_argnames="n")
        >>> print(f.key_for(jnp.ones(3), n=2).diff(f.key_for(jnp.ones(4), n=2)))
        x.shape: (3,) -> (4,)  (another shape is another program)
        """
        return api.cache_view.call_key(self, self.lookup_key(args, kwargs))

    @property
    def cache(self) -> FunctionCache:
        """What is remembered of this function: a mapping from `CallKey` to what each entry is and has cost."""
        return api.cache_view.FunctionCache(self)

    def why(self, *args: Any, **kwargs: Any) -> Why:
        """Tell whether a call would be answered from memory, and if not why not, and what it will cost; see `api.why`.

        Nothing runs but, for the cost of a miss, the tracing.
        """
        return api.why.why(self, args, kwargs)

    # --- stages ---

    @api_boundary
    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Return the `Traced` stage of a call: its jaxpr, and `.lower()` to go on."""
        dynamic, statics = self._split(args, kwargs)
        leaves, tree = tree_flatten(dynamic)
        traced = self._traced(args, kwargs, leaves, tree, statics)
        names = argument_names(self._signature, args, kwargs, self._options.statics)
        flags = donated_leaves(self._options.donated, self._options.statics, args, kwargs)
        places = Places(self._places.of_leaves(dynamic, leaves), self._places.outs)
        return Traced(traced.closed, tree, traced.out_tree, self._name, names, tuple(flags), self._options.keep_unused,
                      places)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the `Lowered` stage of a call: simplified jaxpr, kernels, C text, and `.compile()`."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the shapes and dtypes of the results, computing nothing."""
        info = self.trace(*args, **kwargs).out_shapes
        return info if self._places.outs is None else with_shardings(info, self._places.outs)


class _BoundJit:
    """A jitted function as a method: calls it with the instance first."""

    def __init__(self, jitted: JitFunction, instance: Any) -> None:
        self.__func__, self.__self__, self.__doc__ = jitted, instance, jitted.__doc__
        self.__wrapped__ = jitted.__wrapped__  # type: ignore[attr-defined]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(types.MethodType(self.__wrapped__, self.__self__))

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.__self__, self.__func__.__wrapped__.__name__)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__func__, name)
        return functools.partial(value, self.__self__) if name in _OF_CALLS else value


_OF_CALLS = ("trace", "lower", "eval_shape", "key_for", "why")
"""The methods that take the arguments of a call."""
_NOT_GIVEN: Any = object()


def jit(fun: Callable[..., Any] = _NOT_GIVEN, *, static_argnums: ArgNums = None, static_argnames: ArgNames = None,
        donate_argnums: ArgNums = None, donate_argnames: ArgNames = None, keep_unused: bool = False,
        inline: bool = False, device: Any = None, backend: str | None = None, in_shardings: Any = None,
        out_shardings: Any = None, abstracted_axes: Any = None, compile: str = "first call") -> Any:
    """Return `fun` compiled: traced and compiled at the first call with each kind of arguments.

    Static arguments are part of the cache key and must be hashable. Results have the `out_shardings`, a sharding or a
    tree of such; `device`, `backend` and `in_shardings` are accepted as in JAX: there is one device, this machine. With
    `compile="background"` the first calls are interpreted, by NumPy, while a thread compiles; the last digits of their
    results may differ.

    Raises: TypeError if `fun` is not callable, NotImplementedError for `abstracted_axes`, ValueError if a static
    argument is none of its parameters or donated too, RuntimeError for a backend other than cpu.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.jit.html.

    >>> import tinytrace as jax
    >>> jax.jit(lambda x: x + 1)(41)
    Array(42, dtype=int32, weak_type=True)
    """
    if fun is _NOT_GIVEN:
        return functools.partial(jit, static_argnums=static_argnums, static_argnames=static_argnames,
                                 donate_argnums=donate_argnums, donate_argnames=donate_argnames,
                                 keep_unused=keep_unused, inline=inline, device=device, backend=backend,
                                 in_shardings=in_shardings, out_shardings=out_shardings,
                                 abstracted_axes=abstracted_axes, compile=compile)
    check_callable(fun)
    if abstracted_axes is not None:
        raise NotImplementedError("abstracted_axes: sizes are numbers here, and each has a program of its own; leave "
                                  "the argument out")
    if compile not in ("first call", "background"):
        raise ValueError(f"jit compiles at the 'first call' or in the 'background', got compile={compile!r}")
    if device is not None or backend is not None:
        devices(backend)
        warnings.warn('backend and device argument on jit is deprecated. You can use `jax.device_put(..., '
                      'jax.local_devices("cpu")[0])` on the inputs to the jitted function to get the same behavior.',
                      DeprecationWarning, stacklevel=2)
    for name, shardings in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        refuse_no_shardings(name, shardings)
    signature = signature_of(fun)
    if signature is None and donate_argnames is not None:
        raise ValueError(f"Getting the signature of function {fun} failed. Pass donate_argnums instead of "
                         "donate_argnames.")
    statics = resolve_argnums(signature, static_argnums, static_argnames, "static")
    donated = resolve_argnums(signature, donate_argnums, donate_argnames, "donate")
    check_disjoint(statics, donated)
    options = JitOptions(statics, donated, keep_unused, inline, compile == "background")
    return JitFunction(fun, options, signature, Places(in_shardings, out_shardings))


def _rebuilt(fun: Callable[..., Any], options: JitOptions, places: Places = NO_PLACES) -> JitFunction:
    """Return a pickled jitted function."""
    return JitFunction(fun, options, signature_of(fun), places)


set_raise_status(raise_status)
