"""Names of `jax.core` that this pipeline has no use for, in its own terms: for programs against JAX's insides.

JAX 0.4.35 keeps a stack of traces and finds the one for an operation by its operands; here every thread has a current
trace, and each trace knows its parent (`core/trace.py`). What is asked of the stack is answered from that chain.
"""
from __future__ import annotations

import abc
import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinytrace.control_flow.closed_call import closed_call_p as closed_call_p
from tinytrace.control_flow.closed_call import core_call_p as call_p
from tinytrace.control_flow.effects import Effect as Effect
from tinytrace.core import trace as traces
from tinytrace.core.avals import ShapedArray, aval_of, is_valid_type
from tinytrace.core.compile_time import ensure_compile_time_eval as ensure_compile_time_eval
from tinytrace.core.dtypes import FLOAT0, is_float
from tinytrace.core.jaxpr import Atom as Atom
from tinytrace.core.jaxpr import DebugInfo, Jaxpr, JaxprEqn, SuffixedVar, Var
from tinytrace.core.jaxpr import join_effects as _join_effects
from tinytrace.core.jaxpr import subjaxprs as jaxprs_in_params
from tinytrace.core.named_axes import Axis, axis_size, binding, bound_axes
from tinytrace.core.named_axes import no_axis_name as no_axis_name
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import EvalTrace as EvalTrace
from tinytrace.core.trace import Trace, Tracer
from tinytrace.core.trace import eval_context as eval_context
from tinytrace.core.trace import leaked_tracer_error as escaped_tracer_error  # noqa: F401
from tinytrace.errors import ConcretizationTypeError as ConcretizationTypeError
from tinytrace.extend.abstract_values import ConcreteArray, UnshapedArray, raised
from tinytrace.missing import refused
from tinytrace.transforms.staging import DynamicJaxprTrace
from tinytrace.transforms.vmap import BatchTrace

JaxprDebugInfo = DebugInfo
Effects = frozenset
no_effects: frozenset[Any] = frozenset()
ParamDict = dict[str, Any]
Value = Any
InputType = OutputType = tuple
AxisSize = int
literalable_types = {int, float, bool, np.ndarray, np.generic}
pytype_aval_mappings: dict[type, Callable[[Any], Any]] = {}
custom_typechecks: dict[Primitive, Callable[..., Any]] = {}
outfeed_primitives: set[Primitive] = set()
raise_to_shaped_mappings: dict[type, Callable[[Any], Any]] = {ShapedArray: lambda aval: aval}


class AbstractValue(abc.ABC):  # noqa: B024  (a name for a type that is elsewhere)
    """What an aval is an instance of: a ShapedArray, always."""


AbstractValue.register(ShapedArray)
AbstractValue.register(UnshapedArray)

DShapedArray = refused("jax.core.DShapedArray", "shapes are numbers here: use jax.core.ShapedArray")
CallPrimitive = refused("jax.core.CallPrimitive", "a call is the equation pjit or closed_call here, whose parameter is "
                        "a jaxpr: use jax.jit, or a Primitive whose lowering is mlir.lower_fun(f)")
MapPrimitive = refused("jax.core.MapPrimitive", "there is one device: use jax.vmap")


# --- types of values ---------------------------------------------------------------------------------------------

def get_aval(x: Any) -> ShapedArray:
    """Return the type of a value, a tracer's included.

    Raises: TypeError for what is no array.

    >>> get_aval(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    return aval_of(x)


concrete_aval = get_type = get_aval


def raise_to_shaped(aval: Any, weak_type: bool | None = None) -> ShapedArray:
    """Return an aval, with another weak type if one is given."""
    if type(aval) is ConcreteArray:
        aval = raised(aval)
    return aval if weak_type is None else aval.update(weak_type=weak_type)  # type: ignore[no-any-return]


def valid_jaxtype(x: Any) -> bool:
    """Can `x` be an operand?"""
    try:
        return is_valid_type(x)
    except TypeError:
        return False


def typematch(a: ShapedArray, b: ShapedArray) -> bool:
    """Are two types the same, but for being weak?"""
    return a.strip_weak_type() == b.strip_weak_type()


def typecompat(a: ShapedArray, b: ShapedArray) -> bool:
    """May a value of type `b` stand where one of type `a` is wanted?"""
    return typematch(a, b)


def typecheck(aval: ShapedArray, x: Any) -> bool:
    """Has `x` the type `aval`, but for being weak?"""
    return typematch(aval, aval_of(x))


def lattice_join(x: Any, y: Any) -> Any:
    """Return the type of what is of type `x` or `y`, either of which may be None.

    Raises: TypeError when the types differ.
    """
    if x is None or y is None:
        return y if x is None else x
    if not typematch(x, y):
        raise TypeError(x, y)
    return x if x == y else x.update(weak_type=x.weak_type and y.weak_type)


def primal_dtype_to_tangent_dtype(dtype: Any) -> Any:
    """Return the dtype of the tangents of values of a dtype."""
    return dtype if is_float(dtype) else FLOAT0


def is_constant_dim(d: Any) -> bool:
    """Is a size a number? Every size is."""
    return isinstance(d, int)


def is_constant_shape(shape: Sequence[Any]) -> bool:
    """Are all sizes numbers? They are."""
    return all(map(is_constant_dim, shape))


def max_dim(a: int, b: int) -> int:
    """Return the larger size."""
    return max(a, b)


def min_dim(a: int, b: int) -> int:
    """Return the smaller size."""
    return min(a, b)


def is_concrete(x: Any) -> bool:
    """Has `x` a value, not only a type?"""
    return not isinstance(x, Tracer) or x.to_concrete_value() is not None


def concrete_or_error(force: Callable[[Any], Any] | None, value: Any, context: str = "") -> Any:
    """Return `force(value)` for a value that is known.

    Raises: ConcretizationTypeError for one that is not.
    """
    if isinstance(value, Tracer):
        known = value.to_concrete_value()
        if known is None:
            raise ConcretizationTypeError(value, context)
        value = known
    return value if force is None else force(value)


def full_lower(value: Any) -> Any:
    """Return a value: none is wrapped more than it must be."""
    return value


call = call_p.bind


def call_impl(f: Any, *args: Any, **params: Any) -> Any:
    """Return what a `linear_util.WrappedFun` returns: what a call computes."""
    return f.call_wrapped(*args)


# --- jaxprs ------------------------------------------------------------------------------------------------------

def new_jaxpr_eqn(invars: Sequence[Atom], outvars: Sequence[Var], primitive: Primitive, params: dict[str, Any],
                  effects: Iterable[Any] = (), source_info: Any = None, ctx: Any = None) -> JaxprEqn:
    """Return an equation."""
    eqn = JaxprEqn(invars, outvars, primitive, params, frozenset(effects))
    return eqn if source_info is None else eqn.replace(source_info=source_info)


def gensym(suffix: str = "") -> Callable[[ShapedArray], Var]:
    """Return what makes variables of given types; their letters are followed by `suffix`."""
    return functools.partial(SuffixedVar, suffix) if suffix else Var


def join_effects(*effects: Iterable[Any]) -> frozenset[Any]:
    """Return the union of effects; of those of equations, if it is given one list of these."""
    if len(effects) == 1 and not isinstance(effects[0], (set, frozenset)):
        return _join_effects(list(effects[0]))
    return frozenset().union(*effects)


def traverse_jaxpr_params(f: Callable[[Any], Any], params: dict[str, Any]) -> dict[str, Any]:
    """Return `f` of each jaxpr among the parameters of an equation, by name."""
    return {name: f(value) for name, value in params.items() if isinstance(value, Jaxpr) or hasattr(value, "jaxpr")}


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """Yield the jaxprs among the parameters of the equations of `jaxpr`."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def jaxpr_uses_outfeed(jaxpr: Jaxpr) -> bool:
    """Does a program hand values to a host while it runs? None does."""
    return False


# --- the traces around -------------------------------------------------------------------------------------------

def chain() -> Iterator[Trace]:
    """Yield the current trace, its parent, and so on."""
    trace: Trace | None = traces.current_trace()
    while trace is not None:
        yield trace
        trace = trace.parent


def find_top_trace(xs: Iterable[Any], *unused: Any) -> Trace:
    """Return the trace of the innermost tracer among `xs`, or where programs are written, whichever is further in."""
    found = [x._trace for x in xs if isinstance(x, Tracer)]
    return max([_dynamic(), *found], key=lambda trace: trace.level)


def _dynamic() -> Trace:
    """Return the innermost trace that writes a program; the bottom if none does."""
    return next((trace for trace in chain() if isinstance(trace, DynamicJaxprTrace)), traces.bottom_trace)


def trace_state_clean() -> bool:
    """Is nothing being traced?"""
    return traces.is_eager()


class OpaqueTraceState(NamedTuple):
    """Something that is equal in two places if the same is being traced there."""

    info: Any
    convention: str


def get_opaque_trace_state(convention: str = "flax") -> OpaqueTraceState:
    """Return what the library of this convention compares to find out whether it is in another transformation."""
    current = traces.current_trace()
    info: dict[str, Any] = {"flax": _dynamic().level, "haiku": (type(current).__name__, current.level),
                            "nnx": id(_dynamic().tag)}
    if convention not in info:
        raise ValueError(f"unrecognized convention: {convention}")
    return OpaqueTraceState(info[convention], convention)


def cur_sublevel() -> int:
    """Return 0: a trace is one level here."""
    return 0


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:  # noqa: N802  (JAX's name)
    """Is a function being vectorized?"""
    return any(isinstance(trace, BatchTrace) for trace in chain())


def nonempty_axis_env_DO_NOT_USE() -> bool:  # noqa: N802  (JAX's name)
    """Is an axis being mapped over?"""
    return bool(bound_axes())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:  # noqa: N802  (JAX's name)
    """Return the names of the axes that are mapped over, the outermost first."""
    return [axis.name for axis in bound_axes()][::-1]


def axis_frame(axis_name: Any, main_trace: Any = None) -> Axis:
    """Return the innermost axis of a name, with its `name` and `size`; raises NameError when there is none."""
    return Axis(axis_size(axis_name), axis_name)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:  # noqa: N802  (JAX's name)
    """Is a program being written?"""
    return any(isinstance(trace, DynamicJaxprTrace) for trace in chain())


class _Stack:
    """`trace_stack`: the chain of traces, the outermost first."""

    @property
    def stack(self) -> list[Trace]:
        """The traces."""
        return list(chain())[::-1]

    @property
    def dynamic(self) -> object:
        """Where programs are written."""
        return _dynamic().tag


class _TraceState:
    """`thread_local_state.trace_state`."""

    trace_stack = _Stack()
    @property
    def axis_env(self) -> list[Axis]:
        """The axes that are mapped over, the outermost first."""
        return bound_axes()[::-1]

    substack: tuple[Any, ...] = ()


class ThreadLocalState:
    """What is asked of JAX's state of a thread."""

    trace_state = _TraceState()


thread_local_state = ThreadLocalState()

new_main = refused("jax.core.new_main", "a transformation here is a Trace with a parent, made current by "
                   "tinytrace.core.trace.set_current_trace(trace) (tinytrace/transforms/jvp.py is a short one); or "
                   "interpret the jaxpr of make_jaxpr, as in JAX's document \"Writing custom Jaxpr interpreters\"")
new_base_main = new_sublevel = new_main


def extend_axis_env(axis_name: Any, size: int, tag: Any = None) -> contextlib.AbstractContextManager[None]:
    """Bind a name for what is traced inside the block."""
    return binding(Axis(size, axis_name))

