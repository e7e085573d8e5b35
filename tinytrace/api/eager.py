"""Outside of traces: an operation or a library function that is called runs at once, with the bits of its jitted form.

The rule: **an un-jitted call is the call of the jitted function.** It is traced when it is first met, and its program
runs, compiled as `jit` compiles it (or found in memory, or on disk). Two things make that cheap enough for single
operations, and neither can be seen in a result:

  * NumPy answers for functions that have one right answer (`exactness`) while their arrays are small: elements that
    move or are chosen, comparisons, integers, one sum or product (`recipes`). Nothing is compiled for them, until
    NumPy has spent on one of them as long as a compiler takes.
  * Elementwise functions are compiled once for all shapes (`blocks`), and traced once for all (`any_shape`).

What cannot be traced because it looks at values runs in Python, operation by operation, and each of these by the rule.
docs/eager.md says the same with figures.
"""
from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np

from tinytrace import runtime
from tinytrace._dispatch import EagerEntry, FastCallable, FastEntry, call_entry, current_epoch
from tinytrace.api.any_shape import AnyShape, ReadyFirst, on_block, types_and_shape
from tinytrace.api.blocks import on_blocks
from tinytrace.api.concrete import SCALARS, as_array, leaf_type
from tinytrace.api.exactness import has_one_answer
from tinytrace.api.flattening import maker_of
from tinytrace.api.jit import JitFunction
from tinytrace.api.jit_cache import StaticValue, TracedFunction
from tinytrace.api.loaded_code import cache_of_programs
from tinytrace.api.nan_checks import find_nan
from tinytrace.api.one_number import entry_of_number
from tinytrace.api.operation_programs import operation_program
from tinytrace.api.program import shared_program
from tinytrace.api.ready_loops import loops_of_any_shape
from tinytrace.api.recipes import are_short, calls_in_budget, makes_views, numpy_call, numpy_entry
from tinytrace.api.signatures import not_an_array
from tinytrace.config import config, trace_context
from tinytrace.control_flow.pjit import pjit_p
from tinytrace.core import views
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, aval_of, is_valid_type
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import EvalTrace, apply_primitive, install_executor, refuse_tracer
from tinytrace.errors import name_program
from tinytrace.primitives.elementwise import Elementwise
from tinytrace.pure import PURE
from tinytrace.records import NamedTuple
from tinytrace.runtime.failures import CompileError
from tinytrace.tracebacks import boundary, shorten

LARGE = 1 << 20
"""Bytes of the largest array from which on a program of its own, on all threads, is worth a compiler's time."""


class _Speech(threading.local):
    """Is a function called in this thread that warns?"""

    warns = False


_speech = _Speech()


class EagerFunction(FastCallable):
    """A library function as it is called outside of traces.

    plain: what it does, in terms of other functions.  jitted: its form that can be traced.  arrays_alone: do Python's
    numbers mean something else to it than arrays of them?  elementwise: is it elementwise by its definition, which asks
    no argument for its shape?  is_one_program: are its results alone checked for NaN, and not its inner values?
    """

    def __init__(self, plain: Callable[..., Any], jitted: JitFunction, arrays_alone: bool = False,
                 elementwise: bool = False, is_one_program: bool = False) -> None:
        self.plain, self.jitted, self.arrays_alone, self.elementwise = plain, jitted, arrays_alone, elementwise
        self.is_one_program = is_one_program
        self.static_places, self.static_names = jitted.statics
        self._configure(EagerFunction._first_call, *jitted.statics)

    def _first_call(self, *args: Any, **kwargs: Any) -> Any:
        if config.checks_results and self.is_one_program:  # no call is known then: each comes here
            return (self.plain if config.disable_jit else self.jitted)(*args, **kwargs)
        if self.elementwise and all(name in (self.static_names or ()) for name in kwargs):
            result = _at_any_shape(self, args, kwargs, _function_at_any_shape)
            if result is not NotImplemented:
                return result
        return self._answer(args, kwargs, repeated=False)

    def _second_call(self, *args: Any, **kwargs: Any) -> Any:
        return self._answer(args, kwargs, repeated=True)

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any], repeated: bool) -> Any:
        if _speech.warns:
            return self.plain(*args, **kwargs)
        epoch = current_epoch()
        op_by_op = config.disable_jit or config.checks_results or config.debug_key_reuse
        if not (found := None if op_by_op else self._traced(args, kwargs)):
            plain = self._warn if found is False else self.plain
            self._learn(args, kwargs, plain, epoch)
            return plain(*args, **kwargs)
        traced, leaves, order = found
        make, types = maker_of(traced.out_tree), tuple(map(_leaf_type, leaves))
        call = _best_call(traced.closed, make, types, tuple(order), repeated)
        if is_large(traced.closed) and not repeated:
            self._learn(args, kwargs, self._second_call, epoch)
        elif call.entry is not None:
            self._learn(args, kwargs, call.entry, epoch)
        return call(leaves)

    def _warn(self, *args: Any, **kwargs: Any) -> Any:
        """Answer with the functions themselves all the way down: their traces, which are there, would be silent."""
        _speech.warns, before = True, _speech.warns
        try:
            return self.plain(*args, **kwargs)
        finally:
            _speech.warns = before

    def _traced(self, args: tuple[Any, ...],
                kwargs: dict[str, Any]) -> tuple[TracedFunction, list[Any], list[int]] | Literal[False] | None:
        """Return what such calls trace to.

        None where only the function itself can answer, for it looks at values; False where it warns, too.
        """
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                traced, leaves, order = self.jitted.traced(args, kwargs)
            except Exception:  # if it is the arguments' fault, the function itself says so
                return None
        for leaf in leaves:
            refuse_tracer(leaf)
        if warned:
            return False
        if traced.consts or (self.arrays_alone and not all(type(x) is Array for x in leaves)):
            return None
        return traced, leaves, order


class EagerPrimitive(FastCallable):
    """An operation as it is called outside of traces, its parameters as keyword arguments."""

    def __init__(self, primitive: Primitive) -> None:
        self.primitive, self.elementwise = primitive, isinstance(primitive, Elementwise)
        self.static_places: tuple[int, ...] = ()
        self._configure(EagerPrimitive._first_call, (), None)

    def _first_call(self, *args: Any, **params: Any) -> Any:
        if config.debug_key_reuse:  # no call is known then: each comes here
            return views.key_reuse.call_primitive(self.primitive, args, params, lambda: self._call(args, params))
        return self._call(args, params)

    def _call(self, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if self.elementwise:
            result = _at_any_shape(self, args, params, _primitive_at_any_shape)
            if result is not NotImplemented:
                return result
        return self._answer(args, params, repeated=False)

    def _second_call(self, *args: Any, **params: Any) -> Any:
        return self._answer(args, params, repeated=True)

    def _answer(self, args: tuple[Any, ...], params: dict[str, Any], repeated: bool) -> Any:
        primitive, epoch = self.primitive, current_epoch()
        for arg in args:
            refuse_tracer(arg)
        closed = operation_program(primitive, tuple(map(aval_of, args)), params)
        if closed is None or (primitive.compiled_eagerly and config.disable_jit):
            return apply_primitive(primitive, args, params)
        call = _best_call(closed, list if primitive.multiple_results else None, tuple(map(_leaf_type, args)),
                          tuple(range(len(args))), repeated)
        if is_large(closed) and not repeated:
            self._learn(args, params, self._second_call, epoch)
        elif call.entry is not None and not primitive.compiled_eagerly:  # bodies of loops come and go
            self._learn(args, params, call.entry, epoch)
        result = call(args)
        if config.checks_results:
            name, body = (params["name"], params["jaxpr"]) if primitive is pjit_p else (primitive.name, closed)
            find_nan(name, body, args, result if primitive.multiple_results else [result])
        return result


@boundary
def execute(_: EvalTrace, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run one operation outside of any trace."""
    try:
        call = _primitives.get(primitive)
        if call is None:
            call = _primitives.setdefault(primitive, EagerPrimitive(primitive))
        return call(*args, **params)
    except Exception as error:
        wrong = next((i for i, x in enumerate(args) if not is_valid_type(x)), None)
        if isinstance(error, TypeError) and wrong is not None:
            function = f"<function {primitive.name} at {id(primitive):#x}>"
            raise not_an_array(function, args[wrong], f"args[{wrong}]") from None
        name_program(error, primitive.name)
        shorten(error)
        raise


_primitives: dict[Primitive, EagerPrimitive] = {}
install_executor(execute)


# --- who computes ----------------------------------------------------------------------------------------------

class Call(NamedTuple):
    """How calls of a program with arguments of certain types are answered."""

    closed: ClosedJaxpr
    entry: FastEntry | EagerEntry | None
    """None: only Python can."""
    order: tuple[int, ...]
    """Which argument each leaf is, in the order in which the hit path reads them."""
    unflatten: Callable[[list[Any]], Any] | None

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Answer one call; leaves may be what only Python understands."""
        closed, avals = self.closed, self.closed.in_avals
        if self.entry is not None:
            read = [leaves[i] if type(leaves[i]) in SCALARS else as_array(leaves[i], avals[i]) for i in self.order]
            result = call_entry(self.entry, *read)
            if result is not NotImplemented:
                return result
        program = shared_program(closed.jaxpr)
        results = program([as_array(x, aval) for x, aval in zip([*closed.consts, *leaves], program.in_avals,
                                                                strict=True)])
        return results[0] if self.unflatten is None else self.unflatten(results)


def _best_call(closed: ClosedJaxpr, unflatten: Callable[[list[Any]], Any] | None, leaf_types: tuple[type, ...],
               order: tuple[int, ...], repeated: bool) -> Call:
    """Return how calls of a program are answered; once NumPy has answered many of them, by machine code."""
    call = _call_of(closed, unflatten, leaf_types, order, repeated, trace_context())
    if isinstance(call.entry, EagerEntry) and call.entry.is_spent:
        return _call_of(closed, unflatten, leaf_types, order, repeated, trace_context(), often=True)
    return call


@cache_of_programs(2048)
def _call_of(closed: ClosedJaxpr, unflatten: Callable[[list[Any]], Any] | None, leaf_types: tuple[type, ...],
             order: tuple[int, ...], repeated: bool, context: Hashable, often: bool = False) -> Call:
    """Return how calls of a program are answered, under the settings of `context`: the rule of this page."""
    in_order = order == tuple(range(len(order)))
    cheaply, compiler = not (repeated and is_large(closed)), _has_compiler()
    entry: FastEntry | EagerEntry | None = entry_of_number(closed, unflatten)
    if entry is None and in_order and (not compiler or (cheaply and not often and has_one_answer(closed.jaxpr))):
        entry = numpy_entry(closed, leaf_types, unflatten, may_be_compiled=compiler)
    if entry is None and compiler and cheaply and (found := on_blocks(closed)):
        on_any = shared_program(found.jaxpr).entry_on_blocks(*_entry_arguments(found, order), unflatten)
        shape = next((aval.shape for aval in (*closed.in_avals, *closed.out_avals) if aval.shape), ())
        entry = on_any and on_any.at(math.prod(shape), tuple(closed.out_avals))
    if entry is None and compiler:
        entry = shared_program(closed.jaxpr).fast_entry(*_entry_arguments(closed, order), unflatten)
    return Call(closed, entry, order, unflatten)


def is_large(closed: ClosedJaxpr) -> bool:
    """Is an argument or a result so large that a program for its very shape pays when calls repeat?

    What NumPy answers by a view costs it nothing, however large the array is.
    """
    largest = max((aval.nbytes for aval in (*closed.in_avals, *closed.out_avals)), default=0)
    return largest >= LARGE and not makes_views(closed.jaxpr)


def _entry_arguments(closed: ClosedJaxpr, order: tuple[int, ...]) -> tuple[list[Any], list[int]]:
    """Return what an entry asks of a program: its constants, and at which place each of its arguments is read."""
    avals = shared_program(closed.jaxpr).in_avals
    consts = [as_array(x, aval) for x, aval in zip(closed.consts, avals, strict=False)]
    places = {argument: place for place, argument in enumerate(order)}
    return consts, [places[i] for i in range(len(order))]


def _has_compiler() -> bool:
    """Nobody asked for a compiler: without one NumPy computes everything, and nothing is said."""
    if PURE:
        return False
    try:
        runtime.compiler.find_command()
    except CompileError:
        return False
    return True


def _leaf_type(leaf: Any) -> type:
    """Return what an entry sees of an argument: an Array where Python must look at it first."""
    kind = leaf_type(leaf)
    return kind if kind in (*SCALARS, np.ndarray) else Array


# --- elementwise functions, whatever the shape ---------------------------------------------------------------------

def _at_any_shape(function: EagerFunction | EagerPrimitive, args: tuple[Any, ...], params: dict[str, Any],
                  find: Callable[..., AnyShape | None]) -> Any:
    """Answer a call by what its types without their shape have led to, and learn the answer; NotImplemented: cannot."""
    epoch, statics = current_epoch(), function.static_places
    try:
        found = types_and_shape(args, statics)
        if found is None or config.disable_jit or config.checks_results:
            return NotImplemented
        types, shape = found
        items = tuple([(name, StaticValue(x)) for name, x in params.items()]) if params else ()
        any_shape = find(function, types, items, trace_context())
    except (TypeError, ValueError):  # a parameter that has no hash
        return NotImplemented
    if any_shape is None:
        return NotImplemented
    entry = any_shape.at(shape)
    is_large = math.prod(shape) * any_shape.width >= LARGE
    function._learn(args, params, function._second_call if is_large else entry, epoch)
    return call_entry(entry, *[x for i, x in enumerate(args) if i not in statics] if statics else args)


@cache_of_programs(2048)
def _function_at_any_shape(function: EagerFunction, types: tuple[Any, ...], items: tuple[tuple[str, StaticValue], ...],
                           context: Hashable) -> AnyShape | None:
    found = function._traced(tuple(map(on_block, types)), {name: x.value for name, x in items})
    if not found or found[2] != list(range(len(found[1]))):
        return None
    return _any_shape(found[0].closed, maker_of(found[0].out_tree), tuple(map(_leaf_type, found[1])))


@cache_of_programs(2048)
def _primitive_at_any_shape(function: EagerPrimitive, types: tuple[Any, ...],
                            items: tuple[tuple[str, StaticValue], ...], context: Hashable) -> AnyShape | None:
    primitive, args = function.primitive, tuple(map(on_block, types))
    try:
        closed = operation_program(primitive, tuple(map(aval_of, args)), {name: x.value for name, x in items})
    except Exception:  # said by the call that is made of it
        return None
    return None if closed is None else _any_shape(closed, list if primitive.multiple_results else None,
                                                  tuple(map(_leaf_type, args)))


def _any_shape(closed: ClosedJaxpr, unflatten: Callable[[list[Any]], Any] | None,
               leaf_types: tuple[type, ...]) -> AnyShape | None:
    """Return how calls of a program on a block are answered, whatever their shape: the rule of this page."""
    out_avals, compiler, order = tuple(closed.out_avals), _has_compiler(), tuple(range(len(leaf_types)))
    blocks = on_blocks(closed)
    if blocks is None:
        return None
    width = max(aval.dtype.itemsize for aval in (*closed.in_avals, *out_avals))

    def compiled() -> Callable[[int, tuple[ShapedArray, ...]], FastEntry] | None:
        found = shared_program(blocks.jaxpr).entry_on_blocks(*_entry_arguments(blocks, order), unflatten)
        return found and found.at

    if compiler and not has_one_answer(closed.jaxpr):
        loops = loops_of_any_shape(shared_program(blocks.jaxpr), _entry_arguments(blocks, order)[0], leaf_types)
        if loops is not None and unflatten is None:
            return AnyShape(out_avals, width, ReadyFirst(*loops, compiled))
        at = compiled()
        return at and AnyShape(out_avals, width, at)
    numpy = numpy_call(closed, leaf_types, unflatten is None, any_shape=True)
    if numpy is None:
        return None

    def answer(elements: int, avals: tuple[ShapedArray, ...], for_good: bool) -> EagerEntry:
        calls = -1 if for_good or not compiler or is_best(avals) else calls_in_budget(closed.jaxpr, elements)
        return EagerEntry(*numpy, avals, unflatten, calls)

    def is_best(avals: tuple[ShapedArray, ...]) -> bool:
        return numpy[2] is not None and are_short(numpy[2], closed.jaxpr, avals[0])

    return AnyShape(out_avals, width, ReadyFirst(answer, is_best, compiled))
