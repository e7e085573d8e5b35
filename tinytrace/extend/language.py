"""Names of `jax.core` that this pipeline has no use for, in its own terms: for programs against JAX's insides."""
from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.closed_call import closed_call_p as closed_call_p
from tinytrace.control_flow.closed_call import core_call_p as call_p
from tinytrace.control_flow.effects import Effect as Effect
from tinytrace.core.avals import ShapedArray, aval_of, is_valid_type
from tinytrace.core.compile_time import ensure_compile_time_eval as ensure_compile_time_eval
from tinytrace.core.dtypes import FLOAT0, is_float
from tinytrace.core.jaxpr import Atom as Atom
from tinytrace.core.jaxpr import DebugInfo, Jaxpr, JaxprEqn, SuffixedVar, Var
from tinytrace.core.jaxpr import join_effects as _join_effects
from tinytrace.core.jaxpr import subjaxprs as jaxprs_in_params
from tinytrace.core.named_axes import no_axis_name as no_axis_name
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import EvalTrace as EvalTrace
from tinytrace.core.trace import Tracer
from tinytrace.core.trace import eval_context as eval_context
from tinytrace.core.trace import leaked_tracer_error as escaped_tracer_error  # noqa: F401
from tinytrace.errors import ConcretizationTypeError as ConcretizationTypeError
from tinytrace.extend.abstract_values import ConcreteArray, UnshapedArray, raised

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
    """Return the type of what is of type `x` or `y`, either of which may be None: the more general one joins.

    Raises: TypeError when none is, or the dtypes differ.

    >>> lattice_join(ShapedArray((2,), np.dtype("float32")), ShapedArray((3,), np.dtype("float32")))
    UnshapedArray(float32)
    """
    if x is None or y is None or x is y:
        return y if x is None else x
    if isinstance(x, type(y)):
        return _joined(y, x)
    if isinstance(y, type(x)):
        return _joined(x, y)
    raise TypeError(x, y)


def _joined(x: Any, other: Any) -> Any:
    if type(x) is not ShapedArray:
        return x.join(other)
    if x.dtype != other.dtype:
        raise TypeError(x, other)
    return x.update(weak_type=x.weak_type and other.weak_type) if x.shape == other.shape else UnshapedArray(x.dtype)


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


call = call_p.bind


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


def primitive_uses_outfeed(prim: Primitive, params: dict[str, Any]) -> bool:
    """Is a primitive, or one in its programs, in the set `outfeed_primitives`?"""
    return prim in outfeed_primitives or any(map(jaxpr_uses_outfeed, jaxprs_in_params(params)))


def jaxpr_uses_outfeed(jaxpr: Jaxpr) -> bool:
    """Does a program have a primitive that is in the set `outfeed_primitives`?"""
    return any(primitive_uses_outfeed(eqn.primitive, eqn.params) for eqn in jaxpr.eqns)
