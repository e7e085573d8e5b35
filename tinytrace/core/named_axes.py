"""Named axes: what `vmap(f, axis_name="i")` gives a name to, and what collectives such as `psum(x, "i")` ask for.

A name is bound by the trace that maps over the axis, and by nothing else: the axes that can be asked for are those of
the current trace and of the traces below it, and of two with one name the inner one is meant. A name that no trace
binds is a NameError. Source: JAX's `core.AxisEnvFrame`.
"""
from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.core.jaxpr import Jaxpr, subjaxprs
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import Trace, current_trace, set_current_trace
from tinytrace.records import NamedTuple

Function = Callable[..., Any]
no_axis_name = object()
"""The name of an axis that has none: nobody can ask for it."""


class Axis(NamedTuple):
    """An axis that is mapped over.

    >>> Axis(3, "i")
    Axis(size=3, name='i')
    """

    size: int
    name: Any = no_axis_name

    @property
    def has_name(self) -> bool:
        """Can somebody ask for it?"""
        return self.name is not no_axis_name


class TemporaryName:
    """The name of an axis of devices to which the user gave none; it prints as JAX prints it."""

    def __repr__(self) -> str:
        return f"<axis {id(self):#x}>"


def axis_size(name: Any) -> int:
    """Return the size of the innermost axis of this name.

    Raises: NameError when no axis has it.
    """
    axes = bound_axes()
    for axis in axes:
        if axis.name == name:
            return axis.size
    known = [axis.name for axis in axes if not isinstance(axis.name, TemporaryName)]
    raise NameError(f"unbound axis name: {name}. The following axis names (e.g. defined by pmap) are available to "
                    f"collective operations: {known}")


def bound_axes() -> list[Axis]:
    """Return the axes that are mapped over here, the innermost first; collectives may ask for those with a name."""
    axes: list[Axis] = []
    trace: Trace | None = current_trace()
    while trace is not None and not isinstance(trace, _Hiding):
        axes += reversed(trace.axes)
        trace = trace.parent
    return axes


def binding(*axes: Axis) -> contextlib.AbstractContextManager[None]:
    """Bind names for what is traced inside the block, where nothing is mapped yet.

    >>> with binding(Axis(4, "i")):
    ...     axis_size("i")
    4
    """
    return set_current_trace(_Binding(current_trace(), axes))


class _Binding(Trace):
    """Binds names, and hands each operation to the trace below."""

    name = "Binding"

    def __init__(self, parent: Trace, axes: tuple[Axis, ...]) -> None:
        self.parent: Trace = parent
        self.axes = axes

    @property
    def level(self) -> int:
        return self.parent.level

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        with set_current_trace(self.parent):
            return self.parent.process_primitive(primitive, args, params)

    def process_custom_jvp_call(self, primitive: Primitive, fun: Function, jvp: Function, args: Sequence[Any],
                                params: dict[str, Any]) -> Any:
        return self.parent.process_custom_jvp_call(primitive, self._bound(fun), self._bound(jvp), args, params)

    def process_custom_vjp_call(self, primitive: Primitive, fun: Function, fwd: Function, bwd: Function,
                                args: Sequence[Any], params: dict[str, Any]) -> Any:
        return self.parent.process_custom_vjp_call(primitive, self._bound(fun), self._bound(fwd), self._bound(bwd),
                                                   args, params)

    def _bound(self, fun: Function) -> Function:
        """Return `fun`, to be called with these names under whichever trace asks for it."""
        def bound(*args: Any) -> Any:
            with set_current_trace(type(self)(current_trace(), self.axes)):
                return fun(*args)

        return bound


def hiding() -> contextlib.AbstractContextManager[None]:
    """Let what is traced inside the block find no names but those that it binds itself."""
    return set_current_trace(_Hiding(current_trace(), ()))


class _Hiding(_Binding):
    """Where the search for names ends."""

    @property
    def named_axes(self) -> tuple[Any, ...]:
        return ()


def as_names(axis_name: Any) -> tuple[Any, ...]:
    """Return the names in an `axis_name`, which is one name or several; integers among them are axes of the array.

    >>> as_names("i"), as_names(["i", 0])
    (('i',), ('i',))
    """
    several = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    return tuple(name for name in several if not isinstance(name, int))


# --- which names a program asks for ------------------------------------------------------------------------------

def asks_for(primitive: Primitive, params: dict[str, Any], name: Any) -> bool:
    """Does an equation ask for the axis `name`: itself, or in a program among its parameters?

    >>> import tinytrace as jax
    >>> eqn, = jax.make_jaxpr(jax.jit(lambda x: jax.lax.psum(x, "i")), axis_env=[("i", 4)])(1.0).eqns
    >>> asks_for(eqn.primitive, eqn.params, "i"), asks_for(eqn.primitive, eqn.params, "j")
    (True, False)
    """
    return name in names_of_equation(primitive, params)


def names_of_equation(primitive: Primitive, params: dict[str, Any]) -> frozenset[Any]:
    """Return the names of the axes that an equation asks for and does not bind itself."""
    inside = [names_of_jaxpr(jaxpr) for jaxpr in subjaxprs(params)]
    return frozenset(primitive.axis_names(params)).union(*inside) - frozenset(primitive.binds(params))


def names_of_jaxpr(jaxpr: Jaxpr) -> frozenset[Any]:
    """Return the names of the axes that a program asks for."""
    names = _names_of_jaxpr.get(jaxpr)
    if names is None:
        names = frozenset().union(*[names_of_equation(eqn.primitive, eqn.params) for eqn in jaxpr.eqns])
        _names_of_jaxpr[jaxpr] = names
    return names


_names_of_jaxpr: weakref.WeakKeyDictionary[Jaxpr, frozenset[Any]] = weakref.WeakKeyDictionary()


def check_bound(names: Sequence[Any]) -> None:
    """Raise NameError if no axis has one of the names."""
    for name in names:
        axis_size(name)
