"""Traces and tracers: the one mechanism by which a Python function is run, recorded or transformed.

`Primitive.bind` hands every operation to the *current trace* of the thread. `EvalTrace`, at the bottom, computes
with NumPy; the others (staging, jvp, vmap, partial evaluation) wrap values in their own `Tracer`s, do something more,
and bind again under their `parent`. There is no stack to search: a trace that sees a foreign value treats it as a
constant. Source: JAX, autodidax part 1; JAX's "stackless" change (jax-ml/jax pull request 24178).
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tinytrace import errors
from tinytrace._dispatch import ArrayBase, TraceScope, set_getitem
from tinytrace.config import config
from tinytrace.core import basearray
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import dtype_of, is_integer
from tinytrace.core.numpy_calls import check_nans, numpy_meaning, out_avals_of, owned, read_only, to_numpy
from tinytrace.core.only_arrays import OnlyArrays
from tinytrace.core.primitive import Primitive
from tinytrace.util import current_trace_state, lazy


class Trace:
    """What happens to an operation. `parent` is the trace that this one's own operations go to."""

    parent: Trace | None = None
    name = "Trace"
    alive = True
    axes: tuple[Any, ...] = ()
    """The `named_axes.Axis`es that this trace maps over, the innermost last."""
    takes_programs = False
    """Does it meet a jitted function of the library as an equation with a program, not as what that does?"""

    @property
    def tag(self) -> object:
        """What marks this trace's tracers: the trace itself, unless it is one of several that share a purpose."""
        return self

    @property
    def main(self) -> object:
        """The tag, by JAX's name."""
        return self.tag

    @property
    def level(self) -> int:
        """How many traces stand below this one, as JAX prints it."""
        return 0 if self.parent is None else self.parent.level + 1

    @property
    def inlines_calls(self) -> bool:
        """Does it, or a trace below, meet a user's jitted function as what that does?"""
        return self.parent is not None and self.parent.inlines_calls

    @property
    def named_axes(self) -> tuple[Any, ...]:
        """The axes with names that collectives find here: a part of keys, for a psum depends on their sizes."""
        below = () if self.parent is None else self.parent.named_axes
        return (*below, *[axis for axis in self.axes if axis.has_name]) if self.axes else below

    @lazy
    def memo(self) -> dict[Any, Any]:
        """What is worth remembering for as long as this trace lasts, such as functions that close over its tracers."""
        return {}

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        raise NotImplementedError(self.name)

    def process_call(self, primitive: Primitive, fun: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply a primitive whose program is still a function, a `linear_util.WrappedFun`: as one with a jaxpr."""
        with set_current_trace(self):
            return primitive.bind_function(fun, *args, **params)  # type: ignore[attr-defined]

    def process_custom_jvp_call(self, primitive: Primitive, fun: Callable[..., Any], jvp: Callable[..., Any],
                                args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply a function with its own jvp rule; traces that do not differentiate just call `fun`."""
        with set_current_trace(self):
            return fun(*args)

    def process_custom_vjp_call(self, primitive: Primitive, fun: Callable[..., Any], fwd: Callable[..., Any],
                                bwd: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply a function with its own forward and backward rule; traces that do not differentiate call `fun`."""
        with set_current_trace(self):
            return fun(*args)

    def __repr__(self) -> str:
        return f"{self.name}(level={self.level}/0)"


class Tracer(OnlyArrays):
    """A value that stands for an array while a function is traced; the operators come from `install_methods`."""

    __slots__ = ("__weakref__", "_trace")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @property
    def aval(self) -> ShapedArray:
        raise NotImplementedError(type(self).__name__)

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)
    itemsize = property(lambda self: self.aval.dtype.itemsize)
    nbytes = property(lambda self: self.aval.nbytes)

    def to_concrete_value(self) -> Any:
        """Return the array behind this tracer when it has one (grad of an unstaged function), else None."""
        return None

    def _origin_msg(self) -> str:
        """Say which function, which argument and which of the user's lines this value came from."""
        return ""

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            check_bool_conversion(self.aval)
        return bool(self._concrete(lambda: errors.TracerBoolConversionError(self)))

    def __int__(self) -> int:
        check_scalar_conversion(self.aval)
        return int(self._concrete(lambda: _concretization_error(self, "int")))

    def __float__(self) -> float:
        # Unlike int and bool, a float or an array would carry on the computation and lose the tangent.
        check_scalar_conversion(self.aval)
        raise _concretization_error(self, "float")

    def __complex__(self) -> complex:
        check_scalar_conversion(self.aval)
        raise _concretization_error(self, "complex")

    def __index__(self) -> int:
        check_integer_conversion(self.aval)
        concrete = self._concrete(lambda: errors.TracerIntegerConversionError(self))
        return int(concrete)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.TracerArrayConversionError(self)

    def __reduce__(self) -> NoReturn:
        raise errors.ConcretizationTypeError(
            self, "The error occurred in the __reduce__ method, which may indicate an attempt to serialize/pickle a "
                  "traced value.")

    def item(self, *args: Any) -> Any:
        return self._concrete(lambda: errors.ConcretizationTypeError(
            self, "This occurred in the item() method of jax.Array")).item(*args)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def _concrete(self, error: Callable[[], Exception]) -> Any:
        value = self.to_concrete_value()
        if value is None:
            raise error()
        return value

    def _assert_live(self) -> None:
        if not self._trace.alive:
            raise leaked_tracer_error(self)

    def __repr__(self) -> str:
        return self.described()

    def described(self) -> str:
        """What a tracer is and what it holds, on as many lines as it takes."""
        base = f"Traced<{self._aval_text()}>with<{self._trace!r}>"
        contents = self._contents()
        if not contents:
            return base
        lines = []
        for name, value in contents:
            first, *rest = (value.described() if isinstance(value, Tracer) else repr(value)).splitlines()
            lines.append("\n".join([f"  {name} = {first}", *("  " + line for line in rest)]))
        return base + " with\n" + "\n".join(lines)

    def _aval_text(self) -> str:
        concrete = self.to_concrete_value()
        if concrete is None:
            return repr(self.aval)
        weak = ", weak_type=True" if self.aval.weak_type else ""
        return f"ConcreteArray({np.asarray(concrete)}, dtype={self.aval.dtype.name}{weak})"

    def _contents(self) -> list[tuple[str, Any]]:
        """What `repr` shows below the first line: the primal and tangent of a JVPTracer, what others hold."""
        names = [name for name in getattr(type(self), "__slots__", ()) if not name.startswith("_") and name != "aval"]
        return [(name, getattr(self, name)) for name in names]


basearray.Array.register(Tracer)


class EvalTrace(Trace):
    """The bottom: operations run at once, one at a time, with the results that they have when they are jitted."""

    name = "EvalTrace"

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        return apply_primitive(primitive, args, params)


class Interpreter(EvalTrace):
    """Runs operations as `impl` says, in NumPy: where there is no compiler, and what compiled programs are held to."""

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        return apply_primitive(primitive, args, params)


def apply_primitive(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run the NumPy meaning of `primitive` on concrete `args`; Returns Arrays typed by its abstract_eval."""
    avals, values, borrowed = [], [], False
    for x in args:
        if type(x) is Array:
            avals.append(x.aval)
            view = x._view
            values.append(x._value if view is None else view)
        else:
            refuse_tracer(x)
            aval = aval_of(x)
            avals.append(aval)
            values.append(read_only(to_numpy(x, aval)))
            borrowed = borrowed or aval.shape != ()
    out_avals = out_avals_of(primitive, avals, params)
    out = numpy_meaning(primitive, values, params, out_avals)
    if not primitive.multiple_results:
        result = owned(out, out_avals, borrowed)
        if config.checks_results:
            check_nans(primitive, [result])
        return result
    results = [owned(x, aval, borrowed) for x, aval in zip(out, out_avals, strict=True)]
    if config.checks_results:
        check_nans(primitive, results)
    return results


def refuse_tracer(x: Any) -> None:
    """Raise UnexpectedTracerError if `x` is a tracer: where values are computed it has none."""
    if isinstance(x, Tracer):
        x._assert_live()
        raise leaked_tracer_error(x)


# --- the current trace -----------------------------------------------------------------------------------------

bottom_trace = EvalTrace()
_interpreter = Interpreter()
current_trace_state.set_bottom(bottom_trace)


def current_trace() -> Trace:
    """Return the trace that operations of this thread go to."""
    trace: Trace = current_trace_state.trace
    return trace


def set_current_trace(trace: Trace) -> contextlib.AbstractContextManager[None]:
    """Send the operations inside the `with` block to `trace`; whatever ends it, Ctrl-C too, they go on as before it."""
    return TraceScope(trace)


def eval_context() -> contextlib.AbstractContextManager[None]:
    """Compute at once inside the block, whatever is being traced around it; what is met there are concrete values.

    Where nothing is compiled (`interpreting`), nothing is compiled inside the block either.
    """
    return set_current_trace(_interpreter if is_interpreting() else bottom_trace)


def interpreting() -> contextlib.AbstractContextManager[None]:
    """Compute inside the block by the meanings of operations in NumPy, and compile nothing."""
    return set_current_trace(_interpreter)


def is_eager() -> bool:
    """Is nothing being traced?"""
    return isinstance(current_trace_state.trace, EvalTrace)


def is_interpreting() -> bool:
    """Is nothing compiled here (`interpreting`)?"""
    return current_trace_state.trace is _interpreter


# --- inversions: what higher layers install, once, at import ---------------------------------------------------

def install_executor(executor: Callable[[EvalTrace, Primitive, Sequence[Any], dict[str, Any]], Any]) -> None:
    """Let `api` decide who computes an operation that is met outside of a trace: `process_primitive` of the bottom."""
    setattr(EvalTrace, EvalTrace.process_primitive.__name__, executor)


def install_methods(table: dict[str, Any]) -> None:
    """Give arrays and tracers their operators and methods: the one place where `core` reaches `numpy`."""
    for name, function in table.items():
        setattr(basearray.Array, name, function)
        setattr(Tracer, name, function)
        if name not in Array.__dict__ and name not in ArrayBase.__dict__:
            setattr(Array, name, function)
    set_getitem(table["__getitem__"])


# --- conversions and their errors ------------------------------------------------------------------------------

def check_bool_conversion(aval: ShapedArray) -> None:
    """Raise ValueError as NumPy does for the truth value of an array that is not one element."""
    if aval.size == 0:
        raise ValueError("The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an "
                         "array is not empty.")
    if aval.size > 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. "
                         "Use a.any() or a.all()")


def check_scalar_conversion(aval: ShapedArray) -> None:
    if aval.ndim > 0:
        raise TypeError("Only scalar arrays can be converted to Python scalars; got arr.ndim="
                        f"{aval.ndim}")


def check_integer_conversion(aval: ShapedArray) -> None:
    if not (aval.shape == () and is_integer(aval.dtype)):
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")


def _concretization_error(tracer: Tracer, function: str) -> Exception:
    return errors.ConcretizationTypeError(
        tracer, f"The problem arose with the `{function}` function. If trying to convert the data type of a value, "
                f"try using `x.astype({function})` or `jnp.array(x, {function})` instead.")


def leaked_tracer_error(tracer: Tracer, detail: str | None = None) -> Exception:
    """Return the error for a tracer that is used after its trace has ended."""
    return errors.UnexpectedTracerError(_leak_text(tracer) + (f"Detail: {detail}" if detail else ""))


def _leak_text(tracer: Tracer) -> str:
    text = ("Encountered an unexpected tracer. A function transformed by JAX had a side effect, allowing for a "
            f"reference to an intermediate value with type {errors.long_type(tracer.aval)} wrapped in a "
            f"{type(tracer).__name__} to escape the scope of the transformation.\nJAX transformations require that "
            "functions explicitly return their outputs, and disallow saving intermediate values to global state.")
    debug, source = getattr(tracer._trace, "debug_info", None), getattr(tracer, "_source", None)
    if debug is not None:
        text += f"\nThe function being traced when the value leaked was {debug.function} traced for {debug.traced_for}."
    if source is not None:
        rule = "\n" + 30 * "-" + "\n"
        text += f"{rule}The leaked intermediate value was created on line {source}. {rule}"
    return text + ("\nTo catch the leak earlier, try setting the environment variable JAX_CHECK_TRACER_LEAKS or using "
                   "the `jax.checking_leaks` context manager.")


__all__ = ["Array", "EvalTrace", "Interpreter", "Trace", "TraceScope", "Tracer", "apply_primitive", "aval_of",
           "current_trace", "dtype_of", "eval_context", "install_executor", "install_methods",
           "interpreting", "is_eager", "is_interpreting", "leaked_tracer_error", "refuse_tracer", "set_current_trace"]
