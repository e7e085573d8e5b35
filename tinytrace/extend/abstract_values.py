"""Types of `jax.core` that know less, or more, than a `ShapedArray`, and what is said of types and equations.

Nothing is traced with these types here: programs against JAX's insides make, join and print them.
"""
from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0, canonicalize_dtype, is_inexact, is_weak, short_name, to_numpy_dtype
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr
from tinytrace.core.primitive import Primitive
from tinytrace.core.printer import letters
from tinytrace.core.trace import Tracer
from tinytrace.errors import ConcretizationTypeError, TracerBoolConversionError, TracerIntegerConversionError
from tinytrace.lax.tokens import AbstractToken
from tinytrace.records import NamedTuple

Handler = Callable[..., Any]


class _HasKinds(type):
    """As in JAX, a type that has a shape is an UnshapedArray too."""

    def __instancecheck__(cls, x: object) -> bool:
        return type.__instancecheck__(cls, x) or isinstance(x, ShapedArray)


class UnshapedArray(metaclass=_HasKinds):
    """The type of an array of which only the dtype is known.

    >>> jax.core.UnshapedArray("float32")
    UnshapedArray(float32)
    """

    __slots__ = ("dtype", "weak_type")
    array_abstraction_level = 4

    def __init__(self, dtype: Any, weak_type: bool = False) -> None:
        self.dtype, self.weak_type = to_numpy_dtype(dtype), weak_type

    def update(self, dtype: Any = None, weak_type: bool | None = None) -> UnshapedArray:
        """Return this type with some fields replaced."""
        return UnshapedArray(self.dtype if dtype is None else dtype, self.weak_type if weak_type is None else weak_type)

    def strip_weak_type(self) -> UnshapedArray:
        """Return this type, not weak."""
        return self.update(weak_type=False)

    def to_tangent_aval(self) -> UnshapedArray:
        """Return the type of tangents."""
        return self.update(dtype=self.dtype if is_inexact(self.dtype) else FLOAT0)

    def join(self, other: Any) -> UnshapedArray:
        """Return the type of what is of this type or of another; raises TypeError where the dtypes differ."""
        if self.dtype != other.dtype:
            raise TypeError(self, other)
        return self if self.weak_type == other.weak_type else self.strip_weak_type()

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return the dtype, as jaxprs print it if asked for."""
        return short_name(self.dtype) if short_dtypes else self.dtype.name

    @property
    def shape(self) -> NoReturn:
        """There is none; raises TypeError, as JAX does."""
        raise TypeError("UnshapedArray has no shape. Please open an issue at "
                        "https://github.com/jax-ml/jax/issues because it's unexpected for "
                        "UnshapedArray instances to ever be produced.")

    def __eq__(self, other: object) -> bool:
        return type(other) is UnshapedArray and (self.dtype, self.weak_type) == (other.dtype, other.weak_type)

    def __hash__(self) -> int:
        return hash((self.dtype, self.weak_type))

    def __repr__(self) -> str:
        return f"UnshapedArray({self.str_short()}{', weak_type=True' if self.weak_type else ''})"


class ConcreteArray(ShapedArray):
    """The type of one value, `val`.

    >>> jax.core.ConcreteArray(jnp.dtype("float32"), 3.0)
    ConcreteArray(3.0, dtype=float32, weak_type=True)
    """

    __slots__ = ("val",)
    array_abstraction_level = 0
    val: Any

    def __new__(cls, dtype: Any, val: Any, weak_type: bool | None = None) -> ConcreteArray:
        dtype = to_numpy_dtype(dtype)
        assert dtype == canonicalize_dtype(np.result_type(val)), (val, dtype)
        aval = object.__new__(cls)
        fields = {"shape": np.shape(val), "dtype": dtype, "val": val,
                  "weak_type": is_weak(val) if weak_type is None else weak_type}
        for name, value in fields.items():
            object.__setattr__(aval, name, value)
        return aval

    def update(self, dtype: Any = None, val: Any = None, weak_type: bool | None = None) -> ConcreteArray:  # type: ignore[override]
        """Return this type with some fields replaced."""
        return ConcreteArray(self.dtype if dtype is None else dtype, self.val if val is None else val,
                             self.weak_type if weak_type is None else weak_type)

    def strip_weak_type(self) -> ShapedArray:
        return self.update(weak_type=False)

    def to_tangent_aval(self) -> ShapedArray:
        return raised(self).to_tangent_aval()

    def join(self, other: Any) -> Any:
        """Return the type of what is of this type or of another; raises TypeError where the dtypes differ."""
        weak = self.weak_type and other.weak_type
        if self == other:
            return self
        if self.dtype != other.dtype:
            raise TypeError(self, other)
        same_shape = self.shape == other.shape
        return ShapedArray(self.shape, self.dtype, weak) if same_shape else UnshapedArray(self.dtype, weak)

    def str_short(self, short_dtypes: bool = False) -> str:
        return f"{self.val}, dtype={short_name(self.dtype) if short_dtypes else self.dtype.name}"

    def __repr__(self) -> str:
        return f"ConcreteArray({self.str_short()}{', weak_type=True' if self.weak_type else ''})"

    def __eq__(self, other: object) -> bool:
        same_type = isinstance(other, ConcreteArray) and raised(self) is raised(other)
        return same_type and np.array_equal(self.val, other.val)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return id(self.val)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConcreteArray, (self.dtype, self.val, self.weak_type)


def raised(aval: ConcreteArray) -> ShapedArray:
    """Return the type of the arrays that look like this one."""
    return ShapedArray(aval.shape, aval.dtype, aval.weak_type)


# --- mapping over an axis ----------------------------------------------------------------------------------------

def _mapped(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    assert axis is None or aval.shape[axis] == size
    if axis is None:
        return aval
    return ShapedArray(aval.shape[:axis] + aval.shape[axis + 1:], aval.dtype, aval.weak_type)


def _unmapped(size: int, axis_name: Any, axis: int | None, aval: ShapedArray) -> ShapedArray:
    if axis is None:
        return aval
    return ShapedArray((*aval.shape[:axis], size, *aval.shape[axis:]), aval.dtype, aval.weak_type)


aval_mapping_handlers: dict[type, tuple[Handler, Handler]] = {
    ShapedArray: (_mapped, _unmapped), ConcreteArray: (_mapped, _unmapped),
    AbstractToken: (lambda size, axis, aval: aval, lambda size, axis_name, axis, aval: aval),
}
"""By class of type: what `mapped_aval` and `unmapped_aval` answer."""


def mapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """Return the type of one element of a batch along `axis`.

    >>> mapped_aval(2, 1, ShapedArray((3, 2), np.dtype("float32")))
    ShapedArray(float32[3])
    """
    if type(aval) not in aval_mapping_handlers:
        raise TypeError(f"no mapping handler for {aval} of type {type(aval)}")
    return aval_mapping_handlers[type(aval)][0](size, axis, aval)


def unmapped_aval(size: int, axis_name: Any, axis: int | None, aval: Any) -> Any:
    """Return the type of a batch along `axis` of elements of a type."""
    if type(aval) not in aval_mapping_handlers:
        raise TypeError(f"no unmapping handler for {aval} of type {type(aval)}")
    return aval_mapping_handlers[type(aval)][1](size, axis_name, axis, aval)


def substitute_vars_in_output_ty(out_type: Sequence[Any], in_atoms: Sequence[Any], out_binders: Sequence[Any]
                                 ) -> list[Any]:
    """Return types of results: as they are, for their sizes are numbers and no variables."""
    return list(out_type)


# --- what is printed, and what is said ------------------------------------------------------------------------------

class JaxprPpSettings(NamedTuple):
    """How a program is to be printed: `jaxpr.pretty_print(**settings._asdict())`."""

    print_shapes: bool = True
    source_info: bool = False
    name_stack: bool = False
    custom_pp_eqn_rules: bool = True
    print_effects: bool = False


class JaxprPpContext:
    """The names of variables: `var_names[v]` is the next one that is free for a variable that has none.

    >>> names = JaxprPpContext().var_names
    >>> names["x"], names["y"], names["x"]
    ('a', 'b', 'a')
    """

    def __init__(self) -> None:
        self.top_level_jaxprs: dict[Jaxpr, str] = {}
        self.used_names: set[str] = set()
        fresh = (name for name in map(letters, itertools.count()) if name not in self.used_names)
        self.var_names: defaultdict[Any, str] = defaultdict(fresh.__next__)


def str_eqn_compact(primitive: Primitive, params: dict[str, Any]) -> str:
    """Return an operation and its parameters, without programs, on one line.

    >>> from tinytrace import lax
    >>> str_eqn_compact(lax.iota_p, {"size": 3, "dimension": 0})
    'iota[size=3 dimension=0]'
    """
    def is_program(value: Any) -> bool:
        return any(isinstance(x, (Jaxpr, ClosedJaxpr)) for x in (value if isinstance(value, tuple) else (value,)))

    shown = " ".join(f"{name}={value}" for name, value in params.items()
                     if name != "branches" and not is_program(value))
    return f"{primitive.name}[{shown}]" if shown else primitive.name


def concretization_function_error(fun: Callable[[Any], Any], suggest_astype: bool = False) -> Callable[..., NoReturn]:
    """Return the function of a type and a tracer that refuses `fun(tracer)` in JAX's words."""
    name = getattr(fun, "__name__", fun)
    context = f"The problem arose with the `{name}` function. "
    if suggest_astype:
        context += (f"If trying to convert the data type of a value, try using `x.astype({name})` "
                    f"or `jnp.array(x, {name})` instead.")

    def error(aval: Any, tracer: Tracer) -> NoReturn:
        if fun is bool:
            raise TracerBoolConversionError(tracer)
        if fun in (hex, oct, operator.index):
            raise TracerIntegerConversionError(tracer)
        raise ConcretizationTypeError(tracer, context)

    return error
